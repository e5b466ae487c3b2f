import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ReeveError } from '../../src/model/errors.ts';
import type { Store } from '../../src/store/port.ts';
import { StoreThread } from '../../src/store/sqlite-thread.ts';
import type { StoreProgram } from '../../src/store/sqlite-thread.ts';
import { sqliteSettings } from '../../src/store/sqlite-options.ts';
import { buildStoreProgram } from '../support/store-build.ts';
import { TalkingChild } from '../support/store-child.ts';
import { StoreDirectory } from '../support/store-directory.ts';
import {
  NaiveFold,
  encodeGroup,
  loadGroups,
  loadHistory,
  loadStates,
} from '../support/store-groups.ts';
import type { Word } from '../support/store-groups.ts';
import { SmallDisk } from '../support/store-mount.ts';

const KIB = 1024;
const MIB = 1024 * KIB;

const trial = SmallDisk.mount(MIB);
trial?.unmount();
const canMount = trial !== undefined;
const canTrace = spawnSync('strace', ['-f', '-o', '/dev/null', 'true']).status === 0;
if (!canMount) console.warn('SKIPPED: tests of a full disk (a tmpfs cannot be mounted here)');
if (!canTrace) console.warn('SKIPPED: tests of failing writes and syncs (strace cannot run here)');

async function failure(promise: Promise<unknown>): Promise<{ code?: string; message: string }> {
  try {
    await promise;
  } catch (error) {
    return error as { code?: string; message: string };
  }
  throw new Error('it was expected to fail');
}

describe.skipIf(!canMount)('a full disk', () => {
  let disk: SmallDisk;
  let directory: StoreDirectory;
  let store: Store;
  let epoch: number;
  let position: number;
  let naive: NaiveFold;

  beforeEach(async () => {
    disk = SmallDisk.mount(24 * MIB) as SmallDisk;
    directory = new StoreDirectory({ walBytes: MIB }, disk.root);
    store = directory.open();
    ({ epoch, position } = await store.acquire());
    naive = new NaiveFold();
  });

  afterEach(async () => {
    await directory.destroy();
    disk.unmount();
  });

  const wordsOf = (n: number): Word[] => [
    { put: `k/${n}`, value: JSON.stringify(`${n} `.padEnd(40 * KIB, 'x')) },
    { history: 1, entries: [n] },
  ];

  async function append(): Promise<void> {
    const words = wordsOf(position + 1);
    await store.append(epoch, encodeGroup(position + 1, epoch, words));
    position++;
    naive.apply(words);
  }

  /** Appends until the disk is full; returns the error. */
  async function appendUntilFull(): Promise<{ code?: string; message: string }> {
    for (let n = 0; n < 1000; n++) {
      try {
        await append();
      } catch (error) {
        return error as { code?: string; message: string };
      }
    }
    throw new Error('the disk never filled');
  }

  test('refuses the append with STORE_FULL, does nothing of it, and heals by itself', async () => {
    disk.fill(2 * MIB);
    expect(await appendUntilFull()).toMatchObject({ code: 'STORE_FULL' });
    expect(await failure(append())).toMatchObject({ code: 'STORE_FULL' });
    // Reading goes on, and sees nothing of the refused group.
    expect(await loadGroups(store)).toHaveLength(position);
    expect(await loadStates(store)).toEqual(naive.states);
    disk.give();
    await append();
    await append();
    await store.close();
    store = directory.open();
    expect((await store.acquire()).position).toBe(position);
    expect(await loadStates(store)).toEqual(naive.states);
  });

  test('a restart right after the refusal finds exactly what was acknowledged', async () => {
    disk.fill(2 * MIB);
    expect(await appendUntilFull()).toMatchObject({ code: 'STORE_FULL' });
    await store.close();
    store = directory.open();
    // Beginning a reign writes too: it heals like everything else.
    expect(await failure(store.acquire())).toMatchObject({ code: 'STORE_FULL' });
    disk.give();
    expect((await store.acquire()).position).toBe(position);
    expect(await loadStates(store)).toEqual(naive.states);
  });

  test('during a checkpoint loses nothing and breaks no append', async () => {
    for (let n = 0; n < 60; n++) await append();
    disk.fill(256 * KIB);
    expect(await failure(store.checkpoint(epoch, position))).toMatchObject({ code: 'STORE_FULL' });
    expect(await loadStates(store)).toEqual(naive.states);
    expect(await loadHistory(store, 1)).toEqual(naive.history.get(1));
    disk.give();
    await append();
    await store.checkpoint(epoch, position);
    await append();
    expect(await loadStates(store)).toEqual(naive.states);
    expect(await loadHistory(store, 1)).toEqual(naive.history.get(1));
    expect(await loadGroups(store)).toHaveLength(1);
  });

  test('the same disk serves for ever once checkpoints free the log', async () => {
    for (let round = 0; round < 12; round++) {
      for (let n = 0; n < 50; n++) {
        const words: Word[] = [{ put: `k/${n % 10}`, value: '1'.padEnd(40 * KIB, '0') }];
        await store.append(epoch, encodeGroup(++position, epoch, words));
      }
      await store.checkpoint(epoch, position);
    }
    expect((await loadStates(store)).size).toBe(10);
  });
});

describe.skipIf(!canTrace)('failing writes and syncs', () => {
  let program: ReturnType<typeof buildStoreProgram>;
  let directory: StoreDirectory;
  /** The file whose calls fail. */
  let target: string;

  beforeAll(() => {
    program = buildStoreProgram('store-appender.ts');
  });

  afterAll(() => {
    rmSync(program.root, { recursive: true, force: true });
  });

  beforeEach(() => {
    directory = new StoreDirectory();
    target = `${directory.database}-wal`;
  });

  afterEach(() => directory.destroy());

  /** Runs the appender for `groups` groups with faults in calls on `target`. */
  async function run(groups: number, ...injections: string[]): Promise<TalkingChild> {
    const own = [program.path, directory.dir, String(groups)];
    // The small file the store asks the file system with is on the same disk.
    const paths = [target, `${directory.dir}/.probe`];
    const traced = ['-f', '-o', '/dev/null'];
    for (const path of paths) traced.push('-P', path);
    for (const injection of injections) traced.push('-e', `inject=${injection}`);
    const child =
      injections.length === 0
        ? new TalkingChild(process.execPath, own)
        : new TalkingChild('strace', [...traced, process.execPath, ...own]);
    await child.ended();
    expect(child.lines.filter((line) => line.startsWith('damaged'))).toEqual([]);
    return child;
  }

  test.each([1, 2, 7, 30])(
    'an error on sync %i is STORE_OUTCOME_UNKNOWN for good, and replay is right',
    async (nth) => {
      await run(3);
      const child = await run(60, `fsync,fdatasync:error=EIO:when=${3 + nth}`);
      expect(child.lines).toContain('failed STORE_OUTCOME_UNKNOWN');
      expect(child.lines).toContain('then STORE_OUTCOME_UNKNOWN');
      const acknowledged = child.last('ack');
      const next = await run(0);
      expect(next.lines).toContain('closed');
      // The rejected group is unknown: it may be there.
      expect([acknowledged, acknowledged + 1]).toContain(next.last('start'));
    },
  );

  test('an error on a write of a commit is STORE_OUTCOME_UNKNOWN', async () => {
    const child = await run(60, 'pwrite64:error=EIO:when=40');
    expect(child.lines).toContain('failed STORE_OUTCOME_UNKNOWN');
    const next = await run(0);
    expect(child.last('ack')).toBeGreaterThan(0);
    expect(next.last('start')).toBe(child.last('ack'));
  });

  test('an error on the sync of the database file is STORE_OUTCOME_UNKNOWN', async () => {
    await run(3);
    target = directory.database;
    // Not the sync of the start, but that of the second thread, long after.
    const child = await run(4000, 'fsync,fdatasync:error=EIO:when=2+');
    expect(child.lines).toContain('failed STORE_OUTCOME_UNKNOWN');
    expect(child.last('ack')).toBeGreaterThan(50);
    expect([child.last('ack'), child.last('ack') + 1]).toContain((await run(0)).last('start'));
  });

  test.each(['ENOSPC', 'EDQUOT'])(
    '%s on writes is STORE_FULL, the same append is tried again, and nothing is lost',
    async (error) => {
      const child = await run(60, `pwrite64:error=${error}:when=40..46`, `write:error=${error}`);
      const full = child.lines.filter((line) => line.startsWith('full'));
      expect(full.length).toBeGreaterThan(0);
      expect(child.lines.filter((line) => line.startsWith('failed'))).toEqual([]);
      expect(child.last('ack')).toBe(60);
      expect((await run(0)).last('start')).toBe(60);
    },
  );
});

test('a store thread that ends unexpectedly is STORE_OUTCOME_UNKNOWN', async () => {
  const errors: unknown[] = [];
  const thread = new StoreThread(
    'no-such-program' as StoreProgram,
    { settings: sqliteSettings({ dir: '/nowhere' }) },
    {
      appended: () => expect.unreachable(),
      appendRefused: () => expect.unreachable(),
      failed: (error) => errors.push(error),
    },
  );
  const asked = failure(thread.ask((id) => ({ op: 'acquire', id })));
  expect(await asked).toMatchObject({ code: 'STORE_OUTCOME_UNKNOWN' });
  expect(errors).toHaveLength(1);
  expect(errors[0]).toMatchObject({ code: 'STORE_OUTCOME_UNKNOWN' });
  const late = failure(thread.ask((id) => ({ op: 'acquire', id })));
  expect(await late).toMatchObject({ code: 'STORE_OUTCOME_UNKNOWN' });
  await thread.close();
});

test('a thread that is not waited for any more is refused at once, and still closes', async () => {
  const directory = new StoreDirectory();
  const heard: unknown[] = [];
  const thread = new StoreThread(
    'sqlite-worker',
    { settings: sqliteSettings({ dir: directory.dir }) },
    {
      appended: () => heard.push('appended'),
      appendRefused: (error) => heard.push(error),
      failed: (error) => heard.push(error),
    },
  );
  const asked = failure(thread.ask((id) => ({ op: 'acquire', id })));
  thread.refuse(new ReeveError('STORE_OUTCOME_UNKNOWN', 'the other thread ended'));
  expect(await asked).toMatchObject({ code: 'STORE_OUTCOME_UNKNOWN' });
  await thread.close();
  expect(heard).toEqual([]);
  // It had been acquired, and what it held is free again.
  expect((await directory.open().acquire()).epoch).toBe(2);
  await directory.destroy();
});
