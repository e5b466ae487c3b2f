/**
 * A disk in memory that outlives the stores on it, so that a test can crash one store and open the
 * next over what was really synced.
 *
 * What was written but not synced is lost in a crash, or leaves a torn prefix. Everything is kept
 * as bytes with checksums, so that damage is found here the way it is found on a real disk.
 */
import { FrameCursor, checkGroup } from '../codec/frame-cursor.ts';
import {
  GROUP_HEADER_BYTES,
  RECORD_HEADER_BYTES,
  RecordKind,
  readGroupHeader,
} from '../codec/group.ts';
import { ReeveError } from '../model/errors.ts';
import type { HistoryRecord } from './history-page.ts';

interface StateFrame {
  /** The framed PUT record. */
  readonly frame: Buffer;
  readonly position: number;
}

export class MemoryDisk {
  readonly #log = new Map<number, Buffer>();
  readonly #states = new Map<string, StateFrame>();
  readonly #history = new Map<number, HistoryRecord[]>();
  #unsynced: Buffer | undefined;
  #torn: Buffer | undefined;
  #epoch = 0;
  #last = 0;
  #checkpointed = 0;
  #crashes = 0;

  /** Crashes so far: a store that sees it change is a store of a process that is gone. */
  get crashes(): number {
    return this.#crashes;
  }

  get epoch(): number {
    return this.#epoch;
  }

  /** Position of the last synced group; 0 when there is none. */
  get position(): number {
    return this.#last;
  }

  get checkpointed(): number {
    return this.#checkpointed;
  }

  /** Groups in the log, folded or not. */
  get groups(): number {
    return this.#log.size;
  }

  /**
   * The power goes: what was not synced is lost. Every store on this disk is dead: what it was
   * asked is never answered.
   *
   * @param tear part of the unsynced group's bytes that reached the disk, 0 (default) to 1
   */
  crash(tear = 0): void {
    this.#crashes++;
    const unsynced = this.#unsynced;
    this.#unsynced = undefined;
    this.#torn = unsynced?.subarray(0, Math.floor(unsynced.length * tear));
  }

  /** Flips one bit of the group at `position`; `bit` counts from the group's first byte. */
  flipBit(position: number, bit: number): void {
    flip(this.#log.get(position), bit, `no group at position ${position}`);
  }

  /** Flips one bit of the state of `key`; `bit` counts from the record's kind byte. */
  flipStateBit(key: string, bit: number): void {
    const frame = this.#states.get(key)?.frame;
    flip(frame?.subarray(RECORD_HEADER_BYTES), bit, `no state ${key}`);
  }

  /** Removes an acknowledged group as if its page had been lost. */
  dropGroup(position: number): void {
    this.#log.delete(position);
  }

  /**
   * Begins a reign: cuts a torn tail (it was never acknowledged) or keeps it where it proves to be
   * whole, raises the epoch, checks that no group is missing. Throws STORE_DAMAGED.
   */
  claim(): number {
    const torn = this.#torn;
    this.#torn = undefined;
    if (torn !== undefined && isWhole(torn, this.#last + 1)) this.#keep(torn);
    for (let position = this.#checkpointed + 1; position <= this.#last; position++) {
      if (!this.#log.has(position)) throw missing(position);
    }
    return ++this.#epoch;
  }

  /** The group is written, not synced: a crash loses or tears it. */
  write(group: Buffer): void {
    this.#unsynced = group;
  }

  /** The group that was written is on the disk now. */
  sync(): void {
    const group = this.#unsynced;
    this.#unsynced = undefined;
    if (group !== undefined) this.#keep(group);
  }

  /** What was written and not synced is given up. */
  drop(): void {
    this.#unsynced = undefined;
  }

  /** Bytes of the group at `position`; undefined when it is not in the log. Not a copy. */
  group(position: number): Buffer | undefined {
    return this.#log.get(position);
  }

  /** Like `group`, with every checksum verified. Throws STORE_DAMAGED. */
  readGroup(position: number): Buffer {
    const group = this.#log.get(position);
    if (group === undefined) throw missing(position);
    checkGroup(group, position);
    return group;
  }

  /** Framed PUT records of all states, each verified. Throws STORE_DAMAGED with the key. */
  *readStates(): Generator<Buffer> {
    for (const [key, { frame, position }] of this.#states) {
      const cursor = new FrameCursor(frame, 0, position);
      let same;
      try {
        same = cursor.next() && cursor.keyText() === key;
      } catch (cause) {
        throw damagedState(key, position, cause);
      }
      if (!same) throw damagedState(key, position);
      yield frame;
    }
  }

  /** Folds the next group behind the checkpoint and removes it from the log. */
  foldNext(): void {
    const position = this.#checkpointed + 1;
    const cursor = FrameCursor.ofGroup(this.readGroup(position), position);
    while (cursor.next()) this.#fold(cursor, position);
    this.#checkpointed = position;
    this.#log.delete(position);
  }

  /** HISTORY records of a procedure, folded or not, in order, from `position` on. */
  *readHistory(procedure: number, position: number): Generator<HistoryRecord> {
    let records = [...(this.#history.get(procedure) ?? [])];
    for (let at = this.#checkpointed + 1; at <= this.#last; at++) {
      const cursor = FrameCursor.ofGroup(this.readGroup(at), at);
      while (cursor.next()) {
        const { kind } = cursor;
        if (kind !== RecordKind.history && kind !== RecordKind.forget) continue;
        if (Number(cursor.keyText()) !== procedure) continue;
        if (kind === RecordKind.forget) records = [];
        else records.push(historyRecord(cursor, at));
      }
    }
    for (const record of records) if (record.position >= position) yield record;
  }

  #keep(group: Buffer): void {
    this.#last = readGroupHeader(group).position;
    this.#log.set(this.#last, group);
  }

  #fold(cursor: FrameCursor, position: number): void {
    const key = cursor.keyText();
    switch (cursor.kind) {
      case RecordKind.put:
        this.#states.set(key, { frame: Buffer.from(cursor.frameBytes()), position });
        return;
      case RecordKind.delete:
        this.#states.delete(key);
        return;
      case RecordKind.forget:
        this.#history.delete(Number(key));
        return;
      default: {
        const records = this.#history.get(Number(key)) ?? [];
        records.push(historyRecord(cursor, position));
        this.#history.set(Number(key), records);
      }
    }
  }
}

/** A new, empty disk in memory. */
export function memoryDisk(): MemoryDisk {
  return new MemoryDisk();
}

function historyRecord(cursor: FrameCursor, position: number): HistoryRecord {
  return { position, ordinal: cursor.index, entries: cursor.valueBytes().toString('utf8') };
}

function isWhole(bytes: Buffer, position: number): boolean {
  if (bytes.length < GROUP_HEADER_BYTES) return false;
  try {
    checkGroup(bytes, position);
    return true;
  } catch {
    return false;
  }
}

function flip(bytes: Buffer | undefined, bit: number, absent: string): void {
  const at = bit >> 3;
  const byte = bytes?.[at];
  if (bytes === undefined || byte === undefined) throw new RangeError(absent);
  bytes[at] = byte ^ (1 << (bit & 7));
}

function missing(position: number): ReeveError {
  return new ReeveError('STORE_DAMAGED', `the group at position ${position} is missing`, {
    position,
  });
}

function damagedState(key: string, position: number, cause?: unknown): ReeveError {
  return new ReeveError(
    'STORE_DAMAGED',
    `the state of ${key} does not match its checksum`,
    { key, position },
    cause,
  );
}
