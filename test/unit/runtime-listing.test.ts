/** What an operator sees: list, counts, explain, history; complete, bounded, true (L11, L12). */
import { assign, fromPromise, setup } from 'xstate';
import { expect, test } from 'vitest';
import { declareTask } from '../../src/model/declare-task.ts';
import type { ListQuery, Runtime } from '../../src/runtime/index.ts';
import { handRunner } from '../support/runtime-tasks.ts';
import { codeOf, Stand } from '../support/runtime-stand.ts';

const light = setup({
  types: {} as { events: { type: 'NEXT' } | { type: 'END' } },
}).createMachine({
  id: 'light',
  version: '1',
  initial: 'green',
  states: {
    green: { tags: ['go'], on: { NEXT: 'red' } },
    red: {
      tags: ['stop'],
      initial: 'solid',
      states: { solid: { on: { NEXT: 'flashing' } }, flashing: { tags: ['broken'] } },
      on: { END: 'off' },
    },
    off: { type: 'final' },
  },
});

const pair = setup({ actors: { light } }).createMachine({
  id: 'pair',
  version: '1',
  type: 'parallel',
  states: {
    a: { invoke: { id: 'one', src: 'light' } },
    b: { invoke: { id: 'two', src: 'light' } },
  },
});

async function lights() {
  const stand = new Stand();
  const options = { machines: [light, pair], limits: { listPageMax: 5 } };
  const runtime = await stand.start(options);
  for (let n = 0; n < 12; n++) {
    const ref = await stand.run(runtime.spawn(light, { id: `l${n}` }));
    for (let i = 0; i < n % 3; i++) await stand.run(ref.sendDurable({ type: 'NEXT' }));
    if (n === 10) {
      await stand.run(ref.sendDurable({ type: 'END' }));
    }
  }
  await stand.run(runtime.spawn(pair, { id: 'p' }));
  return { stand, runtime, options };
}

function all(runtime: Runtime, query: ListQuery): string[] {
  const ids: string[] = [];
  for (let after: string | undefined; ;) {
    const page = runtime.list({ ...query, ...(after === undefined ? {} : { after }) });
    expect(page.procedures.length).toBeLessThanOrEqual(5);
    ids.push(...page.procedures.map(({ id }) => id));
    if (page.next === undefined) return ids.sort();
    after = page.next;
  }
}

const check = (runtime: Runtime): void => {
  const every = all(runtime, {});
  expect(every).toHaveLength(15);
  expect(new Set(every).size).toBe(15);
  expect(all(runtime, { state: 'green' })).toEqual(['l0', 'l3', 'l6', 'l9', 'p/one', 'p/two']);
  expect(all(runtime, { state: 'red' })).toEqual(['l1', 'l11', 'l2', 'l4', 'l5', 'l7', 'l8']);
  expect(all(runtime, { state: { red: 'flashing' } })).toEqual(['l11', 'l2', 'l5', 'l8']);
  expect(all(runtime, { tag: 'stop' })).toEqual(['l1', 'l11', 'l2', 'l4', 'l5', 'l7', 'l8']);
  expect(all(runtime, { tag: 'broken', limit: 1 })).toEqual(['l11', 'l2', 'l5', 'l8']);
  expect(all(runtime, { tag: 'gone' })).toEqual([]);
  expect(all(runtime, { status: 'done' })).toEqual(['l10']);
  expect(all(runtime, { machine: 'pair' })).toEqual(['p']);
  expect(all(runtime, { machine: 'light', status: 'active', state: 'red', limit: 2 })).toHaveLength(
    7,
  );
  expect(all(runtime, { parent: 'p' })).toEqual(['p/one', 'p/two']);
  expect(all(runtime, { parent: 'p', limit: 1 })).toEqual(['p/one', 'p/two']);
  expect(all(runtime, { parent: 'gone' })).toEqual([]);
  expect(all(runtime, { parent: 'l0' })).toEqual([]);
};

test('list: pages hold everything once; filters by state, tag, machine, status and parent', async () => {
  const { stand, runtime, options } = await lights();
  check(runtime);
  stand.crash();
  check(await stand.start(options));
});

test('counts are those of the list, at every moment', async () => {
  const { stand, runtime, options } = await lights();
  const counted = (own: Runtime): void => {
    for (const { machine, state, status, count } of own.counts()) {
      const ids = all(own, { machine, status: status as never }).filter(
        (id) => label(own, id) === state,
      );
      expect(ids).toHaveLength(count);
    }
    const sum = own.counts().reduce((total, { count }) => total + count, 0);
    expect(sum).toBe(all(own, {}).length);
  };
  counted(runtime);
  await stand.run(runtime.purge('l10'));
  await stand.run(runtime.cancel('p'));
  counted(runtime);
  stand.crash();
  counted(await stand.start(options));
});

function label(runtime: Runtime, id: string): string {
  const { value } = runtime.get(id)!.getSnapshot() as { value: unknown };
  return typeof value === 'string' ? value : JSON.stringify(value);
}

test('L11: a limit that is no whole number from 1, and a cursor that is none, are refused', async () => {
  const { runtime } = await lights();
  for (const limit of [0, -1, 1.5, Number.NaN, Infinity, '3']) {
    expect(() => runtime.list({ limit: limit as number })).toThrow(/OPTION_INVALID/);
  }
  for (const after of ['', 'x', '-1', '1.5', 'Infinity']) {
    expect(() => runtime.list({ after })).toThrow(/OPTION_INVALID/);
  }
  expect(() => runtime.list({ stauts: 'done' } as never)).toThrow(/OPTION_INVALID/);
  expect(runtime.list({ limit: 100 }).procedures).toHaveLength(5);
});

test('a state whose name looks like JSON is listed like any other', async () => {
  const odd = setup({ types: {} as { events: { type: 'GO' } } }).createMachine({
    id: 'odd',
    version: '1',
    initial: '{a',
    states: { '{a': { on: { GO: 'x\ny' } }, 'x\ny': {} },
  });
  const stand = new Stand();
  const runtime = await stand.start({ machines: [odd] });
  const ref = await stand.run(runtime.spawn(odd, { id: 'o' }));
  expect(runtime.list().procedures).toMatchObject([{ id: 'o', machine: 'odd', state: '{a' }]);
  await stand.run(ref.sendDurable({ type: 'GO' }));
  expect(runtime.list({ state: 'x\ny' }).procedures).toHaveLength(1);
  expect(runtime.counts()).toEqual([{ machine: 'odd', state: 'x\ny', status: 'active', count: 1 }]);
});

test('L12: explain names what it waits for: event, timer, task, child, live actor, effect', async () => {
  const work = declareTask<null, null>('work');
  const all = setup({
    types: {} as { events: { type: 'GO' } | { type: 'STOP' } },
    actors: { light, work, live: fromPromise(() => new Promise<never>(() => undefined)) },
    actions: { act: () => Promise.reject(new Error('disk gone')) as never },
  }).createMachine({
    id: 'all',
    version: '1',
    initial: 'on',
    states: {
      on: {
        entry: 'act',
        invoke: [
          { id: 'l', src: 'light' },
          { id: 'w', src: 'work', input: null },
          { id: 'p', src: 'live' },
        ],
        on: { GO: 'off', STOP: 'off' },
        after: { 60_000: 'off' },
      },
      off: { type: 'final' },
    },
  });
  const stand = new Stand();
  const runtime = await stand.start({
    machines: [all],
    actors: { work: handRunner() },
    limits: { effectRetryMs: 10_000 },
  });
  await stand.run(runtime.spawn(all, { id: 'a' }));
  await stand.clock.advance(5_000);
  const { waitingFor, words, state, status } = runtime.explain('a');
  expect([state, status]).toEqual(['on', 'active']);
  expect(waitingFor).toMatchObject([
    { for: 'effect', type: 'act', attempts: 1, lastError: 'disk gone' },
    { for: 'task', task: 'work', phase: 'submitted', runningMs: 5_000, silentMs: 5_000 },
    { for: 'child', id: 'a/l', state: 'green' },
    { for: 'child', id: 'p', state: "live actor 'live'" },
    { for: 'timer', dueInMs: 55_000 },
    { for: 'event', types: ['GO', 'STOP'] },
  ]);
  for (const part of ['disk gone', "'work'", "'a/l'", '55000 ms', 'GO, STOP']) {
    expect(words).toContain(part);
  }
  expect(runtime.accepts('a')).toEqual(['GO', 'STOP']);
  expect(() => runtime.explain('gone')).toThrow(/PROCEDURE_UNKNOWN/);
});

test('history: every step with its event, state, context and sender, in pages, over restarts', async () => {
  const counter = setup({
    types: {} as { context: { n: number }; events: { type: 'ADD'; n: number } | { type: 'END' } },
  }).createMachine({
    id: 'counter',
    version: '1',
    initial: 'on',
    context: { n: 0 },
    states: {
      on: {
        on: {
          ADD: { actions: assign({ n: ({ context, event }) => context.n + event.n }) },
          END: 'over',
        },
      },
      over: { type: 'final' },
    },
  });
  const stand = new Stand();
  const first = await stand.start({ machines: [counter] });
  let ref = await stand.run(first.spawn(counter, { id: 'c' }));
  for (const n of [1, 2, 3]) await stand.run(ref.sendDurable({ type: 'ADD', n }));
  stand.crash();
  const second = await stand.start({ machines: [counter] });
  ref = second.get<typeof counter>('c')!;
  await stand.run(ref.sendDurable({ type: 'ADD', n: 4 }));
  await stand.run(ref.sendDurable({ type: 'END' }));
  const entries: unknown[] = [];
  for (let after: string | undefined; ;) {
    const page = await stand.run(
      second.history('c', { limit: 2, ...(after === undefined ? {} : { after }) }),
    );
    expect(page.entries.length).toBeLessThanOrEqual(2);
    entries.push(...page.entries);
    if (page.next === undefined) break;
    after = page.next;
  }
  const at = expect.any(Number) as unknown;
  expect(entries).toEqual([
    { n: 0, at, e: { type: 'xstate.init' }, s: 'on', c: { n: 0 } },
    { n: 1, at, e: { type: 'ADD', n: 1 }, s: 'on', c: { n: 1 } },
    { n: 2, at, e: { type: 'ADD', n: 2 }, s: 'on', c: { n: 3 } },
    { n: 3, at, e: { type: 'ADD', n: 3 }, s: 'on', c: { n: 6 } },
    { n: 4, at, e: { type: 'ADD', n: 4 }, s: 'on', c: { n: 10 } },
    { n: 5, at, e: { type: 'END' }, s: 'over', st: 'done' },
  ]);
  expect(await codeOf(stand.run(Promise.resolve().then(() => second.history('gone'))))).toBe(
    'PROCEDURE_UNKNOWN',
  );
});
