/**
 * Keeps the write-ahead log small without long stalls.
 *
 * A second thread moves pages into the database file and syncs it (a PASSIVE checkpoint) while
 * commits go on. It can never quite catch up with a busy writer, and SQLite starts its log over
 * only when nothing is left in it; so from time to time the writer moves a short rest itself, which
 * costs a write and a sync of the file, a few ms. A writer that moves everything itself would stall
 * for all of it, and at each 4 MiB.
 */
import type { Database } from 'better-sqlite3';
import { PAGE_BYTES } from './sqlite-schema.ts';

/** At this many times the trigger the log is made to start over. */
const RESTART_TIMES = 4;
/** The rest that the writer then moves itself is at most this part of the trigger. */
const REST_PART = 8;
/** At this many times the trigger the writer moves everything, whatever it costs. */
export const WAL_LIMIT_TIMES = 8;

interface WalState {
  /** Frames in the log. */
  readonly log: number;
  /** Frames of it that are in the database file. */
  readonly checkpointed: number;
}

export class WalKeeper {
  readonly #look;
  readonly #move;
  readonly #trigger: number;
  /** Asks the second thread to move pages; it answers by a call of `moved`. */
  readonly #ask: () => void;
  /** Frames that were in the database file when the second thread was asked; absent: it is idle. */
  #askedAt: number | undefined;
  /** Frames of the log at which to try again after a try that brought nothing. */
  #notBefore = 0;

  constructor(db: Database, walBytes: number, ask: () => void) {
    this.#look = db.prepare<[], WalState>('PRAGMA wal_checkpoint(NOOP)');
    this.#move = db.prepare<[], WalState>('PRAGMA wal_checkpoint(PASSIVE)');
    this.#trigger = Math.ceil(walBytes / PAGE_BYTES);
    this.#ask = ask;
  }

  /**
   * True while a checkpoint had better wait, so that the log can start over: the second thread is
   * at work on a log that is long enough.
   */
  get crowded(): boolean {
    return this.#askedAt !== undefined && this.#isLong(this.#frames());
  }

  /** To be called after each commit. Throws errors of SQLite. */
  committed(): void {
    const state = this.#frames();
    const { log, checkpointed } = state;
    // Started over: what was tried in vain before does not count any more.
    if (log < this.#trigger) this.#notBefore = 0;
    if (log < this.#notBefore || log === checkpointed) return;
    if (log >= WAL_LIMIT_TIMES * this.#trigger) return this.#moveAll();
    const enough = this.#isLong(state) ? this.#trigger / REST_PART : this.#trigger;
    if (this.#askedAt !== undefined || log - checkpointed < enough) return;
    this.#askedAt = checkpointed;
    this.#ask();
  }

  /** The second thread is done. Throws errors of SQLite. */
  moved(): void {
    const state = this.#frames();
    const { log, checkpointed } = state;
    const before = this.#askedAt ?? 0;
    this.#askedAt = undefined;
    // No space, or a reader that needs the log: asking again at once would bring nothing either.
    if (checkpointed <= before && log > before) this.#notBefore = log + this.#trigger;
    if (this.#isLong(state) && log - checkpointed <= this.#trigger / REST_PART) this.#moveAll();
    else this.committed();
  }

  #isLong({ log }: WalState): boolean {
    return log >= RESTART_TIMES * this.#trigger;
  }

  #moveAll(): void {
    this.#notBefore = this.#frames().log + this.#trigger;
    const after = this.#move.get();
    if (after !== undefined && after.checkpointed === after.log) this.#notBefore = 0;
  }

  #frames(): WalState {
    return this.#look.get() ?? { log: 0, checkpointed: 0 };
  }
}
