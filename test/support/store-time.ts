/** A clock for store tests: time jumps to the next timer as soon as the process is idle. */
import type { Clock, TimerHandle } from '../../src/world/clock.ts';

interface Timer {
  readonly due: number;
  readonly run: () => void;
}

export class VirtualTime implements Clock {
  #time = 0;
  #timers: Timer[] = [];

  now(): number {
    return this.#time;
  }

  monotonic(): number {
    return this.#time;
  }

  setTimeout(run: () => void, delayMs: number): TimerHandle {
    const timer = { due: this.#time + delayMs, run };
    this.#timers.push(timer);
    setImmediate(() => {
      this.#runNext();
    });
    return timer;
  }

  clearTimeout(handle: TimerHandle): void {
    this.#timers = this.#timers.filter((timer) => timer !== handle);
  }

  setImmediate(run: () => void): void {
    setImmediate(run);
  }

  #runNext(): void {
    const next = this.#timers.reduce<Timer | undefined>(
      (first, timer) => (first === undefined || timer.due < first.due ? timer : first),
      undefined,
    );
    if (next === undefined) return;
    this.clearTimeout(next);
    this.#time = next.due;
    next.run();
  }
}
