import { describe, expect, test } from 'vitest';
import { memoryDisk } from '../../src/store/memory-disk.ts';
import { memoryFaults } from '../../src/store/memory-faults.ts';
import { memoryStore } from '../../src/store/memory-store.ts';
import { virtualClock } from '../../src/world/virtual-clock.ts';
import { encodeGroup, loadGroups, loadHistory, loadStates } from '../support/store-groups.ts';
import type { Word } from '../support/store-groups.ts';

const put = (n: number): Word => ({ put: `k/${n}`, value: String(n) });

async function failure(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error('it was expected to fail');
}

/** Whether a promise has settled once all promise jobs have run. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false;
  const settle = (): void => {
    settled = true;
  };
  promise.then(settle, settle);
  await new Promise((resolve) => setImmediate(resolve));
  return settled;
}

describe('latency', () => {
  test('an append is acknowledged when the clock has passed its latency, not before', async () => {
    const clock = virtualClock();
    const store = memoryStore({ clock, latencyMs: 5 });
    const { epoch } = await store.acquire();
    const appended = store.append(epoch, encodeGroup(1, epoch, [put(1)]));
    await clock.advance(4);
    expect(await isSettled(appended)).toBe(false);
    await clock.advance(1);
    await appended;
    expect(clock.monotonic()).toBe(5);
  });

  test('appends follow one another, each with its own latency', async () => {
    const clock = virtualClock();
    const disk = memoryDisk();
    const store = memoryStore({ disk, clock, latencyMs: 5 });
    const { epoch } = await store.acquire();
    const all = [1, 2, 3].map((n) => store.append(epoch, encodeGroup(n, epoch, [put(n)])));
    await clock.advance(10);
    expect(disk.position).toBe(2);
    await clock.advance(5);
    await Promise.all(all);
  });

  test('latency without a clock, or below zero, is refused', () => {
    expect(() => memoryStore({ latencyMs: 1 })).toThrow(/OPTION_INVALID/);
    expect(() => memoryStore({ latencyMs: -1, clock: virtualClock() })).toThrow(/OPTION_INVALID/);
    expect(() => memoryStore({ latencyMs: NaN, clock: virtualClock() })).toThrow(/OPTION_INVALID/);
  });
});

describe('crash', () => {
  async function crashWithUnsynced(tear: number) {
    const clock = virtualClock();
    const disk = memoryDisk();
    const store = memoryStore({ disk, clock, latencyMs: 5 });
    const { epoch } = await store.acquire();
    const first = store.append(epoch, encodeGroup(1, epoch, [put(1)]));
    await clock.advance(5);
    await first;
    const second = store.append(epoch, encodeGroup(2, epoch, [put(2)]));
    await clock.advance(2);
    disk.crash(tear);
    return { clock, disk, store, epoch, second };
  }

  test('what was not synced is lost and never answered; what was acknowledged is there', async () => {
    const { clock, disk, second } = await crashWithUnsynced(0);
    await clock.advance(100);
    expect(await isSettled(second)).toBe(false);
    const next = memoryStore({ disk });
    expect(await next.acquire()).toMatchObject({ epoch: 2, position: 1 });
    expect([...(await loadStates(next)).keys()]).toEqual(['k/1']);
  });

  test.each([0.1, 0.5, 0.9, 0.999])('a torn tail (%d of the group) is cut', async (tear) => {
    const { disk } = await crashWithUnsynced(tear);
    const next = memoryStore({ disk });
    const { epoch, position } = await next.acquire();
    expect(position).toBe(1);
    await next.append(epoch, encodeGroup(2, epoch, [put(3)]));
    expect([...(await loadStates(next)).keys()]).toEqual(['k/1', 'k/3']);
  });

  test('a group that reached the disk whole is kept, though nobody was told', async () => {
    const { disk } = await crashWithUnsynced(1);
    const next = memoryStore({ disk });
    expect((await next.acquire()).position).toBe(2);
    expect([...(await loadStates(next)).keys()]).toEqual(['k/1', 'k/2']);
  });

  test('a store of before the crash is refused from then on', async () => {
    const { store, epoch } = await crashWithUnsynced(0);
    const late = store.append(epoch, encodeGroup(2, epoch, [put(9)]));
    expect(await failure(late)).toMatchObject({ code: 'STORE_OUTCOME_UNKNOWN' });
    expect(await failure(store.acquire())).toMatchObject({ code: 'STORE_OUTCOME_UNKNOWN' });
    await store.close();
  });

  test('a checkpoint is cut off between two groups, and nothing is lost', async () => {
    const clock = virtualClock();
    const disk = memoryDisk();
    const store = memoryStore({ disk, clock, latencyMs: 1 });
    const { epoch } = await store.acquire();
    for (let n = 1; n <= 6; n++) {
      const words: Word[] = [put(n), { history: 1, entries: [n] }];
      const appended = store.append(epoch, encodeGroup(n, epoch, words));
      await clock.advance(1);
      await appended;
    }
    const folding = store.checkpoint(epoch, 6);
    await clock.advance(3);
    disk.crash();
    await clock.advance(10);
    expect(await isSettled(folding)).toBe(false);
    const next = memoryStore({ disk });
    const reign = await next.acquire();
    expect(reign.checkpointed).toBeGreaterThan(0);
    expect(reign.checkpointed).toBeLessThan(6);
    expect((await loadStates(next)).size).toBe(6);
    expect(await loadHistory(next, 1)).toEqual([1, 2, 3, 4, 5, 6]);
  });
});

describe('faults on demand', () => {
  test('the next n appends are refused as full, nothing of them is done, then it heals', async () => {
    const faults = memoryFaults();
    const store = memoryStore({ faults });
    const { epoch } = await store.acquire();
    faults.fill(2);
    const group = encodeGroup(1, epoch, [put(1)]);
    expect(await failure(store.append(epoch, group))).toMatchObject({ code: 'STORE_FULL' });
    expect(await failure(store.append(epoch, group))).toMatchObject({ code: 'STORE_FULL' });
    expect(await loadGroups(store)).toEqual([]);
    await store.append(epoch, group);
    expect(await loadGroups(store)).toHaveLength(1);
  });

  test('full until it is freed: appends and checkpoints are refused, reading goes on', async () => {
    const faults = memoryFaults();
    const store = memoryStore({ faults });
    const { epoch } = await store.acquire();
    await store.append(epoch, encodeGroup(1, epoch, [put(1)]));
    faults.fill();
    for (let n = 0; n < 10; n++) {
      const appended = store.append(epoch, encodeGroup(2, epoch, [put(2)]));
      expect(await failure(appended)).toMatchObject({ code: 'STORE_FULL' });
    }
    expect(await failure(store.checkpoint(epoch, 1))).toMatchObject({ code: 'STORE_FULL' });
    expect((await loadStates(store)).size).toBe(1);
    faults.free();
    await store.append(epoch, encodeGroup(2, epoch, [put(2)]));
    await store.checkpoint(epoch, 2);
  });

  test.each(['kept', 'lost'] as const)(
    'an unknown outcome refuses everything; the group is %s on the disk',
    async (fate) => {
      const faults = memoryFaults();
      const disk = memoryDisk();
      const store = memoryStore({ disk, faults });
      const { epoch } = await store.acquire();
      await store.append(epoch, encodeGroup(1, epoch, [put(1)]));
      faults.failNextSync(fate);
      const unknown = { code: 'STORE_OUTCOME_UNKNOWN' };
      const second = encodeGroup(2, epoch, [put(2)]);
      expect(await failure(store.append(epoch, second))).toMatchObject(unknown);
      expect(await failure(store.append(epoch, second))).toMatchObject(unknown);
      expect(await failure(store.checkpoint(epoch, 1))).toMatchObject(unknown);
      expect(await failure(store.history({ procedure: 1, limit: 1 }))).toMatchObject(unknown);
      expect(await failure(loadStates(store))).toMatchObject(unknown);
      expect(await failure(store.acquire())).toMatchObject(unknown);
      await store.close();
      const next = memoryStore({ disk, faults });
      expect((await next.acquire()).position).toBe(fate === 'kept' ? 2 : 1);
    },
  );

  test('a lost group is refused by its position', async () => {
    const disk = memoryDisk();
    const store = memoryStore({ disk });
    const { epoch } = await store.acquire();
    for (let n = 1; n <= 3; n++) await store.append(epoch, encodeGroup(n, epoch, [put(n)]));
    disk.dropGroup(2);
    const missing = { code: 'STORE_DAMAGED', details: { position: 2 } };
    expect(await failure(loadGroups(store))).toMatchObject(missing);
    expect(await failure(memoryStore({ disk }).acquire())).toMatchObject(missing);
  });

  test('every bit of an acknowledged group is guarded', async () => {
    const disk = memoryDisk();
    const store = memoryStore({ disk });
    const { epoch } = await store.acquire();
    const group = encodeGroup(1, epoch, [put(1)]);
    const bits = group.length * 8;
    await store.append(epoch, group);
    for (let bit = 0; bit < bits; bit++) {
      disk.flipBit(1, bit);
      const found = await failure(loadGroups(store));
      expect(found).toMatchObject({ code: 'STORE_DAMAGED', details: { position: 1 } });
      disk.flipBit(1, bit);
    }
    expect(await loadGroups(store)).toHaveLength(1);
  });
});

test('the store keeps its own copy: who writes to a group afterwards changes nothing', async () => {
  const store = memoryStore();
  const { epoch } = await store.acquire();
  const group = encodeGroup(1, epoch, [put(1)]);
  await store.append(epoch, group);
  group.fill(0);
  for await (const found of store.groups()) found.fill(0);
  expect((await loadStates(store)).get('k/1')).toBe('1');
});
