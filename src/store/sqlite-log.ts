/** The table `log`: one row per commit group, positions without gaps. */
import type { Database } from 'better-sqlite3';
import { checkGroup } from '../codec/frame-cursor.ts';
import { readGroupHeader } from '../codec/group.ts';
import type { GroupHeader } from '../codec/group.ts';
import { ReeveError } from '../model/errors.ts';
import { readFault } from './sqlite-errors.ts';
import type { MetaTable } from './sqlite-schema.ts';

interface LogRow {
  readonly position: number;
  readonly epoch: number;
  readonly bytes: Buffer;
}

/** Far below SQLite's limit for a value; a group of the runtime has about 1 MiB. */
const GROUP_BYTES_MAX = 512 * 1024 * 1024;

export class LogTable {
  readonly #meta: MetaTable;
  readonly #insert;
  readonly #select;
  readonly #range;
  readonly #bounds;
  readonly #first;
  readonly #delete;
  #epoch = 0;
  #last = 0;
  #checkpointed = 0;

  constructor(db: Database, meta: MetaTable) {
    this.#meta = meta;
    // One statement is one transaction: the epoch it compares is the epoch it commits under.
    this.#insert = db.prepare(
      `INSERT INTO log(position, epoch, bytes) SELECT ?, ?, ?
       WHERE (SELECT value FROM meta WHERE name = 'epoch') = ?`,
    );
    this.#select = db.prepare<[number], Buffer>('SELECT bytes FROM log WHERE position = ?').pluck();
    this.#range = db.prepare<[number, number], LogRow>(
      'SELECT position, epoch, bytes FROM log WHERE position > ? AND position <= ? ORDER BY 1',
    );
    this.#bounds = db.prepare<[number], { count: number; first: number; last: number }>(
      `SELECT count(*) AS count, coalesce(min(position), 0) AS first,
         coalesce(max(position), 0) AS last FROM log WHERE position > ?`,
    );
    this.#first = db.prepare<[], number | null>('SELECT min(position) FROM log').pluck();
    this.#delete = db.prepare('DELETE FROM log WHERE position = ?');
  }

  get epoch(): number {
    return this.#epoch;
  }

  /** Position of the last durable group. */
  get last(): number {
    return this.#last;
  }

  get checkpointed(): number {
    return this.#checkpointed;
  }

  /**
   * Reads where the log stands. Throws STORE_DAMAGED when groups behind the checkpoint are missing,
   * with the first missing position.
   */
  load(): void {
    const checkpointed = this.#meta.number('checkpointed');
    const { count, first, last } = this.#bounds.get(checkpointed) ?? {
      count: 0,
      first: 0,
      last: 0,
    };
    if (count > 0 && (first !== checkpointed + 1 || count !== last - checkpointed)) {
      throw missing(this.#firstMissing(checkpointed));
    }
    this.#checkpointed = checkpointed;
    this.#last = Math.max(checkpointed, last);
    const reached = this.#meta.number('reached');
    if (reached > this.#last) throw missing(this.#last + 1);
    this.#epoch = this.#meta.number('epoch');
  }

  /** Takes over how far the last committed checkpoint step has come. */
  noteCheckpoint(): void {
    this.#checkpointed = this.#meta.number('checkpointed');
  }

  /** Raises the epoch; durable with the caller's transaction. */
  raiseEpoch(reign: string): void {
    this.#meta.set('epoch', this.#epoch + 1);
    this.#meta.set('reign', reign);
  }

  /** Puts on record that the log has come this far, so that a lost tail is noticed. */
  markReached(): void {
    this.#meta.set('reached', this.#last);
  }

  /**
   * Appends a group in a transaction of its own.
   *
   * @returns its position
   * @throws STALE_EPOCH, STORE_REFUSED; anything else is an error of SQLite
   */
  append(group: Uint8Array): number {
    const header = headerOf(group);
    const { position, epoch } = header;
    if (epoch !== this.#epoch) throw this.#otherEpoch(header);
    if (position !== this.#last + 1) return this.#appendAgain(position, group);
    // A group that is damaged already would be acknowledged and then never be read again.
    assertWhole(group, position);
    const done = this.#insert.run(position, epoch, group, epoch);
    if (done.changes !== 1) throw stale(epoch, this.#meta.number('epoch'));
    this.#last = position;
    return position;
  }

  /** True when the log has a group at `position`. */
  has(position: number): boolean {
    return this.#select.get(position) !== undefined;
  }

  /** A group as it is stored; the caller checks it. Throws STORE_DAMAGED when it is not there. */
  read(position: number): Buffer {
    let bytes;
    try {
      bytes = this.#select.get(position);
    } catch (error) {
      throw readFault(error, `reading position ${position}`, { position });
    }
    if (!Buffer.isBuffer(bytes)) throw missing(position);
    return bytes;
  }

  /** Verified groups behind `after` up to `last`, in order. Throws STORE_DAMAGED. */
  *readRange(after: number, last: number): Generator<Buffer> {
    let expected = after + 1;
    try {
      for (const { position, epoch, bytes } of this.#range.iterate(after, last)) {
        if (position !== expected || !Buffer.isBuffer(bytes)) throw missing(expected);
        checkGroup(bytes, position, epoch);
        yield bytes;
        expected++;
      }
    } catch (error) {
      throw readFault(error, `reading position ${expected}`, { position: expected });
    }
    if (expected !== last + 1) throw missing(expected);
  }

  /** Removes one group that is folded; false when there is none left. */
  removeFolded(): boolean {
    const first = this.#first.get();
    if (first === null || first === undefined || first > this.#meta.number('checkpointed')) {
      return false;
    }
    this.#delete.run(first);
    return true;
  }

  #appendAgain(position: number, group: Uint8Array): number {
    if (!Number.isSafeInteger(position) || position < 1) throw refused(position, 'is no position');
    if (position > this.#last) throw refused(position, `leaves a gap behind ${this.#last}`);
    if (this.#select.get(position)?.equals(group) === true) return position;
    throw refused(position, 'is taken');
  }

  #otherEpoch(header: GroupHeader): ReeveError {
    const { epoch, position } = header;
    if (epoch < this.#epoch) return stale(epoch, this.#epoch);
    return refused(position, `is of epoch ${epoch}, which is not acquired`);
  }

  #firstMissing(checkpointed: number): number {
    let expected = checkpointed + 1;
    for (const { position } of this.#range.iterate(checkpointed, Number.MAX_SAFE_INTEGER)) {
      if (position !== expected) break;
      expected++;
    }
    return expected;
  }
}

export function stale(epoch: number, current: number): ReeveError {
  return new ReeveError('STALE_EPOCH', `epoch ${epoch} is not the current one, ${current}`, {
    epoch,
    current,
  });
}

export function refused(position: number, why: string): ReeveError {
  return new ReeveError('STORE_REFUSED', `position ${position} ${why}`, { position });
}

function missing(position: number): ReeveError {
  return new ReeveError('STORE_DAMAGED', `the group at position ${position} is missing`, {
    position,
  });
}

function assertWhole(group: Uint8Array, position: number): void {
  try {
    checkGroup(Buffer.from(group.buffer, group.byteOffset, group.length), position);
  } catch (cause) {
    throw new ReeveError('STORE_REFUSED', 'the group is damaged', { position }, cause);
  }
}

function headerOf(group: Uint8Array): GroupHeader {
  if (group.length > GROUP_BYTES_MAX) {
    throw new ReeveError('STORE_REFUSED', `a group is at most ${GROUP_BYTES_MAX} bytes`);
  }
  try {
    return readGroupHeader(group);
  } catch (cause) {
    throw new ReeveError('STORE_REFUSED', 'the bytes are not a commit group', {}, cause);
  }
}
