/**
 * What every store promises (`src/store/port.ts`), as tests. A store of its own calls
 * `storeContract` with a factory; nothing here knows which store it is.
 */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { GroupEncoder, RecordKind, readGroup, readGroupHeader } from '../../src/codec/group.ts';
import type { Store } from '../../src/store/port.ts';
import { encodeGroup, loadGroups, loadHistory, loadStates } from '../support/store-groups.ts';
import type { Word } from '../support/store-groups.ts';
import { storeFoldProperties } from './store-fold.ts';

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

export function storeContract(
  name: string,
  createWorld: () => Promise<StoreWorld>,
  traits: StoreTraits,
): void {
  describe(`store contract: ${name}`, () => {
    let world: StoreWorld;
    let store: Store;

    beforeEach(async () => {
      world = await createWorld();
      store = world.open();
    });

    afterEach(async () => {
      await store.close();
      await world.destroy();
    });

    /** Closes the store and opens the next one over the same data. */
    async function reopen(): Promise<Store> {
      await store.close();
      store = world.open();
      return store;
    }

    reigns(() => store, reopen);
    appends(() => store, reopen);
    loading(() => store, reopen);
    checkpoints(() => store, reopen);
    histories(() => store, reopen);
    endings(() => store);

    describe('damage', () => {
      test('a flipped bit in an acknowledged group is refused by its position', async () => {
        await fill(store, 5);
        await store.close();
        await world.damageGroup(3);
        store = world.open();
        await store.acquire();
        const error = await failure(loadGroups(store));
        expect(error).toMatchObject({ code: 'STORE_DAMAGED', details: { position: 3 } });
      });

      test('a damaged group is not folded: the checkpoint is refused by its position', async () => {
        await fill(store, 5);
        await store.close();
        await world.damageGroup(2);
        store = world.open();
        const { epoch } = await store.acquire();
        const error = await failure(store.checkpoint(epoch, 5));
        expect(error).toMatchObject({ code: 'STORE_DAMAGED', details: { position: 2 } });
        expect(await failure(loadGroups(store))).toMatchObject({ code: 'STORE_DAMAGED' });
      });

      test('a flipped bit in a state is refused by its key', async () => {
        const { epoch } = await fill(store, 5);
        await store.checkpoint(epoch, 5);
        await store.close();
        await world.damageState('k/3');
        store = world.open();
        await store.acquire();
        const error = await failure(loadStates(store));
        expect(error).toMatchObject({ code: 'STORE_DAMAGED', details: { key: 'k/3' } });
      });
    });

    if (traits.exclusive) {
      test('a second store over the same data is refused while the first is open', async () => {
        await store.acquire();
        const second = world.open();
        expect(await failure(second.acquire())).toMatchObject({ code: 'STORE_LOCKED' });
        await second.close();
        await store.close();
        store = world.open();
        expect((await store.acquire()).epoch).toBe(2);
      });
    } else {
      test('L8 a second store over the same data takes over; the first is refused', async () => {
        const first = await store.acquire();
        const second = world.open();
        await second.acquire();
        const late = failure(store.append(first.epoch, encodeGroup(1, first.epoch, [])));
        expect(await late).toMatchObject({ code: 'STALE_EPOCH' });
        await second.close();
      });
    }

    storeFoldProperties(createWorld, traits.runs);
  });
}

type Current = () => Store;
type Reopen = () => Promise<Store>;

/** Acquires and appends `count` groups: group n puts key `k/n`. */
async function fill(store: Store, count: number): Promise<{ epoch: number }> {
  const { epoch, position } = await store.acquire();
  for (let n = position + 1; n <= position + count; n++) {
    await store.append(epoch, encodeGroup(n, epoch, [put(n)]));
  }
  return { epoch };
}

function put(n: number): Word {
  return { put: `k/${n}`, value: JSON.stringify({ n, text: `state ${n} äöü ☃ 𝄞` }) };
}

async function failure(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error('it was expected to fail');
}

function reigns(current: Current, reopen: Reopen): void {
  describe('reigns', () => {
    test('L8 the first reign has epoch 1, and each acquire begins the next', async () => {
      const first = await current().acquire();
      expect(first).toMatchObject({ epoch: 1, position: 0, checkpointed: 0 });
      expect((await current().acquire()).epoch).toBe(2);
      const third = await (await reopen()).acquire();
      expect(third.epoch).toBe(3);
      expect(third.reign).not.toBe(first.reign);
    });

    test('L8 after acquire every append and checkpoint of an older epoch is refused', async () => {
      const store = current();
      const old = await store.acquire();
      await store.append(old.epoch, encodeGroup(1, old.epoch, [put(1)]));
      const { epoch } = await store.acquire();
      const late = failure(store.append(old.epoch, encodeGroup(2, old.epoch, [put(2)])));
      expect(await late).toMatchObject({ code: 'STALE_EPOCH' });
      expect(await failure(store.checkpoint(old.epoch, 1))).toMatchObject({ code: 'STALE_EPOCH' });
      await store.append(epoch, encodeGroup(2, epoch, [put(3)]));
      expect([...(await loadStates(store)).keys()]).toEqual(['k/1', 'k/3']);
    });

    test('nothing can be done before acquire', async () => {
      const store = current();
      const early = failure(store.append(1, encodeGroup(1, 1, [])));
      expect(await early).toMatchObject({ code: 'STALE_EPOCH' });
      expect((await store.acquire()).position).toBe(0);
    });
  });
}

function appends(current: Current, reopen: Reopen): void {
  describe('appends', () => {
    test('acknowledged groups are there after a restart, in order and unchanged', async () => {
      const { epoch } = await fill(current(), 50);
      const expected = Array.from({ length: 50 }, (_, i) =>
        Buffer.from(encodeGroup(i + 1, epoch, [put(i + 1)])),
      );
      const store = await reopen();
      expect(await store.acquire()).toMatchObject({ position: 50, checkpointed: 0 });
      const groups = await loadGroups(store);
      expect(groups.map((group) => Buffer.from(group))).toEqual(expected);
    });

    test('a group is all or nothing: its records are there together', async () => {
      const { epoch } = await current().acquire();
      const words = Array.from({ length: 3000 }, (_, i) => put(i));
      await current().append(epoch, encodeGroup(1, epoch, words));
      const [group] = await loadGroups(current());
      const records = [...readGroup(group ?? new Uint8Array())];
      expect(records).toHaveLength(3000);
      expect(records[2999]).toMatchObject({ kind: RecordKind.put, key: 'k/2999' });
    });

    test('appends asked for together are done in order', async () => {
      const { epoch } = await current().acquire();
      const done: number[] = [];
      const all = Array.from({ length: 40 }, async (_, i) => {
        await current().append(epoch, encodeGroup(i + 1, epoch, [put(i)]));
        done.push(i);
      });
      await Promise.all(all);
      expect(done).toEqual(Array.from({ length: 40 }, (_, i) => i));
    });

    test('the same bytes at the same position again are fine', async () => {
      const { epoch } = await fill(current(), 3);
      await current().append(epoch, encodeGroup(3, epoch, [put(3)]));
      await current().append(epoch, encodeGroup(1, epoch, [put(1)]));
      await current().append(epoch, encodeGroup(4, epoch, [put(4)]));
      expect(await loadGroups(current())).toHaveLength(4);
    });

    test('other bytes at a taken position are refused and change nothing', async () => {
      const { epoch } = await fill(current(), 3);
      const other = failure(current().append(epoch, encodeGroup(2, epoch, [put(9)])));
      expect(await other).toMatchObject({ code: 'STORE_REFUSED', details: { position: 2 } });
      expect((await loadStates(current())).has('k/9')).toBe(false);
    });

    test('a gap is refused, and the right position goes on', async () => {
      const { epoch } = await fill(current(), 2);
      const gap = failure(current().append(epoch, encodeGroup(4, epoch, [put(4)])));
      expect(await gap).toMatchObject({ code: 'STORE_REFUSED', details: { position: 4 } });
      const zero = failure(current().append(epoch, encodeGroup(0, epoch, [put(4)])));
      expect(await zero).toMatchObject({ code: 'STORE_REFUSED' });
      await current().append(epoch, encodeGroup(3, epoch, [put(3)]));
      expect((await reopen().then((store) => store.acquire())).position).toBe(3);
    });

    test('a group of another epoch than it is appended under is refused', async () => {
      const { epoch } = await current().acquire();
      const other = failure(current().append(epoch, encodeGroup(1, epoch + 1, [put(1)])));
      expect(await other).toMatchObject({ code: 'STORE_REFUSED' });
    });

    test('bytes that are no group are refused', async () => {
      const { epoch } = await current().acquire();
      const noise = failure(current().append(epoch, Buffer.from('not a group at all'.repeat(9))));
      expect(await noise).toMatchObject({ code: 'STORE_REFUSED' });
      expect(await loadGroups(current())).toEqual([]);
    });

    test('a group may be a part of a larger buffer, which stays whole', async () => {
      const { epoch } = await current().acquire();
      const group = encodeGroup(1, epoch, [put(1)]);
      const large = Buffer.alloc(group.length + 200, 7);
      large.set(group, 100);
      await current().append(epoch, large.subarray(100, 100 + group.length));
      expect(large[0]).toBe(7);
      const pooled = Buffer.from(encodeGroup(2, epoch, []));
      await current().append(epoch, pooled);
      const positions = (await loadGroups(current())).map((g) => readGroupHeader(g).position);
      expect(positions).toEqual([1, 2]);
    });

    test('a group without records and one of a megabyte are groups like others', async () => {
      const { epoch } = await current().acquire();
      await current().append(epoch, encodeGroup(1, epoch, []));
      const encoder = new GroupEncoder();
      encoder.add(RecordKind.put, 'large', JSON.stringify('x'.repeat(1 << 20)));
      await current().append(epoch, encoder.finish(2, epoch));
      expect((await loadStates(current())).get('large')).toHaveLength((1 << 20) + 2);
    });
  });
}

function loading(current: Current, reopen: Reopen): void {
  describe('loading', () => {
    test('an empty store has no states and no groups', async () => {
      await current().acquire();
      expect((await loadStates(current())).size).toBe(0);
    });

    test('keys and values come back byte for byte', async () => {
      const { epoch } = await current().acquire();
      const words: Word[] = [
        { put: 'ä/☃/𝄞', value: '"ä☃𝄞"' },
        { put: 'empty', value: '' },
        { put: '', value: '"the empty key"' },
        { put: 'nul', value: JSON.stringify('\0\u2028') },
        { put: `long/${'k'.repeat(60_000)}`, value: '1' },
      ];
      await current().append(epoch, encodeGroup(1, epoch, words));
      await current().checkpoint(epoch, 1);
      const states = await reopen().then(async (store) => {
        await store.acquire();
        return loadStates(store);
      });
      for (const word of words) if ('put' in word) expect(states.get(word.put)).toBe(word.value);
      expect(states.size).toBe(words.length);
    });

    test('appends go on while a reader is slow, and it sees what was there at its start', async () => {
      const { epoch } = await fill(current(), 20);
      const seen: number[] = [];
      for await (const group of current().groups()) {
        const { position } = readGroupHeader(group);
        seen.push(position);
        if (position === 1) await current().append(epoch, encodeGroup(21, epoch, [put(21)]));
      }
      expect(seen).toEqual(Array.from({ length: 20 }, (_, i) => i + 1));
    });

    test('a reader that stops early holds nothing back', async () => {
      const { epoch } = await fill(current(), 20);
      for await (const group of current().groups()) {
        expect(readGroupHeader(group).position).toBe(1);
        break;
      }
      await current().checkpoint(epoch, 20);
      expect(await loadGroups(current())).toEqual([]);
      expect((await loadStates(current())).size).toBe(20);
    });
  });
}

function checkpoints(current: Current, reopen: Reopen): void {
  describe('checkpoints', () => {
    test('a checkpoint folds the groups and removes them', async () => {
      const { epoch } = await current().acquire();
      await current().append(epoch, encodeGroup(1, epoch, [put(1), put(2)]));
      await current().append(epoch, encodeGroup(2, epoch, [{ del: 'k/1' }, put(3)]));
      await current().append(epoch, encodeGroup(3, epoch, [put(4)]));
      await current().checkpoint(epoch, 2);
      const groups = await loadGroups(current());
      expect(groups.map((group) => readGroupHeader(group).position)).toEqual([3]);
      const store = await reopen();
      expect(await store.acquire()).toMatchObject({ position: 3, checkpointed: 2 });
      expect([...(await loadStates(store)).keys()].sort()).toEqual(['k/2', 'k/3', 'k/4']);
    });

    test('a checkpoint of everything leaves the position where it was', async () => {
      const { epoch } = await fill(current(), 7);
      await current().checkpoint(epoch, 7);
      const store = await reopen();
      const reign = await store.acquire();
      expect(reign).toMatchObject({ position: 7, checkpointed: 7 });
      await store.append(reign.epoch, encodeGroup(8, reign.epoch, [put(8)]));
      expect((await loadStates(store)).size).toBe(8);
    });

    test('the same checkpoint again, or an older one, is done at once', async () => {
      const { epoch } = await fill(current(), 4);
      await current().checkpoint(epoch, 3);
      await current().checkpoint(epoch, 3);
      await current().checkpoint(epoch, 1);
      await current().checkpoint(epoch, 0);
      expect(await loadGroups(current())).toHaveLength(1);
    });

    test('a checkpoint beyond the last group is refused', async () => {
      const { epoch } = await fill(current(), 2);
      const beyond = failure(current().checkpoint(epoch, 3));
      expect(await beyond).toMatchObject({ code: 'STORE_REFUSED' });
      expect(await loadGroups(current())).toHaveLength(2);
    });

    test('appends go on during a checkpoint', async () => {
      const { epoch } = await fill(current(), 60);
      const folding = current().checkpoint(epoch, 60);
      for (let n = 61; n <= 90; n++) {
        await current().append(epoch, encodeGroup(n, epoch, [put(n), { del: `k/${n - 60}` }]));
      }
      await folding;
      const states = await loadStates(current());
      expect(states.size).toBe(60);
      expect(states.has('k/30')).toBe(false);
      expect(states.has('k/31')).toBe(true);
    });

    test('a checkpoint cut off by close is continued by the next one', async () => {
      const { epoch } = await current().acquire();
      for (let n = 1; n <= 30; n++) {
        const words = Array.from({ length: 200 }, (_, i) => put(n * 100 + i));
        await current().append(epoch, encodeGroup(n, epoch, words));
      }
      const before = await loadStates(current());
      const cut = current()
        .checkpoint(epoch, 30)
        .catch((error: unknown) => error);
      const store = await reopen();
      expect([undefined, 'STORE_CLOSED']).toContain(
        ((await cut) as { code?: string } | undefined)?.code,
      );
      const next = await store.acquire();
      expect(await loadStates(store)).toEqual(before);
      await store.checkpoint(next.epoch, 30);
      expect(await loadStates(store)).toEqual(before);
      expect(await loadGroups(store)).toEqual([]);
    });
  });
}

function histories(current: Current, reopen: Reopen): void {
  const entry = (n: number): Word => ({ history: 7, entries: [{ n }] });
  const numbers = (all: readonly unknown[]): number[] => all.map((e) => (e as { n: number }).n);

  describe('history', () => {
    test('entries come in the order of the log, from the log and from the table', async () => {
      const { epoch } = await current().acquire();
      for (let n = 1; n <= 10; n++) {
        const words: Word[] = [entry(2 * n - 1), { history: 8, entries: [n] }, entry(2 * n)];
        await current().append(epoch, encodeGroup(n, epoch, words));
      }
      const expected = Array.from({ length: 20 }, (_, i) => i + 1);
      expect(numbers(await loadHistory(current(), 7))).toEqual(expected);
      await current().checkpoint(epoch, 5);
      expect(numbers(await loadHistory(current(), 7))).toEqual(expected);
      await current().checkpoint(epoch, 10);
      expect(numbers(await loadHistory(current(), 7))).toEqual(expected);
      expect(await loadHistory(current(), 8)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
      expect(await loadHistory(current(), 9)).toEqual([]);
    });

    test('pages of any size give every entry once, also within one record', async () => {
      const { epoch } = await current().acquire();
      for (let n = 0; n < 6; n++) {
        const entries = Array.from({ length: n }, (_, i) => ({ n: n * 10 + i }));
        await current().append(epoch, encodeGroup(n + 1, epoch, [{ history: 7, entries }]));
      }
      await current().checkpoint(epoch, 4);
      const whole = await loadHistory(current(), 7, 1000);
      expect(whole).toHaveLength(15);
      for (const limit of [1, 2, 3, 4, 7, 14, 15, 16]) {
        expect(await loadHistory(current(), 7, limit)).toEqual(whole);
      }
    });

    test('the last page has no cursor, also when it is full', async () => {
      const { epoch } = await current().acquire();
      await current().append(epoch, encodeGroup(1, epoch, [entry(1), entry(2)]));
      expect(await current().history({ procedure: 7, limit: 2 })).not.toHaveProperty('next');
      expect(await current().history({ procedure: 7, limit: 1 })).toHaveProperty('next');
    });

    test('a cursor goes on behind what a checkpoint has moved meanwhile', async () => {
      const { epoch } = await current().acquire();
      for (let n = 1; n <= 6; n++) await current().append(epoch, encodeGroup(n, epoch, [entry(n)]));
      const first = await current().history({ procedure: 7, limit: 2 });
      await current().checkpoint(epoch, 4);
      const after = first.next ?? '';
      const second = await current().history({ procedure: 7, limit: 9, after });
      expect(numbers([...first.entries, ...second.entries])).toEqual([1, 2, 3, 4, 5, 6]);
    });

    test('no entry is hidden or doubled while a checkpoint moves them', async () => {
      const { epoch } = await current().acquire();
      for (let n = 1; n <= 80; n++) {
        const words = [entry(n), ...Array.from({ length: 40 }, (_, i) => put(n * 40 + i))];
        await current().append(epoch, encodeGroup(n, epoch, words));
      }
      const expected = Array.from({ length: 80 }, (_, i) => i + 1);
      let folding = true;
      const folded = current()
        .checkpoint(epoch, 80)
        .finally(() => (folding = false));
      do {
        expect(numbers(await loadHistory(current(), 7))).toEqual(expected);
        await new Promise((resolve) => setImmediate(resolve));
      } while (folding);
      await folded;
      expect(numbers(await loadHistory(current(), 7))).toEqual(expected);
    });

    test('forget drops what is older, at once and for ever, and only of its procedure', async () => {
      const { epoch } = await current().acquire();
      await current().append(
        epoch,
        encodeGroup(1, epoch, [entry(1), { history: 8, entries: [1] }]),
      );
      await current().checkpoint(epoch, 1);
      await current().append(epoch, encodeGroup(2, epoch, [entry(2), { forget: 7 }, entry(3)]));
      expect(numbers(await loadHistory(current(), 7))).toEqual([3]);
      await current().append(epoch, encodeGroup(3, epoch, [entry(4)]));
      await current().checkpoint(epoch, 2);
      expect(numbers(await loadHistory(current(), 7))).toEqual([3, 4]);
      await current().append(epoch, encodeGroup(4, epoch, [{ forget: 7 }]));
      expect(await loadHistory(current(), 7)).toEqual([]);
      await current().checkpoint(epoch, 4);
      const store = await reopen();
      await store.acquire();
      expect(await loadHistory(store, 7)).toEqual([]);
      expect(await loadHistory(store, 8)).toEqual([1]);
    });

    test('a page request outside its limits is refused', async () => {
      await current().acquire();
      for (const page of [
        { procedure: 7, limit: 0 },
        { procedure: 7, limit: 1001 },
        { procedure: 7, limit: 1.5 },
        { procedure: -1, limit: 10 },
        { procedure: 0.5, limit: 10 },
        { procedure: 7, limit: 10, after: "1' OR 1=1" },
        { procedure: 7, limit: 10, after: '1.2' },
      ]) {
        expect(await failure(current().history(page))).toMatchObject({ code: 'OPTION_INVALID' });
      }
    });
  });
}

function endings(current: Current): void {
  describe('endings', () => {
    test('after close everything is refused with STORE_CLOSED', async () => {
      const store = current();
      const { epoch } = await fill(store, 2);
      await store.close();
      const late = [
        store.acquire(),
        store.append(epoch, encodeGroup(3, epoch, [put(3)])),
        store.checkpoint(epoch, 2),
        store.history({ procedure: 1, limit: 10 }),
        loadGroups(store),
        loadStates(store),
      ];
      for (const call of late) expect(await failure(call)).toMatchObject({ code: 'STORE_CLOSED' });
    });

    test('closing twice is closing once', async () => {
      await fill(current(), 1);
      await Promise.all([current().close(), current().close()]);
      await current().close();
    });

    test('a store that was never acquired can be closed', async () => {
      await current().close();
      expect(await failure(current().acquire())).toMatchObject({ code: 'STORE_CLOSED' });
    });

    test('appends asked for before close are done', async () => {
      const { epoch } = await fill(current(), 2);
      const last = current().append(epoch, encodeGroup(3, epoch, [put(3)]));
      await current().close();
      await expect(last).resolves.toBeUndefined();
    });
  });
}
