/**
 * Reads states and groups in chunks, each checked row by row. A reader holds no transaction
 * between chunks: who uses it sees to it that no checkpoint runs meanwhile.
 */
import type { Database } from 'better-sqlite3';
import { crc32 } from 'node:zlib';
import { BODY_HEADER_BYTES, RECORD_HEADER_BYTES, RecordKind } from '../codec/group.ts';
import { ReeveError } from '../model/errors.ts';
import type { LogTable } from './sqlite-log.ts';

/** Bytes of a chunk; `ends` are the offsets behind each group (states: one batch of frames). */
export interface Chunk {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly ends: readonly number[];
}

export interface ChunkReader {
  /** The next chunk; undefined at the end. Throws STORE_DAMAGED and errors of SQLite. */
  next(): Chunk | undefined;
}

interface StateRow {
  readonly row: number;
  readonly key: string;
  readonly value: Buffer;
  readonly crc: number;
  readonly position: number;
}

/** The table `state` as framed PUT records. */
export class StateReader implements ChunkReader {
  readonly #chunkBytes: number;
  readonly #select;
  readonly #strays;
  readonly #indexed;
  #after = Number.MIN_SAFE_INTEGER;
  #rows = 0;
  #ended = false;

  constructor(db: Database, chunkBytes: number) {
    this.#chunkBytes = chunkBytes;
    this.#select = db.prepare<[number], StateRow>(
      `SELECT rowid AS row, key, CAST(value AS BLOB) AS value, crc, position
       FROM state NOT INDEXED WHERE rowid > ? ORDER BY rowid`,
    );
    // A row the index does not lead to would be a second life of its key: an update or a delete of
    // that key missed it.
    this.#strays = db
      .prepare<[number, number], string>(
        `SELECT key FROM state AS a NOT INDEXED WHERE rowid > ? AND rowid <= ?
         AND NOT EXISTS (SELECT 1 FROM state AS b INDEXED BY sqlite_autoindex_state_1
           WHERE b.key = a.key AND +b.rowid = a.rowid)
         LIMIT 1`,
      )
      .pluck();
    this.#indexed = db
      .prepare<[], number>('SELECT count(*) FROM state INDEXED BY sqlite_autoindex_state_1')
      .pluck();
  }

  next(): Chunk | undefined {
    if (this.#ended) return undefined;
    const frames = new FrameBuffer(this.#chunkBytes);
    const before = this.#after;
    this.#ended = true;
    for (const row of this.#select.iterate(before)) {
      // What is declared as text may be anything once a bit of its type has flipped.
      if (typeof row.key !== 'string' || !Buffer.isBuffer(row.value)) {
        throw damaged(String(row.key), row.position);
      }
      if (!frames.hasRoom(row.key, row.value)) {
        this.#ended = false;
        break;
      }
      if (frames.add(row.key, row.value) !== row.crc) throw damaged(row.key, row.position);
      this.#after = row.row;
      this.#rows++;
    }
    const stray = this.#strays.get(before, this.#after);
    if (stray !== undefined) throw damaged(stray, 0);
    if (this.#ended && this.#indexed.get() !== this.#rows) {
      throw new ReeveError('STORE_DAMAGED', 'the table state lacks rows', { table: 'state' });
    }
    const bytes = frames.finish();
    return bytes.length === 0 ? undefined : { bytes, ends: [bytes.length] };
  }
}

/** The groups of the log behind the checkpoint, as of the reader's making. */
export class GroupReader implements ChunkReader {
  readonly #log: LogTable;
  readonly #chunkBytes: number;
  readonly #last: number;
  #after: number;

  constructor(log: LogTable, chunkBytes: number) {
    this.#log = log;
    this.#chunkBytes = chunkBytes;
    this.#after = log.checkpointed;
    this.#last = log.last;
  }

  next(): Chunk | undefined {
    if (this.#after >= this.#last) return undefined;
    const groups: Buffer[] = [];
    const ends: number[] = [];
    let length = 0;
    for (const group of this.#log.readRange(this.#after, this.#last)) {
      groups.push(group);
      length += group.length;
      ends.push(length);
      if (length >= this.#chunkBytes) break;
    }
    const bytes = new Uint8Array(length);
    groups.forEach((group, i) => bytes.set(group, ends[i - 1] ?? 0));
    this.#after += groups.length;
    return { bytes, ends };
  }
}

/** Frames PUT records one behind another. */
class FrameBuffer {
  #buffer: Buffer<ArrayBuffer>;
  #length = 0;

  constructor(bytes: number) {
    this.#buffer = Buffer.from(new ArrayBuffer(bytes));
  }

  /** True when the record fits; an empty buffer has room for any record. */
  hasRoom(key: string, value: Buffer): boolean {
    const worst = RECORD_HEADER_BYTES + BODY_HEADER_BYTES + key.length * 3 + value.length;
    if (this.#length + worst <= this.#buffer.length) return true;
    if (this.#length > 0) return false;
    this.#buffer = Buffer.from(new ArrayBuffer(worst));
    return true;
  }

  /** Adds a record that has room; returns its checksum. */
  add(key: string, value: Buffer): number {
    const buffer = this.#buffer;
    const body = this.#length + RECORD_HEADER_BYTES;
    const keyAt = body + BODY_HEADER_BYTES;
    const keyBytes = buffer.write(key, keyAt, 'utf8');
    buffer[body] = RecordKind.put;
    buffer.writeUInt16LE(keyBytes & 0xffff, body + 1);
    value.copy(buffer, keyAt + keyBytes);
    const end = keyAt + keyBytes + value.length;
    const crc = crc32(buffer.subarray(body, end));
    buffer.writeUInt32LE(end - body, this.#length);
    buffer.writeUInt32LE(crc, this.#length + 4);
    this.#length = end;
    return crc;
  }

  finish(): Uint8Array<ArrayBuffer> {
    return new Uint8Array(this.#buffer.buffer, 0, this.#length);
  }
}

function damaged(key: string, position: number): ReeveError {
  return new ReeveError('STORE_DAMAGED', `the state of ${key} does not match its checksum`, {
    key,
    ...(position > 0 ? { position } : {}),
  });
}
