/** The machine the benches run: six states, each with an entry effect and a long timer. */
import { assign, setup } from 'xstate';

const NAMES = ['idle', 'asked', 'working', 'checking', 'reporting', 'resting'] as const;

function stateOf(index: number) {
  return {
    entry: 'act',
    after: { 600_000: { target: 'resting' } },
    on: { NEXT: { target: NAMES[(index + 1) % NAMES.length] as string, actions: 'count' } },
  } as const;
}

export const sixStates = setup({
  types: {} as { context: { n: number; note: string }; events: { type: 'NEXT' } },
  actions: {
    act: () => undefined,
    count: assign({ n: ({ context }) => context.n + 1 }),
  },
}).createMachine({
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
