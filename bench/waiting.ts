/**
 * 100,000 procedures that wait, each with a timer: how fast they are spawned, what they cost in
 * memory, how fast they are recovered. Beside it, what as many live XState actors cost.
 */
import { createActor } from 'xstate';
import { createRuntime } from '../src/runtime/index.ts';
import { sqliteStore } from '../src/store/sqlite-store.ts';
import { idleDelay, inDirectory, line, loopDelay, pause, seconds } from './measure.ts';
import { sixStates } from './six-states.ts';

const COUNT = 100_000;
const IN_FLIGHT = 1_000;

function collected(): { heap: number; rss: number; outside: number } {
  for (let i = 0; i < 4; i++) (globalThis as { gc?: () => void }).gc?.();
  const { heapUsed, rss, external, arrayBuffers } = process.memoryUsage();
  return { heap: heapUsed, rss, outside: external + arrayBuffers };
}

if ((globalThis as { gc?: () => void }).gc === undefined) {
  console.log('run with --expose-gc, or the memory figures mean nothing');
}

await inDirectory(async (dir) => {
  const idle = await idleDelay();
  let runtime = await createRuntime({ machines: [sixStates], store: sqliteStore({ dir }) });
  const started = performance.now();
  let next = 0;
  const spawner = async (): Promise<void> => {
    while (next < COUNT) await runtime.spawn(sixStates, { id: `procedure-${next++}` });
  };
  const spawning = await loopDelay(() => Promise.all(Array.from({ length: IN_FLIGHT }, spawner)));
  line('spawn, durable', {
    'per s': COUNT / seconds(started),
    'loop p99 above idle ms': spawning.p99 - idle,
  });
  await runtime.close();

  const before = collected();
  const opened = performance.now();
  runtime = await createRuntime({ machines: [sixStates], store: sqliteStore({ dir }) });
  const took = seconds(opened);
  while (runtime.state().live > 0) await pause(100);
  const after = collected();
  line('recover 100,000 waiting', { s: took, live: runtime.state().live });
  line('memory per waiting procedure', {
    'heap bytes': (after.heap - before.heap) / COUNT,
    'outside the heap bytes': (after.outside - before.outside) / COUNT,
  });
  await runtime.close();

  const base = collected();
  const actors = Array.from({ length: COUNT / 10 }, () => createActor(sixStates).start());
  line('memory per live XState actor', {
    'heap bytes': (collected().heap - base.heap) / actors.length,
  });
  for (const actor of actors) actor.stop();
});
