/** What the contract of the stores stands on: the data under a store, and small steps with it. */
import { encodeGroup } from '../support/store-groups.ts';
import type { Word } from '../support/store-groups.ts';
import type { Store } from '../../src/store/port.ts';

/** The data a store stands on; it outlives the store. */
export interface StoreWorld {
  /** A new store over the same data. */
  open(): Store;
  /** Flips a bit of a record of the group at `position`. No store is open. */
  damageGroup(position: number): Promise<void>;
  /** Flips a bit in the state of `key`. No store is open. */
  damageState(key: string): Promise<void>;
  /** Closes what is open and removes everything. */
  destroy(): Promise<void>;
}

export interface StoreTraits {
  /** Whether a second store over the same data is refused while the first is open. */
  readonly exclusive: boolean;
  /** Runs of each property test. */
  readonly runs: number;
}

/** The store of the test at hand. */
export type Current = () => Store;
/** Closes it and opens the next one over the same data. */
export type Reopen = () => Promise<Store>;

/** Acquires and appends `count` groups: group n puts key `k/n`. */
export async function fill(store: Store, count: number): Promise<{ epoch: number }> {
  const { epoch, position } = await store.acquire();
  for (let n = position + 1; n <= position + count; n++) {
    await store.append(epoch, encodeGroup(n, epoch, [put(n)]));
  }
  return { epoch };
}

export function put(n: number): Word {
  return { put: `k/${n}`, value: JSON.stringify({ n, text: `state ${n} äöü ☃ 𝄞` }) };
}

export async function failure(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error('it was expected to fail');
}
