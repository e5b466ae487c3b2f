/**
 * The group that is forming: everything decided while the previous one is being written, with the
 * way back for the case that the store refuses it (L1).
 */
import { GroupEncoder, RecordKind } from '../../codec/group.ts';
import type { EventObject } from 'xstate';
import type { Envelope, Waiter } from './envelope.ts';
import type { LiveSnapshot } from '../interpreter/internals.ts';
import type { Procedure } from '../population/procedure.ts';
import { rowKey, type ProcedureRow, type StoredEffect, type StoredMail } from '../records/row.ts';
import type { TableJournal } from '../records/tables.ts';

/** An effect as it will run: the live arguments the action saw. */
export interface LiveEffect {
  readonly stored: StoredEffect;
  readonly context: unknown;
  readonly event: EventObject;
  readonly params: unknown;
}

/** What is done after the commit and is not an effect row: it concerns live children only. */
export type AfterCommit =
  | { readonly do: 'start-local'; readonly child: string }
  | { readonly do: 'stop-local'; readonly child: string; readonly arming: number }
  | { readonly do: 'send-local'; readonly target: object; readonly event: EventObject }
  | { readonly do: 'submit-task'; readonly attempt: string; readonly src: string }
  | { readonly do: 'cancel-task'; readonly attempt: string; readonly src: string }
  | { readonly do: 'forget-task'; readonly attempt: string; readonly src: string }
  | { readonly do: 'log'; readonly values: readonly unknown[] };

/** One step as observers and effects will hear of it once it is durable. */
export interface Step {
  readonly procedure: Procedure;
  readonly row: ProcedureRow;
  readonly snapshot: LiveSnapshot | undefined;
  readonly event: EventObject;
  readonly source: string | undefined;
  readonly effects: readonly LiveEffect[];
  readonly after: readonly AfterCommit[];
  readonly emits: readonly EventObject[];
  readonly inspection: readonly object[];
  /** First step of the procedure. */
  readonly started?: true;
  /** No step of the machine: only `after` is done, nobody hears of it. */
  readonly quiet?: true;
  /** Observers are not told: a later step of the same commit says more. */
  muted?: true;
}

/** A procedure as it stood when the group was sealed. */
export interface Sealed {
  readonly procedure: Procedure;
  readonly row: ProcedureRow;
  readonly snapshot: LiveSnapshot | undefined;
}

interface Undo {
  readonly row: ProcedureRow;
  readonly snapshot: LiveSnapshot | undefined;
  readonly json: string;
  readonly migrated: boolean;
}

const FORGET = '\u0000forget';

export class CommitGroup implements TableJournal {
  readonly serial: number;
  readonly steps: Step[] = [];
  readonly consumed: Envelope[] = [];
  readonly waiters: Waiter[] = [];
  readonly created = new Set<Procedure>();
  readonly removed = new Set<Procedure>();
  readonly #undo = new Map<Procedure, Undo>();
  readonly #tableUndo = new Map<string, () => void>();
  readonly #history = new Map<number, string[]>();
  readonly #mail = new Map<number, StoredMail>();
  readonly #puts = new Map<string, string | null>();
  readonly #undoing: (() => void)[] = [];
  #bytes = 0;
  #entries = 0;

  constructor(serial: number) {
    this.serial = serial;
  }

  get isEmpty(): boolean {
    return this.records === 0 && this.waiters.length === 0;
  }

  /** Records the group would have now; an upper estimate. */
  get records(): number {
    return this.#undo.size + this.#history.size + this.#puts.size + this.#mail.size;
  }

  /** Bytes of rows and history so far; an estimate. */
  get bytes(): number {
    return this.#bytes;
  }

  get entries(): number {
    return this.#entries;
  }

  /** Must be called before a procedure's head changes in this group. */
  touch(procedure: Procedure): void {
    if (this.#undo.has(procedure)) return;
    const { row, snapshot, json, migrated } = procedure;
    this.#undo.set(procedure, { row, snapshot, json, migrated });
    procedure.pinned++;
  }

  create(procedure: Procedure): void {
    this.created.add(procedure);
    this.touch(procedure);
  }

  /** The procedure's wait for its children began and ended in this commit: nobody saw it wait. */
  muteStopping(procedure: Procedure): void {
    for (const step of this.steps) {
      if (step.procedure === procedure && step.row.status === 'stopping') step.muted = true;
    }
  }

  /** Takes back a creation whose first step failed. */
  uncreate(procedure: Procedure): void {
    this.created.delete(procedure);
    this.#undo.delete(procedure);
  }

  /** @param historyEntry absent for what is no step of the machine */
  addStep(step: Step, historyEntry?: string): void {
    this.steps.push(step);
    this.#bytes += step.procedure.json.length;
    if (historyEntry === undefined) return;
    const { number } = step.procedure;
    const entries = this.#history.get(number);
    if (entries === undefined) this.#history.set(number, [historyEntry]);
    else entries.push(historyEntry);
    this.#bytes += historyEntry.length;
    this.#entries++;
  }

  /** A row that this group has taken is there again. */
  addMail(mail: StoredMail): void {
    this.#mail.set(mail.seq, mail);
    this.#puts.delete(`m/${mail.seq}`);
  }

  /** The mail is consumed: a row of this group vanishes, an older one is deleted. */
  takeMail(seq: number): void {
    if (!this.#mail.delete(seq)) this.put(`m/${seq}`, null);
  }

  put(key: string, value: string | null): void {
    this.#puts.set(key, value);
    this.#bytes += value?.length ?? 0;
  }

  forget(procedure: Procedure): void {
    this.removed.add(procedure);
    this.touch(procedure);
    this.#history.delete(procedure.number);
    this.#puts.set(`${FORGET}${procedure.number}`, null);
  }

  tableTouched(table: string, undo: () => void): void {
    if (!this.#tableUndo.has(table)) this.#tableUndo.set(table, undo);
  }

  /** The procedures of the group as they stand now. */
  seal(): Sealed[] {
    return [...this.#undo.keys()].map((procedure) => ({
      procedure,
      row: procedure.row,
      snapshot: procedure.snapshot,
    }));
  }

  /** The group's bytes; `meta` is the record of counters. */
  encode(position: number, epoch: number, meta: string): Uint8Array {
    const encoder = new GroupEncoder(this.#bytes + (this.#bytes >> 2) + 4096);
    encoder.add(RecordKind.put, 'c', meta);
    for (const procedure of this.#undo.keys()) {
      if (this.removed.has(procedure)) encoder.add(RecordKind.delete, rowKey(procedure.number), '');
      else encoder.add(RecordKind.put, rowKey(procedure.number), procedure.json);
    }
    for (const [number, entries] of this.#history) {
      encoder.add(RecordKind.history, String(number), `[${entries.join(',')}]`);
    }
    for (const mail of this.#mail.values()) {
      encoder.add(RecordKind.put, `m/${mail.seq}`, JSON.stringify(mail));
    }
    for (const [key, value] of this.#puts) {
      if (key.startsWith(FORGET)) encoder.add(RecordKind.forget, key.slice(FORGET.length), '');
      else if (value === null) encoder.add(RecordKind.delete, key, '');
      else encoder.add(RecordKind.put, key, value);
    }
    return encoder.finish(position, epoch);
  }

  /** `run` takes something back if this group is discarded; the last registered runs first. */
  onUndo(run: () => void): void {
    this.#undoing.push(run);
  }

  /** Takes everything back to where it was before this group. */
  undo(follow: (procedure: Procedure, before: ProcedureRow) => void): void {
    for (const [procedure, before] of this.#undo) {
      procedure.pinned--;
      follow(procedure, before.row);
      procedure.row = before.row;
      procedure.snapshot = before.snapshot;
      procedure.json = before.json;
      procedure.migrated = before.migrated;
    }
    for (const undo of this.#tableUndo.values()) undo();
    for (const undo of this.#undoing.reverse()) undo();
  }

  /** The group is durable: its procedures may leave memory again. */
  unpin(): void {
    for (const procedure of this.#undo.keys()) procedure.pinned--;
  }
}
