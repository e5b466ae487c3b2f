/**
 * Reads pages of history over a read-only connection, one page per read transaction, from both
 * places a record can be in: the table, up to the checkpoint, and the log behind it. Both are read
 * in one snapshot, so a checkpoint that moves records meanwhile neither hides nor doubles one.
 */
import type { Database } from 'better-sqlite3';
import { FrameCursor, recordChecksum } from '../codec/frame-cursor.ts';
import { RecordKind } from '../codec/group.ts';
import { ReeveError } from '../model/errors.ts';
import { isBehind } from './fold-batch.ts';
import { HistoryIndex } from './history-index.ts';
import type { RecordMark } from './history-index.ts';
import { cutHistoryPage } from './history-page.ts';
import type { HistoryRecord, HistoryRequest } from './history-page.ts';
import type { HistoryEntries } from './port.ts';
import { MetaTable, historyChecksum } from './sqlite-schema.ts';

interface HistoryRow {
  readonly procedure: number;
  readonly position: number;
  readonly ordinal: number;
  readonly entries: Buffer;
  readonly crc: number;
}

/** Bytes of groups that are indexed within one read transaction. */
const INDEX_BYTES = 8 * 1024 * 1024;

export class HistoryReader {
  readonly #meta: MetaTable;
  readonly #index = new HistoryIndex();
  readonly #begin;
  readonly #end;
  readonly #last;
  readonly #group;
  readonly #rows;

  constructor(db: Database) {
    this.#meta = new MetaTable(db);
    this.#begin = db.prepare('BEGIN');
    this.#end = db.prepare('COMMIT');
    this.#last = db.prepare<[], number | null>('SELECT max(position) FROM log').pluck();
    this.#group = db.prepare<[number], Buffer>('SELECT bytes FROM log WHERE position = ?').pluck();
    this.#rows = db.prepare<[number, number, number, number], HistoryRow>(
      `SELECT procedure, position, ordinal, CAST(entries AS BLOB) AS entries, crc FROM history
       WHERE procedure = ? AND (position, ordinal) >= (?, ?) AND position <= ?
       ORDER BY position, ordinal`,
    );
  }

  /** Throws STORE_DAMAGED and errors of SQLite. */
  page(request: HistoryRequest): HistoryEntries {
    for (;;) {
      this.#begin.run();
      try {
        const folded = this.#meta.number('checkpointed');
        if (this.#catchUp(folded)) return cutHistoryPage(this.#records(request, folded), request);
      } finally {
        this.#end.run();
      }
    }
  }

  /** Indexes groups that are new; false when there are more than one transaction should read. */
  #catchUp(folded: number): boolean {
    const index = this.#index;
    index.dropFolded(folded);
    const last = Math.max(this.#last.get() ?? 0, folded);
    let bytes = 0;
    while (index.next <= last) {
      if (bytes > INDEX_BYTES) return false;
      const position = index.next;
      const group = this.#readGroup(position);
      index.add(FrameCursor.ofGroup(group, position), position);
      bytes += group.length;
    }
    return true;
  }

  *#records(request: HistoryRequest, folded: number): Generator<HistoryRecord> {
    const { procedure, after } = request;
    const forgotten = this.#index.forgotten(procedure);
    for (const row of this.#rows.iterate(procedure, after.position, after.ordinal, folded)) {
      if (forgotten === undefined || isBehind(row, forgotten)) yield checked(row);
    }
    yield* this.#unfolded(procedure, after);
  }

  *#unfolded(procedure: number, from: RecordMark): Generator<HistoryRecord> {
    let held = 0;
    let group: Buffer | undefined;
    for (const { position, ordinal, offset } of this.#index.places(procedure, from)) {
      if (group === undefined || position !== held) group = this.#readGroup(position);
      held = position;
      const cursor = new FrameCursor(group, offset, position);
      cursor.next();
      yield { position, ordinal, entries: cursor.valueBytes().toString('utf8') };
    }
  }

  #readGroup(position: number): Buffer {
    const group = this.#group.get(position);
    if (Buffer.isBuffer(group)) return group;
    throw new ReeveError('STORE_DAMAGED', `the group at position ${position} is missing`, {
      position,
    });
  }
}

function checked(row: HistoryRow): HistoryRecord {
  const { procedure, position, ordinal, entries, crc } = row;
  const found = Buffer.isBuffer(entries)
    ? historyChecksum(
        recordChecksum(RecordKind.history, String(procedure), entries),
        position,
        ordinal,
      )
    : undefined;
  if (found !== crc) {
    throw new ReeveError(
      'STORE_DAMAGED',
      `the history of procedure ${procedure} at position ${position} does not match its checksum`,
      { procedure, position },
    );
  }
  return { position, ordinal, entries: entries.toString('utf8') };
}
