import type { Database } from 'better-sqlite3';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { cutHistoryPage, parseHistoryPage } from '../../src/store/history-page.ts';
import { sortInPieces } from '../../src/store/sort-in-pieces.ts';
import { fromFault, readFault, saysFull, toFault } from '../../src/store/sqlite-errors.ts';
import { SQLITE_LIMITS, sqliteSettings } from '../../src/store/sqlite-options.ts';
import { WalKeeper } from '../../src/store/sqlite-wal.ts';
import { ReeveError } from '../../src/model/errors.ts';

describe('options of the SQLite store', () => {
  test('have defaults within their limits', () => {
    const settings = sqliteSettings({ dir: '/data' });
    for (const [name, { standard, min, max }] of Object.entries(SQLITE_LIMITS)) {
      expect(settings[name as keyof typeof SQLITE_LIMITS]).toBe(standard);
      expect(standard).toBeGreaterThanOrEqual(min);
      expect(standard).toBeLessThanOrEqual(max);
    }
  });

  test('take a relative directory from the working directory', () => {
    expect(sqliteSettings({ dir: 'data' }).dir).toBe(`${process.cwd()}/data`);
  });

  test.each([
    [{ dir: '' }, 'dir'],
    [{ dir: 5 }, 'dir'],
    [{ dir: 'a\0b' }, 'dir'],
    [{}, 'dir'],
    [{ dir: '/d', slicems: 4 }, 'slicems'],
    [{ dir: '/d', toString: 4 }, 'toString'],
    [{ dir: '/d', sliceMs: 0 }, 'sliceMs'],
    [{ dir: '/d', sliceMs: 101 }, 'sliceMs'],
    [{ dir: '/d', sliceMs: 2.5 }, 'sliceMs'],
    [{ dir: '/d', walBytes: '4' }, 'walBytes'],
    [{ dir: '/d', walBytes: NaN }, 'walBytes'],
    [null, 'options'],
  ])('%j is refused by the name of the option', (options, option) => {
    const given = options as unknown as Parameters<typeof sqliteSettings>[0];
    expect(() => sqliteSettings(given)).toThrow(
      expect.objectContaining({ code: 'OPTION_INVALID', details: { option } }),
    );
  });
});

describe('pages of history', () => {
  test('end early when their text grows large, and go on behind it', () => {
    const large = JSON.stringify(['x'.repeat(3 << 20)]);
    const records = [1, 2, 3, 4].map((position) => ({ position, ordinal: 0, entries: large }));
    const request = parseHistoryPage({ procedure: 1, limit: 10 });
    const page = cutHistoryPage(records, request);
    expect(page.entries).toHaveLength(2);
    expect(page.next).toBe('2.0.0');
  });

  test.each(['{"not":"an array"}', '[1,', '[{"__proto__":1}]'])(
    'a record that is no array of plain JSON is STORE_DAMAGED: %s',
    (entries) => {
      const request = parseHistoryPage({ procedure: 3, limit: 10 });
      const details = { procedure: 3, position: 8, record: 2 };
      expect(() => cutHistoryPage([{ position: 8, ordinal: 2, entries }], request)).toThrow(
        expect.objectContaining({ code: 'STORE_DAMAGED', details }),
      );
    },
  );
});

describe('errors', () => {
  test('keep code, message and details on their way between threads', () => {
    const error = new ReeveError('STORE_LOCKED', 'held by process 5', { pid: 5 });
    const back = fromFault(structuredClone(toFault(error)));
    expect(back).toBeInstanceOf(ReeveError);
    expect(back.message).toBe(error.message);
    expect(back.details).toEqual({ pid: 5 });
  });

  test.each([
    ['SQLITE_CORRUPT_INDEX', 'STORE_DAMAGED'],
    ['SQLITE_NOTADB', 'STORE_DAMAGED'],
    ['SQLITE_FULL', 'STORE_FULL'],
    ['ENOSPC', 'STORE_FULL'],
    ['EACCES', 'STORE_UNAVAILABLE'],
    ['SQLITE_BUSY', 'STORE_UNAVAILABLE'],
  ])('%s met while reading is %s', (code, expected) => {
    const error = readFault(Object.assign(new Error('told'), { code }), 'reading', { path: 'p' });
    expect(error.code).toBe(expected);
    expect(error.message).toContain('reading');
  });

  test('a failed write where the file system takes more is not a full disk', () => {
    const failed = Object.assign(new Error('disk I/O error'), { code: 'SQLITE_IOERR_WRITE' });
    expect(saysFull(failed, process.env['TMPDIR'] ?? '/tmp')).toBe(false);
    const sync = Object.assign(new Error('disk I/O error'), { code: 'SQLITE_IOERR_FSYNC' });
    expect(saysFull(sync, '/no/such/directory')).toBe(false);
  });
});

describe('sorting in pieces', () => {
  test('gives all items, in order, in pieces that are never large', () => {
    const order = (a: number, b: number): number => a - b;
    fc.assert(
      fc.property(fc.nat({ max: 20_000 }), fc.constantFrom(1, 7, 1e9), (count, spread) => {
        const items = Array.from({ length: count }, (_, i) => ((i * 7919) % 104_729) + i / spread);
        const pieces = [...sortInPieces(items, order)];
        expect(pieces.flat()).toEqual([...items].sort(order));
        expect(Math.max(0, ...pieces.map((piece) => piece.length))).toBeLessThan(6 * 1024);
      }),
      { numRuns: 40 },
    );
  });

  test('items that are in order already, or all alike, are sorted too', () => {
    const order = (a: number, b: number): number => a - b;
    const rising = Array.from({ length: 5000 }, (_, i) => i);
    expect([...sortInPieces(rising, order)].flat()).toEqual(rising);
    expect([...sortInPieces(rising.toReversed(), order)].flat()).toEqual(rising);
    const alike = new Array<number>(5000).fill(1);
    expect([...sortInPieces(alike, order)].flat()).toEqual(alike);
    expect([...sortInPieces([], order)].flat()).toEqual([]);
  });
});

describe('the keeper of the write-ahead log', () => {
  const PAGE = 4096;
  const TRIGGER = 256;

  /** A log that can be grown by hand. */
  function keeperOf() {
    const state = { log: 0, checkpointed: 0 };
    const seen = { asked: 0, moved: 0, stuck: false };
    const db = {
      prepare: (sql: string) => ({
        get: () => {
          if (!sql.includes('PASSIVE')) return { ...state };
          seen.moved++;
          if (!seen.stuck) state.checkpointed = state.log;
          return { ...state };
        },
      }),
    } as unknown as Database;
    const keeper = new WalKeeper(db, TRIGGER * PAGE, () => seen.asked++);
    return { keeper, state, seen };
  }

  test('asks the second thread at the trigger, once', () => {
    const { keeper, state, seen } = keeperOf();
    state.log = TRIGGER - 1;
    keeper.committed();
    expect(seen.asked).toBe(0);
    state.log = TRIGGER;
    keeper.committed();
    keeper.committed();
    expect(seen).toMatchObject({ asked: 1, moved: 0 });
  });

  test('lets a short log be, and moves the short rest of a long one so that it starts over', () => {
    const { keeper, state, seen } = keeperOf();
    state.log = TRIGGER;
    keeper.committed();
    state.log += 10;
    state.checkpointed = TRIGGER;
    keeper.moved();
    expect(seen).toMatchObject({ asked: 1, moved: 0 });
    state.log = 4 * TRIGGER;
    keeper.committed();
    state.checkpointed = 4 * TRIGGER - 20;
    keeper.moved();
    expect(seen).toMatchObject({ asked: 2, moved: 1 });
    expect(state.checkpointed).toBe(state.log);
  });

  test('asks again at once while the rest of a long log is not short', () => {
    const { keeper, state, seen } = keeperOf();
    state.log = 5 * TRIGGER;
    keeper.committed();
    state.log += 100;
    state.checkpointed = 5 * TRIGGER - 200;
    keeper.moved();
    expect(seen).toMatchObject({ asked: 2, moved: 0 });
  });

  test('makes a checkpoint wait only while the second thread is at work on a long log', () => {
    const { keeper, state } = keeperOf();
    state.log = TRIGGER;
    keeper.committed();
    expect(keeper.crowded).toBe(false);
    state.log = 5 * TRIGGER;
    expect(keeper.crowded).toBe(true);
    // It came back with nothing done: no space, or somebody who reads.
    keeper.moved();
    expect(keeper.crowded).toBe(false);
  });

  test('tries in vain only each time the log has grown by the trigger again', () => {
    const { keeper, state, seen } = keeperOf();
    seen.stuck = true;
    for (state.log = 0; state.log < 20 * TRIGGER; state.log++) {
      keeper.committed();
      if (seen.asked > 0) keeper.moved();
    }
    expect(seen.asked + seen.moved).toBeLessThanOrEqual(20);
  });

  test('moves everything itself when the log has reached its limit', () => {
    const { keeper, state, seen } = keeperOf();
    state.log = TRIGGER;
    keeper.committed();
    state.log = 8 * TRIGGER;
    keeper.committed();
    expect(seen.moved).toBe(1);
    expect(state.checkpointed).toBe(state.log);
  });
});
