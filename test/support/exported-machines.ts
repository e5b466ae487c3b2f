/** Machines that hold every kind of part an export has to deal with. */
import { and, assign, createMachine, fromPromise, not, raise, setup } from 'xstate';

const kid = createMachine({ id: 'kid' });

/** Nested, parallel, final and history states, every kind of transition, parts without a name. */
export const everything = setup({
  types: {} as { context: { n: number }; input: { n: number } },
  actors: { fetch: fromPromise(async () => Promise.resolve(1)), kid },
  guards: { ready: () => true },
  delays: { slow: 100 },
  actions: { greet: () => undefined, greetBy: (_, _params: { name: string }) => undefined },
}).createMachine({
  id: 'everything',
  version: '2',
  context: ({ input }) => ({ n: input.n }),
  initial: 'parts',
  entry: raise({ type: 'GO' }),
  on: { CANCEL: '.over', PING: { actions: 'greet' }, IGNORED: undefined },
  states: {
    parts: {
      type: 'parallel',
      on: { AGAIN: { target: 'parts', reenter: true }, INTO: '.left.y' },
      onDone: 'over',
      states: {
        left: {
          initial: 'x',
          states: {
            x: {
              entry: [{ type: 'greetBy', params: { name: 'x' } }],
              exit: { type: 'greetBy', params: ({ context }) => ({ name: String(context.n) }) },
              on: {
                GO: {
                  target: 'y',
                  guard: and(['ready', not('ready')]),
                  actions: [assign({ n: 2 }), () => undefined],
                },
                UP: '#everything.parts',
                SELF: { target: 'x', reenter: true },
              },
            },
            y: { type: 'final', output: { q: 1 } },
            back: { type: 'history', history: 'deep', target: 'y' },
          },
        },
        right: {
          initial: 'q',
          invoke: [
            {
              id: 'call',
              src: 'fetch',
              input: ({ context }) => context,
              onDone: { target: '#everything.over', guard: { type: 'ready' } },
              onError: { actions: 'greet' },
            },
            { src: kid },
          ],
          states: {
            q: {
              on: { BACK: '#everything.parts.left.back' },
              after: {
                1000: 'w',
                slow: {
                  target: 'w',
                  guard: function isLate() {
                    return true;
                  },
                },
              },
            },
            w: {
              invoke: { src: fromPromise(async () => Promise.resolve(2)) },
              always: [{ guard: ({ context }) => context.n > 1, target: 'q' }],
            },
          },
        },
      },
    },
    over: { type: 'final', tags: ['ended'], meta: { page: 1 }, description: 'It is "over": so.' },
  },
});

/** Names that Mermaid would read as something else. */
export const awkward = createMachine({
  id: 'a "b": c',
  initial: 'end',
  states: {
    end: { on: { 'we:ird; "ev" <b>#x</b> %% {y}': 'state', 'two\nlines': 'no-te' } },
    state: { initial: 'end', states: { end: {}, '--> x': {} } },
    'no-te': {},
    no_te: {},
    ' ': {},
  },
});
