/** One procedure alone: each step waits for its own commit. Beside it, the store's commit alone. */
import { join } from 'node:path';
import { GroupEncoder, RecordKind } from '../src/codec/group.ts';
import { createRuntime } from '../src/runtime/index.ts';
import { sqliteStore } from '../src/store/sqlite-store.ts';
import { inDirectory, line, percentile } from './measure.ts';
import { sixStates } from './six-states.ts';

const STEPS = 2_000;

await inDirectory(async (dir) => {
  const store = sqliteStore({ dir: join(dir, 'raw') });
  const { epoch, position } = await store.acquire();
  const value = JSON.stringify({ text: 'x'.repeat(340) });
  const commits: number[] = [];
  for (let at = position + 1; at <= position + STEPS; at++) {
    const encoder = new GroupEncoder(1024);
    encoder.add(RecordKind.put, 'p/1', value);
    const started = performance.now();
    await store.append(epoch, encoder.finish(at, epoch));
    commits.push(performance.now() - started);
  }
  await store.close();

  const runtime = await createRuntime({
    machines: [sixStates],
    store: sqliteStore({ dir: join(dir, 'store') }),
  });
  const ref = await runtime.spawn(sixStates, { id: 'one' });
  const steps: number[] = [];
  for (let i = 0; i < STEPS; i++) {
    const started = performance.now();
    await ref.sendDurable({ type: 'NEXT' });
    steps.push(performance.now() - started);
  }
  await runtime.close();
  line('store: one commit', {
    'p50 ms': percentile(commits, 0.5),
    'p99 ms': percentile(commits, 0.99),
  });
  line('one procedure: one step', {
    'p50 ms': percentile(steps, 0.5),
    'p99 ms': percentile(steps, 0.99),
    'of a commit': percentile(steps, 0.5) / percentile(commits, 0.5),
  });
});
