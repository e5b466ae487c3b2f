/** Small machines that between them use everything a procedure can have. */
import { type AnyActorRef, assign, raise, sendTo, setup, spawnChild } from 'xstate';
import { declareTask } from '../../src/model/declare-task.ts';
import { defineTable } from '../../src/model/table.ts';
import type { Json } from '../../src/model/json.ts';
import { procedureSet } from '../../src/model/procedure-set.ts';

const act = { act: (_: unknown, _params: { step: string }): void => undefined };

/** Timers: `after`, a delayed raise, one of them cancelled by leaving the state. */
export const timers = setup({
  types: {} as { context: { beats: number } },
  actions: act,
}).createMachine({
  id: 'timers',
  version: '1',
  initial: 'beating',
  context: { beats: 0 },
  output: ({ context }) => context.beats,
  states: {
    beating: {
      entry: [
        assign({ beats: ({ context }) => context.beats + 1 }),
        { type: 'act', params: { step: 'beat' } },
        raise({ type: 'NEVER' }, { delay: 3_600_000, id: 'never' }),
      ],
      after: {
        1000: [
          { target: 'resting', guard: ({ context }) => context.beats >= 3 },
          { target: 'beating', reenter: true },
        ],
      },
    },
    resting: { after: { 86_400_000: 'over' }, exit: { type: 'act', params: { step: 'rested' } } },
    over: { type: 'final' },
  },
});

const leaf = setup({
  types: {} as {
    input: { name: string; waitMs: number };
    context: { name: string; waitMs: number };
  },
  actions: act,
  delays: { wait: ({ context }) => context.waitMs },
}).createMachine({
  id: 'leaf',
  version: '1',
  initial: 'working',
  context: ({ input }) => input,
  output: ({ context }) => `${context.name} done`,
  states: {
    working: {
      entry: { type: 'act', params: { step: 'leaf begins' } },
      after: { wait: 'over' },
    },
    over: { type: 'final', entry: { type: 'act', params: { step: 'leaf ends' } } },
  },
});

/** Children: two in parallel, one spawned, one stopped before its end. */
export const family = setup({
  types: {} as { context: { heard: string[] } },
  actors: { leaf },
  actions: act,
}).createMachine({
  id: 'family',
  version: '1',
  initial: 'together',
  context: { heard: [] },
  output: ({ context }) => context.heard.length,
  states: {
    together: {
      type: 'parallel',
      states: {
        left: {
          initial: 'on',
          states: {
            on: {
              invoke: {
                id: 'left',
                src: 'leaf',
                input: { name: 'left', waitMs: 10 },
                onDone: {
                  target: 'off',
                  actions: assign({
                    heard: ({ context, event }) => [...context.heard, String(event.output)],
                  }),
                },
              },
            },
            off: { type: 'final' },
          },
        },
        right: {
          initial: 'on',
          states: {
            on: {
              invoke: {
                id: 'right',
                src: 'leaf',
                input: { name: 'right', waitMs: 20 },
                onDone: {
                  target: 'off',
                  actions: assign({
                    heard: ({ context, event }) => [...context.heard, String(event.output)],
                  }),
                },
              },
            },
            off: { type: 'final' },
          },
        },
      },
      onDone: 'apart',
    },
    apart: {
      entry: spawnChild('leaf', { id: 'endless', input: { name: 'endless', waitMs: 3_600_000 } }),
      after: { 5: 'over' },
    },
    over: { type: 'final', entry: { type: 'act', params: { step: 'family ends' } } },
  },
});

/** Mail: a ring of three; each passes a token on until it has gone round often enough. */
export const ring = setup({
  types: {} as {
    input: { next: unknown; rounds: number };
    context: { next: AnyActorRef | null; seen: number; rounds: number };
    events: { type: 'JOIN'; next: unknown } | { type: 'TOKEN'; hop: number };
  },
  actions: act,
}).createMachine({
  id: 'ring',
  version: '1',
  initial: 'waiting',
  context: ({ input }) => ({ next: null, seen: 0, rounds: input.rounds }),
  output: ({ context }) => context.seen,
  on: { JOIN: { actions: assign({ next: ({ event }) => event.next as never }) } },
  states: {
    waiting: {
      on: {
        TOKEN: [
          {
            guard: ({ context }) => context.seen + 1 >= context.rounds,
            target: 'over',
            actions: [
              assign({ seen: ({ context }) => context.seen + 1 }),
              sendTo(
                ({ context }) => context.next as AnyActorRef,
                ({ event }) => ({ type: 'TOKEN', hop: event.hop + 1 }),
              ),
            ],
          },
          {
            actions: [
              assign({ seen: ({ context }) => context.seen + 1 }),
              { type: 'act', params: { step: 'passes on' } },
              sendTo(
                ({ context }) => context.next as AnyActorRef,
                ({ event }) => ({ type: 'TOKEN', hop: event.hop + 1 }),
              ),
            ],
          },
        ],
      },
    },
    over: { type: 'final' },
  },
});

export const double = declareTask<{ n: number }, { n: number }>('double');
export const hang = declareTask<{ n: number }, { n: number }>('hang');

/** Tasks: one that succeeds, one that fails, one given up while it runs. */
export const tasks = setup({
  types: {} as { context: { log: string[] } },
  actors: { double, hang },
  actions: act,
}).createMachine({
  id: 'tasks',
  version: '1',
  initial: 'first',
  context: { log: [] },
  output: ({ context }) => context.log,
  states: {
    first: {
      invoke: {
        id: 'work',
        src: 'double',
        input: { n: 21 },
        onDone: {
          target: 'second',
          actions: assign({
            log: ({ context, event }) => [...context.log, `got ${event.output.n}`],
          }),
        },
      },
    },
    second: {
      invoke: {
        id: 'work',
        src: 'double',
        input: { n: -1 },
        onDone: 'over',
        onError: {
          target: 'third',
          actions: assign({
            log: ({ context, event }) => [
              ...context.log,
              `failed ${(event.error as { code?: string }).code ?? ''}`,
            ],
          }),
        },
      },
    },
    third: {
      invoke: { id: 'slow', src: 'hang', input: { n: 1 }, onDone: 'over' },
      after: { 50: 'fourth' },
    },
    fourth: {
      entry: { type: 'act', params: { step: 'gave up' } },
      invoke: {
        id: 'slow',
        src: 'double',
        input: { n: 4 },
        onDone: {
          target: 'over',
          actions: assign({
            log: ({ context, event }) => [...context.log, `got ${event.output.n}`],
          }),
        },
      },
    },
    over: { type: 'final' },
  },
});

/** Table actions: a lock is asked for, held, released; the reply is mail of the same commit. */
export const locks = defineTable({
  acquire: (table, { key }: { key: string }, { procedure }) => {
    const holder = table.get(key);
    if (holder === undefined || holder === procedure) {
      return { changes: { [key]: procedure }, reply: { type: 'GRANTED' } };
    }
    const line = table.page({ prefix: `${key}:`, limit: 1000 }).length;
    return { changes: { [`${key}:${String(line).padStart(4, '0')}:${procedure}`]: procedure } };
  },
  release: (table, { key }: { key: string }, { procedure }) =>
    table.get(key) === procedure ? { changes: { [key]: null } } : {},
});

export const locker = setup({
  types: {} as { events: { type: 'GRANTED' } },
  actions: {
    'table.locks.acquire': (_: unknown, _params: { key: string }): void => undefined,
    'table.locks.release': (_: unknown, _params: { key: string }): void => undefined,
    ...act,
  },
}).createMachine({
  id: 'locker',
  version: '1',
  initial: 'asking',
  states: {
    asking: {
      entry: { type: 'table.locks.acquire', params: { key: 'r1' } },
      on: { GRANTED: 'holding' },
      after: { 100: { target: 'asking', reenter: true } },
    },
    holding: {
      entry: { type: 'act', params: { step: 'holds' } },
      after: { 7: 'over' },
      exit: { type: 'table.locks.release', params: { key: 'r1' } },
    },
    over: { type: 'final' },
  },
});

const item = setup({
  types: {} as { input: { key: string; n?: number }; context: { key: string; n: number } },
  delays: { soon: ({ context }) => (context.n * 7) % 5 },
}).createMachine({
  id: 'item',
  version: '1',
  initial: 'working',
  context: ({ input }) => ({ key: input.key, n: input.n ?? Number(input.key.slice(1)) }),
  output: ({ context }) => context.key,
  states: {
    working: {
      after: {
        soon: [
          { guard: ({ context }) => context.n % 100 === 99, target: 'bad' },
          { target: 'over' },
        ],
      },
    },
    bad: {
      always: {
        target: 'over',
        actions: () => undefined,
        guard: () => {
          throw new Error('bad item');
        },
      },
    },
    over: { type: 'final' },
  },
});

/** A set of many: keys from a table, failures counted, one summary. */
export const crowd = setup({
  types: {} as { context: { summary: Json } },
  actors: { procedureSet },
}).createMachine({
  id: 'crowd',
  version: '1',
  initial: 'running',
  context: { summary: null },
  output: ({ context }) => context.summary,
  states: {
    running: {
      invoke: {
        id: 'all',
        src: 'procedureSet',
        input: { of: 'item', table: { name: 'items', prefix: 'k' } },
        onDone: {
          target: 'over',
          actions: assign({
            summary: ({ event }) => ({
              started: event.output.started,
              done: event.output.done,
              failed: event.output.failed,
            }),
          }),
        },
      },
    },
    over: { type: 'final' },
  },
});

export const items = defineTable({
  fill: (_table, { count }: { count: number }) => ({
    changes: Object.fromEntries(
      Array.from({ length: count }, (_, n) => [`k${String(n).padStart(5, '0')}`, n] as const),
    ),
    reply: { type: 'FILLED' },
  }),
});

/** Fills the table the crowd reads. */
export const filler = setup({
  types: {} as { input: { count: number }; context: { count: number }; events: { type: 'FILLED' } },
  actions: { 'table.items.fill': (_: unknown, _params: { count: number }): void => undefined },
}).createMachine({
  id: 'filler',
  version: '1',
  initial: 'filling',
  context: ({ input }) => input,
  states: {
    filling: {
      entry: { type: 'table.items.fill', params: ({ context }) => ({ count: context.count }) },
      on: { FILLED: 'over' },
    },
    over: { type: 'final' },
  },
});

export { item };
