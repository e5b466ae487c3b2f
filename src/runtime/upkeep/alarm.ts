/** Rings when the earliest durable timer is due: one clock timer for all of them. */
import type { Clock, TimerHandle } from '../../world/clock.ts';
import type { DurableTime } from '../records/durable-time.ts';
import type { TimerQueue } from '../records/timer-queue.ts';

/** Longest single wait; longer ones are taken in parts, since a clock timer stops at 2^31 ms. */
const WAIT_MS_MAX = 2 ** 30;

export class Alarm {
  readonly #clock: Clock;
  readonly #time: DurableTime;
  readonly #timers: TimerQueue;
  readonly #ring: (slots: ReadonlySet<number>, now: number) => void;
  #handle: TimerHandle | undefined;
  #setFor = Infinity;

  /** @param ring hears of all slots that have a timer due, together: it fires them in order */
  constructor(
    clock: Clock,
    time: DurableTime,
    timers: TimerQueue,
    ring: (slots: ReadonlySet<number>, now: number) => void,
  ) {
    this.#clock = clock;
    this.#time = time;
    this.#timers = timers;
    this.#ring = ring;
  }

  /** Sets the clock for the earliest timer; cheap when nothing changed. */
  set(): void {
    const { next } = this.#timers;
    if (next === this.#setFor) return;
    this.clear();
    if (next === Infinity) return;
    this.#setFor = next;
    const wait = Math.min(Math.max(0, next - this.#time.now()), WAIT_MS_MAX);
    this.#handle = this.#clock.setTimeout(() => {
      this.#handle = undefined;
      this.#setFor = Infinity;
      this.#take();
      this.set();
    }, wait);
  }

  clear(): void {
    if (this.#handle !== undefined) this.#clock.clearTimeout(this.#handle);
    this.#handle = undefined;
    this.#setFor = Infinity;
  }

  #take(): void {
    const now = this.#time.now();
    const slots = new Set<number>();
    for (let slot = this.#timers.take(now); slot !== -1; slot = this.#timers.take(now)) {
      slots.add(slot);
    }
    if (slots.size > 0) this.#ring(slots, now);
  }
}
