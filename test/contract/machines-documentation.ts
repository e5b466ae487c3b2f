/**
 * Machines in the manner of XState's own documentation, as a stranger would bring them: without
 * `setup`, without versions and ids, with inline actions, guards and child logic. Nothing in them
 * knows of Reeve.
 */
import { assign, createMachine, fromCallback, fromPromise, sendParent, sendTo } from 'xstate';
import type { Stage } from './actor-driver.ts';

export const toggle = createMachine({
  id: 'toggle',
  initial: 'inactive',
  context: { count: 0 },
  states: {
    inactive: { on: { toggle: 'active' } },
    active: {
      entry: assign({ count: ({ context }) => context.count + 1 }),
      on: { toggle: 'inactive' },
      after: { 2000: 'inactive' },
    },
  },
});

export const trafficLight = createMachine({
  initial: 'green',
  states: {
    green: { after: { 5000: 'yellow' } },
    yellow: { after: { 1000: { target: 'red' } } },
    red: {
      initial: 'walk',
      states: {
        walk: { after: { 2000: 'wait' } },
        wait: { after: { 1500: 'stop' } },
        stop: { type: 'final' },
      },
      onDone: 'green',
    },
  },
  on: { POWER_OUTAGE: '.red' },
});

export function fetchUser({ clock }: Stage) {
  let calls = 0;
  return createMachine({
    types: {} as { context: { id: number; user: { name: string } | null; error: unknown } },
    id: 'fetch',
    initial: 'idle',
    context: { id: 42, user: null, error: null },
    states: {
      idle: { on: { FETCH: 'loading' } },
      loading: {
        invoke: {
          src: fromPromise<{ name: string }, { id: number }>(async ({ input }) => {
            calls += 1;
            await new Promise<void>((resolve) => clock.setTimeout(resolve, 100));
            if (calls === 1) throw new Error('network is down');
            return { name: `user ${input.id}` };
          }),
          input: ({ context }) => ({ id: context.id }),
          onDone: {
            target: 'success',
            actions: assign({ user: ({ event }) => event.output as { name: string } }),
          },
          onError: {
            target: 'failure',
            actions: assign({ error: ({ event }) => (event.error as Error).message }),
          },
        },
        on: { CANCEL: 'idle' },
      },
      success: { type: 'final' },
      failure: { after: { 1000: 'loading' }, on: { RETRY: 'loading' } },
    },
    output: ({ context }) => context.user,
  });
}

export const feedback = createMachine({
  types: {} as { context: { feedback: string; rating: number } },
  id: 'feedback',
  initial: 'prompt',
  context: { feedback: '', rating: 5 },
  states: {
    prompt: { on: { 'feedback.good': 'thanks', 'feedback.bad': 'form' } },
    form: {
      on: {
        'feedback.update': {
          actions: assign({ feedback: ({ event }) => event['value'] as string }),
        },
        back: { target: 'prompt' },
        submit: { target: 'thanks', guard: ({ context }) => context.feedback.length > 0 },
      },
    },
    thanks: { after: { 3000: 'closed' } },
    closed: { on: { restart: 'prompt' } },
  },
  on: { close: '.closed' },
});

interface Fields {
  readonly name: string;
  readonly age: number;
}

export const form = createMachine(
  {
    types: {} as { context: { fields: Fields; problems: string[] } },
    id: 'form',
    context: { fields: { name: '', age: 0 }, problems: [] },
    initial: 'editing',
    states: {
      editing: {
        tags: ['editable'],
        on: {
          CHANGE: {
            actions: assign({
              fields: ({ context, event }) => ({ ...context.fields, ...(event['to'] as object) }),
            }),
          },
          SUBMIT: [{ guard: 'isValid', target: 'submitting' }, { actions: 'listProblems' }],
        },
      },
      submitting: {
        invoke: {
          id: 'submit',
          src: 'submitForm',
          input: ({ context }) => context.fields,
          onDone: 'submitted',
          onError: {
            target: 'editing',
            actions: assign({ problems: ({ event }) => [(event.error as Error).message] }),
          },
        },
      },
      submitted: { type: 'final' },
    },
  },
  {
    actors: {
      submitForm: fromPromise<string, Fields>(({ input }) =>
        input.name === 'Bob' ? Promise.reject(new Error('Bob is taken')) : Promise.resolve('ok'),
      ),
    },
    guards: {
      isValid: ({ context }) => context.fields.name !== '' && context.fields.age >= 18,
    },
    actions: {
      listProblems: assign({
        problems: ({ context }) => [
          ...(context.fields.name === '' ? ['name is missing'] : []),
          ...(context.fields.age < 18 ? ['too young'] : []),
        ],
      }),
    },
  },
);

/** A countdown that a callback actor drives. */
export function countdown({ clock, notes }: Stage) {
  return createMachine({
    types: {} as { context: { elapsed: number; duration: number; interval: number } },
    initial: 'running',
    context: { elapsed: 0, duration: 5, interval: 1000 },
    states: {
      running: {
        invoke: {
          src: fromCallback<{ type: string }, { interval: number }>(({ sendBack, input }) => {
            let timer: unknown;
            const tick = (): void => {
              timer = clock.setTimeout(tick, input.interval);
              sendBack({ type: 'TICK' });
            };
            timer = clock.setTimeout(tick, input.interval);
            return () => clock.clearTimeout(timer);
          }),
          input: ({ context }) => ({ interval: context.interval }),
        },
        entry: () => notes.say('root', 'running'),
        always: { target: 'paused', guard: ({ context }) => context.elapsed >= context.duration },
        on: {
          TICK: {
            actions: [
              assign({ elapsed: ({ context }) => context.elapsed + 1 }),
              ({ context, event }) => {
                notes.say('root', `${event.type} ${context.elapsed}`);
              },
            ],
          },
        },
      },
      paused: {
        entry: [() => notes.say('root', 'paused'), () => notes.say('root', 'for good')],
        always: { target: 'running', guard: ({ context }) => context.elapsed < context.duration },
      },
    },
    on: {
      'DURATION.UPDATE': { actions: assign({ duration: ({ event }) => event['value'] as number }) },
      RESET: { actions: assign({ elapsed: 0 }) },
    },
  });
}

/** Two regions of one player that look at each other. */
export const player = createMachine({
  id: 'player',
  type: 'parallel',
  context: { volume: 5 },
  states: {
    track: {
      initial: 'paused',
      states: {
        paused: { on: { PLAY: 'playing' } },
        playing: { on: { STOP: 'paused', END: 'paused' } },
      },
    },
    volume: {
      initial: 'normal',
      states: {
        normal: { on: { MUTE: 'muted' } },
        muted: { on: { UNMUTE: 'normal', PLAY: 'normal' } },
      },
      on: {
        LOUDER: {
          guard: ({ context }) => context.volume < 7,
          actions: assign({ volume: ({ context }) => context.volume + 1 }),
        },
      },
    },
  },
});

const kitchen = createMachine({
  id: 'kitchen',
  initial: 'idle',
  states: {
    idle: { on: { ORDER: 'baking' } },
    baking: {
      entry: sendParent({ type: 'BAKING' }),
      after: { 600: 'ready' },
      on: { BURN: 'burnt' },
    },
    ready: { entry: sendParent({ type: 'PIZZA_READY', slices: 8 }), on: { ORDER: 'baking' } },
    burnt: { entry: sendParent({ type: 'SORRY' }), on: { ORDER: 'baking' } },
  },
});

export const pizza = createMachine({
  types: {} as { context: { slices: number; news: string[] } },
  id: 'customer',
  context: { slices: 0, news: [] },
  invoke: { id: 'kitchen', src: kitchen },
  initial: 'hungry',
  states: {
    hungry: { on: { CALL: { target: 'waiting', actions: sendTo('kitchen', { type: 'ORDER' }) } } },
    waiting: {
      on: {
        BAKING: { actions: assign({ news: ({ context }) => [...context.news, 'baking'] }) },
        FLAMES: { actions: sendTo('kitchen', { type: 'BURN' }) },
        SORRY: {
          target: 'waiting',
          reenter: true,
          actions: [
            assign({ news: ({ context }) => [...context.news, 'burnt'] }),
            sendTo('kitchen', { type: 'ORDER' }, { delay: 100 }),
          ],
        },
        PIZZA_READY: {
          target: 'eating',
          actions: assign({ slices: ({ event }) => event['slices'] as number }),
        },
      },
    },
    eating: {},
  },
});
