/** Machines that show where the runtime departs from `createActor` on purpose. */
import {
  assign,
  emit,
  enqueueActions,
  fromPromise,
  raise,
  sendParent,
  sendTo,
  setup,
  spawnChild,
} from 'xstate';
import { declareTask } from '../../src/model/declare-task.ts';
import type { Stage } from './actor-driver.ts';
import { note } from './actor-transcript.ts';

/** Effects that note, throw, wait, send to their own actor or look at it. */
export function effectful({ clock, notes }: Stage) {
  return setup({
    types: {} as { context: { heard: string[] } },
    actions: {
      note: notes.of('root'),
      fall: () => {
        notes.say('root', 'falls');
        throw new Error('the effect fell');
      },

      slow: async () => {
        notes.say('root', 'slow begins');
        await new Promise<void>((resolve) => clock.setTimeout(resolve, 100));
        notes.say('root', 'slow ends');
      },
      look: ({ self }) => {
        const { value, context } = self.getSnapshot() as { value: string; context: object };
        notes.say('root', `sees ${value} ${JSON.stringify(context)}`);
      },
      sendToSelf: ({ self }) => self.send({ type: 'FROM_EFFECT' }),
      break: assign({
        heard: () => {
          throw new Error('the assign fell');
        },
      }),
      hear: assign({ heard: ({ context, event }) => [...context.heard, event.type] }),
    },
  }).createMachine({
    id: 'effectful',
    context: { heard: [] },
    initial: 'a',
    on: { '*': { actions: 'hear' }, 'effect.failed': { actions: ['hear', note('effect.failed')] } },
    states: {
      a: {
        on: {
          GO: { target: 'b', actions: note('a to b') },
          BREAK: { target: 'b', actions: [note('before'), 'break'] },
          FALL: { target: 'b', actions: [note('before'), 'fall', note('behind')] },
          SLOW: { target: 'b', actions: ['slow', note('behind')] },
          LOOK: { target: 'b', actions: ['hear', 'look'] },
          SELF: { target: 'b', actions: ['sendToSelf', raise({ type: 'RAISED' })] },
        },
      },
      b: { entry: note('+b') },
    },
  });
}

export function rejecting(_: Stage) {
  return setup({
    types: {} as { context: { coded: unknown; text: unknown } },
    actors: {
      rejecting: fromPromise<string, unknown>(({ input }) => Promise.reject(input as Error)),
      coded: fromPromise<string>(() =>
        Promise.reject(
          Object.assign(new TypeError('no such host'), { code: 'ENOTFOUND', port: 1 }),
        ),
      ),
    },
  }).createMachine({
    id: 'rejecting',
    context: { coded: null, text: null },
    initial: 'idle',
    states: {
      idle: { on: { CODED: 'coded', TEXT: 'text' } },
      coded: {
        invoke: {
          id: 'c',
          src: 'coded',
          onError: { target: 'idle', actions: assign({ coded: ({ event }) => event.error }) },
        },
      },
      text: {
        invoke: {
          id: 't',
          src: 'rejecting',
          input: 'just text',
          onError: { target: 'idle', actions: assign({ text: ({ event }) => event.error }) },
        },
      },
    },
  });
}

/** A function that exists only while an action list is being made. */
export function enqueuedFunction({ notes }: Stage) {
  return setup({
    types: {} as { context: { n: number } },
    actions: {
      inline: enqueueActions(({ context, enqueue }) => {
        const before = context.n;
        enqueue.assign({ n: 100 });
        enqueue(({ context: seen, event }) => {
          notes.say('root', `${event.type}: ${before}, then ${seen.n}`);
        });
      }),
    },
  }).createMachine({
    id: 'enqueuedFunction',
    context: { n: 1 },
    on: { INLINE: { actions: 'inline' } },
  });
}

/** Values that JSON does not carry, in the context and in events. */
export function unrecordable({ notes }: Stage) {
  return setup({
    types: {} as { context: { value: unknown } },
    actions: { note: notes.of('root') },
  }).createMachine({
    id: 'unrecordable',
    context: { value: null },
    initial: 'on',
    on: {
      KEEP: { actions: assign({ value: ({ event }) => event['value'] as unknown }) },
      DATE: { actions: [assign({ value: () => new Date(0) }), note('dated')] },
    },
    states: { on: {} },
  });
}

export function sameIdTwice({ notes }: Stage) {
  return setup({
    types: {} as { context: object },
    actions: { note: notes.of('root') },
  }).createMachine({
    id: 'sameIdTwice',
    context: {},
    on: {
      REMIND: { actions: raise({ type: 'RING' }, { delay: 100, id: 'alarm' }) },
      RING: { actions: note('ring') },
    },
  });
}

export function endless(_: Stage) {
  return setup({
    types: {} as { context: { n: number } },
  }).createMachine({
    id: 'endless',
    context: { n: 0 },
    initial: 'still',
    states: {
      still: { on: { SPIN: 'spinning' } },
      spinning: {
        always: {
          target: 'spinning',
          reenter: true,
          actions: assign({ n: ({ context }) => context.n + 1 }),
        },
      },
    },
  });
}

/** Ends, or fails, with a child and a grandchild that still live. */
export function lastingChild({ notes }: Stage) {
  const grandchild = setup({ types: {} as { context: object } }).createMachine({
    id: 'grandchild',
    context: {},
  });
  const child = setup({
    types: {} as { context: object },
    actors: { grandchild },
  }).createMachine({
    id: 'child',
    context: {},
    invoke: { id: 'grandchild', src: 'grandchild' },
  });
  return setup({
    types: {} as { context: object; output: string },
    actors: { child },
    actions: { note: notes.of('root') },
  }).createMachine({
    id: 'lastingChild',
    context: {},
    invoke: { id: 'child', src: 'child' },
    initial: 'on',
    states: {
      on: {
        on: {
          END: 'end',
          FAIL: {
            guard: () => {
              throw new Error('the guard fell');
            },
          },
        },
      },
      end: { type: 'final', entry: note('+end') },
    },
    output: 'over',
  });
}

/** Ends while a task runs that it has spawned. */
export function lastingTask(_: Stage) {
  return setup({
    types: {} as { context: object; output: string },
    actors: { dig: declareTask<{ deep: number }, string>('dig') },
  }).createMachine({
    id: 'lastingTask',
    context: {},
    invoke: { id: 'dig', src: 'dig', input: { deep: 7 } },
    initial: 'on',
    states: { on: { on: { END: 'end' } }, end: { type: 'final' } },
    output: 'over',
  });
}

/** A child that says how it stands; the parent asks its snapshot what it can do. */
export function lookingAtChild({ notes }: Stage) {
  const child = setup({ types: {} as { context: { n: number } } }).createMachine({
    id: 'looked',
    context: { n: 0 },
    initial: 'on',
    states: { on: { on: { INC: { actions: assign({ n: ({ context }) => context.n + 1 }) } } } },
  });
  return setup({
    types: {} as { context: { seen: unknown } },
    actors: { child },
    actions: { note: notes.of('root') },
  }).createMachine({
    id: 'lookingAtChild',
    context: { seen: null },
    invoke: {
      id: 'child',
      src: 'child',
      onSnapshot: {
        actions: assign({
          seen: ({ event }) => {
            const { snapshot } = event;
            const { value, context } = snapshot;
            return { value, context, knowsItsMachine: 'matches' in snapshot };
          },
        }),
      },
    },
  });
}

/** An item and a list that spawns it by its logic itself. */
export function namelessChild(_: Stage) {
  const item = setup({ types: {} as { context: object } }).createMachine({
    id: 'item',
    context: {},
  });
  const list = setup({ types: {} as { context: { items: unknown[] } } }).createMachine({
    id: 'list',
    context: { items: [] },
    on: {
      ADD: {
        actions: assign({
          items: ({ context, spawn }) => [...context.items, spawn(item, { id: 'first' } as never)],
        }),
      },
    },
  });
  return { item, list };
}

/** Passes what it is told on to a child, which answers. */
export function asking(_: Stage) {
  const child = setup({ types: {} as { context: object } }).createMachine({
    id: 'answering',
    context: {},
    on: { ASK: { actions: sendParent({ type: 'ANSWER' }) } },
  });
  return setup({
    types: {} as { context: { heard: string[] } },
    actors: { child },
    actions: { hear: assign({ heard: ({ context, event }) => [...context.heard, event.type] }) },
  }).createMachine({
    id: 'asking',
    context: { heard: [] },
    invoke: { id: 'child', src: 'child' },
    on: { ASK: { actions: ['hear', sendTo('child', { type: 'ASK' })] }, '*': { actions: 'hear' } },
  });
}

/** Says something in its first step. */
export function emittingAtOnce(_: Stage) {
  return setup({
    types: {} as { context: object; emitted: { type: 'born' } | { type: 'said' } },
  }).createMachine({
    id: 'emittingAtOnce',
    context: {},
    entry: emit({ type: 'born' }),
    on: { SAY: { actions: emit({ type: 'said' }) } },
  });
}

/** Hires under one name, however often it is asked. */
export function rehiring({ notes }: Stage) {
  const worker = setup({
    types: {} as { context: { no: number }; input: number },
    actions: { note: notes.of('worker') },
  }).createMachine({
    id: 'hired',
    context: ({ input }) => ({ no: input }),
    after: {
      100: { actions: { type: 'note', params: ({ context }) => ({ what: `no ${context.no}` }) } },
    },
  });
  return setup({
    types: {} as { context: { hired: number } },
    actors: { worker },
  }).createMachine({
    id: 'rehiring',
    context: { hired: 0 },
    on: {
      HIRE: {
        actions: [
          assign({ hired: ({ context }) => context.hired + 1 }),
          spawnChild('worker', { id: 'joe', input: ({ context }) => context.hired }),
        ],
      },
    },
  });
}
