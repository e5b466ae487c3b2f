/**
 * Idempotency keys of durable sends: a key whose event was taken is a row, and the same key again
 * changes nothing. Each procedure keeps a limited number of keys; the oldest leaves first.
 */
import { ReeveError } from '../../model/errors.ts';
import type { CommitGroup } from './commit-group.ts';
import type { Procedure } from '../population/procedure.ts';

const PREFIX = 'k/';
const KEY_LENGTH_MAX = 200;

/** Keys by the step that took them, the oldest first. */
type Ages = Map<string, number>;

export class KeyIndex {
  readonly #keys = new Map<number, Ages>();
  readonly #max: number;

  constructor(max: number) {
    this.#max = max;
  }

  has(procedure: Procedure, key: string): boolean {
    return this.#keys.get(procedure.number)?.has(key) ?? false;
  }

  /** The step that was just planned has taken the key. */
  take(procedure: Procedure, key: string, group: CommitGroup): void {
    const { number, row } = procedure;
    const keys = this.#keys.get(number) ?? new Map<string, number>();
    this.#keys.set(number, keys);
    keys.set(key, row.seq);
    group.put(rowOf(number, key), String(row.seq));
    group.onUndo(() => {
      this.#keys.get(number)?.delete(key);
    });
    while (keys.size > this.#max) this.#evict(number, keys, group);
  }

  drop(procedure: Procedure, group: CommitGroup): void {
    const keys = this.#keys.get(procedure.number);
    if (keys === undefined) return;
    for (const key of keys.keys()) group.put(rowOf(procedure.number, key), null);
    this.#keys.delete(procedure.number);
    group.onUndo(() => this.#keys.set(procedure.number, keys));
  }

  /** A row read at start-up; `loaded` must follow the last one. */
  load(storeKey: string, value: string): void {
    const at = storeKey.indexOf('/', PREFIX.length);
    const number = Number(storeKey.slice(PREFIX.length, at));
    const keys = this.#keys.get(number) ?? new Map<string, number>();
    keys.set(storeKey.slice(at + 1), Number(value));
    this.#keys.set(number, keys);
  }

  /** A store gives its rows in an order of its own: the oldest key must be the first again. */
  loaded(): void {
    for (const [number, keys] of this.#keys) {
      this.#keys.set(number, new Map([...keys].sort(([, a], [, b]) => a - b)));
    }
  }

  #evict(number: number, keys: Ages, group: CommitGroup): void {
    const [oldest] = keys;
    if (oldest === undefined) return;
    keys.delete(oldest[0]);
    group.put(rowOf(number, oldest[0]), null);
    group.onUndo(() => {
      this.#keys.set(number, new Map([oldest, ...(this.#keys.get(number) ?? [])]));
    });
  }
}

/** Throws OPTION_INVALID: a key becomes part of a record's key and must come back as it was. */
export function assertKey(key: unknown): asserts key is string {
  const fits =
    typeof key === 'string' &&
    key.length > 0 &&
    key.length <= KEY_LENGTH_MAX &&
    // A lone surrogate would come back as another character.
    Buffer.from(key, 'utf8').toString('utf8') === key;
  if (fits) return;
  throw new ReeveError(
    'OPTION_INVALID',
    `the key of a durable send has 1 to ${KEY_LENGTH_MAX} characters`,
    { option: 'key', max: KEY_LENGTH_MAX },
  );
}

function rowOf(procedure: number, key: string): string {
  return `${PREFIX}${procedure}/${key}`;
}
