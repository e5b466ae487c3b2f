/**
 * Bench of the SQLite store: `npx tsx bench/store.ts [seconds per row] [directory]`.
 *
 * Appends per second and their latency by group size, beside the bare disk's sync; the delay of
 * the main loop; and what a checkpoint costs the commits that go on meanwhile.
 */
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { cpus, loadavg, tmpdir } from 'node:os';
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
const MIB = KIB * KIB;
const COST_MS_MAX = 20;
/** Commits without and with checkpoints take turns, so that both meet the same noise. */
const ROUNDS = 2;

interface Folding {
  readonly result: LoadResult;
  /** Latencies of the commits that were acknowledged while a checkpoint ran. */
  readonly during: readonly number[];
  readonly folds: number;
  readonly seconds: number;
}

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
  const [load = 0] = loadavg();
  say(
    `${cpus().length} processors, ${load.toFixed(1)} processes waiting or running before the start`,
  );
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
      `  ${String(recordsPerGroup).padStart(4)} per group  ` +
        `${String(rate).padStart(7)} records/s  ` +
        `${tell(spread)}  = ${(spread.p50 / syncMs).toFixed(1)} x the disk's sync  ` +
        `loop p99 +${ms(Math.max(0, delay - idle))} ms`,
    );
    await load.store.close();
  }
}

/** Commits while a checkpoint runs each time the log has grown by `bytes`. */
async function withCheckpoints(load: Load, options: LoadOptions, bytes: number): Promise<Folding> {
  let folding: Promise<void> | undefined;
  let folded = load.bytes;
  let folds = 0;
  let took = 0;
  const during: number[] = [];
  const acknowledged = (latency: number, position: number): void => {
    if (folding !== undefined) during.push(latency);
    if (folding !== undefined || load.bytes - folded < bytes) return;
    const began = performance.now();
    folded = load.bytes;
    folding = load.store.checkpoint(load.epoch, position).then(() => {
      folding = undefined;
      took += (performance.now() - began) / 1000;
      folds++;
    });
  };
  const result = await load.run({ ...options, acknowledged });
  await folding;
  return { result, during, folds, seconds: took };
}

class Tally {
  readonly latencies: number[] = [];
  #records = 0;
  #seconds = 0;

  add({ latencies, records, seconds: took }: LoadResult): void {
    for (const latency of latencies) this.latencies.push(latency);
    this.#records += records;
    this.#seconds += took;
  }

  tell(): string {
    const rate = Math.round(this.#records / this.#seconds);
    return `${tell(spreadOf(this.latencies))}  ${rate} records/s`;
  }
}

async function checkpoints(name: string, options: LoadOptions, bytes: number): Promise<boolean> {
  const load = await openLoad(`checkpoint-${name}`);
  // A state table of full size, and pages of the file in use.
  for (let i = 0; i < 150; i++) {
    await load.store.append(load.epoch, load.encode(1000, PROCEDURES));
  }
  const [without, all] = [new Tally(), new Tally()];
  const during: number[] = [];
  let [folds, took] = [0, 0];
  for (let round = 0; round < ROUNDS; round++) {
    await load.store.checkpoint(load.epoch, load.position);
    without.add(await load.run(options));
    await load.store.checkpoint(load.epoch, load.position);
    const folding = await withCheckpoints(load, options, bytes);
    all.add(folding.result);
    for (const latency of folding.during) during.push(latency);
    folds += folding.folds;
    took += folding.seconds;
  }
  const spread = spreadOf(during);
  const cost = spread.p99 - spreadOf(without.latencies).p99;
  const indent = ' '.repeat(12);
  say(
    `  ${name.padEnd(10)}without ${without.tell()}\n${indent}with    ${all.tell()}\n` +
      `${indent}during  ${tell(spread)}  ${folds} checkpoints of ${mib(bytes)} MiB ` +
      `in ${took.toFixed(1)} s\n` +
      `${indent}a checkpoint costs the commits during it ${ms(cost)} ms at p99 (limit ` +
      `${COST_MS_MAX}); file ${sizeOf(name, '')}, log ${sizeOf(name, '-wal')} MiB`,
  );
  await load.store.close();
  return cost <= COST_MS_MAX;
}

function sizeOf(name: string, suffix: string): string {
  return mib(statSync(join(root, `checkpoint-${name}`, `reeve.db${suffix}`)).size);
}

function mib(bytes: number): string {
  return (bytes / MIB).toFixed(bytes % MIB === 0 ? 0 : 1);
}

/** Time to have all states of 100,000 procedures, checked and decoded. */
async function recovery(): Promise<void> {
  const load = await openLoad('recovery');
  const PER_GROUP = 1000;
  for (let i = 0; i < 600; i++) {
    await load.store.append(load.epoch, load.encode(PER_GROUP, PROCEDURES));
  }
  await load.store.checkpoint(load.epoch, load.position);
  for (let i = 0; i < 20; i++) {
    await load.store.append(load.epoch, load.encode(PER_GROUP, PROCEDURES));
  }
  await load.store.close();
  const began = performance.now();
  const next = await openLoad('recovery');
  const opened = performance.now();
  let [states, puts] = [0, 0];
  for await (const batch of next.store.states()) for (const _ of readRecords(batch, 0)) states++;
  for await (const group of next.store.groups()) {
    for (const { kind } of readGroup(group)) if (kind === RecordKind.put) puts++;
  }
  const read = performance.now();
  say(
    `recovery: ${states} states and ${puts} puts of the log read, checked and decoded in ` +
      `${ms(read - opened)} ms (opening ${ms(opened - began)} ms)`,
  );
  await next.store.close();
}

try {
  const syncMs = await disk();
  await appends(syncMs);
  say(`commits while checkpoints run, ${PROCEDURES} procedures`);
  const base = { procedures: PROCEDURES, seconds: seconds * 2 };
  const paced = {
    procedures: PROCEDURES,
    seconds: seconds * 5,
    recordsPerGroup: 50,
    groupsPerSecond: 200,
  };
  const kept = [
    await checkpoints('paced', paced, 8 * MIB),
    await checkpoints('saturated', { ...base, recordsPerGroup: 256 }, 32 * MIB),
  ];
  await recovery();
  if (kept.includes(false)) process.exitCode = 1;
} finally {
  rmSync(root, { recursive: true, force: true });
}
