/** The contract of the stores: history, and the end of a store. */
import { describe, expect, test } from 'vitest';
import { encodeGroup, loadGroups, loadHistory, loadStates } from '../support/store-groups.ts';
import type { Word } from '../support/store-groups.ts';
import { failure, fill, put } from './store-world.ts';
import type { Current, Reopen } from './store-world.ts';

export function histories(current: Current, reopen: Reopen): void {
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

export function endings(current: Current): void {
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
