/**
 * A world in which whole runtimes live, die and are started again, on one thread and without
 * waiting: a virtual clock, a disk that loses what was not synced, and lives that end at a point.
 */
import type { HistoryPage, Reign, Store } from '../store/port.ts';
import { memoryDisk, type MemoryDisk } from '../store/memory-disk.ts';
import { memoryStore } from '../store/memory-store.ts';
import type { Clock, TimerHandle } from '../world/clock.ts';
import { virtualClock, type VirtualClock } from '../world/virtual-clock.ts';

/** Where a process may stop: `commit` has three points, `effect` and `task` two each. */
export type PointName =
  | 'commit:before'
  | 'commit:unsynced'
  | 'commit:synced'
  | 'commit:after'
  | 'effect:before'
  | 'effect:after'
  | 'task:before'
  | 'task:after';

export interface CrashPlan {
  /** The life ends at its point with this number, counted from 1; absent: it lives on. */
  readonly at?: number;
}

export interface VirtualWorldOptions {
  /** Virtual ms from a write to its sync. */
  readonly latencyMs?: number;
}

export class VirtualWorld {
  readonly clock: VirtualClock = virtualClock();
  readonly disk: MemoryDisk = memoryDisk();
  readonly #latencyMs: number;
  #life: Life | undefined;
  #lives = 0;

  constructor({ latencyMs = 1 }: VirtualWorldOptions = {}) {
    this.#latencyMs = latencyMs;
  }

  /** Starts the next life; the one before must be dead or closed. */
  boot(plan: CrashPlan = {}): Life {
    this.#life = new Life(this.clock, this.disk, plan, this.#latencyMs, ++this.#lives);
    return this.#life;
  }
}

/** One process: its clock stops calling back, its store stops answering, once it is dead. */
export class Life {
  readonly number: number;
  readonly clock: Clock;
  readonly store: Store;
  readonly #disk: MemoryDisk;
  readonly #plan: CrashPlan;
  readonly #passed: PointName[] = [];
  #dead = false;

  constructor(
    clock: VirtualClock,
    disk: MemoryDisk,
    plan: CrashPlan,
    latencyMs: number,
    number: number,
  ) {
    this.number = number;
    this.#disk = disk;
    this.#plan = plan;
    this.clock = lifeClock(clock, () => this.#dead);
    this.store = new PointedStore(memoryStore({ disk, clock, latencyMs }), this);
  }

  get dead(): boolean {
    return this.#dead;
  }

  /** The points this life has passed, the last one being where it died. */
  get passed(): readonly PointName[] {
    return this.#passed;
  }

  /** True when the life ends here: nothing after the point may happen. */
  point(name: PointName): boolean {
    if (this.#dead) return true;
    this.#passed.push(name);
    if (this.#passed.length !== this.#plan.at) return false;
    this.#dead = true;
    // Past the sync the bytes are there though nobody heard of it; before, they are lost.
    this.#disk.crash(name === 'commit:synced' ? 1 : 0);
    return true;
  }
}

/** What a dead process does not live to see. */
export function never<T>(): Promise<T> {
  return new Promise(() => undefined);
}

function lifeClock(clock: VirtualClock, isDead: () => boolean): Clock {
  const guarded = (run: () => void) => (): void => {
    if (!isDead()) run();
  };
  return {
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    setTimeout: (run, delayMs): TimerHandle => clock.setTimeout(guarded(run), delayMs),
    clearTimeout: (handle) => {
      clock.clearTimeout(handle);
    },
    setImmediate: (run) => {
      clock.setImmediate(guarded(run));
    },
  };
}

/** A store with points around each commit. */
class PointedStore implements Store {
  readonly #store: Store;
  readonly #life: Life;

  constructor(store: Store, life: Life) {
    this.#store = store;
    this.#life = life;
  }

  acquire(): Promise<Reign> {
    return this.#alive(this.#store.acquire());
  }

  async append(epoch: number, group: Uint8Array): Promise<void> {
    if (this.#life.point('commit:before')) return never();
    const written = this.#store.append(epoch, group);
    if (this.#life.point('commit:unsynced')) return never();
    if (this.#life.point('commit:synced')) return never();
    await this.#alive(written);
    if (this.#life.point('commit:after')) return never();
  }

  states(): AsyncIterable<Uint8Array> {
    return this.#store.states();
  }

  groups(): AsyncIterable<Uint8Array> {
    return this.#store.groups();
  }

  checkpoint(epoch: number, position: number): Promise<void> {
    return this.#alive(this.#store.checkpoint(epoch, position));
  }

  history(page: HistoryPage) {
    return this.#alive(this.#store.history(page));
  }

  close(): Promise<void> {
    return this.#store.close();
  }

  async #alive<T>(answer: Promise<T>): Promise<T> {
    const value = await answer;
    return this.#life.dead ? never() : value;
  }
}
