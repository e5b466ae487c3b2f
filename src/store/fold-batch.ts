/**
 * A run of groups reduced to what remains of them: the last word on each key, the history records
 * that are not forgotten.
 *
 * It may hold tens of thousands of records, so it keeps places in the groups' bytes in columns of
 * numbers, not objects: those would keep the garbage collector busy for tens of ms at a stretch.
 */
import { FrameCursor } from '../codec/frame-cursor.ts';
import { RecordKind } from '../codec/group.ts';
import { ReeveError } from '../model/errors.ts';
import { sortInPieces } from './sort-in-pieces.ts';

/** The last word on a key; `value` undefined: the key is gone. */
export interface StateChange {
  readonly key: string;
  readonly value: Buffer | undefined;
  readonly crc: number;
  readonly position: number;
}

export interface HistoryChange {
  readonly procedure: number;
  readonly position: number;
  readonly ordinal: number;
  readonly entries: Buffer;
  readonly crc: number;
}

/** The history of `procedure` in front of this record is no longer kept. */
export interface ForgetMark {
  readonly procedure: number;
  readonly position: number;
  readonly ordinal: number;
}

/** Records walked between two looks at the time. */
const RECORDS_PER_STEP = 128;
const PLACE_COLUMNS = 6;

export class FoldBatch {
  readonly #groups: Buffer[] = [];
  readonly #first: number;
  readonly #slots = new Map<string, number>();
  readonly #keys: string[] = [];
  readonly #states = new RecordPlaces();
  readonly #procedures: number[] = [];
  readonly #histories = new RecordPlaces();
  readonly #forgets = new Map<number, ForgetMark>();
  #bytes = 0;

  /** @param first position of the first group that will be added */
  constructor(first: number) {
    this.#first = first;
  }

  /** Bytes of the groups it holds on to. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Rows it will write, at most. */
  get changes(): number {
    return this.#states.count + this.#histories.count;
  }

  get forgets(): Iterable<ForgetMark> {
    return this.#forgets.values();
  }

  /** Takes the next group in. Throws STORE_DAMAGED. Yields where the work may pause. */
  *add(group: Buffer): Generator<void> {
    const position = this.#first + this.#groups.length;
    const cursor = FrameCursor.ofGroup(group, position);
    this.#groups.push(group);
    this.#bytes += group.length;
    while (cursor.next()) {
      this.#take(cursor, position);
      if (cursor.index % RECORDS_PER_STEP === RECORDS_PER_STEP - 1) yield;
    }
  }

  /** In the order of keys, so that neighbours on a page are written together. Undefined: pause. */
  *states(): Generator<StateChange | undefined> {
    const keys = this.#keys;
    const slots = Array.from(keys.keys());
    const order = (a: number, b: number): number => ((keys[a] ?? '') < (keys[b] ?? '') ? -1 : 1);
    for (const piece of sortInPieces(slots, order)) {
      yield undefined;
      for (const slot of piece) yield this.#stateAt(slot);
    }
  }

  /** By procedure and in order, without what a later `forget` drops. Undefined: pause. */
  *histories(): Generator<HistoryChange | undefined> {
    const procedures = this.#procedures;
    const slots = Array.from(procedures.keys());
    // Slots of one procedure are in the order of the log already.
    const order = (a: number, b: number): number =>
      (procedures[a] ?? 0) - (procedures[b] ?? 0) || a - b;
    for (const piece of sortInPieces(slots, order)) {
      yield undefined;
      for (const slot of piece) {
        const change = this.#historyAt(slot);
        const mark = this.#forgets.get(change.procedure);
        if (mark === undefined || isBehind(change, mark)) yield change;
      }
    }
  }

  #take(cursor: FrameCursor, position: number): void {
    const key = cursor.keyText();
    const { kind, index: ordinal } = cursor;
    const group = this.#groups.length - 1;
    if (kind === RecordKind.put || kind === RecordKind.delete) {
      let slot = this.#slots.get(key);
      if (slot === undefined) {
        slot = this.#keys.push(key) - 1;
        this.#slots.set(key, slot);
      }
      this.#states.set(slot, group, cursor);
      return;
    }
    const procedure = procedureOf(key, position, ordinal);
    if (kind === RecordKind.forget) {
      this.#forgets.set(procedure, { procedure, position, ordinal });
      return;
    }
    this.#histories.set(this.#procedures.push(procedure) - 1, group, cursor);
  }

  #stateAt(slot: number): StateChange {
    const { group, value, end, kind, crc } = this.#states.at(slot);
    return {
      key: this.#keys[slot] ?? '',
      value: kind === RecordKind.put ? this.#groups[group]?.subarray(value, end) : undefined,
      crc,
      position: this.#first + group,
    };
  }

  #historyAt(slot: number): HistoryChange {
    const { group, value, end, ordinal, crc } = this.#histories.at(slot);
    return {
      procedure: this.#procedures[slot] ?? 0,
      position: this.#first + group,
      ordinal,
      entries: (this.#groups[group] ?? Buffer.alloc(0)).subarray(value, end),
      crc,
    };
  }
}

/** Where a record is: its group's index in the batch, and what a cursor said of it. */
interface RecordPlace {
  readonly group: number;
  readonly value: number;
  readonly end: number;
  readonly ordinal: number;
  readonly kind: number;
  readonly crc: number;
}

/** Places of records by slot, in columns. */
class RecordPlaces {
  #columns = new Uint32Array(PLACE_COLUMNS * 1024);
  #count = 0;

  get count(): number {
    return this.#count;
  }

  set(slot: number, group: number, cursor: FrameCursor): void {
    const at = slot * PLACE_COLUMNS;
    if (at >= this.#columns.length) this.#grow();
    const columns = this.#columns;
    columns[at] = group;
    columns[at + 1] = cursor.value;
    columns[at + 2] = cursor.end;
    columns[at + 3] = cursor.index;
    columns[at + 4] = cursor.kind;
    columns[at + 5] = cursor.crc;
    this.#count = Math.max(this.#count, slot + 1);
  }

  at(slot: number): RecordPlace {
    const at = slot * PLACE_COLUMNS;
    const columns = this.#columns;
    return {
      group: columns[at] ?? 0,
      value: columns[at + 1] ?? 0,
      end: columns[at + 2] ?? 0,
      ordinal: columns[at + 3] ?? 0,
      kind: columns[at + 4] ?? 0,
      crc: columns[at + 5] ?? 0,
    };
  }

  #grow(): void {
    const columns = new Uint32Array(this.#columns.length * 2);
    columns.set(this.#columns);
    this.#columns = columns;
  }
}

/** True when `record` comes after `mark` in the log. */
export function isBehind(
  record: { readonly position: number; readonly ordinal: number },
  mark: { readonly position: number; readonly ordinal: number },
): boolean {
  if (record.position !== mark.position) return record.position > mark.position;
  return record.ordinal > mark.ordinal;
}

/** The procedure number in a history record's key. Throws STORE_DAMAGED. */
export function procedureOf(key: string, position: number, record: number): number {
  const procedure = Number(key);
  if (/^\d+$/.test(key) && Number.isSafeInteger(procedure)) return procedure;
  throw new ReeveError(
    'STORE_DAMAGED',
    `record ${record} at position ${position} names no procedure`,
    { position, record },
  );
}
