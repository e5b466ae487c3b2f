/**
 * Keeps the write-ahead log small without long stalls.
 *
 * A second thread moves pages into the database file and syncs it (a PASSIVE checkpoint) while
 * commits go on. It can never quite catch up with a busy writer, and SQLite starts its log over
 * only when nothing is left in it; so the writer moves the short rest itself. Measured: a writer
 * that moves everything itself stalls for the whole write and sync of the file.
 */
import type { Database } from 'better-sqlite3';
import { PAGE_BYTES } from './sqlite-schema.ts';

/** The writer may move this part of the trigger itself. */
const REST_PART = 8;
/** At this many times the trigger the writer moves everything, whatever it costs. */
const LIMIT_TIMES = 4;

/** Past so many times the trigger a checkpoint waits for the second thread. */
const CROWDED_TIMES = 2;

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
   * True while a checkpoint had better wait, so that the log can start over: it is well past its
   * size, and the second thread is at it.
   */
  get crowded(): boolean {
    return this.#askedAt !== undefined && this.#frames().log > CROWDED_TIMES * this.#trigger;
  }

  /** To be called after each commit. Throws errors of SQLite. */
  committed(): void {
    const { log, checkpointed } = this.#frames();
    // Started over: what was tried in vain before does not count any more.
    if (log < this.#trigger) this.#notBefore = 0;
    if (log < this.#notBefore || log - checkpointed < this.#trigger) return;
    if (log >= LIMIT_TIMES * this.#trigger) this.#moveAll();
    else if (this.#askedAt === undefined) {
      this.#askedAt = checkpointed;
      this.#ask();
    }
  }

  /** The second thread is done. Throws errors of SQLite. */
  moved(): void {
    const { log, checkpointed } = this.#frames();
    const before = this.#askedAt ?? 0;
    this.#askedAt = undefined;
    // No space, or a reader that needs the log: asking again at once would bring nothing either.
    if (checkpointed <= before && log > before) this.#notBefore = log + this.#trigger;
    const rest = log - checkpointed;
    if (rest > 0 && rest <= this.#trigger / REST_PART) this.#moveAll();
    else this.committed();
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
