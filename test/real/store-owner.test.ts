import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Store } from '../../src/store/port.ts';
import { buildStoreProgram } from '../support/store-build.ts';
import { TalkingChild } from '../support/store-child.ts';
import { StoreDirectory } from '../support/store-directory.ts';
import { encodeGroup } from '../support/store-groups.ts';

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

async function fill(store: Store, count: number): Promise<void> {
  const { epoch, position } = await store.acquire();
  for (let n = position + 1; n <= position + count; n++) {
    await store.append(epoch, encodeGroup(n, epoch, [{ put: `k/${n}`, value: String(n) }]));
  }
}

describe('who holds a store', () => {
  let program: ReturnType<typeof buildStoreProgram>;

  beforeAll(() => {
    program = buildStoreProgram('store-appender.ts');
  });

  afterAll(() => {
    rmSync(program.root, { recursive: true, force: true });
  });

  test('a second process is refused by the name of the owner, until the owner is gone', async () => {
    const owner = new TalkingChild(process.execPath, [program.path, directory.dir]);
    await owner.line('ack');
    const { code, message, details } = await refusal(directory.open());
    expect(code).toBe('STORE_LOCKED');
    expect(message).toContain(`process ${owner.pid}`);
    expect(details).toMatchObject({ pid: owner.pid, path: directory.dir });
    // However it ends: the lock ends with the process.
    await owner.kill();
    const store = directory.open();
    expect((await store.acquire()).epoch).toBe(2);
  });

  test('a refused store may try again when the owner has closed', async () => {
    const first = directory.open();
    await fill(first, 1);
    const second = directory.open();
    const { code, details } = await refusal(second);
    expect(code).toBe('STORE_LOCKED');
    expect(details).toMatchObject({ pid: process.pid });
    expect(await refusal(second)).toMatchObject({ code: 'STORE_LOCKED' });
    await first.close();
    expect((await second.acquire()).position).toBe(1);
  });

  test('being refused takes nothing from the owner', async () => {
    const first = directory.open();
    await fill(first, 1);
    expect(await refusal(directory.open())).toMatchObject({ code: 'STORE_LOCKED' });
    const child = new TalkingChild(process.execPath, [program.path, directory.dir]);
    expect(await child.line('failed')).toContain('STORE_LOCKED');
    await child.ended();
    await first.checkpoint(1, 1);
  });

  test('L8 when its lock was removed by hand, the next owner fences the first one', async () => {
    const first = directory.open();
    await fill(first, 1);
    rmSync(join(directory.dir, 'LOCK'));
    const child = new TalkingChild(process.execPath, [program.path, directory.dir, '0']);
    await child.line('closed');
    const stale = { code: 'STALE_EPOCH' };
    const append = first.append(1, encodeGroup(2, 1, []));
    await expect(append).rejects.toMatchObject(stale);
    await expect(first.checkpoint(1, 1)).rejects.toMatchObject(stale);
    await first.close();
    expect(await directory.open().acquire()).toMatchObject({ epoch: 3, position: 1 });
  });

  test('a note about the owner that is stale or damaged refuses nobody', async () => {
    await directory.open().close();
    mkdirSync(directory.dir);
    writeFileSync(join(directory.dir, 'owner.json'), '{"pid":');
    const store = directory.open();
    await store.acquire();
    const note = readFileSync(join(directory.dir, 'owner.json'), 'utf8');
    expect(JSON.parse(note)).toMatchObject({ pid: process.pid });
    await store.close();
    expect(existsSync(join(directory.dir, 'owner.json'))).toBe(false);
  });
});

describe('a tool that writes to the database', () => {
  /** A process that holds the write lock for a while. */
  async function holdFor(holdMs: number): Promise<TalkingChild> {
    const script = `
      const Database = require('better-sqlite3');
      const db = new Database(${JSON.stringify(directory.database)});
      db.exec('BEGIN IMMEDIATE');
      console.log('held');
      setTimeout(() => db.exec('ROLLBACK'), ${holdMs});`;
    const child = new TalkingChild(process.execPath, ['-e', script]);
    await child.line('held');
    return child;
  }

  beforeEach(async () => {
    await directory.destroy();
    directory = new StoreDirectory({ busyTimeoutMs: 1500 });
  });

  test('makes an append wait, and fail when it never ends', async () => {
    const store = directory.open();
    await fill(store, 1);
    const briefly = await holdFor(300);
    await store.append(1, encodeGroup(2, 1, []));
    await briefly.ended();
    const long = await holdFor(60_000);
    const append = store.append(1, encodeGroup(3, 1, []));
    await expect(append).rejects.toMatchObject({ code: 'STORE_OUTCOME_UNKNOWN' });
    await long.kill();
  });

  test('keeps a store from being acquired, by name, until it is gone', async () => {
    await fill(directory.open(), 1);
    await directory.closeAll();
    const long = await holdFor(60_000);
    const store = directory.open();
    expect(await refusal(store)).toMatchObject({ code: 'STORE_LOCKED' });
    await long.kill();
    expect((await store.acquire()).position).toBe(1);
  });
});
