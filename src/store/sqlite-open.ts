/** Opens a store's database for writing and recovers it. */
import Database from 'better-sqlite3';
import { ReeveError } from '../model/errors.ts';
import { full, outcomeUnknown, readFault, saysBusy, saysFull } from './sqlite-errors.ts';
import { claimFiles, removeOwner, storePaths } from './sqlite-files.ts';
import type { StorePaths } from './sqlite-files.ts';
import { Fold } from './sqlite-fold.ts';
import { LogTable, stale } from './sqlite-log.ts';
import type { ReignData } from './sqlite-messages.ts';
import type { SqliteSettings } from './sqlite-options.ts';
import { WAL_LIMIT_TIMES } from './sqlite-wal.ts';
import { META_ROOT_PAGE, MetaTable, assertSchema, metaRootPage } from './sqlite-schema.ts';

const KIB = 1024;

/** A store that this process holds: lock, writing connection, tables. */
export class OpenStore {
  readonly paths: StorePaths;
  readonly db: Database.Database;
  readonly meta: MetaTable;
  readonly log: LogTable;
  readonly fold: Fold;
  readonly #lock: Database.Database;
  readonly #begin;
  readonly #commit;
  readonly #rollback;
  readonly #slicesAreMarked: boolean;

  /**
   * @param since ISO time of now
   * @throws STORE_FOREIGN, STORE_TOO_NEW, STORE_LOCKED, STORE_DAMAGED, STORE_FULL,
   *   STORE_UNAVAILABLE
   */
  constructor(settings: SqliteSettings, since: string) {
    this.paths = storePaths(settings.dir);
    this.#lock = claimFiles(this.paths, since);
    let db;
    try {
      db = new Database(this.paths.database, {
        fileMustExist: true,
        timeout: settings.busyTimeoutMs,
      });
      configure(db, settings);
      checkSchema(db);
      this.db = db;
      this.meta = new MetaTable(db);
      this.log = new LogTable(db, this.meta);
      this.log.load();
      this.fold = new Fold(db, this.log, this.meta);
      this.#begin = db.prepare('BEGIN IMMEDIATE');
      this.#commit = db.prepare('COMMIT');
      this.#rollback = db.prepare('ROLLBACK');
      this.#slicesAreMarked = metaRootPage(db) === META_ROOT_PAGE;
    } catch (error) {
      db?.close();
      this.#release();
      throw readFault(error, this.paths.database, { path: this.paths.database });
    }
  }

  /**
   * Begins a reign: the epoch grows, durably.
   *
   * @throws STORE_FULL, STORE_LOCKED while another process writes to the database,
   *   STORE_OUTCOME_UNKNOWN
   */
  beginReign(reign: string): ReignData {
    try {
      this.transact(() => {
        this.log.raiseEpoch(reign);
      });
    } catch (error) {
      if (!saysBusy(error)) throw this.commitFault(error, 'beginning a reign');
      const { database: path } = this.paths;
      throw new ReeveError('STORE_LOCKED', `another process writes to ${path}`, { path }, error);
    }
    this.log.load();
    const { epoch, last: position, checkpointed } = this.log;
    return { epoch, reign, position, checkpointed };
  }

  /**
   * Runs a slice of a checkpoint in one transaction that is not synced by itself: when it is lost,
   * the groups it folded are still in the log. The next append, or the move of its pages into the
   * database file, makes it durable.
   */
  transactSlice(work: () => void): void {
    if (!this.#slicesAreMarked) return this.transact(work);
    this.db.pragma('synchronous = NORMAL');
    try {
      this.transact(() => {
        this.meta.set('slices', this.meta.number('slices') + 1);
        work();
      });
    } finally {
      this.db.pragma('synchronous = FULL');
    }
  }

  /** Runs `work` in one transaction. Rolls back and throws what it, or the commit, throws. */
  transact(work: () => void): void {
    this.#begin.run();
    try {
      work();
      this.#commit.run();
    } catch (error) {
      if (this.db.inTransaction) this.#rollback.run();
      throw error;
    }
  }

  /**
   * The error that a failed commit is: STORE_FULL only where it is proven that the database is as
   * it was before, else STORE_OUTCOME_UNKNOWN. A `ReeveError` is returned as it is.
   */
  commitFault(error: unknown, what: string): ReeveError {
    if (error instanceof ReeveError) return error;
    try {
      if (saysFull(error, this.paths.dir) && this.#isAsBefore()) return full(what, error);
    } catch (reading) {
      return outcomeUnknown(what, reading);
    }
    return outcomeUnknown(what, error);
  }

  /**
   * Throws STALE_EPOCH when another process has begun a reign, which the lock should have
   * prevented. To be called inside a transaction.
   */
  assertReign(): void {
    const epoch = this.meta.number('epoch');
    if (epoch !== this.log.epoch) throw stale(this.log.epoch, epoch);
  }

  /**
   * Closes the database and then gives the lock back.
   *
   * @param orderly false after a failure: nothing is written any more
   */
  close(orderly = false): void {
    try {
      if (orderly) this.#leaveMark();
      this.db.close();
    } finally {
      this.#release();
    }
  }

  /** So that the next start notices a tail of the log that was lost in between. */
  #leaveMark(): void {
    try {
      this.transact(() => {
        this.assertReign();
        this.log.markReached();
      });
    } catch {
      // The mark is a help, not a promise: without it the log is as durable as it was.
    }
  }

  /** Nothing is open any more, and the log ends where it ended. */
  #isAsBefore(): boolean {
    return !this.db.inTransaction && !this.log.has(this.log.last + 1);
  }

  #release(): void {
    try {
      removeOwner(this.paths);
    } finally {
      this.#lock.close();
    }
  }
}

function checkSchema(db: Database.Database): void {
  const fresh = new Database(':memory:');
  try {
    assertSchema(db, fresh);
  } finally {
    fresh.close();
  }
}

function configure(db: Database.Database, settings: SqliteSettings): void {
  const mode: unknown = db.pragma('journal_mode = WAL', { simple: true });
  if (mode !== 'wal') {
    throw new ReeveError(
      'STORE_UNAVAILABLE',
      `the file system allows no WAL mode (${String(mode)})`,
    );
  }
  db.pragma('synchronous = FULL');
  db.pragma('wal_autocheckpoint = 0');
  db.pragma(`journal_size_limit = ${WAL_LIMIT_TIMES * settings.walBytes}`);
  db.pragma(`cache_size = -${Math.floor(settings.cacheBytes / KIB)}`);
  // No page of an unfinished transaction reaches the log: `wal-guard.ts` relies on it.
  db.pragma('cache_spill = OFF');
  db.pragma('temp_store = MEMORY');
  db.pragma('trusted_schema = OFF');
  db.pragma('wal_checkpoint(TRUNCATE)');
}
