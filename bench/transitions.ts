/**
 * Durable transitions per second: 1,000 concurrent procedures of a 6-state machine on the SQLite
 * store, with history, timers, effects and mail on. Beside it, in the same run: XState's transition
 * and encoding alone on one thread, the store alone with a row per group, the disk's sync.
 */
import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { createActor } from 'xstate';
import { GroupEncoder, RecordKind } from '../src/codec/group.ts';
import { createRuntime } from '../src/runtime/index.ts';
import type { Store } from '../src/store/port.ts';
import { memoryStore } from '../src/store/memory-store.ts';
import { sqliteStore } from '../src/store/sqlite-store.ts';
import { idleDelay, inDirectory, line, loopDelay, pause, percentile, seconds } from './measure.ts';
import { sixStates } from './six-states.ts';

const PROCEDURES = 1_000;
const RUN_MS = 5_000;
const SILENT = { logger: () => undefined };

/** XState's own live actor, no record: what a transition costs at the least. */
function transitionsAlone(): number {
  const actors = Array.from({ length: PROCEDURES }, () => createActor(sixStates).start());
  const started = performance.now();
  let count = 0;
  while (performance.now() - started < 2_000) {
    for (const actor of actors) {
      actor.send({ type: 'NEXT' });
      JSON.stringify(actor.getPersistedSnapshot());
    }
    count += actors.length;
  }
  const rate = count / seconds(started);
  for (const actor of actors) actor.stop();
  return rate;
}

/** The store alone: one row per group of `records` records of about 390 bytes. */
async function storeAlone(store: Store, records: number): Promise<number> {
  const { epoch, position } = await store.acquire();
  const value = JSON.stringify({ text: 'x'.repeat(340) });
  let at = position;
  const started = performance.now();
  while (performance.now() - started < 2_000) {
    const encoder = new GroupEncoder(records * 420);
    for (let i = 0; i < records; i++) encoder.add(RecordKind.put, `p/${i}`, value);
    await store.append(epoch, encoder.finish(++at, epoch));
  }
  const rate = ((at - position) * records) / seconds(started);
  await store.close();
  return rate;
}

function syncCost(dir: string): number {
  const file = openSync(join(dir, 'sync'), 'w');
  const costs = Array.from({ length: 300 }, () => {
    writeSync(file, Buffer.alloc(4096));
    const started = performance.now();
    fdatasyncSync(file);
    return performance.now() - started;
  });
  closeSync(file);
  return percentile(costs, 0.5);
}

async function durable(store: Store): Promise<{ rate: number; group: number; p99: number }> {
  const runtime = await createRuntime({ machines: [sixStates], store, ...SILENT });
  const refs = await Promise.all(
    Array.from({ length: PROCEDURES }, (_, i) => runtime.spawn(sixStates, { id: `p${i}` })),
  );
  let steps = 0;
  let running = true;
  const drive = async (ref: (typeof refs)[number]): Promise<void> => {
    while (running) {
      await ref.sendDurable({ type: 'NEXT' });
      steps++;
    }
  };
  const drives = refs.map(drive);
  await pause(1_000);
  steps = 0;
  const { position } = runtime.state();
  const started = performance.now();
  const { p99 } = await loopDelay(() => pause(RUN_MS));
  const counted = steps;
  const took = seconds(started);
  const groups = runtime.state().position - position;
  running = false;
  await Promise.all(drives);
  await runtime.close();
  return { rate: counted / took, group: counted / groups, p99 };
}

await inDirectory(async (dir) => {
  const idle = await idleDelay();
  const alone = transitionsAlone();
  const raw = await storeAlone(sqliteStore({ dir: join(dir, 'raw') }), 256);
  const sync = syncCost(dir);
  const memory = await durable(memoryStore());
  const sqlite = await durable(sqliteStore({ dir: join(dir, 'store') }));
  line('disk: fdatasync of 4 KiB', { 'p50 ms': sync });
  line('XState alone, transition + JSON', { 'per s': alone });
  line('store alone, groups of 256', { 'records per s': raw });
  line('durable on memoryStore', {
    'per s': memory.rate,
    'a group': memory.group,
    'loop p99 above idle ms': memory.p99 - idle,
  });
  line('durable on sqliteStore', {
    'per s': sqlite.rate,
    'a group': sqlite.group,
    'loop p99 above idle ms': sqlite.p99 - idle,
    'of XState alone': sqlite.rate / alone,
    'of the store alone': sqlite.rate / raw,
  });
});
