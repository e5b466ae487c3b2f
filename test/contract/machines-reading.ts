/** Machines whose refs are looked at from outside. */
import { type ActorRefFrom, assign, emit, fromPromise, sendTo, setup } from 'xstate';
import type { Stage } from './actor-driver.ts';
import { note } from './actor-transcript.ts';

/** A parcel on its way: states, history, a child, an end with output, and a way to fail. */
export function parcel({ clock, notes }: Stage) {
  const customs = setup({
    types: {} as { context: { checks: number }; input: { from: string }; output: string },
    actions: { note: notes.of('customs') },
  }).createMachine({
    id: 'customs',
    context: { checks: 0 },
    initial: 'closed',
    states: {
      closed: {
        on: { CHECK: { actions: assign({ checks: ({ context }) => context.checks + 1 }) } },
      },
    },
  });
  return setup({
    types: {} as {
      context: { to: string; stops: string[] };
      input: { to: string };
      output: { arrived: string };
    },
    actors: {
      customs,
      weigh: fromPromise<number>(
        () => new Promise((resolve) => void clock.setTimeout(() => resolve(3), 100)),
      ),
    },
    actions: { note: notes.of('root') },
  }).createMachine({
    id: 'parcel',
    context: ({ input }) => ({ to: input.to, stops: [] }),
    initial: 'packed',
    states: {
      packed: {
        invoke: {
          id: 'weigh',
          src: 'weigh',
          onDone: { actions: assign({ stops: ({ event }) => [`${event.output} kg`] }) },
        },
        on: { SHIP: 'moving' },
      },
      moving: {
        initial: 'road',
        invoke: { id: 'customs', src: 'customs', input: { from: 'here' } },
        states: { road: { on: { SAIL: 'sea' } }, sea: {}, past: { type: 'history' } },
        on: {
          STOP: {
            target: 'resting',
            actions: assign({
              stops: ({ context, event }) => [...context.stops, event['at'] as string],
            }),
          },
        },
      },
      resting: {
        on: {
          GO_ON: 'moving.past',
          ARRIVE: 'arrived',
          LOSE: {
            actions: assign(() => {
              throw new Error('lost');
            }),
          },
        },
      },
      arrived: { type: 'final', entry: [note('+arrived'), emit({ type: 'rang' })] },
    },
    output: ({ context }) => ({ arrived: context.to }),
  });
}

/** A machine whose decisions look at snapshots: its own, and its child's. */
export function looking(_: Stage) {
  const counter = setup({ types: {} as { context: { n: number } } }).createMachine({
    id: 'counter',
    context: { n: 0 },
    on: { INC: { actions: assign({ n: ({ context }) => context.n + 1 }) } },
  });
  return setup({
    types: {} as { context: { n: number; seen: number[]; child: ActorRefFrom<typeof counter> } },
    actors: { counter },
  }).createMachine({
    id: 'looking',
    context: ({ spawn }) => ({ n: 0, seen: [], child: spawn('counter', { id: 'counter' }) }),
    initial: 'on',
    states: {
      on: {
        on: {
          SELF: {
            actions: assign({
              n: ({ context }) => context.n + 1,
              seen: ({ context, self }) => [
                ...context.seen,
                (self.getSnapshot().context as { n: number }).n,
              ],
            }),
          },
          INC: { actions: sendTo('counter', { type: 'INC' }) },
          FULL: {
            guard: ({ context }) => context.child.getSnapshot().context.n >= 2,
            target: 'full',
          },
        },
      },
      full: {},
    },
  });
}
