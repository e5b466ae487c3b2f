import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { buildStoreProgram } from '../support/store-build.ts';
import { TalkingChild } from '../support/store-child.ts';
import { StoreDirectory } from '../support/store-directory.ts';

const ROUNDS = 50;
/** Directories at a time: one for each processor of a small machine. */
const LANES = 2;
const LIFE_MS_MAX = 160;

let program: ReturnType<typeof buildStoreProgram>;

beforeAll(() => {
  program = buildStoreProgram('store-appender.ts');
});

afterAll(() => {
  rmSync(program.root, { recursive: true, force: true });
});

/** Kills one process after another on one directory; returns how many groups were acknowledged. */
async function killAgainAndAgain(rounds: number): Promise<number> {
  const directory = new StoreDirectory();
  let acknowledged = 0;
  try {
    for (let round = 0; round < rounds; round++) {
      const child = new TalkingChild(process.execPath, [program.path, directory.dir]);
      await child.line('start');
      // Any moment will do: what it hits is different each time.
      await new Promise((resolve) => setTimeout(resolve, Math.random() * LIFE_MS_MAX));
      await child.kill();
      const trouble = child.lines.filter((line) => !/^(start|ack) \d+$/.test(line));
      expect(trouble).toEqual([]);
      // One append was under way at the kill: it is there or it is not.
      const found = child.last('start');
      expect([acknowledged, acknowledged + 1]).toContain(found);
      acknowledged = Math.max(found, child.last('ack'));
    }
    const last = new TalkingChild(process.execPath, [program.path, directory.dir, '0']);
    await last.line('closed');
    expect(last.lines.filter((line) => line.startsWith('damaged'))).toEqual([]);
    expect([acknowledged, acknowledged + 1]).toContain(last.last('start'));
    return acknowledged;
  } finally {
    await directory.destroy();
  }
}

const canTrace = spawnSync('strace', ['-f', '-o', '/dev/null', 'true']).status === 0;
if (!canTrace) console.warn('SKIPPED: the order of syncs and acknowledgements (no strace here)');

test.skipIf(!canTrace)('acknowledged means synced: no word before the log is on disk', async () => {
  const GROUPS = 130;
  const directory = new StoreDirectory();
  const trace = join(directory.root, 'trace');
  const calls = 'trace=pwrite64,fsync,fdatasync,write';
  const own = [process.execPath, program.path, directory.dir, String(GROUPS)];
  const child = new TalkingChild('strace', ['-f', '-y', '-o', trace, '-e', calls, ...own]);
  try {
    await child.ended();
    expect(child.last('ack')).toBe(GROUPS);
    expect(syncsBeforeWords(readFileSync(trace, 'utf8'))).toEqual(
      Array.from({ length: GROUPS }, () => 'synced'),
    );
  } finally {
    await directory.destroy();
  }
});

/** For each acknowledgement in a trace: whether the writing thread had synced the log for it. */
function syncsBeforeWords(trace: string): string[] {
  const words: string[] = [];
  /** Threads that write to the log, and those in the middle of a sync of it. */
  const writers = new Set<string>();
  const syncing = new Set<string>();
  let synced = false;
  for (const line of trace.split('\n')) {
    const thread = line.slice(0, line.indexOf(' '));
    if (/ pwrite64\(\d+<[^>]*-wal>/.test(line)) writers.add(thread);
    const begun = / f(data)?sync\(\d+<[^>]*-wal>/.test(line);
    if (begun) syncing.add(thread);
    if (/ f(data)?sync(\(\d+<[^>]*-wal>| resumed>).*\) += 0/.test(line)) {
      if (syncing.delete(thread) && writers.has(thread)) synced = true;
    }
    if (!/ write\(1<[^>]*>, "ack /.test(line)) continue;
    words.push(synced ? 'synced' : line);
    synced = false;
  }
  return words;
}

test(
  'acknowledged means on disk: SIGKILL at 50 random moments loses and doubles nothing',
  {
    timeout: 150_000,
  },
  async () => {
    const lanes = Array.from({ length: LANES }, () => killAgainAndAgain(ROUNDS / LANES));
    const acknowledged = await Promise.all(lanes);
    // It was killed at work, not before it began.
    for (const count of acknowledged) expect(count).toBeGreaterThan(ROUNDS);
  },
);
