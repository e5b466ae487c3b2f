/** More machines in the manner of XState's documentation; see machines-documentation.ts. */
import {
  type ActorRefFrom,
  type AnyEventObject,
  type EventObject,
  type MetaObject,
  type ParameterizedObject,
  type ProvidedActor,
  type StateNodeConfig,
  assign,
  createMachine,
  fromPromise,
  fromTransition,
  raise,
  sendTo,
  setup,
} from 'xstate';
import type { Stage } from './actor-driver.ts';

export const todo = setup({
  types: {} as { context: { title: string; done: boolean }; input: { title: string } },
}).createMachine({
  id: 'todo',
  context: ({ input }) => ({ title: input.title, done: false }),
  initial: 'reading',
  states: {
    reading: {
      on: {
        TOGGLE: { actions: assign({ done: ({ context }) => !context.done }) },
        EDIT: 'editing',
        DELETE: 'deleted',
      },
    },
    editing: {
      on: {
        SAVE: {
          target: 'reading',
          actions: assign({ title: ({ event }) => event['title'] as string }),
        },
        CANCEL: 'reading',
      },
    },
    deleted: { type: 'final' },
  },
});

/** Spawned items, their refs in the context; the item's logic is given itself, not by name. */
export const todos = createMachine({
  types: {} as {
    context: { next: number; items: ActorRefFrom<typeof todo>[] };
    events: AnyEventObject;
  },
  id: 'todos',
  context: { next: 1, items: [] },
  on: {
    ADD: {
      actions: assign({
        next: ({ context }) => context.next + 1,
        items: ({ context, event, spawn }) => [
          ...context.items,
          spawn(todo, { id: `todo-${context.next}`, input: { title: event['title'] as string } }),
        ],
      }),
    },
    TO: {
      actions: sendTo(
        ({ context, event }) => context.items[event['index'] as number]!,
        ({ event }) => event['what'] as { type: string },
      ),
    },
    'xstate.done.actor.*': {
      actions: assign({
        items: ({ context, event }) =>
          context.items.filter(
            (item) => item.id !== (event as unknown as { actorId: string }).actorId,
          ),
      }),
    },
  },
});

/** The same with `setup` and the item's logic by name. */
export const namedTodos = setup({
  types: {} as { context: { items: ActorRefFrom<typeof todo>[] } },
  actors: { todo },
}).createMachine({
  context: { items: [] },
  on: {
    ADD: {
      actions: assign({
        items: ({ context, event, spawn }) => [
          ...context.items,
          spawn('todo', {
            id: `todo-${context.items.length + 1}`,
            input: { title: event['title'] as string },
          }),
        ],
      }),
    },
    TO: {
      actions: sendTo(
        ({ context, event }) => context.items[event['index'] as number]!,
        ({ event }) => event['what'] as { type: string },
      ),
    },
  },
});

interface Credit {
  readonly ssn: string;
  readonly scores: number[];
  readonly rate: number | null;
}

type Region = StateNodeConfig<
  Credit,
  AnyEventObject,
  ProvidedActor,
  ParameterizedObject,
  ParameterizedObject,
  string,
  string,
  unknown,
  EventObject,
  MetaObject
>;

/** Three bureaus are asked side by side, then `always` decides. */
export function creditCheck({ clock }: Stage) {
  const bureau = (name: string, ms: number): Region => ({
    initial: 'asking',
    states: {
      asking: {
        invoke: {
          src: fromPromise<number, { ssn: string }>(async ({ input }) => {
            await new Promise<void>((resolve) => clock.setTimeout(resolve, ms));
            if (input.ssn === 'unknown') throw new Error(`${name} knows nobody of that number`);
            return 600 + ms;
          }),
          input: ({ context }) => ({ ssn: context.ssn }),
          onDone: {
            target: 'answered',
            actions: assign({
              scores: ({ context, event }) => [...context.scores, event.output as number],
            }),
          },
          onError: 'silent',
        },
      },
      answered: { type: 'final' },
      silent: { type: 'final' },
    },
  });
  return createMachine({
    types: {} as {
      context: Credit;
      input: { ssn: string };
      output: { rate: number | null; asked: number };
    },
    context: ({ input }) => ({ ssn: input.ssn, scores: [], rate: null }),
    initial: 'verifying',
    states: {
      verifying: {
        always: [
          { guard: ({ context }) => context.ssn === '', target: 'rejected' },
          { target: 'checking' },
        ],
      },
      checking: {
        type: 'parallel',
        states: { a: bureau('A', 30), b: bureau('B', 10), c: bureau('C', 20) },
        onDone: 'deciding',
      },
      deciding: {
        always: [
          { guard: ({ context }) => context.scores.length === 0, target: 'rejected' },
          {
            guard: ({ context }) => Math.min(...context.scores) > 605,
            target: 'offered',
            actions: assign({ rate: 0.05 }),
          },
          { target: 'rejected' },
        ],
      },
      offered: { type: 'final' },
      rejected: { type: 'final' },
    },
    output: ({ context }) => ({ rate: context.rate, asked: context.scores.length }),
  });
}

/** Inline actions of every kind, and a search that waits until the typing ends. */
export function search({ notes, clock }: Stage) {
  return createMachine({
    types: {} as { context: { query: string; results: string[] } },
    id: 'search',
    context: { query: '', results: [] },
    initial: 'idle',
    entry: ({ self }) => notes.say('root', `${self.id} is here`),
    on: {
      TYPE: {
        target: '.debouncing',
        reenter: true,
        actions: [
          assign({ query: ({ event }) => event['query'] as string }),
          ({ context }) => notes.say('root', `typed ${context.query}`),
        ],
      },
      CLEAR: {
        target: '.idle',
        actions: [assign({ query: '', results: [] }), raise({ type: 'CLEARED' })],
      },
      CLEARED: { actions: () => notes.say('root', 'cleared') },
    },
    states: {
      idle: { exit: () => notes.say('root', 'no longer idle') },
      debouncing: { after: { 300: 'searching' } },
      searching: {
        invoke: {
          src: fromPromise<string[], string>(async ({ input }) => {
            await new Promise<void>((resolve) => clock.setTimeout(resolve, 50));
            return [`${input} 1`, `${input} 2`];
          }),
          input: ({ context }) => context.query,
          onDone: {
            target: 'idle',
            actions: [
              assign({ results: ({ event }) => event.output as string[] }),
              ({ context, event }) => notes.say('root', `${event.type}: ${context.results.length}`),
            ],
          },
        },
      },
    },
  });
}

/** A counter as transition logic, invoked at the root and asked for its snapshots. */
export const tally = createMachine({
  types: {} as { context: { shown: number } },
  context: { shown: 0 },
  invoke: {
    id: 'count',
    src: fromTransition(
      (state: { count: number }, event: { type: string }) =>
        event.type === 'inc' ? { count: state.count + 1 } : state,
      { count: 10 },
    ),
    onSnapshot: {
      actions: assign({
        shown: ({ event }) =>
          (event as unknown as { snapshot: { context: { count: number } } }).snapshot.context.count,
      }),
    },
  },
  on: { inc: { actions: sendTo('count', { type: 'inc' }) } },
});
