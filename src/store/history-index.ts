/**
 * Where the HISTORY records of the log's unfolded groups are, by procedure. Groups never change,
 * so each is looked at once; what a checkpoint has folded is dropped.
 */
import type { FrameCursor } from '../codec/frame-cursor.ts';
import { RECORD_HEADER_BYTES, RecordKind } from '../codec/group.ts';
import { isBehind, procedureOf } from './fold-batch.ts';

/** Place of a record; `offset` is that of its frame in the group's bytes. */
export interface RecordPlace {
  readonly position: number;
  readonly ordinal: number;
  readonly offset: number;
}

export interface RecordMark {
  readonly position: number;
  readonly ordinal: number;
}

export class HistoryIndex {
  readonly #places = new Map<number, RecordPlace[]>();
  readonly #forgets = new Map<number, RecordMark>();
  #folded = 0;
  #indexed = 0;

  /** The next group it wants to see. */
  get next(): number {
    return Math.max(this.#indexed, this.#folded) + 1;
  }

  /** Takes in the group at `position`. Throws STORE_DAMAGED. */
  add(cursor: FrameCursor, position: number): void {
    while (cursor.next()) {
      const { kind, index: ordinal } = cursor;
      if (kind !== RecordKind.history && kind !== RecordKind.forget) continue;
      const procedure = procedureOf(cursor.keyText(), position, ordinal);
      if (kind === RecordKind.forget) {
        this.#places.delete(procedure);
        this.#forgets.set(procedure, { position, ordinal });
        continue;
      }
      const places = this.#places.get(procedure) ?? [];
      places.push({ position, ordinal, offset: cursor.body - RECORD_HEADER_BYTES });
      this.#places.set(procedure, places);
    }
    this.#indexed = position;
  }

  /** Forgets what is at or before `position`: it is in the table now. */
  dropFolded(position: number): void {
    if (position <= this.#folded) return;
    this.#folded = position;
    for (const [procedure, places] of this.#places) {
      const kept = places.filter((place) => place.position > position);
      if (kept.length === 0) this.#places.delete(procedure);
      else if (kept.length < places.length) this.#places.set(procedure, kept);
    }
    for (const [procedure, mark] of this.#forgets) {
      if (mark.position <= position) this.#forgets.delete(procedure);
    }
  }

  /** The last `forget` of a procedure in the log. */
  forgotten(procedure: number): RecordMark | undefined {
    return this.#forgets.get(procedure);
  }

  /** Records of a procedure that are not forgotten, from `from` on, in order. */
  places(procedure: number, from: RecordMark): RecordPlace[] {
    const places = this.#places.get(procedure) ?? [];
    return places.filter((place) => !isBehind(from, place));
  }
}
