/** One timer that is set, set anew and cleared; it holds at most one callback. */
import type { Clock, TimerHandle } from '../world/clock.ts';

export class Alarm {
  readonly #clock: Clock;
  #handle: TimerHandle;
  #set = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** True while it is set and has not rung. */
  get isSet(): boolean {
    return this.#set;
  }

  /** Rings once after `delayMs`; what was set before does not ring. */
  set(delayMs: number, ring: () => void): void {
    this.clear();
    this.#set = true;
    this.#handle = this.#clock.setTimeout(() => {
      this.#set = false;
      ring();
    }, delayMs);
  }

  clear(): void {
    if (!this.#set) return;
    this.#set = false;
    this.#clock.clearTimeout(this.#handle);
  }
}
