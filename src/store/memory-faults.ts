/** Failures of a memory store, on demand. One object may serve several stores one after another. */
export class MemoryFaults {
  #full = 0;
  #unknown: 'kept' | 'lost' | undefined;

  /** True while the disk is full; checkpoints are refused too. */
  get full(): boolean {
    return this.#full > 0;
  }

  /** The next `appends` appends are refused with STORE_FULL; default: until `free`. */
  fill(appends = Infinity): void {
    this.#full = appends;
  }

  /** Space has returned. */
  free(): void {
    this.#full = 0;
  }

  /**
   * The next append fails with STORE_OUTCOME_UNKNOWN, and its store with it.
   *
   * @param fate whether the group is on the disk after all
   */
  failNextSync(fate: 'kept' | 'lost'): void {
    this.#unknown = fate;
  }

  /** For the store: whether this append meets a full disk. */
  takeFull(): boolean {
    if (this.#full === 0) return false;
    this.#full--;
    return true;
  }

  /** For the store: whether this sync fails, and what is on the disk then. */
  takeUnknown(): 'kept' | 'lost' | undefined {
    const fate = this.#unknown;
    this.#unknown = undefined;
    return fate;
  }
}

/** Faults of which none is switched on. */
export function memoryFaults(): MemoryFaults {
  return new MemoryFaults();
}
