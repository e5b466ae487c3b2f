import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Checkpointer } from '../../src/store/sqlite-checkpoint.ts';
import { OpenStore } from '../../src/store/sqlite-open.ts';
import { sqliteSettings } from '../../src/store/sqlite-options.ts';
import { inspectWal } from '../../src/store/wal-guard.ts';
import type { WalReport } from '../../src/store/wal-guard.ts';
import { encodeGroup } from '../support/store-groups.ts';

const HEADER_BYTES = 32;
const FRAME_BYTES = 24 + 4096;
const SECTOR_BYTES = 512;

/** A transaction in the log: where it ends, and the group it appended, if it did. */
interface Written {
  readonly end: number;
  readonly position?: number;
}

let root: string;
let image: Buffer;
let written: Written[];
let scratch: string;

/** A log as a store writes it: appends, each synced, and slices of checkpoints between them. */
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'reeve-wal-'));
  scratch = join(root, 'scratch-wal');
  const settings = sqliteSettings({ dir: join(root, 'data'), sliceMs: 1 });
  const store = new OpenStore(settings, 'now');
  const { epoch } = store.beginReign('reign');
  const size = (): number => readFileSync(store.paths.wal).length;
  written = [{ end: size() }];
  const append = (position: number): void => {
    const value = JSON.stringify('x'.repeat((position * 997) % 9000));
    store.log.append(encodeGroup(position, epoch, [{ put: `k/${position % 9}`, value }]));
    written.push({ end: size(), position });
  };
  for (let position = 1; position <= 8; position++) append(position);
  // Each look at the time ends a slice.
  const checkpointer = new Checkpointer(store, 1, () => performance.now() * 1e6);
  checkpointer.add({ epoch, position: 5, settle: () => undefined });
  for (let n = 0; checkpointer.busy; n++) {
    const before = size();
    checkpointer.slice();
    if (size() > before) written.push({ end: size() });
    if (n % 4 === 3) append(store.log.last + 1);
  }
  for (let n = 0; n < 4; n++) append(store.log.last + 1);
  image = readFileSync(store.paths.wal);
  store.close();
});

afterAll(() => {
  rmSync(root, { recursive: true, force: true });
});

function inspect(bytes: Buffer): WalReport {
  writeFileSync(scratch, bytes);
  return inspectWal(scratch);
}

function startOf(index: number): number {
  return written[index - 1]?.end ?? HEADER_BYTES;
}

/** The last position appended in front of transaction `index`; undefined when the log has none. */
function lastBefore(index: number): number | undefined {
  return written.slice(0, index).findLast(({ position }) => position !== undefined)?.position;
}

describe('a log that is whole or torn is no damage', () => {
  test('the log the store wrote has appends and slices, and is accepted whole', () => {
    expect(written.filter(({ position }) => position !== undefined).length).toBeGreaterThan(12);
    expect(written.filter(({ position }) => position === undefined).length).toBeGreaterThan(4);
    const { damage, frames } = inspect(image);
    expect(damage).toBeUndefined();
    expect(frames).toBe((image.length - HEADER_BYTES) / FRAME_BYTES);
  });

  test('an absent, an empty and a headless log are accepted', () => {
    expect(inspectWal(join(root, 'nothing'))).toEqual({ frames: 0 });
    expect(inspect(Buffer.alloc(0))).toEqual({ frames: 0 });
    expect(inspect(Buffer.alloc(20))).toEqual({ frames: 0 });
  });

  test('a log that was started over is judged without the frames of its former life', () => {
    const restarted = Buffer.from(image);
    // A new header: other salts, so that no frame behind it belongs to it.
    const store = new OpenStore(sqliteSettings({ dir: join(root, 'other') }), 'now');
    store.beginReign('reign');
    readFileSync(store.paths.wal).copy(restarted, 0, 0, HEADER_BYTES + 2 * FRAME_BYTES);
    store.close();
    expect(inspect(restarted).damage).toBeUndefined();
  });

  test('cut at any byte it is a torn tail', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: image.length }), (length) => {
        expect(inspect(image.subarray(0, length)).damage).toBeUndefined();
      }),
      { numRuns: 150 },
    );
  });

  test('whatever a power cut leaves of what was not synced is a torn tail', () => {
    // Mostly kept, so that whole frames stand behind a broken one.
    const fate = fc.oneof(
      { weight: 20, arbitrary: fc.constant('kept' as const) },
      { weight: 1, arbitrary: fc.constantFrom('zero' as const, 'noise' as const) },
    );
    fc.assert(
      fc.property(
        fc.nat({ max: written.length - 1 }),
        fc.infiniteStream(fate),
        fc.infiniteStream(fc.nat({ max: 255 })),
        (last, fates, noise) => {
          // The append that is last may itself not be synced yet.
          const synced = written.slice(0, last).findLast(({ position }) => position !== undefined);
          const bytes = Buffer.from(image.subarray(0, written[last]?.end));
          let at = synced?.end ?? startOf(1);
          while (at < bytes.length) {
            const end = Math.min(bytes.length, (Math.floor(at / SECTOR_BYTES) + 1) * SECTOR_BYTES);
            const what = fates.next().value;
            if (what !== 'kept') bytes.fill(what === 'zero' ? 0 : noise.next().value, at, end);
            at = end;
          }
          expect(inspect(bytes).damage).toBeUndefined();
        },
      ),
      { numRuns: 400 },
    );
  });
});

describe('damage in front of something acknowledged is found', () => {
  test('a flipped bit in any frame behind which an acknowledged append can be proven', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: written.length - 1 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        fc.nat({ max: 7 }),
        (index, part, bit) => {
          const from = startOf(index);
          const to = written[index]?.end ?? from;
          const at = from + Math.floor(part * (to - from - 1));
          const bytes = Buffer.from(image);
          bytes[at] = (bytes[at] ?? 0) ^ (1 << bit);
          const { damage } = inspect(bytes);
          const frame = Math.floor((at - HEADER_BYTES) / FRAME_BYTES);
          const offset = HEADER_BYTES + frame * FRAME_BYTES;
          if (isProvable(index)) expect(damage?.offset).toBe(offset);
          if (damage === undefined) return;
          expect(damage.offset).toBe(offset);
          const last = lastBefore(index);
          expect(damage.position).toBe(last === undefined ? undefined : last + 1);
        },
      ),
      { numRuns: 600 },
    );
  });

  test('each append but the last is guarded', () => {
    const appends = written.flatMap(({ position }, i) => (position === undefined ? [] : [i]));
    for (const index of appends.slice(1, -1)) expect(isProvable(index)).toBe(true);
    expect(isProvable(appends.at(-1) ?? 0)).toBe(false);
  });

  test('a flipped bit in the header of the log', () => {
    for (let at = 0; at < HEADER_BYTES; at++) {
      const bytes = Buffer.from(image);
      bytes[at] = (bytes[at] ?? 0) ^ 0x10;
      expect(inspect(bytes).damage).toEqual({ offset: 0 });
    }
  });

  test('the header of the database is the one of the last commit', () => {
    const { header } = inspect(image);
    expect(header?.subarray(0, 15).toString('latin1')).toBe('SQLite format 3');
    appendFileSync(scratch, Buffer.alloc(100));
    expect(inspectWal(scratch).header).toEqual(header);
  });
});

/**
 * Whether the log proves that something behind the start of transaction `index` was synced: by a
 * whole append with a frame after it, or by a group that is not the next one.
 */
function isProvable(index: number): boolean {
  const last = lastBefore(index);
  return written.some(({ position, end }, later) => {
    if (later <= index || position === undefined) return false;
    // The transaction behind a broken one begins at a commit that may itself be broken.
    if (later > index + 1 && end < image.length) return true;
    return last !== undefined && position >= last + 2;
  });
}
