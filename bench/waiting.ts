/**
 * 100,000 procedures that wait, each with a timer: how fast they are spawned, how fast they are
 * recovered, what they cost in memory. Beside it, what as many live XState actors cost. Each part
 * runs in a process of its own, so that no garbage of one is counted in another.
 */
import { spawnSync } from 'node:child_process';
import { createActor } from 'xstate';
import { createRuntime } from '../src/runtime/index.ts';
import { sqliteStore } from '../src/store/sqlite-store.ts';
import { idleDelay, inDirectory, line, loopDelay, pause, seconds } from './measure.ts';
import { sixStates } from './six-states.ts';

const COUNT = 100_000;
const IN_FLIGHT = 1_000;
const [part, dir = ''] = process.argv.slice(2);

function collected(): { heap: number; outside: number } {
  for (let i = 0; i < 4; i++) (globalThis as { gc?: () => void }).gc?.();
  const { heapUsed, external, arrayBuffers } = process.memoryUsage();
  return { heap: heapUsed, outside: external + arrayBuffers };
}

const open = () => createRuntime({ machines: [sixStates], store: sqliteStore({ dir }) });

async function spawnAll(): Promise<void> {
  const idle = await idleDelay();
  const runtime = await open();
  let next = 0;
  const spawner = async (): Promise<void> => {
    while (next < COUNT) await runtime.spawn(sixStates, { id: `procedure-${next++}` });
  };
  const started = performance.now();
  const { p99 } = await loopDelay(() => Promise.all(Array.from({ length: IN_FLIGHT }, spawner)));
  line('spawn, durable', {
    'per s': COUNT / seconds(started),
    'loop p99 above idle ms': p99 - idle,
  });
  await runtime.close();
}

async function recoverAll(): Promise<void> {
  const before = collected();
  const started = performance.now();
  const runtime = await open();
  const took = seconds(started);
  while (runtime.state().live > 0) await pause(100);
  const after = collected();
  line('recover 100,000 waiting', { s: took, live: runtime.state().live });
  line('memory per waiting procedure', {
    'heap bytes': (after.heap - before.heap) / COUNT,
    'bytes outside the heap': (after.outside - before.outside) / COUNT,
  });
  await runtime.close();
}

function liveActors(): void {
  const before = collected();
  const actors = Array.from({ length: COUNT / 10 }, () => createActor(sixStates).start());
  line('memory per live XState actor', {
    'heap bytes': (collected().heap - before.heap) / actors.length,
  });
  for (const actor of actors) actor.stop();
}

if (part === 'spawn') await spawnAll();
else if (part === 'recover') await recoverAll();
else if (part === 'live') liveActors();
else {
  await inDirectory(async (own) => {
    for (const name of ['spawn', 'recover', 'live']) {
      const args = [...process.execArgv, '--expose-gc', process.argv[1] ?? '', name, own];
      spawnSync(process.execPath, args, { stdio: 'inherit' });
    }
    await Promise.resolve();
  });
}
