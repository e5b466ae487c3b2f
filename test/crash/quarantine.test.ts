/** L15: mail that is held for a quarantined procedure, and its release, at every moment of a stop. */
import { assign, sendTo, setup, toPromise, waitFor, type AnyActorRef } from 'xstate';
import { expect, test } from 'vitest';
import type { Runtime } from '../../src/runtime/index.ts';
import { crashEverywhere } from '../../src/testing/crash-everywhere.ts';

const feeder = setup({
  types: {} as { input: { to: unknown }; context: { to: unknown } },
}).createMachine({
  id: 'feeder',
  version: '1',
  initial: 'over',
  context: ({ input }) => input,
  states: {
    over: {
      type: 'final',
      entry: [1, 0, 2, 3].map((n) =>
        sendTo(({ context }: { context: { to: unknown } }) => context.to as AnyActorRef, {
          type: 'N',
          n,
        }),
      ),
    },
  },
});

/** Takes numbers; 0 breaks a rule until somebody repairs it. */
const keeper = (isRepaired: () => boolean) =>
  setup({
    types: {} as { context: { got: unknown[] }; events: { type: 'N'; n: number } },
    actions: { act: (_, _params: { n: number }): void => undefined },
  }).createMachine({
    id: 'keeper',
    version: '1',
    initial: 'on',
    context: { got: [] },
    states: {
      on: {
        on: {
          N: {
            actions: [
              assign({
                got: ({ context, event }) => [
                  ...context.got,
                  event.n === 0 && !isRepaired() ? new Set() : event.n,
                ],
              }),
              { type: 'act', params: ({ event }) => ({ n: event.n }) },
            ],
          },
        },
        always: { guard: ({ context }) => context.got.length === 4, target: 'over' },
      },
      over: { type: 'final' },
    },
  });

const isQuarantined = (runtime: Runtime): boolean =>
  runtime.list({ status: 'quarantined' }).procedures.length > 0;

test('held mail is applied once, in order, after the repair', async () => {
  let repaired = false;
  const report = await crashEverywhere({
    machines: (life) => {
      if (life.number === 1) repaired = false;
      return [keeper(() => repaired), feeder];
    },
    limits: { groupRecordsMax: 3 },
    drive: async (runtime) => {
      const to = await runtime.spawn('keeper', { id: 'k' });
      await runtime.spawn('feeder', { id: 'f', input: { to } });
      // Whoever is told of a change looks whether it was set aside; the operator then repairs.
      await waitFor(to as never, (snapshot: { status: string }) => {
        return isQuarantined(runtime) || snapshot.status !== 'active';
      });
      repaired = true;
      if (isQuarantined(runtime)) await runtime.retry('k');
      await toPromise(to as never);
    },
    outcome: (runtime) => runtime.get('k')!.getSnapshot().context as never,
  });
  expect(report.points).toBeGreaterThan(10);
});
