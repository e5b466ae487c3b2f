/**
 * Durable transitions per second: 1,000 concurrent procedures of a 6-state machine on the SQLite
 * store, with history, timers, effects and mail on; next to it, in the same run, what its parts
 * cost: XState's transition and encoding alone, and the store alone.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { assign, sendTo, setup } from 'xstate';
import { createRuntime } from '../src/runtime/index.ts';
import { memoryStore } from '../src/store/memory-store.ts';
import { sqliteStore } from '../src/store/sqlite-store.ts';

const PROCEDURES = Number(process.argv[2] ?? 1000);
const SECONDS = Number(process.argv[3] ?? 5);

let effects = 0;
const order = setup({
  types: {} as { context: { n: number; note: string }; events: { type: 'NEXT' } },
  actions: {
    act: () => {
      effects++;
    },
  },
}).createMachine({
  id: 'six',
  version: '1',
  initial: 'a',
  context: { n: 0, note: 'a context of the size people have' },
  states: Object.fromEntries(
    ['a', 'b', 'c', 'd', 'e', 'f'].map((name, i, all) => [
      name,
      {
        entry: ['act'],
        after: { 60_000: { target: 'f' } },
        on: {
          NEXT: {
            target: all[(i + 1) % all.length],
            actions: assign({ n: ({ context }: { context: { n: number } }) => context.n + 1 }),
          },
        },
      },
    ]),
  ) as never,
});

async function measure(name: string, store: ReturnType<typeof memoryStore>): Promise<void> {
  const runtime = await createRuntime({ machines: [order], store });
  const refs = await Promise.all(
    Array.from({ length: PROCEDURES }, (_, i) => runtime.spawn(order, { id: `p${i}` })),
  );
  let steps = 0;
  let running = true;
  const loop = async (ref: (typeof refs)[number]): Promise<void> => {
    while (running) {
      await ref.sendDurable({ type: 'NEXT' });
      steps++;
    }
  };
  const delay = monitorEventLoopDelay({ resolution: 1 });
  const loops = refs.map(loop);
  await new Promise((r) => setTimeout(r, 1000));
  steps = 0;
  delay.enable();
  const cpu = process.cpuUsage();
  const started = performance.now();
  const position = runtime.state().position;
  await new Promise((r) => setTimeout(r, SECONDS * 1000));
  const seconds = (performance.now() - started) / 1000;
  const used = process.cpuUsage(cpu);
  const groups = runtime.state().position - position;
  delay.disable();
  const counted = steps;
  running = false;
  await Promise.all(loops);
  await runtime.close();
  console.log(
    `${name}: ${Math.round(counted / seconds)} transitions/s, ${Math.round(counted / groups)} a group, ` +
      `loop p99 ${(delay.percentile(99) / 1e6).toFixed(1)} ms, cpu ${((used.user + used.system) / 1e4 / seconds).toFixed(0)} %`,
  );
}

const dir = mkdtempSync(join(tmpdir(), 'reeve-bench-'));
try {
  await measure('memory', memoryStore());
  await measure('sqlite', sqliteStore({ dir }));
} finally {
  rmSync(dir, { recursive: true, force: true });
}
