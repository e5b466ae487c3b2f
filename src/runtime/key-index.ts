/**
 * Idempotency keys of durable sends: a key seen once is a row, and the same key again changes
 * nothing. Each procedure keeps a limited number of keys; the oldest leaves first.
 */
import type { CommitGroup } from './commit-group.ts';
import type { Procedure } from './procedure.ts';

const PREFIX = 'k/';

export class KeyIndex {
  readonly #keys = new Map<number, Set<string>>();
  readonly #max: number;

  constructor(max: number) {
    this.#max = max;
  }

  /** Takes the key; false when it was taken before. */
  take(procedure: Procedure, key: string, group: CommitGroup): boolean {
    const keys = this.#keys.get(procedure.number) ?? new Set();
    if (keys.has(key)) return false;
    this.#keys.set(procedure.number, keys);
    keys.add(key);
    // A discarded take must leave the procedure untouched by it, so it is undone by hand.
    group.onUndo(() => keys.delete(key));
    group.put(rowOf(procedure.number, key), '1');
    if (keys.size > this.#max) {
      const [oldest = key] = keys;
      keys.delete(oldest);
      group.put(rowOf(procedure.number, oldest), null);
    }
    return true;
  }

  drop(procedure: Procedure, group: CommitGroup): void {
    const keys = this.#keys.get(procedure.number);
    if (keys === undefined) return;
    for (const key of keys) group.put(rowOf(procedure.number, key), null);
    this.#keys.delete(procedure.number);
    group.onUndo(() => this.#keys.set(procedure.number, keys));
  }

  load(storeKey: string): void {
    const at = storeKey.indexOf('/', PREFIX.length);
    const number = Number(storeKey.slice(PREFIX.length, at));
    const keys = this.#keys.get(number) ?? new Set();
    keys.add(storeKey.slice(at + 1));
    this.#keys.set(number, keys);
  }
}

function rowOf(procedure: number, key: string): string {
  return `${PREFIX}${procedure}/${key}`;
}
