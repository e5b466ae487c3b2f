/**
 * Bench of the SQLite store: `npx tsx bench/store.ts [seconds per row] [directory]`.
 *
 * Appends per second and their latency by group size, beside the bare disk's sync; the delay of
 * the main loop; and what a checkpoint costs the commits that go on meanwhile.
 */
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RecordKind, readGroup, readRecords } from '../src/codec/group.ts';
import { sqliteStore } from '../src/store/sqlite-store.ts';
import { Load } from './store-load.ts';
import type { LoadOptions, LoadResult } from './store-load.ts';
import { measureDisk, ms, spreadOf, tell, withLoopDelay } from './store-meter.ts';

const seconds = Number(process.argv[2] ?? 3);
const root = mkdtempSync(join(process.argv[3] ?? tmpdir(), 'reeve-bench-'));
const PROCEDURES = 100_000;
const GROUP_SIZES = [1, 16, 256, 1000];
const KIB = 1024;
/** As the runtime does: a checkpoint each time the log has grown by so much. */
const CHECKPOINT_BYTES = 32 * KIB * KIB;
const COST_MS_MAX = 20;

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

async function openLoad(dir: string): Promise<Load> {
  const store = sqliteStore({ dir: join(root, dir) });
  const { epoch, position } = await store.acquire();
  // The second thread is up once it has answered.
  await store.history({ procedure: 1, limit: 1 });
  return new Load(store, epoch, position);
}

async function disk(): Promise<number> {
  say('bare disk, p50 ms of one write and sync (overwriting: fdatasync, fsync; growing: fsync)');
  let base = 0;
  for (const bytes of [4 * KIB, 64 * KIB, 400 * KIB]) {
    const { fdatasync, fsync, growing } = measureDisk(root, bytes);
    if (base === 0) base = fsync;
    say(`  ${String(bytes / KIB).padStart(4)} KiB  ${ms(fdatasync)}  ${ms(fsync)}  ${ms(growing)}`);
  }
  return base;
}

async function appends(syncMs: number): Promise<void> {
  const [, idle] = await withLoopDelay(() => new Promise((resolve) => setTimeout(resolve, 1000)));
  say(`appends, one group in the store and one forming; loop delay p99 idle ${ms(idle)} ms`);
  for (const recordsPerGroup of GROUP_SIZES) {
    const load = await openLoad(`appends-${recordsPerGroup}`);
    const options = { recordsPerGroup, procedures: PROCEDURES };
    await load.run({ ...options, seconds: 0.5 });
    const [result, delay] = await withLoopDelay(() => load.run({ ...options, seconds }));
    const spread = spreadOf(result.latencies);
    const rate = Math.round(result.records / result.seconds);
    say(
      `  ${String(recordsPerGroup).padStart(4)} per group  ${String(rate).padStart(7)} records/s  ` +
        `${tell(spread)}  = ${(spread.p50 / syncMs).toFixed(1)} x the disk's sync  ` +
        `loop p99 +${ms(Math.max(0, delay - idle))} ms`,
    );
    await load.store.close();
  }
}

/** Commits while checkpoints run one after another. */
async function withCheckpoints(load: Load, options: LoadOptions): Promise<[LoadResult, number]> {
  let folds = 0;
  let going = true;
  const folding = (async () => {
    let folded = load.bytes;
    let last = load.position - 1;
    while (going) {
      if (load.bytes - folded >= CHECKPOINT_BYTES || folds === 0) {
        folded = load.bytes;
        await load.store.checkpoint(load.epoch, last);
        folds++;
      }
      await new Promise((resolve) => setTimeout(resolve, 20));
      // The last one whose append is surely over.
      last = load.position - 2;
    }
  })();
  const result = await load.run(options);
  going = false;
  await folding;
  return [result, folds];
}

async function checkpoints(name: string, options: LoadOptions): Promise<boolean> {
  const load = await openLoad(`checkpoint-${name}`);
  // A state table of full size, and pages of the file in use.
  for (let i = 0; i < 150; i++) {
    await load.store.append(load.epoch, load.encode(1000, PROCEDURES));
  }
  await load.store.checkpoint(load.epoch, load.position);
  await load.run({ ...options, seconds: 1 });
  const without = await load.run(options);
  const [during, folds] = await withCheckpoints(load, options);
  const [a, b] = [spreadOf(without.latencies), spreadOf(during.latencies)];
  const rates = [without, during].map((r) => Math.round(r.records / r.seconds));
  const cost = b.p99 - a.p99;
  say(
    `  ${name.padEnd(9)} without  ${tell(a)}  ${rates[0]} records/s\n` +
      `  ${' '.repeat(9)} with     ${tell(b)}  ${rates[1]} records/s  ${folds} checkpoints\n` +
      `  ${' '.repeat(9)} cost at p99 ${ms(cost)} ms (limit ${COST_MS_MAX}), ` +
      `file ${sizeOf(`checkpoint-${name}`, '')} MiB, wal ${sizeOf(`checkpoint-${name}`, '-wal')} MiB`,
  );
  await load.store.close();
  return cost <= COST_MS_MAX;
}

function sizeOf(dir: string, suffix: string): string {
  const size = statSync(join(root, dir, `reeve.db${suffix}`)).size;
  return (size / KIB / KIB).toFixed(1);
}

/** Time to have all states of 100,000 procedures, parsed. */
async function recovery(): Promise<void> {
  const load = await openLoad('recovery');
  const PER_GROUP = 1000;
  for (let i = 0; i < PROCEDURES / PER_GROUP / 5; i++) {
    for (let j = 0; j < 12; j++) {
      await load.store.append(load.epoch, load.encode(PER_GROUP, PROCEDURES));
    }
  }
  await load.store.checkpoint(load.epoch, load.position);
  await load.store.append(load.epoch, load.encode(PER_GROUP, PROCEDURES));
  await load.store.close();
  const began = performance.now();
  const next = await openLoad('recovery');
  const opened = performance.now();
  let states = 0;
  for await (const batch of next.store.states()) for (const _ of readRecords(batch, 0)) states++;
  const read = performance.now();
  for await (const group of next.store.groups()) {
    for (const { kind } of readGroup(group)) if (kind === RecordKind.put) states++;
  }
  say(
    `recovery: ${states} states read and checked in ${ms(read - opened)} ms ` +
      `(open ${ms(opened - began)} ms, heap ${(process.memoryUsage().heapUsed / 1e6).toFixed(0)} MB)`,
  );
  await next.store.close();
}

try {
  const syncMs = await disk();
  await appends(syncMs);
  say(
    `commits while ${CHECKPOINT_BYTES / KIB / KIB} MiB checkpoints run (${PROCEDURES} procedures)`,
  );
  const base = { procedures: PROCEDURES, seconds: seconds * 2 };
  const paced = { ...base, recordsPerGroup: 50, groupsPerSecond: 200 };
  const kept = [
    await checkpoints('paced', paced),
    await checkpoints('saturated', { ...base, recordsPerGroup: 256 }),
  ];
  await recovery();
  if (kept.includes(false)) process.exitCode = 1;
} finally {
  rmSync(root, { recursive: true, force: true });
}
