/**
 * Time that moves only when it is told to: a discrete-event clock for tests and the simulator.
 *
 * Events run one by one in the order of their due times. Between two events everything that the
 * first one caused is drained: all promise jobs, and the clock's own immediates one after another.
 * A drain crosses one turn of Node's real event loop, because only that ends a chain of promise
 * jobs of unknown length. What waits for real I/O or another thread is not waited for.
 */
import { ReeveError } from '../model/errors.ts';
import type { Clock, TimerHandle } from './clock.ts';
import { type TimedEvent, TimedHeap } from './timed-heap.ts';

/** 2024-01-01T00:00:00Z: a date that is plainly not today, and the same in every run. */
const START_DEFAULT = 1_704_067_200_000;
const DELAY_MAX = 2 ** 31 - 1;
/** So many that have run may stay in the queue before they are cut off together. */
const IMMEDIATES_RUN_MAX = 1024;
const EVENTS_PER_INSTANT_MAX_DEFAULT = 1_000_000;

export interface VirtualClockOptions {
  /** Wall time at the beginning, in whole ms since 1970. Default: 2024-01-01T00:00:00Z. */
  readonly start?: number;
  /**
   * Timers that are due together run in the order of arming. With a seed, a whole number, those
   * armed with different delays run in another fixed order, as they may on a real loop; those with
   * the same delay keep theirs, as Node promises.
   */
  readonly seed?: number;
  /**
   * Most callbacks that may run while time stands still, before the drive that runs them fails with
   * `CLOCK_RUNAWAY` instead of going on for ever. Default: 1,000,000.
   */
  readonly eventsPerInstantMax?: number;
}

export interface VirtualClock extends Clock {
  /**
   * Moves time on by `ms` (whole, 0 or more) and runs what becomes due, event by event. `now()` and
   * `monotonic()` are exactly the due time while a timer's callback and the jobs it caused run, and
   * a timer that arms itself anew runs as often as it fits in. Resolves when time has arrived.
   *
   * Rejects with what a callback throws; time then stands at that callback's due time, the later
   * events stay pending, and the clock can be driven on. Calls made during a drive take their turn
   * behind it: nothing here waits for a callback's promise, so they may even be made inside one.
   */
  advance(ms: number): Promise<void>;
  /** Runs promise jobs and immediates until there are none; time does not move, no timer runs. */
  settle(): Promise<void>;
  /** The wall clock jumps by `ms`; `monotonic()` and the timers do not notice. */
  jumpWall(ms: number): void;
  /** How many timers are armed. */
  readonly pending: number;
  /** Wall time at which the earliest timer is due; undefined when none is armed. */
  readonly next: number | undefined;
}

/** A clock at rest. Throws OPTION_INVALID. Usable as XState's `clock` option. */
export function virtualClock(options: VirtualClockOptions = {}): VirtualClock {
  return new DiscreteEventClock(options);
}

class DiscreteEventClock implements VirtualClock {
  readonly #timers: TimedHeap;
  /** Oldest first from `#immediatesRun` on; what lies before has run. */
  readonly #immediates: (() => void)[] = [];
  #immediatesRun = 0;
  readonly #eventsPerInstantMax: number;
  #monotonic = 0;
  /** Wall time minus monotonic time. */
  #offset: number;
  /** Callbacks run since time last moved. */
  #atThisInstant = 0;
  /** Ends when the last drive asked for has ended. Never rejects. */
  #lastDrive: Promise<void> = Promise.resolve();

  constructor(options: VirtualClockOptions) {
    this.#offset = whole('start', options.start ?? START_DEFAULT, 0);
    this.#timers = new TimedHeap(
      options.seed === undefined ? undefined : whole('seed', options.seed, Number.MIN_SAFE_INTEGER),
    );
    this.#eventsPerInstantMax = whole(
      'eventsPerInstantMax',
      options.eventsPerInstantMax ?? EVENTS_PER_INSTANT_MAX_DEFAULT,
      1,
    );
  }

  now(): number {
    return this.#offset + this.#monotonic;
  }

  monotonic(): number {
    return this.#monotonic;
  }

  /**
   * A delay of 0 is due at this very instant. Node's own timers turn a delay that is no number,
   * negative or past 2^31 - 1 into 1 ms, which hides mistakes; here it throws OPTION_INVALID.
   */
  setTimeout(run: () => void, delayMs: number): TimerHandle {
    if (!(delayMs >= 0 && delayMs <= DELAY_MAX)) {
      throw new ReeveError('OPTION_INVALID', `a delay is 0 to ${DELAY_MAX} ms, not ${delayMs}`, {
        option: 'delayMs',
        value: delayMs,
      });
    }
    const delay = Math.trunc(delayMs);
    return this.#timers.add(this.#monotonic + delay, delay, run);
  }

  /** Unknown, fired and cancelled handles are ignored, as Node does. */
  clearTimeout(handle: TimerHandle): void {
    if (typeof handle === 'object' && handle !== null) this.#timers.delete(handle as TimedEvent);
  }

  setImmediate(run: () => void): void {
    this.#immediates.push(run);
  }

  get pending(): number {
    return this.#timers.size;
  }

  get next(): number | undefined {
    const first = this.#timers.first;
    return first === undefined ? undefined : first.due + this.#offset;
  }

  jumpWall(ms: number): void {
    this.#offset += whole('ms', ms, Number.MIN_SAFE_INTEGER);
  }

  advance(ms: number): Promise<void> {
    whole('ms', ms, 0);
    return this.#afterLastDrive(() => this.#driveTo(this.#monotonic + ms));
  }

  settle(): Promise<void> {
    return this.#afterLastDrive(() => this.#drain());
  }

  #afterLastDrive(drive: () => Promise<void>): Promise<void> {
    const mine = this.#lastDrive.then(() => {
      this.#atThisInstant = 0;
      return drive();
    });
    this.#lastDrive = mine.catch(() => {
      // The caller has it; the next drive starts all the same.
    });
    return mine;
  }

  async #driveTo(target: number): Promise<void> {
    await this.#drain();
    for (;;) {
      const first = this.#timers.first;
      if (first === undefined || first.due > target) break;
      this.#timers.delete(first);
      this.#moveTo(first.due);
      this.#run(first.run);
      await this.#drain();
    }
    this.#moveTo(target);
  }

  async #drain(): Promise<void> {
    await realTurn();
    for (let run = this.#nextImmediate(); run !== undefined; run = this.#nextImmediate()) {
      this.#run(run);
      await realTurn();
    }
  }

  #nextImmediate(): (() => void) | undefined {
    const run = this.#immediates[this.#immediatesRun++];
    if (run === undefined || this.#immediatesRun >= IMMEDIATES_RUN_MAX) {
      this.#immediates.splice(0, this.#immediatesRun);
      this.#immediatesRun = 0;
    }
    return run;
  }

  #run(callback: () => void): void {
    if (++this.#atThisInstant > this.#eventsPerInstantMax) {
      throw new ReeveError(
        'CLOCK_RUNAWAY',
        `more than ${this.#eventsPerInstantMax} callbacks at ${this.now()} and time stands still`,
        { now: this.now(), eventsPerInstantMax: this.#eventsPerInstantMax },
      );
    }
    callback();
  }

  #moveTo(monotonic: number): void {
    if (monotonic === this.#monotonic) return;
    this.#monotonic = monotonic;
    this.#atThisInstant = 0;
  }
}

/** One turn of Node's loop: each promise job and `nextTick` queued before, or by those, has run. */
function realTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

function whole(option: string, value: number, min: number): number {
  if (!Number.isSafeInteger(value) || value < min) {
    throw new ReeveError(
      'OPTION_INVALID',
      `${option} is a whole number from ${min}, not ${value}`,
      {
        option,
        value,
      },
    );
  }
  return value;
}
