/** Machines at the edges of life: what happens at once, at the same moment, or too late. */
import { assign, fromCallback, fromPromise, raise, sendParent, sendTo, setup } from 'xstate';
import type { Stage } from './actor-driver.ts';
import { note } from './actor-transcript.ts';

export function doneAtOnce({ notes }: Stage) {
  return setup({
    types: {} as { context: { n: number }; input: number; output: number },
    actions: { note: notes.of('root') },
  }).createMachine({
    context: ({ input }) => ({ n: input }),
    initial: 'start',
    states: {
      start: { always: 'end', exit: note('-start') },
      end: { type: 'final', entry: note('+end') },
    },
    output: ({ context }) => context.n * 2,
  });
}

/** Children that answer in the moment they start. */
export function hastyChildren(stage: Stage) {
  const { notes } = stage;
  const reporting = setup({
    types: {} as { context: object },
    actions: { note: notes.of('reporting') },
  }).createMachine({
    context: {},
    entry: [note('+reporting'), sendParent({ type: 'REPORT', n: 1 })],
    initial: 'on',
    states: {
      on: { entry: sendParent({ type: 'REPORT', n: 2 }), on: { ECHO: { actions: note('echo') } } },
    },
  });
  return setup({
    types: {} as { context: { got: unknown[] } },
    actors: {
      doneAtOnce: doneAtOnce(stage),
      reporting,
      calling: fromCallback(({ sendBack }) => {
        sendBack({ type: 'REPORT', n: 'callback' });
      }),
      sync: fromPromise<string>(() => Promise.resolve('sync')),
    },
    actions: {
      note: notes.of('parent'),
      keep: assign({ got: ({ context, event }) => [...context.got, event['n']] }),
    },
  }).createMachine({
    context: { got: [] },
    initial: 'idle',
    on: { REPORT: { actions: 'keep' } },
    states: {
      idle: { on: { DONE: 'doneAtOnce', REPORTS: 'reporting', CALL: 'calling', CHAIN: 'chain' } },
      doneAtOnce: {
        entry: note('+doneAtOnce'),
        invoke: {
          id: 'quick',
          src: 'doneAtOnce',
          input: 21,
          onDone: {
            target: 'idle',
            actions: [assign({ got: ({ event }) => [event.output] }), note('done')],
          },
        },
      },
      reporting: {
        invoke: { id: 'reporting', src: 'reporting' },
        entry: sendTo('reporting', { type: 'ECHO' }),
      },
      calling: { invoke: { id: 'calling', src: 'calling' } },
      chain: {
        invoke: { id: 'a', src: 'sync', onDone: 'chainEnd' },
      },
      chainEnd: {
        invoke: { id: 'a', src: 'sync', onDone: { target: 'idle', actions: note('chain end') } },
      },
    },
  });
}

/** A child with something to say later, that may end before. */
export function delayedReport({ notes }: Stage) {
  const child = setup({
    types: {} as { context: object },
    actions: { note: notes.of('child') },
  }).createMachine({
    context: {},
    initial: 'on',
    entry: sendParent({ type: 'LATE' }, { delay: 100 }),
    states: { on: { on: { END: 'end' } }, end: { type: 'final' } },
  });
  return setup({
    types: {} as { context: object },
    actors: { child },
    actions: { note: notes.of('root') },
  }).createMachine({
    context: {},
    initial: 'idle',
    on: { LATE: { actions: note('late') } },
    states: {
      idle: { on: { GO: 'with' } },
      with: {
        invoke: { id: 'child', src: 'child', onDone: { target: 'idle', actions: note('done') } },
        on: { END: { actions: sendTo('child', { type: 'END' }) }, LEAVE: 'idle' },
      },
    },
  });
}

/** Delays of nothing, and one id for two delayed events. */
export function sameMoment({ notes }: Stage) {
  return setup({
    types: {} as { context: object },
    actions: { note: notes.of('root') },
  }).createMachine({
    context: {},
    initial: 'idle',
    on: {
      PING: { actions: note('ping') },
      ZERO: { actions: [raise({ type: 'PING' }, { delay: 0 }), note('zero')] },
      THREE: {
        actions: [
          raise({ type: 'PING', n: 1 }, { delay: 50 }),
          raise({ type: 'PING', n: 2 }, { delay: 50 }),
          sendTo(({ self }) => self, { type: 'PING', n: 3 }, { delay: 50 }),
        ],
      },
      SEND: {
        actions: [
          sendTo(({ self }) => self, { type: 'PING', n: 1 }),
          raise({ type: 'PING', n: 2 }),
          sendTo(({ self }) => self, { type: 'PING', n: 3 }),
        ],
      },
    },
    states: {
      idle: { on: { WAIT: 'waiting' } },
      waiting: { after: { 0: 'waited' } },
      waited: { entry: note('+waited') },
    },
  });
}

/** One logic under two ids, in two regions. */
export function twoOfAKind({ clock, notes }: Stage) {
  const base = setup({
    types: {} as { context: object },
    actors: {
      wait: fromPromise<number, number>(async ({ input }) => {
        await new Promise<void>((resolve) => clock.setTimeout(resolve, input));
        return input;
      }),
    },
    actions: { note: notes.of('root') },
  });
  const region = (ms: number) =>
    base.createStateConfig({
      initial: 'busy',
      states: {
        busy: {
          invoke: {
            src: 'wait',
            input: ms,
            onDone: { target: 'over', actions: note(`${ms} over`) },
          },
        },
        over: { type: 'final' },
      },
    });
  return base.createMachine({
    id: 'two',
    context: {},
    type: 'parallel',
    states: { left: region(20), right: region(10) },
  });
}

/** One step of three microsteps, whose first effect does not end while `held()` says so. */
export function heldUp({ notes }: Stage, held: () => boolean) {
  return setup({
    types: {} as { context: { path: string[] } },
    actions: {
      note: notes.of('root'),

      hold: () => (held() ? new Promise<never>(() => {}) : undefined),
      add: assign({ path: ({ context, event }) => [...context.path, event.type] }),
    },
  }).createMachine({
    id: 'heldUp',
    context: { path: [] },
    initial: 'a',
    states: {
      a: {
        on: { GO: { target: 'b', actions: ['hold', note('go'), raise({ type: 'ONE', n: 1 })] } },
      },
      b: { on: { ONE: { target: 'c', actions: ['add', note('one')] } } },
      c: { entry: ['add', raise({ type: 'TWO', n: 2 })], on: { TWO: 'd' } },
      d: { entry: { type: 'note', params: ({ context }) => ({ what: 'd', path: context.path }) } },
    },
  });
}
