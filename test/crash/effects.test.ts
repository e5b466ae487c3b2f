/** L2, L15: the news that an effect failed, and what it settles, whatever the moment of a stop. */
import { assign, sendTo, setup, toPromise, type AnyActorRef } from 'xstate';
import { expect, test } from 'vitest';
import { crashEverywhere } from '../../src/testing/crash-everywhere.ts';
import type { Life } from '../../src/testing/virtual-world.ts';

/** Its effect always fails; it ends only when it has heard so. */
const failing = (life: Life) =>
  setup({
    types: {} as {
      context: { ticks: number };
      events: { type: 'TICK' } | { type: 'effect.failed' };
    },
    actions: {
      boom: () =>
        new Promise<void>((_, reject) => {
          life.clock.setTimeout(() => reject(new Error('no')), 2);
        }) as never,
    },
  }).createMachine({
    id: 'failing',
    version: '1',
    initial: 'on',
    context: { ticks: 0 },
    states: {
      on: {
        entry: 'boom',
        on: {
          TICK: { actions: assign({ ticks: ({ context }) => context.ticks + 1 }) },
          'effect.failed': 'over',
        },
      },
      over: { type: 'final' },
    },
  });

/** Keeps the other one busy, so that its steps stand before and behind the news. */
const ticking = setup({
  types: {} as { input: { to: unknown }; context: { to: unknown; left: number } },
}).createMachine({
  id: 'ticking',
  version: '1',
  initial: 'on',
  context: ({ input }) => ({ to: input.to, left: 4 }),
  states: {
    on: {
      after: {
        1: [
          { guard: ({ context }) => context.left === 0, target: 'over' },
          {
            target: 'on',
            reenter: true,
            actions: [
              assign({ left: ({ context }) => context.left - 1 }),
              sendTo(({ context }) => context.to as AnyActorRef, { type: 'TICK' }),
              sendTo(({ context }) => context.to as AnyActorRef, { type: 'TICK' }),
            ],
          },
        ],
      },
    },
    over: { type: 'final' },
  },
});

test('L2: an effect whose tries are used up is heard of, or tried again, at every stop', async () => {
  const report = await crashEverywhere({
    machines: (life) => [failing(life), ticking],
    limits: { effectAttemptsMax: 1, groupRecordsMax: 3 },
    drive: async (runtime) => {
      const to = await runtime.spawn('failing', { id: 'f' });
      await runtime.spawn('ticking', { id: 't', input: { to } });
      await toPromise(to as never);
    },
    // How many ticks came before the end differs with the time the crashes took.
    outcome: (runtime) => runtime.get('f')?.getSnapshot().status as never,
  });
  expect(report.points).toBeGreaterThan(20);
});
