/** Machines about machines: invoke, sendTo, sendParent, forwardTo, systemId, families. */
import {
  assign,
  emit,
  forwardTo,
  log,
  sendParent,
  sendTo,
  setup,
  type AnyEventObject,
} from 'xstate';
import type { Stage } from './actor-driver.ts';
import { note } from './actor-transcript.ts';

/** A child that answers, counts, ends by itself or fails. */
export function worker({ notes }: Stage) {
  return setup({
    types: {} as {
      context: { name: string; jobs: number };
      input: { name: string };
      output: { by: string; jobs: number };
    },
    actions: {
      note: notes.of('worker'),
      count: assign({ jobs: ({ context }) => context.jobs + 1 }),
    },
  }).createMachine({
    id: 'worker',
    context: ({ input }) => ({ name: input.name, jobs: 0 }),
    initial: 'working',
    entry: note('+worker'),
    exit: note('-worker'),
    states: {
      working: {
        on: {
          JOB: {
            actions: [
              'count',
              note('job'),
              sendParent(({ context, event }) => ({
                type: 'REPORT',
                jobs: context.jobs,
                echo: event['echo'],
              })),
            ],
          },
          SHOUT: {
            actions: emit(({ context }) => ({ type: 'shout', by: context.name })),
          },
          SAY: { actions: log(({ context }) => context.name) },
          FINISH: 'finished',
          FAIL: {
            actions: assign(() => {
              throw new Error('the worker fell');
            }),
          },
        },
      },
      finished: { type: 'final', entry: note('+finished') },
    },
    output: ({ context }) => ({ by: context.name, jobs: context.jobs }),
  });
}

export function employer(stage: Stage) {
  return setup({
    types: {} as { context: { reports: unknown[]; result: unknown }; input: { name: string } },
    actors: { worker: worker(stage) },
    actions: {
      note: stage.notes.of('root'),
      keep: assign({ reports: ({ context, event }) => [...context.reports, event['jobs']] }),
    },
  }).createMachine({
    context: { reports: [], result: null },
    initial: 'hiring',
    states: {
      hiring: {
        entry: note('+hiring'),
        invoke: {
          id: 'joe',
          src: 'worker',
          input: ({ event }) => ({ name: `joe of ${event.type}` }),
          onDone: {
            target: 'paid',
            actions: [assign({ result: ({ event }) => event.output }), note('done')],
          },
          onError: { target: 'accident', actions: note('error') },
        },
        on: {
          WORK: {
            actions: [sendTo('joe', { type: 'JOB', echo: 'by id' })],
          },
          BY_REF: {
            actions: sendTo(
              ({ self }) => self.getSnapshot().children['joe']!,
              ({ event }) => ({
                type: 'JOB',
                echo: event.type,
              }),
            ),
          },
          BY_FUNCTION: { actions: sendTo(() => 'joe', { type: 'JOB', echo: 'by function' }) },
          PASS_ON: { actions: sendTo('joe', ({ event }) => event['what'] as AnyEventObject) },
          JOB: { actions: forwardTo('joe') },
          REPORT: { actions: ['keep', note('report')] },
          FIRE: 'alone',
        },
      },
      paid: { entry: note('+paid') },
      accident: {},
      alone: { entry: note('+alone'), on: { REHIRE: 'hiring' } },
    },
  });
}

/** A child of which the parent follows every snapshot. */
export function follower(stage: Stage) {
  return setup({
    types: {} as { context: { seen: unknown[] } },
    actors: { worker: worker(stage) },
    actions: {
      note: stage.notes.of('root'),
      see: assign({
        seen: ({ context, event }) => {
          const { status, context: of } = event['snapshot'] as {
            status: string;
            context: { jobs: number };
          };
          return [...context.seen, `${status} ${of.jobs}`];
        },
      }),
    },
  }).createMachine({
    context: { seen: [] },
    invoke: {
      id: 'joe',
      src: 'worker',
      input: { name: 'joe' },
      onSnapshot: { actions: 'see' },
      onDone: { actions: note('done') },
    },
    on: { TO: { actions: sendTo('joe', ({ event }) => event['what'] as AnyEventObject) } },
  });
}

/** A child whose failure nobody in the parent has an answer to. */
export function careless(stage: Stage) {
  return setup({
    types: {} as { context: object },
    actors: { worker: worker(stage) },
    actions: { note: stage.notes.of('root') },
  }).createMachine({
    context: {},
    initial: 'on',
    states: {
      on: {
        invoke: { id: 'joe', src: 'worker', input: { name: 'joe' } },
        on: { TO: { actions: sendTo('joe', ({ event }) => event['what'] as AnyEventObject) } },
      },
    },
  });
}

function youngest({ notes }: Stage) {
  return setup({
    types: {} as { context: object; output: string },
    actions: { note: notes.of('youngest') },
  }).createMachine({
    context: {},
    initial: 'young',
    entry: note('+youngest'),
    exit: note('-youngest'),
    states: {
      young: {
        on: {
          DOWN: { actions: [note('down'), sendParent({ type: 'UP' })] },
          AGE: 'old',
        },
      },
      old: { type: 'final' },
    },
    output: 'aged',
  });
}

function middle(stage: Stage) {
  return setup({
    types: {} as { context: object; output: string },
    actors: { youngest: youngest(stage) },
    actions: { note: stage.notes.of('middle') },
  }).createMachine({
    context: {},
    initial: 'living',
    entry: note('+middle'),
    exit: note('-middle'),
    states: {
      living: {
        invoke: {
          id: 'youngest',
          src: 'youngest',
          onDone: { target: 'bereft', actions: note('youngest done') },
        },
        on: {
          DOWN: { actions: [note('down'), forwardTo('youngest')] },
          AGE: { actions: forwardTo('youngest') },
          UP: { actions: [note('up'), sendParent({ type: 'UP' })] },
        },
      },
      bereft: { type: 'final' },
    },
    output: 'bereft',
  });
}

/** Three deep: each passes DOWN to its child and UP to its parent. */
export function grandparents(stage: Stage) {
  return setup({
    types: {} as { context: object },
    actors: { middle: middle(stage) },
    actions: { note: stage.notes.of('root') },
  }).createMachine({
    context: {},
    initial: 'living',
    states: {
      living: {
        invoke: {
          id: 'middle',
          src: 'middle',
          onDone: { target: 'old', actions: note('middle done') },
        },
        on: {
          DOWN: { actions: forwardTo('middle') },
          AGE: { actions: forwardTo('middle') },
          UP: { actions: note('up') },
          LEAVE: 'left',
        },
      },
      old: {},
      left: {},
    },
  });
}

/** Siblings that find each other by systemId; one of them is left and entered again. */
export function siblings({ notes }: Stage) {
  const receptionist = setup({
    types: {} as { context: { calls: number } },
    actions: {
      note: notes.of('receptionist'),
      count: assign({ calls: ({ context }) => context.calls + 1 }),
    },
  }).createMachine({
    context: { calls: 0 },
    on: {
      RING: {
        actions: [
          'count',
          note('ring'),
          sendTo(
            ({ system }) => system.get('caller')!,
            ({ context }) => ({
              type: 'ANSWER',
              calls: context.calls,
            }),
          ),
        ],
      },
    },
  });
  const caller = setup({
    types: {} as { context: object },
    actions: { note: notes.of('caller') },
  }).createMachine({
    context: {},
    on: {
      CALL: { actions: sendTo(({ system }) => system.get('desk')!, { type: 'RING' }) },
      ANSWER: { actions: note('answer') },
    },
  });
  return setup({
    types: {} as { context: object },
    actors: { receptionist, caller },
    actions: { note: notes.of('root') },
  }).createMachine({
    context: {},
    initial: 'open',
    invoke: { id: 'caller', src: 'caller', systemId: 'caller' },
    on: { CALL: { actions: sendTo('caller', { type: 'CALL' }) } },
    states: {
      open: {
        invoke: { id: 'desk', src: 'receptionist', systemId: 'desk' },
        on: { SHIFT: { target: 'open', reenter: true }, CLOSE: 'closed' },
      },
      closed: { on: { OPEN: 'open' } },
    },
  });
}

/** Two machines that send a ball back and forth until one has had enough. */
export function pingPong({ notes }: Stage) {
  const pong = setup({
    types: {} as { context: object },
    actions: { note: notes.of('pong') },
  }).createMachine({
    context: {},
    on: {
      PING: {
        actions: [note('ping'), sendParent(({ event }) => ({ type: 'PONG', n: event['n'] }))],
      },
    },
  });
  return setup({
    types: {} as { context: { n: number } },
    actors: { pong },
    actions: { note: notes.of('root'), inc: assign({ n: ({ context }) => context.n + 1 }) },
  }).createMachine({
    context: { n: 0 },
    initial: 'ready',
    invoke: { id: 'pong', src: 'pong' },
    states: {
      ready: { on: { SERVE: 'playing' } },
      playing: {
        entry: sendTo('pong', ({ context }) => ({ type: 'PING', n: context.n })),
        on: {
          PONG: [
            { guard: ({ context }) => context.n >= 4, target: 'over', actions: note('enough') },
            { target: 'playing', reenter: true, actions: ['inc', note('pong')] },
          ],
        },
      },
      over: {},
    },
  });
}
