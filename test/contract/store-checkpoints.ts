/** The contract of the stores: loading and checkpoints. */
import { describe, expect, test } from 'vitest';
import { readGroupHeader } from '../../src/codec/group.ts';
import { encodeGroup, loadGroups, loadStates } from '../support/store-groups.ts';
import type { Word } from '../support/store-groups.ts';
import { failure, fill, put } from './store-world.ts';
import type { Current, Reopen } from './store-world.ts';

export function loading(current: Current, reopen: Reopen): void {
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

    test('a checkpoint waits while states or groups are being read', async () => {
      const { epoch } = await current().acquire();
      const large = (n: number): Word => ({ put: `k/${n}`, value: `"${'x'.repeat(60_000)}"` });
      for (let n = 1; n <= 40; n++) {
        await current().append(epoch, encodeGroup(n, epoch, [large(n)]));
      }
      const seen: number[] = [];
      let folding: Promise<void> | undefined;
      for await (const group of current().groups()) {
        seen.push(readGroupHeader(group).position);
        folding ??= current().checkpoint(epoch, 40);
        // Time enough for a checkpoint that does not wait.
        const position = 40 + seen.length;
        await current().append(epoch, encodeGroup(position, epoch, [large(position)]));
      }
      await folding;
      expect(seen).toEqual(Array.from({ length: 40 }, (_, i) => i + 1));
      expect((await loadStates(current())).size).toBe(80);
    });

    test('a reader that stops early holds nothing back', async () => {
      const { epoch } = await fill(current(), 20);
      const reader = current().groups()[Symbol.asyncIterator]();
      expect((await reader.next()).done).toBe(false);
      await reader.return?.();
      await current().checkpoint(epoch, 20);
      expect(await loadGroups(current())).toEqual([]);
      expect((await loadStates(current())).size).toBe(20);
    });
  });
}

export function checkpoints(current: Current, reopen: Reopen): void {
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
