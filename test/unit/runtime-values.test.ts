/** M14, M17: what JSON cannot carry is refused when it is decided, and nothing of the step happens. */
import { assign, emit, raise, sendTo, setup, spawnChild, type AnyActorRef } from 'xstate';
import { expect, test } from 'vitest';
import { defineTable } from '../../src/model/table.ts';
import { codeOf, seen, Stand } from '../support/runtime-stand.ts';

const kid = setup({
  types: {} as { input: unknown; context: { input: unknown } },
}).createMachine({
  id: 'kid',
  version: '1',
  context: ({ input }) => ({ input: input ?? null }),
});

const circle = (): object => {
  const value: { self?: unknown } = {};
  value.self = value;
  return value;
};
const deep = (levels: number): unknown => (levels === 0 ? 1 : { in: deep(levels - 1) });
class Money {
  cents = 1;
}

const bad: [string, () => unknown][] = [
  ['a Date', () => new Date(0)],
  ['a Map', () => new Map([[1, 2]])],
  ['a Set', () => new Set([1])],
  ['a BigInt', () => 1n],
  ['NaN', () => Number.NaN],
  ['Infinity', () => Infinity],
  ['-0', () => -0],
  ['a function', () => () => 1],
  ['a symbol', () => Symbol('x')],
  ['undefined in a list', () => [undefined]],
  ['an instance of a class', () => new Money()],
  ['an Error', () => new Error('x')],
  ['a RegExp', () => /x/],
  ['a typed array', () => new Uint8Array(2)],
  ['a circle', circle],
  ['150 levels', () => deep(150)],
  ["a key '__proto__'", () => JSON.parse('{"__proto__":{"admin":true}}') as unknown],
  ["a key 'constructor'", () => ({ constructor: 1 })],
  [
    'a getter that throws',
    () => ({
      get x(): never {
        throw new Error('getter');
      },
    }),
  ],
];

/** Does one thing with the value it is given by the test; `acted` shows whether it did. */
const machineOf = (value: () => unknown, acted: string[]) =>
  setup({
    types: {} as {
      context: { value: unknown };
      events: { type: 'ASSIGN' | 'SEND' | 'RAISE' | 'KID' | 'EFFECT' | 'TABLE' | 'END' | 'EMIT' };
    },
    actors: { kid },
    actions: {
      act: (_, _params: unknown) => void acted.push('act'),
      'table.rows.put': (_: unknown, _params: unknown): void => undefined,
    },
  }).createMachine({
    id: 'm',
    version: '1',
    initial: 'on',
    context: { value: null },
    states: {
      on: {
        on: {
          ASSIGN: { actions: [{ type: 'act', params: null }, assign({ value })] },
          SEND: {
            actions: [
              { type: 'act', params: null },
              sendTo(
                ({ self }) => self as AnyActorRef,
                () => ({ type: 'END', value: value() }),
              ),
            ],
          },
          RAISE: {
            actions: [
              { type: 'act', params: null },
              raise(() => ({ type: 'END', value: value() }) as never, { delay: 10 }),
            ],
          },
          KID: {
            actions: [
              { type: 'act', params: null },
              spawnChild('kid', { id: 'k', input: () => value() }),
            ],
          },
          EFFECT: { actions: { type: 'act', params: () => ({ value: value() }) } },
          TABLE: {
            actions: [
              { type: 'act', params: null },
              { type: 'table.rows.put', params: () => ({ value: value() }) },
            ],
          },
          END: 'over',
        },
      },
      over: { type: 'final' },
    },
    output: () => ({ value: value() }),
  });

const rows = defineTable({ put: () => ({ changes: { a: 1 } }) });
const ways = ['ASSIGN', 'SEND', 'RAISE', 'KID', 'EFFECT', 'TABLE', 'END'] as const;

test.each(bad)('M17: %s sets the procedure aside, whichever way it takes', async (_, value) => {
  const stand = new Stand();
  const acted: string[] = [];
  const runtime = await stand.start({ machines: [machineOf(value, acted)], tables: { rows } });
  for (const type of ways) {
    const ref = await stand.run(runtime.spawn('m', { id: type }));
    const code = await codeOf(stand.run(ref.sendDurable({ type } as never)));
    expect([type, code]).toEqual([type, expect.stringMatching(/VALUE_NOT_JSON|getter/)]);
    expect(seen(runtime, type)).toMatchObject({ value: 'on', context: { value: null } });
    expect(runtime.list({ parent: type }).procedures).toEqual([]);
  }
  await stand.clock.advance(1_000);
  expect(acted).toEqual([]);
  expect(runtime.table('rows').size).toBe(0);
  expect(stand.fatal).toEqual([]);
  expect(({} as { admin?: unknown }).admin).toBeUndefined();
  // The others run, and a start reads everything back.
  await stand.run(runtime.spawn(kid, { id: 'kid' }).catch(() => undefined));
  stand.crash();
  const next = await stand.start({ machines: [machineOf(value, acted)], tables: { rows } });
  expect(next.list({ status: 'quarantined' }).procedures).toHaveLength(ways.length);
});

test('what JSON can carry comes back the same: empty, long, nested, with odd keys and texts', async () => {
  const good = {
    '': 0,
    'a.b': [[], {}, null, false, -1.5e-300, 9007199254740991],
    'ключ 🔑\u0000\n"\\': 'text \u0000 \u2028 "quoted" \\ 🔑 \ud800',
    toString: 'x',
    hasOwnProperty: 1,
    deep: deep(90),
    long: 'x'.repeat(100_000),
  };
  const stand = new Stand();
  const first = await stand.start({ machines: [kid] });
  await stand.run(first.spawn(kid, { id: 'k', input: good }));
  stand.crash();
  const next = await stand.start({ machines: [kid] });
  expect(seen(next, 'k').context).toEqual({ input: good });
});

test('an undefined property counts as absent, before and after a restart', async () => {
  const machine = setup({
    types: {} as { context: { a?: number; b: number }; events: { type: 'DROP' } },
  }).createMachine({
    id: 'm',
    version: '1',
    context: { a: 1, b: 2 },
    on: { DROP: { actions: assign({ a: undefined } as never) } },
  });
  const stand = new Stand();
  const first = await stand.start({ machines: [machine] });
  const ref = await stand.run(first.spawn(machine, { id: 'm' }));
  await stand.run(ref.sendDurable({ type: 'DROP' }));
  expect(seen(first, 'm').context).toEqual({ b: 2 });
  stand.crash();
  const next = await stand.start({ machines: [machine] });
  expect(seen(next, 'm').context).toEqual({ b: 2 });
});

test('an error with data, thrown in an assign, is kept as data, the same after a restart', async () => {
  const machine = setup({
    types: {} as { events: { type: 'BAD' } },
    actions: {
      bad: assign(() => {
        throw Object.assign(new Error('no'), { code: 'ENO', more: new Map() });
      }),
    },
  }).createMachine({ id: 'm', version: '1', on: { BAD: { actions: 'bad' } } });
  const stand = new Stand();
  const first = await stand.start({ machines: [machine] });
  const ref = await stand.run(first.spawn(machine, { id: 'm' }));
  const errors: unknown[] = [];
  ref.subscribe({ error: (error) => errors.push(error) });
  await stand.run(ref.sendDurable({ type: 'BAD' }));
  expect(errors).toEqual([expect.objectContaining({ code: 'ENO' })]);
  stand.crash();
  const next = await stand.start({ machines: [machine] });
  expect(next.get('m')!.getSnapshot()).toMatchObject({ status: 'error', error: errors[0] });
});

test('an emitted event is for observers only: it need not be JSON, and costs nothing on record', async () => {
  const machine = setup({
    types: {} as { events: { type: 'GO' }; emitted: { type: 'made'; value: Map<string, number> } },
  }).createMachine({
    id: 'm',
    version: '1',
    on: { GO: { actions: emit({ type: 'made', value: new Map([['a', 1]]) }) } },
  });
  const stand = new Stand();
  const runtime = await stand.start({ machines: [machine] });
  const ref = await stand.run(runtime.spawn(machine, { id: 'm' }));
  const heard: number[] = [];
  ref.on('made', ({ value }) => heard.push(value.get('a') ?? 0));
  await stand.run(ref.sendDurable({ type: 'GO' }));
  expect(heard).toEqual([1]);
});

test("a child called '__proto__' is refused or a child like any other, never a hole", async () => {
  const machine = setup({ actors: { kid }, types: {} as { events: { type: 'GO' } } }).createMachine(
    {
      id: 'm',
      version: '1',
      on: { GO: { actions: spawnChild('kid', { id: '__proto__' }) } },
    },
  );
  const stand = new Stand();
  const first = await stand.start({ machines: [machine] });
  const ref = await stand.run(first.spawn(machine, { id: 'm' }));
  expect(await codeOf(stand.run(ref.sendDurable({ type: 'GO' })))).toBe('VALUE_NOT_JSON');
  stand.crash();
  const next = await stand.start({ machines: [machine] });
  expect(next.list({ status: 'quarantined' }).procedures.map(({ id }) => id)).toEqual(['m']);
  expect(next.list().procedures).toHaveLength(1);
});
