/**
 * A checkpoint: folds groups of the log into the tables `state` and `history`, then removes them.
 *
 * It works in small steps, so that the caller can end a transaction after any of them. That is
 * safe because every step may be done twice: state rows are absolute, history rows are keyed by
 * their place in the log, and `checkpointed` moves only with the last step of a batch. Until then
 * readers take the batch's groups from the log; rows that ran ahead say what those groups will say
 * again. When a transaction fails, the fold is thrown away and a new one begins at `checkpointed`.
 */
import type { Database } from 'better-sqlite3';
import { historyChecksum } from './sqlite-schema.ts';
import { FoldBatch } from './fold-batch.ts';
import type { ForgetMark, HistoryChange, StateChange } from './fold-batch.ts';
import type { LogTable } from './sqlite-log.ts';
import type { MetaTable } from './sqlite-schema.ts';

/**
 * Bytes of groups taken together, and rows written together. The more, the more often rows of one
 * page are written in one go, and the more memory it takes. Measured with states of 100,000
 * procedures, put at random: with 8 MiB and 8,192 rows three times as many pages were written.
 */
const BATCH_BYTES = 32 * 1024 * 1024;
const BATCH_CHANGES = 65_536;
const FORGET_ROWS_PER_STEP = 50;

export class Fold {
  readonly #log: LogTable;
  readonly #meta: MetaTable;
  readonly #put;
  readonly #delete;
  readonly #addHistory;
  readonly #forget;

  constructor(db: Database, log: LogTable, meta: MetaTable) {
    this.#log = log;
    this.#meta = meta;
    this.#put = db.prepare(
      `INSERT INTO state(key, value, crc, position) VALUES(?, CAST(? AS TEXT), ?, ?)
       ON CONFLICT(key) DO UPDATE SET
         value = excluded.value, crc = excluded.crc, position = excluded.position`,
    );
    this.#delete = db.prepare('DELETE FROM state WHERE key = ?');
    this.#addHistory = db.prepare(
      `INSERT INTO history(procedure, position, ordinal, entries, crc)
       VALUES(?, ?, ?, CAST(? AS TEXT), ?)
       ON CONFLICT(procedure, position, ordinal) DO UPDATE SET
         entries = excluded.entries, crc = excluded.crc`,
    );
    this.#forget = db.prepare(
      `DELETE FROM history WHERE rowid IN (
         SELECT rowid FROM history
         WHERE procedure = ? AND (position, ordinal) < (?, ?) LIMIT ${FORGET_ROWS_PER_STEP})`,
    );
  }

  /**
   * The steps of a checkpoint up to `target`. Run them inside transactions; a step that yielded is
   * whole. Throws STORE_DAMAGED, and errors of SQLite.
   */
  *run(target: number): Generator<void, void> {
    yield* this.#removeFolded();
    let folded = this.#meta.number('checkpointed');
    while (folded < target) {
      const batch = new FoldBatch(folded + 1);
      while (folded < target && batch.bytes < BATCH_BYTES && batch.changes < BATCH_CHANGES) {
        folded++;
        yield* batch.add(this.#log.read(folded));
        yield;
      }
      yield* this.#apply(batch);
      this.#meta.set('checkpointed', folded);
      this.#log.markReached();
      yield;
      yield* this.#removeFolded();
    }
  }

  *#apply(batch: FoldBatch): Generator<void> {
    for (const change of batch.states()) {
      if (change !== undefined) this.#applyState(change);
      yield;
    }
    for (const mark of batch.forgets) yield* this.#applyForget(mark);
    for (const change of batch.histories()) {
      if (change !== undefined) this.#applyHistory(change);
      yield;
    }
  }

  *#removeFolded(): Generator<void> {
    while (this.#log.removeFolded()) yield;
  }

  #applyState({ key, value, crc, position }: StateChange): void {
    if (value === undefined) this.#delete.run(key);
    else this.#put.run(key, value, crc, position);
  }

  #applyHistory({ procedure, position, ordinal, entries, crc }: HistoryChange): void {
    const sum = historyChecksum(crc, position, ordinal);
    this.#addHistory.run(procedure, position, ordinal, entries, sum);
  }

  *#applyForget({ procedure, position, ordinal }: ForgetMark): Generator<void> {
    while (this.#forget.run(procedure, position, ordinal).changes > 0) yield;
  }
}
