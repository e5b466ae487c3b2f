/** L3, L4, L13: attempts are proven over before others start, whatever the moment of a stop. */
import { toPromise } from 'xstate';
import { expect, test } from 'vitest';
import { crashEverywhere } from '../../src/testing/crash-everywhere.ts';
import { virtualPool } from '../../src/testing/virtual-pool.ts';
import * as machines from './machines.ts';

const ended = (ref: unknown): Promise<unknown> => toPromise(ref as never);

test('tasks: success, failure, one given up while it runs and its successor', async () => {
  const report = await crashEverywhere({
    machines: () => [machines.tasks],
    tasks: (life) => ({
      double: virtualPool({
        clock: life.clock,
        tasks: {
          double: {
            durationMs: 5,
            run: (input) => {
              const { n } = input as { n: number };
              if (n < 0) throw Object.assign(new Error('negative'), { code: 'ENEG' });
              return { n: n * 2 };
            },
          },
        },
      }),
      hang: virtualPool({
        clock: life.clock,
        tasks: { hang: { durationMs: 10_000_000, run: () => ({ n: 0 }) } },
      }),
    }),
    drive: async (runtime) => {
      await ended(await runtime.spawn(machines.tasks, { id: 'k' }));
    },
    // How many attempts it took differs with the crashes; what came of them must not.
    outcome: (runtime) => runtime.get('k')?.getSnapshot().output as never,
  });
  expect(report.points).toBeGreaterThan(20);
});
