/** Machines about time: after, delayed raise and sendTo, cancel. */
import { assign, cancel, raise, sendTo, setup } from 'xstate';
import type { Stage } from './actor-driver.ts';
import { note } from './actor-transcript.ts';

export function afterDelays({ notes }: Stage) {
  return setup({
    types: {} as { context: { ms: number; turns: number } },
    actions: { note: notes.of('root') },
    delays: {
      named: 500,
      fromContext: ({ context }) => context.ms,
      fromEvent: ({ event }) => (event['ms'] as number | undefined) ?? 9_000,
    },
  }).createMachine({
    context: { ms: 300, turns: 0 },
    initial: 'number',
    states: {
      number: { after: { 1000: { target: 'named', actions: note('1000') } } },
      named: { after: { named: { target: 'computed', actions: note('named') } } },
      computed: { after: { fromContext: { target: 'idle', actions: note('computed') } } },
      idle: { on: { WAIT: 'fromEvent', ESCAPE: 'escaping', RACE: 'race', GUARDS: 'guards' } },
      fromEvent: { after: { fromEvent: { target: 'idle', actions: note('from event') } } },
      escaping: { after: { 100: 'late' }, on: { OUT: 'idle', AGAIN: { target: 'escaping' } } },
      late: {},
      race: {
        after: {
          200: { actions: note('200') },
          100: { actions: note('100') },
          300: { target: 'idle', actions: note('300') },
        },
      },
      guards: {
        after: {
          100: [
            { guard: ({ context }) => context.turns > 0, target: 'idle', actions: note('second') },
            {
              target: 'guards',
              reenter: true,
              actions: [assign({ turns: ({ context }) => context.turns + 1 }), note('first')],
            },
          ],
        },
      },
    },
  });
}

/** Ticks by re-entering a state; a tick that is asked for by hand puts the timer back. */
export function ticking({ notes }: Stage) {
  return setup({
    types: {} as { context: { ticks: number } },
    actions: {
      note: notes.of('root'),
      tick: assign({ ticks: ({ context }) => context.ticks + 1 }),
    },
  }).createMachine({
    context: { ticks: 0 },
    initial: 'running',
    states: {
      running: {
        after: {
          1000: { target: 'running', reenter: true, actions: ['tick', note('tick')] },
        },
        on: {
          RESET: { target: 'running', reenter: true },
          TOUCH: { actions: note('touched') },
          STOP: 'stopped',
        },
      },
      stopped: {},
    },
  });
}

/** Timers of a parent, a child and two regions, due at the same moment or one inside the other. */
export function nestedTimers({ notes }: Stage) {
  return setup({
    types: {} as { context: object },
    actions: { note: notes.of('root') },
  }).createMachine({
    context: {},
    initial: 'regions',
    states: {
      regions: {
        type: 'parallel',
        after: { 1000: { target: 'timeout', actions: note('parent 1000') } },
        states: {
          left: {
            initial: 'a',
            states: {
              a: { after: { 400: { target: 'b', actions: note('left 400') } } },
              b: { after: { 400: { target: 'a', actions: note('left 400 again') } } },
            },
          },
          right: {
            initial: 'a',
            states: {
              a: { after: { 400: { target: 'b', actions: note('right 400') } } },
              b: { after: { 900: { target: 'a', actions: note('right 900') } } },
            },
          },
        },
      },
      timeout: { entry: note('+timeout') },
    },
  });
}

export function delayedRaise({ notes }: Stage) {
  return setup({
    types: {} as { context: { ms: number } },
    actions: { note: notes.of('root') },
    delays: { fromContext: ({ context }) => context.ms, fixed: 250 },
  }).createMachine({
    context: { ms: 100 },
    initial: 'a',
    on: {
      PING: { actions: note('ping') },
      LATER: { actions: raise({ type: 'PING', by: 'number' }, { delay: 50, id: 'ping' }) },
      COMPUTED: {
        actions: [
          raise(({ context }) => ({ type: 'PING', by: context.ms }), { delay: 'fromContext' }),
          raise({ type: 'PING' }, { delay: 'fixed' }),
          raise({ type: 'PING' }, { delay: ({ event }) => event['ms'] as number }),
        ],
      },
      CANCEL: { actions: cancel('ping') },
      CANCEL_COMPUTED: { actions: cancel(({ event }) => event['id'] as string) },
      CANCEL_UNKNOWN: { actions: cancel('nobody') },
      AT_ONCE: {
        actions: [
          raise({ type: 'PING' }, { delay: 50, id: 'ping' }),
          cancel('ping'),
          note('raised and cancelled'),
        ],
      },
      SELF: {
        actions: [
          sendTo(({ self }) => self, { type: 'PING', by: 'delayed self' }, { delay: 70 }),
          sendTo(({ self }) => self, { type: 'PING', by: 'self' }),
        ],
      },
    },
    states: { a: { on: { MOVE: 'b' } }, b: {} },
  });
}

/** A child that is told something later, or never; and one that tells its parent later. */
export function delayedMail({ notes }: Stage) {
  const child = setup({
    types: {} as { context: object },
    actions: { note: notes.of('child') },
  }).createMachine({
    context: {},
    on: {
      HELLO: { actions: note('hello') },
      '*': { actions: note('something else') },
    },
  });
  return setup({
    types: {} as { context: object },
    actors: { child },
    actions: { note: notes.of('root') },
    delays: { soon: 200 },
  }).createMachine({
    context: {},
    initial: 'with',
    on: {
      TELL: { actions: sendTo('kid', { type: 'HELLO', n: 1 }, { delay: 100, id: 'tell' }) },
      TELL_SOON: { actions: sendTo('kid', { type: 'HELLO', n: 2 }, { delay: 'soon' }) },
      UNTELL: { actions: cancel('tell') },
    },
    states: {
      with: { invoke: { src: 'child', id: 'kid' }, on: { DISMISS: 'without' } },
      without: {},
    },
  });
}
