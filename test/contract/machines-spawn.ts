/** Machines about spawned children: by action, in assign, in the context factory. */
import {
  assign,
  enqueueActions,
  fromCallback,
  fromPromise,
  sendParent,
  sendTo,
  setup,
  spawnChild,
  stopChild,
  type ActorRefFrom,
  type AnyActorRef,
} from 'xstate';
import type { Stage } from './actor-driver.ts';
import { note } from './actor-transcript.ts';

export function counter({ notes }: Stage) {
  return setup({
    types: {} as { context: { n: number }; input: { from: number } | undefined },
    actions: { note: notes.of('counter'), inc: assign({ n: ({ context }) => context.n + 1 }) },
  }).createMachine({
    id: 'counter',
    context: ({ input }) => ({ n: input?.from ?? 0 }),
    initial: 'on',
    entry: note('+counter'),
    states: {
      on: {
        on: {
          INC: { actions: ['inc', note('inc')] },
          TELL: {
            actions: sendParent(({ context }) => ({ type: 'N', n: context.n })),
          },
          WHO: { actions: sendParent(({ self }) => ({ type: 'N', n: self.id })) },
          END: 'end',
        },
      },
      end: { type: 'final' },
    },
    output: ({ context }) => context.n,
  });
}

/** Children by the action spawnChild; there is no place in context for them. */
export function spawning(stage: Stage) {
  return setup({
    types: {} as { context: { heard: unknown[]; base: number } },
    actors: { counter: counter(stage) },
    actions: {
      note: stage.notes.of('root'),
      hear: assign({
        heard: ({ context, event }) => [...context.heard, event['n']],
      }),
    },
  }).createMachine({
    context: { heard: [], base: 10 },
    initial: 'on',
    on: {
      N: { actions: ['hear', note('n')] },
      ADD: { actions: spawnChild('counter', { id: 'one' }) },
      ADD_INPUT: {
        actions: spawnChild('counter', {
          id: ({ event }) => `kid ${event['name'] as string}`,
          input: ({ context, event }) => ({ from: context.base + (event['plus'] as number) }),
        }),
      },
      ADD_NAMELESS: { actions: spawnChild('counter') },
      ADD_AND_TELL: {
        actions: [
          spawnChild('counter', { id: 'one' }),
          sendTo('one', { type: 'INC' }),
          sendTo('one', { type: 'TELL' }),
        ],
      },
      ADD_AND_STOP: { actions: [spawnChild('counter', { id: 'brief' }), stopChild('brief')] },
      INC: { actions: sendTo(({ event }) => event['to'] as string, { type: 'INC' }) },
      TELL: { actions: sendTo(({ event }) => event['to'] as string, { type: 'TELL' }) },
      WHO: { actions: sendTo(({ event }) => event['to'] as string, { type: 'WHO' }) },
      END: { actions: sendTo('one', { type: 'END' }) },
      STOP: { actions: stopChild('one') },
      STOP_COMPUTED: { actions: stopChild(({ event }) => event['name'] as string) },
      STOP_UNKNOWN: { actions: stopChild('nobody') },
      'xstate.done.actor.one': { actions: note('one is done') },
      MOVE: '.moved',
    },
    states: { on: {}, moved: {} },
  });
}

/** References that live in the context: one from the factory, the others from assign. */
export function keepingRefs(stage: Stage) {
  const child = counter(stage);
  type CounterRef = ActorRefFrom<typeof child>;
  return setup({
    types: {} as {
      context: { first: CounterRef; more: CounterRef[]; heard: unknown[] };
    },
    actors: { counter: child },
    actions: {
      note: stage.notes.of('root'),
      hear: assign({
        heard: ({ context, event }) => [...context.heard, event['n']],
      }),
    },
  }).createMachine({
    context: ({ spawn }) => ({
      first: spawn('counter', { id: 'first', input: { from: 1 } }),
      more: [],
      heard: [],
    }),
    on: {
      N: { actions: 'hear' },
      FIRST: {
        actions: [
          sendTo(({ context }) => context.first, { type: 'INC' }),
          sendTo(({ context }) => context.first, { type: 'TELL' }),
        ],
      },
      MORE: {
        actions: assign({
          more: ({ context, spawn, event }) => [
            ...context.more,
            spawn('counter', {
              id: event['name'] as string,
              input: { from: event['from'] as number },
            }),
          ],
        }),
      },
      ALL: {
        actions: enqueueActions(({ context, enqueue }) => {
          for (const ref of [context.first, ...context.more]) enqueue.sendTo(ref, { type: 'TELL' });
        }),
      },
      DROP: {
        actions: [stopChild(({ context }) => context.first), note('stopped first')],
      },
      FORGET: {
        actions: enqueueActions(({ context, enqueue }) => {
          for (const ref of context.more) enqueue.stopChild(ref);
          enqueue.assign({ more: [] });
        }),
      },
      HAND_OVER: {
        actions: sendTo(
          ({ context }) => context.first,
          ({ context }) => ({
            type: 'UNHEARD_OF',
            friend: context.more[0],
          }),
        ),
      },
    },
  });
}

export function enqueuedChildren(stage: Stage) {
  return setup({
    types: {} as { context: { heard: unknown[] } },
    actors: { counter: counter(stage) },
    actions: {
      note: stage.notes.of('root'),
      hear: assign({
        heard: ({ context, event }) => [...context.heard, event['n']],
      }),
    },
  }).createMachine({
    context: { heard: [] },
    on: {
      N: { actions: 'hear' },
      GO: {
        actions: enqueueActions(({ enqueue }) => {
          for (const id of ['a', 'b', 'c']) {
            enqueue.spawnChild('counter', { id, input: { from: 5 } });
          }
          enqueue.sendTo('b', { type: 'INC' });
          enqueue.sendTo('b', { type: 'TELL' });
          enqueue.stopChild('c');
          enqueue.raise({ type: 'LATER' }, { delay: 100, id: 'later' });
          enqueue.raise({ type: 'NEVER' }, { delay: 100, id: 'never' });
          enqueue.cancel('never');
        }),
      },
      LATER: { actions: note('later') },
      NEVER: { actions: note('never') },
    },
  });
}

/** Spawned, so the parent hears snapshots as events `xstate.snapshot.<id>`. */
export function syncedChild(stage: Stage) {
  return setup({
    types: {} as { context: object },
    actors: { counter: counter(stage) },
    actions: { note: stage.notes.of('root') },
  }).createMachine({
    context: {},
    on: {
      ADD: { actions: spawnChild('counter', { id: 'one', syncSnapshot: true }) },
      INC: { actions: sendTo('one', { type: 'INC' }) },
      'xstate.snapshot.one': { actions: note('snapshot') },
    },
  });
}

/** Spawned promises and callbacks. */
export function spawnedLogic({ clock, notes }: Stage) {
  return setup({
    types: {} as { context: { ref: AnyActorRef | null } },
    actors: {
      timer: fromPromise<string, { ms: number }>(async ({ input }) => {
        await new Promise<void>((resolve) => clock.setTimeout(resolve, input.ms));
        return `after ${input.ms}`;
      }),
      bell: fromCallback(({ sendBack, receive }) => {
        receive(() => sendBack({ type: 'RANG' }));
        return () => {
          notes.say('bell', 'unhung');
        };
      }),
    },
    actions: { note: notes.of('root') },
  }).createMachine({
    context: { ref: null },
    on: {
      TIMER: { actions: spawnChild('timer', { id: 'timer', input: { ms: 40 } }) },
      'xstate.done.actor.timer': { actions: note('timer done') },
      BELL: { actions: assign({ ref: ({ spawn }) => spawn('bell', { id: 'bell' }) }) },
      RING: { actions: sendTo('bell', { type: 'RING' }) },
      RANG: { actions: note('rang') },
      UNHANG: { actions: [stopChild('bell'), assign({ ref: null })] },
    },
  });
}
