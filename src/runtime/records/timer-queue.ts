/**
 * Due times of all durable timers: a binary heap in typed arrays (12 bytes a timer, no objects).
 *
 * The queue only says "look at this slot now"; which of the procedure's timers is due, and whether
 * it is still the one that was armed, its row decides. So entries of cancelled timers may stay
 * until their time comes; when they outnumber the living ones, the runtime has them dropped.
 */
export class TimerQueue {
  #due = new Float64Array(1024);
  #slot = new Int32Array(1024);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Due time of the earliest entry; Infinity when there is none. */
  get next(): number {
    return this.#size === 0 ? Infinity : (this.#due[0] ?? Infinity);
  }

  add(due: number, slot: number): void {
    if (this.#size === this.#due.length) this.#grow();
    let at = this.#size++;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if ((this.#due[parent] ?? 0) <= due) break;
      this.#move(parent, at);
      at = parent;
    }
    this.#due[at] = due;
    this.#slot[at] = slot;
  }

  /** Removes and returns the slot of the earliest entry that is due at `now`; -1 when none is. */
  take(now: number): number {
    if (this.#size === 0 || (this.#due[0] ?? Infinity) > now) return -1;
    const slot = this.#slot[0] ?? -1;
    const last = --this.#size;
    const due = this.#due[last] ?? 0;
    const moved = this.#slot[last] ?? 0;
    let at = 0;
    for (;;) {
      let child = at * 2 + 1;
      if (child >= last) break;
      if (child + 1 < last && (this.#due[child + 1] ?? 0) < (this.#due[child] ?? 0)) child++;
      if ((this.#due[child] ?? 0) >= due) break;
      this.#move(child, at);
      at = child;
    }
    this.#due[at] = due;
    this.#slot[at] = moved;
    return slot;
  }

  /** Drops the entries of some slots; whoever asks puts their living timers back with `add`. */
  drop(isDropped: (slot: number) => boolean): void {
    const size = this.#size;
    const due = this.#due;
    const slots = this.#slot;
    this.#due = new Float64Array(Math.max(1024, size));
    this.#slot = new Int32Array(Math.max(1024, size));
    this.#size = 0;
    for (let i = 0; i < size; i++) {
      const slot = slots[i] ?? 0;
      if (!isDropped(slot)) this.add(due[i] ?? 0, slot);
    }
  }

  #move(from: number, to: number): void {
    this.#due[to] = this.#due[from] ?? 0;
    this.#slot[to] = this.#slot[from] ?? 0;
  }

  #grow(): void {
    const due = new Float64Array(this.#due.length * 2);
    due.set(this.#due);
    const slot = new Int32Array(this.#slot.length * 2);
    slot.set(this.#slot);
    this.#due = due;
    this.#slot = slot;
  }
}
