/** Machines that change between two starts: versions, migrations, and the guard on unnamed parts. */
import { assign, setup, type AnyStateMachine } from 'xstate';
import { expect, test } from 'vitest';
import type { Migrate } from '../../src/runtime/index.ts';
import { codeOf, seen, Stand } from '../support/runtime-stand.ts';

const machineOf = (version: string, context: object, state = 'on'): AnyStateMachine =>
  setup({ types: {} as { events: { type: 'N' } | { type: 'END' } } }).createMachine({
    id: 'm',
    version,
    initial: state,
    context,
    on: { N: { actions: assign({ heard: true } as never) }, END: '.over' },
    output: 'the end',
    states: { [state]: {}, over: { type: 'final' } },
  } as never) as never;

const other = setup({}).createMachine({ id: 'other', version: '1' });

async function oneOfEach(): Promise<Stand> {
  const stand = new Stand();
  const runtime = await stand.start({ machines: [machineOf('1', { count: 3 }), other] });
  await stand.run(runtime.spawn('m', { id: 'p' }));
  await stand.run(runtime.spawn('other', { id: 'o' }));
  stand.crash();
  return stand;
}

const toList: Migrate = ({ state, context }) => ({
  state,
  context: { list: Array.from({ length: (context as { count: number }).count }, () => 'x') },
});
const rename: Migrate = ({ context }) => ({ state: 'fresh', context });

test('1 to 2 to 3: the chain is taken and committed before the first event', async () => {
  const stand = await oneOfEach();
  const three = machineOf('3', {}, 'fresh');
  const second = await stand.start({
    machines: [{ machine: three, migrate: { 1: toList, 2: rename } }, other],
  });
  const row = JSON.parse((await stand.records()).get('p/1') ?? '') as object;
  expect(row).toMatchObject({ version: 3, state: 'fresh', context: { list: ['x', 'x', 'x'] } });
  expect(seen(second, 'p')).toMatchObject({ value: 'fresh', context: { list: ['x', 'x', 'x'] } });
});

test('both versions given: what runs under the old one stays there, new ones get the new one', async () => {
  const stand = await oneOfEach();
  const second = await stand.start({
    machines: [machineOf('1', { count: 0 }), machineOf('2', { list: [] }), other],
  });
  await stand.run(second.spawn('m', { id: 'q' }));
  expect(seen(second, 'p').context).toEqual({ count: 3 });
  expect(seen(second, 'q').context).toEqual({ list: [] });
});

const bad: [string, Record<number, Migrate>, string][] = [
  [
    'that throws',
    {
      1: () => {
        throw new Error('no');
      },
    },
    'ROW_UNFIT',
  ],
  [
    'that throws null',
    {
      1: () => {
        // eslint-disable-next-line @typescript-eslint/only-throw-error -- whatever is thrown
        throw null;
      },
    },
    'ROW_UNFIT',
  ],
  ['that gives nothing', { 1: (() => undefined) as never }, 'ROW_UNFIT'],
  [
    'that gives a Date',
    { 1: ({ state }) => ({ state, context: { at: new Date(0) } as never }) },
    'ROW_UNFIT',
  ],
  [
    'that leads to a state the machine has not',
    { 1: ({ context }) => ({ state: 'gone', context }) },
    'ROW_UNFIT',
  ],
  ['that is missing', {}, 'VERSION_UNKNOWN'],
];

test.each(bad)(
  'a migration %s sets the procedure aside as it was; the others run',
  async (_, migrate, code) => {
    const stand = await oneOfEach();
    const two = machineOf('2', {});
    const second = await stand.start({ machines: [{ machine: two, migrate }, other] });
    await stand.clock.settle();
    const statuses = second.list().procedures.map(({ id, status }) => `${id} ${status}`);
    expect(statuses.sort()).toEqual(['o active', 'p quarantined']);
    expect(second.explain('p').waitingFor[0]).toMatchObject({ for: 'repair', error: { code } });
    stand.crash();
    // With a migration that works it goes on by itself.
    const third = await stand.start({
      machines: [{ machine: two, migrate: { 1: toList } }, other],
    });
    await stand.clock.settle();
    expect(seen(third, 'p')).toMatchObject({
      status: 'active',
      context: { list: ['x', 'x', 'x'] },
    });
  },
);

test('a gap in the chain is a version without a way on', async () => {
  const stand = await oneOfEach();
  const second = await stand.start({
    machines: [{ machine: machineOf('4', {}), migrate: { 1: toList, 3: rename } }, other],
  });
  await stand.clock.settle();
  expect(second.explain('p').words).toContain('VERSION_UNKNOWN');
  expect(second.explain('p').words).toContain('version 2');
});

test('a migration that changes what it is given changes nothing but its result', async () => {
  const calls: unknown[] = [];
  const acting = (version: string, wait: boolean) =>
    setup({
      actions: {
        act: ({ context }) => {
          calls.push(JSON.parse(JSON.stringify(context)));
          return (wait ? new Promise(() => undefined) : undefined) as never;
        },
      },
    }).createMachine({
      id: 'm',
      version,
      context: { list: [1] },
      entry: 'act',
    });
  const stand = new Stand();
  const first = await stand.start({ machines: [acting('1', true)] });
  await stand.run(first.spawn('m', { id: 'p' }));
  stand.crash();
  const migrate: Record<number, Migrate> = {
    1: (old) => {
      (old.context as { list: number[] }).list.push(2);
      return old;
    },
  };
  const second = await stand.start({ machines: [{ machine: acting('2', false), migrate }] });
  await stand.clock.settle();
  expect(seen(second, 'p').context).toEqual({ list: [1, 2] });
  // The effect was decided under version 1 and sees what it saw then.
  expect(calls).toEqual([{ list: [1] }, { list: [1] }]);
});

test('references in the context an unsettled effect saw survive a migration', async () => {
  const heard: unknown[] = [];
  const acting = (version: string, wait: boolean) =>
    setup({
      types: {} as { input: { friend: unknown }; context: { friend: unknown } },
      actions: {
        act: ({ context }) => {
          heard.push((context.friend as { sessionId?: string } | null)?.sessionId);
          return (wait ? new Promise(() => undefined) : undefined) as never;
        },
      },
    }).createMachine({
      id: 'm',
      version,
      context: ({ input }) => ({ friend: input.friend }),
      entry: 'act',
    });
  const stand = new Stand();
  const first = await stand.start({ machines: [acting('1', true), other] });
  const friend = await stand.run(first.spawn('other', { id: 'o' }));
  await stand.run(first.spawn('m', { id: 'p', input: { friend } }));
  stand.crash();
  const migrate: Record<number, Migrate> = { 1: ({ state }) => ({ state, context: {} }) };
  await stand.start({ machines: [{ machine: acting('2', false), migrate }, other] });
  await stand.clock.settle();
  expect(heard).toEqual(['o', 'o']);
});

test('what has ended stays as it ended: it is not migrated, and can be read without its machine', async () => {
  const stand = new Stand();
  const first = await stand.start({ machines: [machineOf('1', { count: 3 })] });
  const ref = await stand.run(first.spawn('m', { id: 'p' }));
  await stand.run(ref.sendDurable({ type: 'END' } as never));
  stand.crash();
  const migrate: Record<number, Migrate> = {
    1: () => {
      throw new Error('never asked');
    },
  };
  const end = { status: 'done', context: { count: 3 }, output: 'the end' };
  const second = await stand.start({ machines: [{ machine: machineOf('2', {}), migrate }] });
  expect(second.get('p')!.getSnapshot()).toMatchObject(end);
  stand.crash();
  const third = await stand.start({ machines: [other] });
  expect(third.get('p')!.getSnapshot()).toMatchObject(end);
  expect(third.list().procedures).toMatchObject([{ id: 'p', machine: 'm', status: 'done' }]);
  expect(third.explain('p').words).toBe('It has ended: done.');
});

const unnamed = (states: 'a' | 'a b', version = '1') =>
  setup({}).createMachine({
    id: 'u',
    version,
    initial: 'a',
    states: {
      a: { entry: [() => undefined], on: { GO: 'a' } },
      ...(states === 'a b' ? { b: { entry: () => undefined } } : {}),
    },
  });

test('MACHINE_CHANGED: unnamed parts are trusted only while the machine is as it was', async () => {
  const stand = new Stand();
  const first = await stand.start({ machines: [unnamed('a')] });
  await stand.run(first.spawn('u', { id: 'p' }));
  stand.crash();
  const same = await stand.start({ machines: [unnamed('a')] });
  await stand.run(same.get('p')!.sendDurable({ type: 'GO' }));
  stand.crash();
  const changed = await stand.start({ machines: [unnamed('a b')] });
  await stand.clock.settle();
  expect(changed.explain('p').words).toContain('MACHINE_CHANGED');
  stand.crash();
  const back = await stand.start({ machines: [unnamed('a')] });
  await stand.run(back.get('p')!.sendDurable({ type: 'GO' }));
  expect(seen(back, 'p').status).toBe('active');
  stand.crash();
  const raised = await stand.start({
    machines: [{ machine: unnamed('a b', '2'), migrate: { 1: (old) => old } }],
  });
  await stand.run(raised.get('p')!.sendDurable({ type: 'GO' }));
  expect(seen(raised, 'p').status).toBe('active');
});

test('two machines of one id and version, and a version that is no number, are refused at the start', async () => {
  const stand = new Stand();
  const start = (...machines: never[]) => codeOf(stand.start({ machines }));
  expect(await start(machineOf('1', {}) as never, machineOf('1', {}) as never)).toBe(
    'MACHINE_DUPLICATE',
  );
  for (const version of ['0', '-1', '1.5', 'one', '']) {
    expect(await start(machineOf(version, {}) as never)).toBe('MACHINE_INVALID');
  }
});
