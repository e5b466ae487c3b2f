/** Procedure sets: every key once, never more than allowed at a time, one summary, a clean end. */
import { assign, setup } from 'xstate';
import { expect, test } from 'vitest';
import type { Limits } from '../../src/model/options.ts';
import { procedureSet, type ProcedureSetInput } from '../../src/model/procedure-set.ts';
import { defineTable } from '../../src/model/table.ts';
import type { Runtime } from '../../src/runtime/index.ts';
import { codeOf, seen, Stand } from '../support/runtime-stand.ts';

interface ItemInput {
  readonly key: string;
  readonly ms?: number;
  readonly bad?: boolean;
  readonly extra?: string;
  readonly row?: unknown;
}

/** Works for `ms`, then ends, in error if it is `bad`. */
const item = setup({
  types: {} as { input: ItemInput; context: ItemInput },
  delays: { work: ({ context }) => context.ms ?? 10 },
  guards: {
    isBad: ({ context }) => {
      if (context.bad) throw new Error(`bad ${context.key}`);
      return true;
    },
  },
}).createMachine({
  id: 'item',
  version: '1',
  initial: 'working',
  context: ({ input }) => input,
  states: {
    working: { after: { work: { guard: 'isBad', target: 'over' } } },
    over: { type: 'final' },
  },
  output: ({ context }) => context.key,
});

const rows = defineTable({
  fill: (_table, { keys }: { keys: string[] }) => ({
    changes: Object.fromEntries(keys.map((key, n) => [key, { n }])),
  }),
});

const crowd = setup({
  types: {} as {
    input: { set: ProcedureSetInput; fill?: string[] };
    context: { set: ProcedureSetInput; fill: string[]; end: unknown; error: unknown };
    events: { type: 'STOP' };
  },
  actors: { procedureSet },
  actions: { 'table.rows.fill': (_: unknown, _params: { keys: string[] }): void => undefined },
}).createMachine({
  id: 'crowd',
  version: '1',
  initial: 'on',
  context: ({ input }) => ({ set: input.set, fill: input.fill ?? [], end: null, error: null }),
  states: {
    on: {
      entry: { type: 'table.rows.fill', params: ({ context }) => ({ keys: context.fill }) },
      invoke: {
        id: 'all',
        src: 'procedureSet',
        input: ({ context }) => context.set,
        onDone: { target: 'over', actions: assign({ end: ({ event }) => event.output }) },
        onError: { target: 'over', actions: assign({ error: ({ event }) => event.error }) },
      },
      on: { STOP: 'over' },
    },
    over: {},
  },
});

const machines = [crowd, item];
const items = (...keys: string[]) => keys.map((key) => ({ key }));

async function run(set: ProcedureSetInput, limits: Partial<Limits> = {}, fill: string[] = []) {
  const stand = new Stand();
  const runtime = await stand.start({ machines, tables: { rows }, limits });
  await stand.run(runtime.spawn(crowd, { id: 'c', input: { set, fill } }));
  return { stand, runtime };
}

const context = (runtime: Runtime) =>
  seen(runtime, 'c').context as { end: Record<string, unknown> | null; error: unknown };
const alive = (runtime: Runtime) =>
  runtime.list({ machine: 'item', status: 'active' }).procedures.length;

test('items: each runs once with its own input over the common one; one summary', async () => {
  const { stand, runtime } = await run({
    of: 'item',
    items: [{ key: 'a', input: { ms: 5 } }, { key: 'b', input: { extra: 'own' } }, { key: 'c' }],
    input: { extra: 'common' },
  });
  await stand.clock.advance(100);
  expect(context(runtime).end).toEqual({ started: 3, done: 3, failed: 0, failures: [] });
  const contexts = ['a', 'b', 'c'].map((key) => seen(runtime, `c/all/${key}`).context);
  expect(contexts).toEqual([
    { key: 'a', ms: 5, extra: 'common' },
    { key: 'b', extra: 'own' },
    { key: 'c', extra: 'common' },
  ]);
});

test('a table: one child per row in the order of the keys, with the row; other prefixes are left', async () => {
  const { stand, runtime } = await run(
    { of: 'item', table: { name: 'rows', prefix: 'x' }, inFlight: 2 },
    {},
    ['x3', 'y1', 'x1', 'w', 'x2', 'x10'],
  );
  await stand.clock.advance(1_000);
  expect(context(runtime).end).toMatchObject({ started: 4, done: 4 });
  const made = runtime.list({ machine: 'item' }).procedures;
  const order = [...made].sort((a, b) => a.number - b.number).map(({ id }) => id);
  expect(order).toEqual(['c/all/x1', 'c/all/x10', 'c/all/x2', 'c/all/x3']);
  expect(seen(runtime, 'c/all/x2').context).toEqual({ key: 'x2', row: { n: 4 } });
});

test.each([
  ['inFlight', { inFlight: 3 }, {}, 3],
  ['childrenInFlightMax', {}, { childrenInFlightMax: 4 }, 4],
  ['the lesser of both', { inFlight: 9 }, { childrenInFlightMax: 2 }, 2],
] as const)(
  'at no time do more children run than %s allows, over restarts too',
  async (_, own, limits, max) => {
    const keys = Array.from({ length: 25 }, (_unused, n) => `k${String(n).padStart(2, '0')}`);
    const set = {
      of: 'item',
      items: keys.map((key, n) => ({ key, input: { ms: 3 + (n % 5) } })),
      ...own,
    };
    const { stand, runtime: first } = await run(set, limits);
    let runtime = first;
    let most = 0;
    for (let n = 0; n < 200 && context(runtime).end === null; n++) {
      most = Math.max(most, alive(runtime));
      await stand.clock.advance(1);
      if (n % 10 === 9) {
        stand.crash();
        runtime = await stand.start({ machines, tables: { rows }, limits });
        await stand.clock.settle();
      }
    }
    expect(most).toBe(max);
    expect(context(runtime).end).toEqual({ started: 25, done: 25, failed: 0, failures: [] });
  },
);

test('an empty set, of items or of a table, is done at once', async () => {
  for (const set of [
    { of: 'item', items: [] },
    { of: 'item', table: { name: 'rows', prefix: 'none' } },
  ]) {
    const { runtime } = await run(set);
    expect(context(runtime).end).toEqual({ started: 0, done: 0, failed: 0, failures: [] });
  }
});

test("onFailure 'continue': all run, failures are counted, the first few are kept", async () => {
  const set = {
    of: 'item',
    items: Array.from({ length: 9 }, (_, n) => ({ key: `k${n}`, input: { bad: n % 2 === 0 } })),
    inFlight: 2,
  };
  const { stand, runtime } = await run(set, { setFailuresKept: 2 });
  await stand.clock.advance(1_000);
  expect(context(runtime).end).toMatchObject({
    started: 9,
    done: 4,
    failed: 5,
    failures: [
      { key: 'k0', error: { message: expect.stringContaining('bad k0') as unknown } },
      { key: 'k2', error: { message: expect.stringContaining('bad k2') as unknown } },
    ],
  });
  expect((context(runtime).end as { failures: unknown[] }).failures).toHaveLength(2);
});

test("onFailure 'stop': after the first failure none starts, the running ones end, then SET_FAILED", async () => {
  const set: ProcedureSetInput = {
    of: 'item',
    items: [
      { key: 'slow', input: { ms: 500 } },
      { key: 'bad', input: { bad: true } },
      { key: 'later' },
      { key: 'never' },
    ],
    inFlight: 2,
    onFailure: 'stop',
  };
  const { stand, runtime } = await run(set);
  await stand.clock.advance(100);
  expect(context(runtime).error).toBeNull();
  expect(alive(runtime)).toBe(1);
  await stand.clock.advance(500);
  expect(context(runtime).error).toMatchObject({
    code: 'SET_FAILED',
    details: { started: 2, done: 1, failed: 1, failures: [{ key: 'bad' }] },
  });
  expect(runtime.list({ machine: 'item' }).procedures).toHaveLength(2);
});

test.each([
  ['no `of`', { items: [] }],
  ['neither items nor table', { of: 'item' }],
  ['both', { of: 'item', items: [], table: { name: 'rows' } }],
  ['two equal keys', { of: 'item', items: items('a', 'b', 'a') }],
  ['a key that is no text', { of: 'item', items: [{ key: 7 }] }],
  ['an item that is none', { of: 'item', items: [null] }],
  ['an empty key', { of: 'item', items: [{ key: '' }] }],
  ['a table without a name', { of: 'item', table: {} }],
  ['inFlight 0', { of: 'item', items: [], inFlight: 0 }],
  ['inFlight 1.5', { of: 'item', items: [], inFlight: 1.5 }],
  ['an unknown onFailure', { of: 'item', items: [], onFailure: 'halt' }],
  [
    'too many items',
    { of: 'item', items: items(...Array.from({ length: 1_001 }, (_, n) => `${n}`)) },
  ],
])('SET_INVALID: a set with %s is an error of the invoke', async (_, set) => {
  const { runtime } = await run(set as never);
  expect(context(runtime).error).toMatchObject({ code: 'SET_INVALID' });
  expect(runtime.list({ machine: 'item' }).procedures).toEqual([]);
});

test('a table that is not given sets the set aside; it runs when the table is there', async () => {
  const set = { of: 'item', table: { name: 'other' } };
  const stand = new Stand();
  const first = await stand.start({ machines, tables: { rows } });
  await stand.run(first.spawn(crowd, { id: 'c', input: { set } }));
  expect(first.explain('c/all').words).toContain('TABLE_UNKNOWN');
  stand.crash();
  const second = await stand.start({ machines, tables: { rows, other: rows } });
  await stand.clock.settle();
  expect(context(second).end).toMatchObject({ started: 0 });
});

test('L13: a set that is given up in the middle stops its running children and starts no more', async () => {
  const set = { of: 'item', items: items('a', 'b', 'c', 'd', 'e'), inFlight: 2, input: { ms: 50 } };
  const { stand, runtime } = await run(set);
  await stand.clock.advance(60);
  expect(alive(runtime)).toBe(2);
  await stand.run(runtime.get('c')!.sendDurable({ type: 'STOP' } as never));
  await stand.clock.advance(1_000);
  const statuses = runtime.list({ machine: 'item' }).procedures.map(({ status }) => status);
  expect(statuses.sort()).toEqual(['done', 'done', 'stopped', 'stopped']);
  expect(runtime.list({ machine: 'procedureSet' }).procedures).toMatchObject([
    { status: 'stopped' },
  ]);
});

test('a child that an operator cancels counts as failed; cancelling the crowd ends everything', async () => {
  const set = { of: 'item', items: items('a', 'b', 'c'), inFlight: 2, input: { ms: 50 } };
  const { stand, runtime } = await run(set);
  await stand.run(runtime.cancel('c/all/a'));
  await stand.clock.settle();
  expect(runtime.explain('c/all').words).toContain('2 running');
  await stand.run(runtime.cancel('c'));
  const { procedures } = runtime.list();
  expect(procedures).toHaveLength(5);
  expect(new Set(procedures.map(({ status }) => status))).toEqual(new Set(['stopped']));
});

test('a set of sets: each has its own children and its own summary', async () => {
  const { stand, runtime } = await run({
    of: 'crowd',
    items: [
      { key: 'x', input: { set: { of: 'item', items: items('a', 'b') }, fill: [] } },
      { key: 'y', input: { set: { of: 'item', items: items('a') }, fill: [] } },
    ],
  });
  await stand.clock.advance(100);
  const end = (id: string) => (seen(runtime, id).context as { end: unknown }).end;
  expect(end('c/all/x')).toMatchObject({ started: 2, done: 2 });
  expect(end('c/all/y')).toMatchObject({ started: 1, done: 1 });
  expect(runtime.list({ parent: 'c/all/x/all' }).procedures).toHaveLength(2);
  // The inner crowds rest in a state that is not final: the outer set still waits for them.
  expect(context(runtime).end).toBeNull();
  expect(runtime.explain('c/all').words).toContain('2 running');
});

test('a plain createActor says that a set needs a runtime', async () => {
  const { createActor } = await import('xstate');
  const actor = createActor(crowd, { input: { set: { of: 'item', items: [] } } }).start();
  expect(actor.getSnapshot().context.error).toMatchObject({ code: 'SET_NEEDS_RUNTIME' });
  expect(await codeOf(Promise.resolve())).toBeUndefined();
});
