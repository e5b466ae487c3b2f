/** The contract of the stores: reigns and appends. */
import { describe, expect, test } from 'vitest';
import { GroupEncoder, RecordKind, readGroup, readGroupHeader } from '../../src/codec/group.ts';
import { encodeGroup, loadGroups, loadStates } from '../support/store-groups.ts';
import { failure, fill, put } from './store-world.ts';
import type { Current, Reopen } from './store-world.ts';

export function reigns(current: Current, reopen: Reopen): void {
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

export function appends(current: Current, reopen: Reopen): void {
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

    test('a group that is damaged already is refused, and the whole one goes on', async () => {
      const { epoch } = await current().acquire();
      const bad = encodeGroup(1, epoch, [put(1), put(2)]);
      bad[bad.length - 3] = (bad[bad.length - 3] ?? 0) ^ 4;
      expect(await failure(current().append(epoch, bad))).toMatchObject({ code: 'STORE_REFUSED' });
      await current().append(epoch, encodeGroup(1, epoch, [put(1)]));
      expect(await loadGroups(current())).toHaveLength(1);
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
