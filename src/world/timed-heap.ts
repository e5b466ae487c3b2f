/**
 * Callbacks ordered by due time: a binary heap in which every event knows its place, so that
 * cancelling costs O(log n) and leaves nothing behind.
 *
 * Events due together come in the order they were added, or, with a seed, in a fixed other order
 * that keeps those of equal delay together and in their order.
 */
const NOWHERE = -1;

export interface TimedEvent {
  readonly due: number;
  readonly run: () => void;
  /** Order among events due together, before `sequence`. */
  readonly rank: number;
  readonly sequence: number;
  /** Index in the heap; NOWHERE once it has left. Only the heap writes it. */
  place: number;
}

export class TimedHeap {
  readonly #heap: TimedEvent[] = [];
  readonly #seed: number | undefined;
  #sequence = 0;

  constructor(seed: number | undefined) {
    this.#seed = seed;
  }

  get size(): number {
    return this.#heap.length;
  }

  get first(): TimedEvent | undefined {
    return this.#heap[0];
  }

  add(due: number, delay: number, run: () => void): TimedEvent {
    const rank = this.#seed === undefined ? 0 : scatter(this.#seed, due, delay);
    const event = { due, run, rank, sequence: this.#sequence++, place: this.#heap.length };
    this.#heap.push(event);
    this.#up(event);
    return event;
  }

  /** Does nothing when the event has left already, or was never in this heap. */
  delete(event: TimedEvent): void {
    const { place } = event;
    if (this.#heap[place] !== event) return;
    event.place = NOWHERE;
    const last = this.#heap.pop();
    if (last === undefined || last === event) return;
    this.#put(last, place);
    this.#up(last);
    this.#down(last);
  }

  #up(event: TimedEvent): void {
    while (event.place > 0) {
      const parent = this.#heap[(event.place - 1) >> 1];
      if (parent === undefined || before(parent, event)) return;
      this.#swap(parent, event);
    }
  }

  #down(event: TimedEvent): void {
    for (;;) {
      const left = this.#heap[event.place * 2 + 1];
      if (left === undefined) return;
      const right = this.#heap[event.place * 2 + 2];
      const child = right !== undefined && before(right, left) ? right : left;
      if (before(event, child)) return;
      this.#swap(event, child);
    }
  }

  #swap(a: TimedEvent, b: TimedEvent): void {
    const { place } = a;
    this.#put(a, b.place);
    this.#put(b, place);
  }

  #put(event: TimedEvent, place: number): void {
    this.#heap[place] = event;
    event.place = place;
  }
}

function before(a: TimedEvent, b: TimedEvent): boolean {
  if (a.due !== b.due) return a.due < b.due;
  if (a.rank !== b.rank) return a.rank < b.rank;
  return a.sequence < b.sequence;
}

/** A 32-bit mix of three numbers (the finaliser of MurmurHash3 after each). */
function scatter(seed: number, due: number, delay: number): number {
  let hash = 0;
  for (const part of [seed, due, delay]) {
    hash = mix(hash ^ part);
    hash = mix(hash ^ Math.floor(part / 2 ** 32));
  }
  return hash >>> 0;
}

function mix(value: number): number {
  let h = value;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return h ^ (h >>> 16);
}
