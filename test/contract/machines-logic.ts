/** Machines about children that are no machines: promises, callbacks, observables, reducers. */
import {
  assign,
  fromCallback,
  fromEventObservable,
  fromObservable,
  fromPromise,
  fromTransition,
  sendTo,
  setup,
  type Observer,
  type Subscribable,
} from 'xstate';
import type { Stage } from './actor-driver.ts';
import { note } from './actor-transcript.ts';

interface Order {
  readonly ms: number;
  readonly answer?: string;
  readonly fail?: string;
}

/** Answers after `ms` of the stage's time; 0 ms: without waiting. */
function answering({ clock, notes }: Stage) {
  return fromPromise<string, Order>(async ({ input }) => {
    notes.say('promise', `runs for ${input.answer ?? input.fail}`);
    if (input.ms > 0) await new Promise<void>((resolve) => clock.setTimeout(resolve, input.ms));
    if (input.fail !== undefined) throw new Error(input.fail);
    return `${input.answer}!`;
  });
}

export function invokedPromise(stage: Stage) {
  return setup({
    types: {} as { context: { order: Order; got: unknown[] } },
    actors: { answering: answering(stage) },
    actions: {
      note: stage.notes.of('root'),
      keep: assign({ got: ({ context, event }) => [...context.got, event['output'] as unknown] }),
      order: assign({ order: ({ event }) => event['order'] as Order }),
    },
  }).createMachine({
    context: { order: { ms: 0 }, got: [] },
    initial: 'idle',
    states: {
      idle: { on: { ASK: { target: 'asking', actions: 'order' }, ASK_TWO: 'both' } },
      asking: {
        invoke: {
          id: 'answer',
          src: 'answering',
          input: ({ context }) => context.order,
          onDone: { target: 'idle', actions: ['keep', note('done')] },
          onError: { target: 'failed', actions: note('failed') },
        },
        on: {
          LEAVE: 'idle',
          ASK: { target: 'asking', reenter: true, actions: 'order' },
        },
      },
      failed: { on: { ASK: { target: 'asking', actions: 'order' } } },
      both: {
        invoke: [
          {
            id: 'slow',
            src: 'answering',
            input: { ms: 20, answer: 'slow' },
            onDone: { actions: ['keep', note('slow done')] },
          },
          {
            id: 'fast',
            src: 'answering',
            input: { ms: 10, answer: 'fast' },
            onDone: { actions: ['keep', note('fast done')] },
          },
        ],
        on: { LEAVE: 'idle' },
      },
    },
  });
}

export function invokedCallback({ clock, notes }: Stage) {
  const door = fromCallback<{ type: string; n?: number }, { name: string }>(
    ({ sendBack, receive, input }) => {
      notes.say('door', `opens ${input.name}`);
      receive((event) => {
        notes.say('door', `hears ${event.type}`);
        if (event.type === 'PING') sendBack({ type: 'PONG', n: (event.n ?? 0) + 1 });
      });
      const timer = clock.setTimeout(() => sendBack({ type: 'CREAK' }), 500);
      return () => {
        clock.clearTimeout(timer);
        notes.say('door', `closes ${input.name}`);
      };
    },
  );
  return setup({
    types: {} as { context: object },
    actors: { door },
    actions: { note: notes.of('root') },
  }).createMachine({
    context: {},
    initial: 'inside',
    states: {
      inside: {
        invoke: { id: 'door', src: 'door', input: { name: 'oak' } },
        on: {
          KNOCK: { actions: sendTo('door', ({ event }) => ({ type: 'PING', n: event['n'] })) },
          PONG: { actions: note('pong') },
          CREAK: { actions: note('creak') },
          LEAVE: 'outside',
          AGAIN: { target: 'inside', reenter: true },
          END: 'end',
        },
      },
      outside: { on: { '*': { actions: note('outside') } } },
      end: { type: 'final' },
    },
  });
}

/** A source of values that a test's machine can subscribe to, driven by the stage's clock. */
function ticker<T>({ clock, notes }: Stage, values: readonly T[], fail?: string): Subscribable<T> {
  return {
    subscribe(observer: unknown) {
      const { next, error, complete } = observer as Observer<T>;
      let timer: unknown;
      const emit = (index: number): void => {
        const value = values[index];
        if (value !== undefined) {
          next?.(value);
          timer = clock.setTimeout(() => emit(index + 1), 100);
        } else if (fail === undefined) complete?.();
        else error?.(new Error(fail));
      };
      timer = clock.setTimeout(() => emit(0), 100);
      return {
        unsubscribe() {
          notes.say('observable', 'unsubscribed');
          clock.clearTimeout(timer);
        },
      };
    },
  };
}

export function invokedObservable(stage: Stage) {
  return setup({
    types: {} as { context: { seen: unknown[] } },
    actors: {
      counting: fromObservable(() => ticker(stage, [1, 2, 3])),
      failing: fromObservable(() => ticker(stage, [1], 'the source broke')),
      events: fromEventObservable(() =>
        ticker(stage, [
          { type: 'TICK', n: 1 },
          { type: 'TICK', n: 2 },
        ]),
      ),
    },
    actions: {
      note: stage.notes.of('root'),
      see: assign({
        seen: ({ context, event }) => [
          ...context.seen,
          (event['snapshot'] as { context?: unknown }).context ?? null,
        ],
      }),
    },
  }).createMachine({
    context: { seen: [] },
    initial: 'idle',
    states: {
      idle: { on: { COUNT: 'counting', FAIL: 'failing', EVENTS: 'events' } },
      counting: {
        invoke: {
          id: 'counting',
          src: 'counting',
          onSnapshot: { actions: ['see', note('snapshot')] },
          onDone: { target: 'idle', actions: note('done') },
        },
        on: { LEAVE: 'idle' },
      },
      failing: {
        invoke: {
          id: 'failing',
          src: 'failing',
          onSnapshot: { actions: 'see' },
          onError: { target: 'idle', actions: note('error') },
        },
      },
      events: {
        invoke: {
          id: 'events',
          src: 'events',
          onDone: { target: 'idle', actions: note('events done') },
        },
        on: { TICK: { actions: note('tick') } },
      },
    },
  });
}

export function invokedReducer({ notes }: Stage) {
  const sum = fromTransition<
    { total: number },
    { type: string; n?: number },
    never,
    { from: number }
  >(
    (state, event) => {
      if (event.type === 'ADD') return { total: state.total + (event.n ?? 0) };
      if (event.type === 'BREAK') throw new Error('no such sum');
      return state;
    },
    ({ input }) => ({ total: input.from }),
  );
  return setup({
    types: {} as { context: { totals: number[] } },
    actors: { sum },
    actions: {
      note: notes.of('root'),
      see: assign({
        totals: ({ context, event }) => [
          ...context.totals,
          (event['snapshot'] as { context: { total: number } }).context.total,
        ],
      }),
    },
  }).createMachine({
    context: { totals: [] },
    initial: 'on',
    states: {
      on: {
        invoke: {
          id: 'sum',
          src: 'sum',
          input: { from: 100 },
          onSnapshot: { actions: 'see' },
          onError: { target: 'broken', actions: note('error') },
        },
        on: {
          ADD: { actions: sendTo('sum', ({ event }) => event) },
          BREAK: { actions: sendTo('sum', { type: 'BREAK' }) },
        },
      },
      broken: {},
    },
  });
}
