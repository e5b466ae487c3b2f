/**
 * Who exists: an entry for each procedure, live or passivated, in typed arrays.
 *
 * Listings, counts and parent/child look-ups are answered from here, without an object per
 * procedure. Entries show what is durable; an entry whose first commit is not yet durable is
 * hidden (`forming`).
 */
import { STATUSES, type ProcedureStatus } from '../records/row.ts';

const NONE = -1;
const FORMING = 255;
const FREE = 254;

export interface EntryFacts {
  readonly id: string;
  readonly number: number;
  /** Slot of the parent; -1 for a root. */
  readonly parent: number;
}

export class Directory {
  readonly #slots = new Map<string, number>();
  readonly #byNumber = new Map<number, number>();
  readonly #ids: string[] = [];
  #numbers = new Float64Array(1024);
  #statuses = new Uint8Array(1024).fill(FREE);
  #labels = new Int32Array(1024);
  #parents = new Int32Array(1024);
  #firstChild = new Int32Array(1024);
  #nextSibling = new Int32Array(1024);
  #previousSibling = new Int32Array(1024);
  readonly #freeSlots: number[] = [];
  readonly #labelTexts: string[] = [];
  readonly #labelRefs = new Map<string, number>();
  /** Shown procedures by label and status, as one number. */
  readonly #counts = new Map<number, number>();

  /** Slots in use are below this. */
  get extent(): number {
    return this.#ids.length;
  }

  get size(): number {
    return this.#slots.size;
  }

  slotOf(id: string): number | undefined {
    return this.#slots.get(id);
  }

  slotOfNumber(number: number): number | undefined {
    return this.#byNumber.get(number);
  }

  /** Adds a hidden entry; `publish` shows it. */
  add(facts: EntryFacts): number {
    const slot = this.#freeSlots.pop() ?? this.#ids.length;
    this.#reserve(slot);
    this.#ids[slot] = facts.id;
    this.#numbers[slot] = facts.number;
    this.#statuses[slot] = FORMING;
    this.#labels[slot] = NONE;
    this.#firstChild[slot] = NONE;
    this.#slots.set(facts.id, slot);
    this.#byNumber.set(facts.number, slot);
    this.#link(slot, facts.parent);
    return slot;
  }

  /** Hangs an entry that was added as a root under its parent. */
  adopt(slot: number, parent: number): void {
    this.#link(slot, parent);
  }

  remove(slot: number): void {
    this.#count(slot, -1);
    this.#unlink(slot);
    this.#slots.delete(this.idOf(slot));
    this.#byNumber.delete(this.numberOf(slot));
    this.#ids[slot] = '';
    this.#statuses[slot] = FREE;
    this.#freeSlots.push(slot);
  }

  /** Shows the entry with its durable machine, state and status. */
  publish(slot: number, machine: string, state: string, status: ProcedureStatus): void {
    this.#count(slot, -1);
    this.#labels[slot] = this.#label(`${machine}\n${state}`);
    this.#statuses[slot] = STATUSES.indexOf(status);
    this.#count(slot, 1);
  }

  exists(slot: number): boolean {
    return (this.#statuses[slot] ?? FREE) !== FREE;
  }

  /** True when the entry is durable. */
  isShown(slot: number): boolean {
    const status = this.#statuses[slot] ?? FREE;
    return status !== FREE && status !== FORMING;
  }

  idOf(slot: number): string {
    return this.#ids[slot] ?? '';
  }

  numberOf(slot: number): number {
    return this.#numbers[slot] ?? 0;
  }

  parentOf(slot: number): number {
    return this.#parents[slot] ?? NONE;
  }

  statusOf(slot: number): ProcedureStatus | undefined {
    return STATUSES[this.#statuses[slot] ?? FREE];
  }

  machineOf(slot: number): string {
    return this.#text(slot).split('\n', 1)[0] ?? '';
  }

  stateOf(slot: number): string {
    const text = this.#text(slot);
    return text.slice(text.indexOf('\n') + 1);
  }

  *childrenOf(slot: number): Generator<number> {
    let child = this.#firstChild[slot] ?? NONE;
    while (child !== NONE) {
      const next = this.#nextSibling[child] ?? NONE;
      yield child;
      child = next;
    }
  }

  /** Number of shown procedures by machine, state and status. */
  *counts(): Generator<{ machine: string; state: string; status: string; count: number }> {
    for (const [key, count] of this.#counts) {
      const text = this.#labelTexts[key >> 3] ?? '\n';
      const at = text.indexOf('\n');
      const [machine, state] = [text.slice(0, at), text.slice(at + 1)];
      yield { machine, state, status: STATUSES[key & 7] ?? '', count };
    }
  }

  #text(slot: number): string {
    return this.#labelTexts[this.#labels[slot] ?? NONE] ?? '\n';
  }

  #count(slot: number, by: number): void {
    if (!this.isShown(slot)) return;
    const key = ((this.#labels[slot] ?? 0) << 3) | (this.#statuses[slot] ?? 0);
    const count = (this.#counts.get(key) ?? 0) + by;
    if (count === 0) this.#counts.delete(key);
    else this.#counts.set(key, count);
  }

  #label(text: string): number {
    let ref = this.#labelRefs.get(text);
    if (ref === undefined) {
      ref = this.#labelTexts.push(text) - 1;
      this.#labelRefs.set(text, ref);
    }
    return ref;
  }

  #link(slot: number, parent: number): void {
    this.#parents[slot] = parent;
    this.#previousSibling[slot] = NONE;
    this.#nextSibling[slot] = NONE;
    if (parent === NONE) return;
    const first = this.#firstChild[parent] ?? NONE;
    this.#nextSibling[slot] = first;
    if (first !== NONE) this.#previousSibling[first] = slot;
    this.#firstChild[parent] = slot;
  }

  #unlink(slot: number): void {
    // Children that outlive their parent's entry become roots of the listing.
    for (const child of this.childrenOf(slot)) this.#parents[child] = NONE;
    const parent = this.#parents[slot] ?? NONE;
    const next = this.#nextSibling[slot] ?? NONE;
    const previous = this.#previousSibling[slot] ?? NONE;
    if (next !== NONE) this.#previousSibling[next] = previous;
    if (previous !== NONE) this.#nextSibling[previous] = next;
    else if (parent !== NONE) this.#firstChild[parent] = next;
  }

  #reserve(slot: number): void {
    const size = this.#numbers.length;
    if (slot < size) return;
    const grow = <T extends Float64Array | Int32Array | Uint8Array>(from: T, to: T): T => {
      to.set(from);
      return to;
    };
    const double = size * 2;
    this.#numbers = grow(this.#numbers, new Float64Array(double));
    this.#statuses = grow(this.#statuses, new Uint8Array(double).fill(FREE));
    this.#labels = grow(this.#labels, new Int32Array(double));
    this.#parents = grow(this.#parents, new Int32Array(double));
    this.#firstChild = grow(this.#firstChild, new Int32Array(double));
    this.#nextSibling = grow(this.#nextSibling, new Int32Array(double));
    this.#previousSibling = grow(this.#previousSibling, new Int32Array(double));
  }
}

/** A state value as text: `a`, or the JSON of a nested value; `stateOfLabel` is its inverse. */
export function stateLabel(value: unknown): string {
  if (typeof value === 'string' && !isJson(value)) return value;
  return JSON.stringify(value ?? null);
}

export function stateOfLabel(label: string): unknown {
  return isJson(label) ? JSON.parse(label) : label;
}

/** A state may have a name that looks like JSON; then its label is JSON too. */
function isJson(text: string): boolean {
  return text.startsWith('{') || text.startsWith('"');
}
