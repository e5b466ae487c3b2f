import Database from 'better-sqlite3';
import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Store } from '../../src/store/port.ts';
import { sqliteStore } from '../../src/store/sqlite-store.ts';
import { buildStoreProgram } from '../support/store-build.ts';
import { TalkingChild } from '../support/store-child.ts';
import { StoreDirectory, findGroup, flipInFile } from '../support/store-directory.ts';
import { encodeGroup, loadGroups } from '../support/store-groups.ts';

interface Refusal {
  readonly code?: string;
  readonly message: string;
  readonly details?: Record<string, unknown>;
}

let directory: StoreDirectory;

beforeEach(() => {
  directory = new StoreDirectory();
});

afterEach(() => directory.destroy());

async function refusal(store: Store): Promise<Refusal> {
  try {
    await store.acquire();
  } catch (error) {
    return error as Refusal;
  }
  throw new Error('it was expected to be refused');
}

/** Everything there is to know about a directory: names, bytes, modes, times. */
function portrait(dir: string): unknown[] {
  const about = (path: string): unknown => {
    const { mode, mtimeMs, size, ino } = statSync(path);
    return { path, mode, mtimeMs, size, ino };
  };
  const names = readdirSync(dir).sort();
  return [
    about(dir),
    ...names.map((name) => [about(join(dir, name)), readFileSync(join(dir, name), 'hex')]),
  ];
}

/** Writes a SQLite file and sets its times back, so that any touch shows. */
function writeDatabase(path: string, statements: string): void {
  const db = new Database(path);
  db.exec(statements);
  db.close();
  utimesSync(path, 1_000_000, 1_000_000);
}

async function fill(store: Store, count: number): Promise<void> {
  const { epoch, position } = await store.acquire();
  for (let n = position + 1; n <= position + count; n++) {
    await store.append(epoch, encodeGroup(n, epoch, [{ put: `k/${n}`, value: String(n) }]));
  }
}

describe('a write-ahead log that was left by a killed process', () => {
  let program: ReturnType<typeof buildStoreProgram>;

  beforeAll(() => {
    program = buildStoreProgram('store-appender.ts');
  });

  afterAll(() => {
    rmSync(program.root, { recursive: true, force: true });
  });

  async function killedAt(position: number): Promise<string> {
    const child = new TalkingChild(process.execPath, [program.path, directory.dir]);
    await child.line(`ack ${position}`);
    await child.kill();
    return `${directory.database}-wal`;
  }

  test('a flipped bit in an acknowledged group is STORE_DAMAGED; the files stay', async () => {
    const wal = await killedAt(30);
    const [at] = findGroup(wal, 9);
    if (at === undefined) throw new Error('the group is not in the log');
    flipInFile(wal, at + 45, 2);
    const before = [readFileSync(wal), readFileSync(directory.database)];
    const { code, message, details } = await refusal(directory.open());
    expect(code).toBe('STORE_DAMAGED');
    expect(details).toMatchObject({ path: wal, position: 9 });
    expect(message).toContain('from position 9 on');
    expect([readFileSync(wal), readFileSync(directory.database)]).toEqual(before);
    // With the bit as it was, all is well.
    flipInFile(wal, at + 45, 2);
    expect((await directory.open().acquire()).position).toBeGreaterThanOrEqual(30);
  });

  test('a torn tail is cut, and nothing in front of it is lost', async () => {
    const wal = await killedAt(30);
    const whole = readFileSync(wal);
    const [last = 0] = findGroup(wal, 30);
    writeFileSync(wal, whole.subarray(0, last + 100));
    const store = directory.open();
    expect((await store.acquire()).position).toBe(29);
    expect(await loadGroups(store)).toHaveLength(29);
  });
});

describe('files that are not ours are left as they were', () => {
  beforeEach(() => {
    mkdirSync(directory.dir, { mode: 0o755 });
  });

  async function expectRefused(code: string): Promise<Refusal> {
    const before = portrait(directory.dir);
    const refused = await refusal(directory.open());
    expect(refused.code).toBe(code);
    expect(portrait(directory.dir)).toEqual(before);
    return refused;
  }

  test('a database of another application is STORE_FOREIGN', async () => {
    writeDatabase(directory.database, 'PRAGMA application_id = 7; CREATE TABLE t(x);');
    await expectRefused('STORE_FOREIGN');
  });

  test('a database without an application is STORE_FOREIGN, also in WAL mode', async () => {
    writeDatabase(directory.database, 'PRAGMA journal_mode = WAL; CREATE TABLE t(x);');
    await expectRefused('STORE_FOREIGN');
  });

  test('a file that is no database is STORE_FOREIGN', async () => {
    writeFileSync(directory.database, 'a letter to my aunt');
    await expectRefused('STORE_FOREIGN');
    writeFileSync(directory.database, 'SQLite format 3\0 but too short');
    await expectRefused('STORE_FOREIGN');
  });

  test('a LOCK that is not ours is STORE_FOREIGN', async () => {
    writeFileSync(join(directory.dir, 'LOCK'), 'locked by the caretaker');
    await expectRefused('STORE_FOREIGN');
  });

  test('a store of a newer version is STORE_TOO_NEW, with and without its LOCK', async () => {
    await fill(directory.open(), 2);
    await directory.closeAll();
    writeDatabase(directory.database, 'PRAGMA user_version = 2;');
    const { message } = await expectRefused('STORE_TOO_NEW');
    expect(message).toContain('format 2');
    rmSync(join(directory.dir, 'LOCK'));
    await expectRefused('STORE_TOO_NEW');
  });

  test('a newer version that only its write-ahead log knows of is STORE_TOO_NEW', async () => {
    await fill(directory.open(), 1);
    await directory.closeAll();
    // A newer process that was killed: its last commit is in the log only.
    const script = `
      const Database = require('better-sqlite3');
      const db = new Database(${JSON.stringify(directory.database)});
      db.pragma('user_version = 9');
      process.kill(process.pid, 'SIGKILL');`;
    spawnSync(process.execPath, ['-e', script], { cwd: process.cwd() });
    expect(statSync(`${directory.database}-wal`).size).toBeGreaterThan(0);
    await expectRefused('STORE_TOO_NEW');
  });

  test('an empty file is made a store', async () => {
    writeFileSync(directory.database, '');
    const store = directory.open();
    await fill(store, 1);
    await store.close();
    expect((await directory.open().acquire()).position).toBe(1);
  });

  test('a log without its database is STORE_DAMAGED, not a new store', async () => {
    writeFileSync(`${directory.database}-wal`, Buffer.alloc(5000, 1));
    const before = readFileSync(`${directory.database}-wal`);
    expect(await refusal(directory.open())).toMatchObject({ code: 'STORE_DAMAGED' });
    expect(readFileSync(`${directory.database}-wal`)).toEqual(before);
  });
});

describe('files and their modes', () => {
  test('the directory is made with 0700 and files with 0600, whatever the umask', async () => {
    const store = directory.open();
    await fill(store, 3);
    expect(statSync(directory.dir).mode & 0o777).toBe(0o700);
    const names = readdirSync(directory.dir).sort();
    expect(names).toEqual(['LOCK', 'owner.json', 'reeve.db', 'reeve.db-shm', 'reeve.db-wal']);
    for (const name of names) {
      expect([name, statSync(join(directory.dir, name)).mode & 0o777]).toEqual([name, 0o600]);
    }
  });

  test('a directory that exists keeps its mode', async () => {
    mkdirSync(directory.dir);
    chmodSync(directory.dir, 0o755);
    await fill(directory.open(), 1);
    expect(statSync(directory.dir).mode & 0o777).toBe(0o755);
  });

  test('parents are made too, and a link to a directory is followed', async () => {
    const deep = sqliteStore({ dir: join(directory.root, 'a', 'b', 'c') });
    await fill(deep, 1);
    await deep.close();
    symlinkSync(join(directory.root, 'a', 'b', 'c'), directory.dir);
    expect((await directory.open().acquire()).position).toBe(1);
  });

  test('a path that cannot be a directory is STORE_UNAVAILABLE, and names it', async () => {
    writeFileSync(directory.dir, 'a file');
    const { code, message } = await refusal(directory.open());
    expect(code).toBe('STORE_UNAVAILABLE');
    expect(message).toContain(directory.dir);
  });

  test('a start that was killed while it made the database is begun anew', async () => {
    mkdirSync(directory.dir);
    writeFileSync(`${directory.database}.new`, 'half a database');
    writeFileSync(`${directory.database}.new-journal`, 'half a journal');
    await fill(directory.open(), 1);
    expect(readdirSync(directory.dir).filter((name) => name.includes('.new'))).toEqual([]);
  });
});

describe('what an operator sees', () => {
  test('sqlite3 shows procedures, history and groups while the store is in use', async () => {
    const store = directory.open();
    const { epoch } = await store.acquire();
    const row = {
      id: 'move-7',
      machine: 'region-move',
      version: 2,
      parent: { number: 3 },
      status: 'active',
      state: { moving: 'copy' },
      at: 1_700_000_000_000,
    };
    await store.append(
      epoch,
      encodeGroup(1, epoch, [
        { put: 'p/12', value: JSON.stringify(row) },
        { put: 'm/1', value: '{"id":"not a procedure"}' },
        { history: 12, entries: [{ event: 'start' }, { event: 'copied' }] },
      ]),
    );
    await store.checkpoint(epoch, 1);
    await store.append(epoch, encodeGroup(2, epoch, []));
    const db = new Database(directory.database, { readonly: true });
    try {
      expect(db.prepare('SELECT * FROM procedures').all()).toEqual([
        {
          number: 12,
          ...row,
          parent: '{"number":3}',
          state: '{"moving":"copy"}',
          position: 1,
        },
      ]);
      expect(db.prepare('SELECT entry, value FROM history_entries').all()).toEqual([
        { entry: 0, value: '{"event":"start"}' },
        { entry: 1, value: '{"event":"copied"}' },
      ]);
      expect(db.prepare('SELECT position, epoch FROM pending_groups').all()).toEqual([
        { position: 2, epoch },
      ]);
      expect(db.pragma('integrity_check', { simple: true })).toBe('ok');
    } finally {
      // In a process of its own a tool may close; here that would drop the store's locks.
      await store.close();
      db.close();
    }
  });

  test('a copy made by the sqlite3 tool while the store is in use is a store', async () => {
    if (spawnSync('sqlite3', ['-version']).status !== 0) {
      console.warn('SKIPPED: the sqlite3 tool is not installed');
      return;
    }
    const store = directory.open();
    await fill(store, 20);
    const copy = join(directory.root, 'copy');
    mkdirSync(copy);
    execFileSync('sqlite3', [directory.database, `.backup '${join(copy, 'reeve.db')}'`]);
    await store.append(1, encodeGroup(21, 1, []));
    const restored = sqliteStore({ dir: copy });
    expect(await restored.acquire()).toMatchObject({ position: 20, epoch: 2 });
    await restored.close();
    cpSync(copy, join(directory.root, 'moved'), { recursive: true });
    const moved = sqliteStore({ dir: join(directory.root, 'moved') });
    expect((await moved.acquire()).epoch).toBe(3);
    await moved.close();
  });
});
