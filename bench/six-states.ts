/** The machine the benches run: six states, each with an entry effect and a long timer. */
import { assign, setup } from 'xstate';

interface Context {
  readonly n: number;
  readonly note: string;
}

const names = ['idle', 'asked', 'working', 'checking', 'reporting', 'resting'] as const;

const setUp = setup({
  types: {} as { context: Context; events: { type: 'NEXT' } },
  actions: { act: () => undefined },
});

function stateOf(index: number) {
  return {
    entry: 'act' as const,
    after: { 600_000: { target: 'resting' as const } },
    on: {
      NEXT: {
        target: names[(index + 1) % names.length] as (typeof names)[number],
        actions: assign({ n: ({ context }: { context: Context }) => context.n + 1 }),
      },
    },
  };
}

export const sixStates = setUp.createMachine({
  id: 'six-states',
  version: '1',
  initial: 'idle',
  context: { n: 0, note: 'a context of the size that people have' },
  states: {
    idle: stateOf(0),
    asked: stateOf(1),
    working: stateOf(2),
    checking: stateOf(3),
    reporting: stateOf(4),
    resting: stateOf(5),
  },
});
