/**
 * The time durable timers live in: ms since 1970, never going back, neither in a process nor over
 * a restart.
 *
 * While a process runs, durable time follows the monotonic clock, so that a jump of the wall clock
 * (NTP, an operator) neither fires a timer early nor holds one back. At a start it takes the later
 * of the wall clock and the last time on record, so that waiting goes on while nobody runs.
 */
import type { Clock } from '../../world/clock.ts';

export class DurableTime {
  readonly #clock: Clock;
  readonly #base: number;
  readonly #startedAt: number;

  constructor(clock: Clock, lastOnRecord: number) {
    this.#clock = clock;
    this.#base = Math.max(clock.now(), lastOnRecord);
    this.#startedAt = clock.monotonic();
  }

  now(): number {
    return Math.floor(this.#base + (this.#clock.monotonic() - this.#startedAt));
  }

  /** Durable time at which this life began; timers due before it were missed. */
  get began(): number {
    return this.#base;
  }
}
