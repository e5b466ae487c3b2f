/** Mail nobody could take: rows, listed for the operator, the oldest leaving at the limit. */
import type { CommitGroup } from './commit-group.ts';
import type { DeadLetter } from '../records/row.ts';

const PREFIX = 'd/';

export class DeadLetters {
  /** The oldest first. */
  #letters = new Map<number, DeadLetter>();
  readonly #max: number;

  constructor(max: number) {
    this.#max = max;
  }

  get count(): number {
    return this.#letters.size;
  }

  list(): readonly DeadLetter[] {
    return [...this.#letters.values()];
  }

  add(letter: DeadLetter, group: CommitGroup): void {
    this.#letters.set(letter.seq, letter);
    group.put(`${PREFIX}${letter.seq}`, JSON.stringify(letter));
    group.onUndo(() => this.#letters.delete(letter.seq));
    if (this.#letters.size <= this.#max) return;
    const oldest = this.#letters.values().next().value;
    if (oldest === undefined) return;
    this.#letters.delete(oldest.seq);
    group.put(`${PREFIX}${oldest.seq}`, null);
    group.onUndo(() => {
      this.#letters = new Map([[oldest.seq, oldest], ...this.#letters]);
    });
  }

  /** A row read at start-up; `loaded` must follow the last one. */
  load(letter: DeadLetter): void {
    this.#letters.set(letter.seq, letter);
  }

  /** A store gives its rows in an order of its own: the oldest letter must be the first again. */
  loaded(): void {
    this.#letters = new Map([...this.#letters].sort(([a], [b]) => a - b));
  }
}
