/**
 * Keeps the timer queue as small as the timers are: machines that arm and cancel long timers at a
 * high rate would otherwise leave an entry behind for each.
 */
import type { Directory } from '../population/directory.ts';
import type { Population } from '../population/population.ts';
import { NONE, type ProcedureRow } from '../records/row.ts';
import type { TimerQueue } from '../records/timer-queue.ts';

/** Below this many entries nothing is gained by looking. */
const ENTRIES_MIN = 4_096;

export class ArmedTimers {
  #armed = 0;
  /** Entries that the last look left behind: those of passive procedures are not looked into. */
  #left = 0;
  readonly #timers: TimerQueue;

  constructor(timers: TimerQueue) {
    this.#timers = timers;
  }

  /** Timers in rows, as planned so far. */
  get count(): number {
    return this.#armed;
  }

  /** Follows a row's change, in either direction. */
  follow(before: ProcedureRow | undefined, after: ProcedureRow | undefined): void {
    this.#armed += (after?.timers?.length ?? 0) - (before?.timers?.length ?? 0);
  }

  /** Drops entries of cancelled timers when they are the majority. */
  tidy(population: Population, directory: Directory): void {
    const timers = this.#timers;
    if (timers.size < ENTRIES_MIN || timers.size < 2 * Math.max(this.#armed, this.#left)) return;
    const live = new Set<number>();
    for (const { slot } of population.live) live.add(slot);
    timers.drop((slot) => live.has(slot) || !directory.exists(slot));
    for (const { slot, row } of population.live) {
      for (const { due } of row.timers ?? NONE) timers.add(due, slot);
    }
    this.#left = timers.size;
  }
}
