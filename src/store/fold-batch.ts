/**
 * A run of groups reduced to what remains of them: the last word on each key, the history records
 * that are not forgotten. Values stay views of the groups' bytes.
 */
import { FrameCursor } from '../codec/frame-cursor.ts';
import { RecordKind } from '../codec/group.ts';
import { ReeveError } from '../model/errors.ts';

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

export class FoldBatch {
  readonly #states = new Map<string, StateChange>();
  readonly #histories: HistoryChange[] = [];
  readonly #forgets = new Map<number, ForgetMark>();
  #bytes = 0;

  /** Bytes of the groups it holds on to. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Rows it will write, at most. */
  get changes(): number {
    return this.#states.size + this.#histories.length;
  }

  get forgets(): Iterable<ForgetMark> {
    return this.#forgets.values();
  }

  /** Takes the next group in. Throws STORE_DAMAGED. Yields where the work may pause. */
  *add(group: Buffer, position: number): Generator<void> {
    this.#bytes += group.length;
    const cursor = FrameCursor.ofGroup(group, position);
    while (cursor.next()) {
      this.#take(cursor, position);
      if (cursor.index % RECORDS_PER_STEP === RECORDS_PER_STEP - 1) yield;
    }
  }

  /** In the order of keys, so that neighbours on a page are written together. */
  states(): StateChange[] {
    return [...this.#states.values()].sort((a, b) => (a.key < b.key ? -1 : 1));
  }

  /** By procedure, without what a later `forget` of the batch drops again. */
  histories(): HistoryChange[] {
    return this.#histories
      .filter((record) => {
        const mark = this.#forgets.get(record.procedure);
        return mark === undefined || isBehind(record, mark);
      })
      .sort(
        (a, b) => a.procedure - b.procedure || a.position - b.position || a.ordinal - b.ordinal,
      );
  }

  #take(cursor: FrameCursor, position: number): void {
    const key = cursor.keyText();
    const { kind, crc, index: ordinal } = cursor;
    if (kind === RecordKind.put) {
      this.#states.set(key, { key, value: cursor.valueBytes(), crc, position });
    } else if (kind === RecordKind.delete) {
      this.#states.set(key, { key, value: undefined, crc, position });
    } else {
      const procedure = procedureOf(key, position, ordinal);
      if (kind === RecordKind.forget) {
        this.#forgets.set(procedure, { procedure, position, ordinal });
      } else {
        const entries = cursor.valueBytes();
        this.#histories.push({ procedure, position, ordinal, entries, crc });
      }
    }
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
