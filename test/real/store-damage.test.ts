import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readGroup, readRecords } from '../../src/codec/group.ts';
import { parseHistoryPage } from '../../src/store/history-page.ts';
import { Checkpointer } from '../../src/store/sqlite-checkpoint.ts';
import { codeOf, readFault } from '../../src/store/sqlite-errors.ts';
import { HistoryReader } from '../../src/store/sqlite-history.ts';
import { GroupReader, StateReader } from '../../src/store/sqlite-load.ts';
import { OpenStore } from '../../src/store/sqlite-open.ts';
import { sqliteSettings } from '../../src/store/sqlite-options.ts';
import { encodeGroup } from '../support/store-groups.ts';
import type { Word } from '../support/store-groups.ts';

const FOLDED = 30;
const LAST = 60;
const KEYS = 80;
const WINDOW_BYTES = 48;

/** What a store holds: text of the states, the groups, and one procedure's history. */
interface Contents {
  readonly states: readonly string[];
  readonly groups: readonly string[];
  readonly history: readonly string[];
}

let root: string;
/** A closed store; tests copy it. */
let template: string;
let contents: Contents;

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'reeve-damage-'));
  template = join(root, 'template');
  const store = new OpenStore(sqliteSettings({ dir: template }), 'now');
  const { epoch } = store.beginReign('reign');
  for (let position = 1; position <= LAST; position++) {
    store.log.append(encodeGroup(position, epoch, wordsOf(position)));
  }
  const checkpointer = new Checkpointer(store, 5, () => performance.now());
  checkpointer.add({ epoch, position: FOLDED, settle: () => undefined });
  while (checkpointer.busy) checkpointer.slice();
  store.close(true);
  contents = load(template);
});

afterAll(() => {
  rmSync(root, { recursive: true, force: true });
});

/** Every tenth group is large: most of its bytes lie on pages of their own. */
function wordsOf(position: number): Word[] {
  const size = position % 10 === 0 ? 20_000 : 150;
  let text = '';
  for (let n = 0; text.length < size; n++) text += `${position}.${n}:`;
  return [
    { put: `p/${position % KEYS}`, value: JSON.stringify({ position, text }) },
    { put: `m/${position}`, value: `"mail ${position}"` },
    { history: 1, entries: [{ position }] },
  ];
}

function load(dir: string): Contents {
  const settings = sqliteSettings({ dir });
  const store = new OpenStore(settings, 'now');
  try {
    const states: string[] = [];
    const stateReader = new StateReader(store.db, settings.chunkBytes);
    for (let chunk = stateReader.next(); chunk !== undefined; chunk = stateReader.next()) {
      for (const { key, value } of readRecords(chunk.bytes, 0)) states.push(`${key}=${value}`);
    }
    const groups: string[] = [];
    const groupReader = new GroupReader(store.log, settings.chunkBytes);
    for (let chunk = groupReader.next(); chunk !== undefined; chunk = groupReader.next()) {
      let start = 0;
      for (const end of chunk.ends) {
        groups.push(JSON.stringify([...readGroup(chunk.bytes.subarray(start, end))]));
        start = end;
      }
    }
    const request = parseHistoryPage({ procedure: 1, limit: 1000 });
    const page = new HistoryReader(store.db).page(request);
    return { states, groups, history: page.entries.map((entry) => JSON.stringify(entry)) };
  } catch (error) {
    throw readFault(error, dir);
  } finally {
    store.close();
  }
}

/** A copy of the template with one bit flipped. */
function damagedCopy(offset: number, bit: number): string {
  const dir = join(root, 'copy');
  rmSync(dir, { recursive: true, force: true });
  cpSync(template, dir, { recursive: true });
  const path = join(dir, 'reeve.db');
  const bytes = readFileSync(path);
  bytes[offset] = (bytes[offset] ?? 0) ^ (1 << bit);
  writeFileSync(path, bytes);
  return dir;
}

function failure(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  return undefined;
}

/** Where `wanted` is in the file, if it is there once. */
function placeOf(file: Buffer, wanted: Buffer): number | undefined {
  const at = file.indexOf(wanted);
  return at < 0 || file.indexOf(wanted, at + 1) >= 0 ? undefined : at;
}

describe('a flipped bit in acknowledged data is refused, never skipped', () => {
  test('in any byte of a group: by its position', () => {
    const file = readFileSync(join(template, 'reeve.db'));
    const epoch = 1;
    fc.assert(
      fc.property(
        fc.integer({ min: FOLDED + 1, max: LAST }),
        fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
        fc.nat({ max: WINDOW_BYTES - 1 }),
        fc.nat({ max: 7 }),
        (position, part, into, bit) => {
          const group = Buffer.from(encodeGroup(position, epoch, wordsOf(position)));
          const from = Math.floor(part * (group.length - WINDOW_BYTES));
          const place = placeOf(file, group.subarray(from, from + WINDOW_BYTES));
          // A window that lies on two pages is not found in one piece.
          fc.pre(place !== undefined);
          const error = failure(() => load(damagedCopy(place + into, bit)));
          expect(error).toMatchObject({ code: 'STORE_DAMAGED', details: { position } });
        },
      ),
      { numRuns: 120 },
    );
  });

  test('in any byte of a state: by its key', () => {
    const file = readFileSync(join(template, 'reeve.db'));
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: FOLDED }),
        fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
        fc.nat({ max: 7 }),
        (position, part, bit) => {
          const [word] = wordsOf(position);
          if (word === undefined || !('put' in word)) throw new Error('no put');
          const value = Buffer.from(word.value);
          const from = Math.floor(part * (value.length - WINDOW_BYTES));
          const place = placeOf(file, value.subarray(from, from + WINDOW_BYTES));
          fc.pre(place !== undefined);
          const error = failure(() => load(damagedCopy(place + 5, bit)));
          expect(error).toMatchObject({ code: 'STORE_DAMAGED', details: { key: word.put } });
        },
      ),
      { numRuns: 60 },
    );
  });

  test('anywhere in the file: the same contents, or an error, and nothing in between', () => {
    const size = readFileSync(join(template, 'reeve.db')).length;
    let refused = 0;
    fc.assert(
      fc.property(fc.nat({ max: size - 1 }), fc.nat({ max: 7 }), (offset, bit) => {
        const dir = damagedCopy(offset, bit);
        let found: Contents;
        try {
          found = load(dir);
        } catch (error) {
          expect(['STORE_DAMAGED', 'STORE_FOREIGN', 'STORE_TOO_NEW']).toContain(codeOf(error));
          refused++;
          return;
        }
        expect([...found.states].sort()).toEqual([...contents.states].sort());
        expect(found.groups).toEqual(contents.groups);
        // Each entry of the history is checked; that none is hidden is not promised.
        for (const entry of found.history) expect(contents.history).toContain(entry);
      }),
      { numRuns: Number(process.env['FLIPS'] ?? 250) },
    );
    expect(refused).toBeGreaterThan(0);
  });
});

describe('a key that only the index of the states has wrong', () => {
  /** The entry of `key` in the index: the key without a value behind it. */
  function damagedIndex(key: string): string {
    const file = readFileSync(join(template, 'reeve.db'));
    const wanted = Buffer.from(key);
    for (let at = file.indexOf(wanted); at >= 0; at = file.indexOf(wanted, at + 1)) {
      const next = file[at + wanted.length] ?? 0;
      // Behind it stands a row number, not a value and not another digit of the key.
      if (next !== 0x7b && next !== 0x22 && next < 0x30) return damagedCopy(at + 3, 2);
    }
    throw new Error(`no index entry of ${key}`);
  }

  test('is refused', () => {
    const error = failure(() => load(damagedIndex('p/23')));
    expect(error).toMatchObject({ code: 'STORE_DAMAGED', details: { key: 'p/23' } });
  });

  test('is refused also after the row behind it was put and deleted past it', () => {
    const dir = damagedIndex('p/23');
    const store = new OpenStore(sqliteSettings({ dir }), 'now');
    const { epoch } = store.beginReign('reign');
    store.log.append(encodeGroup(LAST + 1, epoch, [{ del: 'p/23' }]));
    const checkpointer = new Checkpointer(store, 50, () => performance.now());
    checkpointer.add({ epoch, position: LAST + 1, settle: () => undefined });
    while (checkpointer.busy) checkpointer.slice();
    store.close(true);
    expect(failure(() => load(dir))).toMatchObject({ code: 'STORE_DAMAGED' });
  });
});

describe('rows that are missing are refused', () => {
  function edited(statement: string): string {
    const dir = join(root, 'copy');
    rmSync(dir, { recursive: true, force: true });
    cpSync(template, dir, { recursive: true });
    const db = new Database(join(dir, 'reeve.db'));
    db.exec(statement);
    db.close();
    return dir;
  }

  test.each([
    ['in the middle', `position = ${FOLDED + 5}`, FOLDED + 5],
    ['the first one', `position = ${FOLDED + 1}`, FOLDED + 1],
    ['the last ones', `position > ${LAST - 3}`, LAST - 2],
    ['all of them', 'true', FOLDED + 1],
  ])('groups of the log: %s', (_, where, position) => {
    const dir = edited(`DELETE FROM log WHERE ${where}`);
    expect(failure(() => load(dir))).toMatchObject({
      code: 'STORE_DAMAGED',
      details: { position },
    });
  });

  test('a group at another position than its own', () => {
    const dir = edited(`UPDATE log SET position = ${LAST + 1} WHERE position = ${LAST}`);
    const error = failure(() => load(dir));
    expect(error).toMatchObject({ code: 'STORE_DAMAGED', details: { position: LAST } });
  });

  test('a group of another epoch than its own', () => {
    const dir = edited(`UPDATE log SET epoch = 7 WHERE position = ${LAST}`);
    const error = failure(() => load(dir));
    expect(error).toMatchObject({ code: 'STORE_DAMAGED', details: { position: LAST } });
  });

  test.each(['epoch', 'checkpointed', 'reached'])('the row %s of meta, changed or gone', (row) => {
    for (const statement of [
      `UPDATE meta SET value = value - 1 WHERE name = '${row}'`,
      `DELETE FROM meta WHERE name = '${row}'`,
    ]) {
      const error = failure(() => load(edited(statement)));
      expect(error).toMatchObject({ code: 'STORE_DAMAGED', details: { row } });
    }
  });

  test.each([
    'entries = replace(entries, 1, 2)',
    'position = position + 3, ordinal = 9',
    'position = -position',
    'crc = 0',
  ])('a history row that was changed: %s', (change) => {
    const dir = edited(`UPDATE history SET ${change} WHERE position = 11`);
    expect(failure(() => load(dir))).toMatchObject({ code: 'STORE_DAMAGED' });
  });
});
