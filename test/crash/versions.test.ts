/** L2: machines that change between two lives, at every moment at which the first can end. */
import { assign, setup, toPromise } from 'xstate';
import { expect, test } from 'vitest';
import type { MachineEntry, Runtime } from '../../src/runtime/index.ts';
import { crashEverywhere } from '../../src/testing/crash-everywhere.ts';
import type { Life } from '../../src/testing/virtual-world.ts';

const act = { act: (_: unknown, _params: { step: string }): void => undefined };

const types = {} as {
  context: { list: string[] };
  events: { type: 'N'; n: number };
};

/** Version 1 keeps a count; the end of the run is a list of what it heard. */
const one = setup({
  types: {} as { context: { count: number }; events: { type: 'N'; n: number } },
  actions: act,
}).createMachine({
  id: 'changing',
  version: '1',
  initial: 'old',
  context: { count: 0 },
  output: ({ context }) => context.count,
  states: {
    old: {
      entry: { type: 'act', params: { step: 'begins' } },
      on: {
        N: {
          actions: [
            assign({ count: ({ context, event }) => context.count + event.n }),
            { type: 'act', params: ({ event }) => ({ step: `n${event.n}` }) },
          ],
        },
      },
      after: { 20: 'over' },
    },
    over: { type: 'final' },
  },
});

const later = (version: string) =>
  setup({ types, actions: act }).createMachine({
    id: 'changing',
    version,
    initial: 'fresh',
    context: { list: [] },
    output: ({ context }) => context.list.length,
    states: {
      fresh: {
        entry: { type: 'act', params: { step: 'begins' } },
        on: {
          N: {
            actions: [
              assign({
                list: ({ context, event }) => [
                  ...context.list,
                  ...Array.from({ length: event.n }, () => 'x'),
                ],
              }),
              { type: 'act', params: ({ event }) => ({ step: `n${event.n}` }) },
            ],
          },
        },
        after: { 20: 'over' },
      },
      over: { type: 'final' },
    },
    // What was armed under version 1 is due under its old name.
    on: { 'xstate.after.20.changing.old': '.over' } as never,
  });

/** 1 to 2 makes the count a list; 2 to 3 renames the state. */
const migrate = {
  1: ({ state, context }: { state: unknown; context: unknown }) => ({
    state: state === 'old' ? 'middle' : (state as string),
    context: {
      list: Array.from({ length: (context as { count: number }).count }, () => 'x'),
    },
  }),
  2: ({ state, context }: { state: unknown; context: unknown }) => ({
    state: state === 'middle' ? 'fresh' : (state as string),
    context: context as never,
  }),
};

const drive = async (runtime: Runtime): Promise<void> => {
  const ref = await runtime.spawn('changing', { id: 'c' });
  for (const n of [1, 2, 3]) {
    const key = `n${n}`;
    await (ref as { sendDurable(event: object, options: object): Promise<void> })
      .sendDurable({ type: 'N', n }, { key })
      .catch(() => undefined);
  }
  await toPromise(ref as never);
};

test('a machine that goes from version 1 to 3 between two lives loses no event, timer or effect', async () => {
  const machines = (life: Life): MachineEntry[] =>
    life.number === 1 ? [one] : [{ machine: later('3'), migrate }];
  const report = await crashEverywhere({
    machines,
    drive,
    outcome: (runtime) => {
      const { status, output } = runtime.get('c')!.getSnapshot();
      return { status, output } as never;
    },
  });
  expect(report.points).toBeGreaterThan(15);
});
