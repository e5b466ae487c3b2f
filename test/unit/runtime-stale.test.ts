/** L16, C28, C90, C106: what is meant for an earlier life is dropped, counted, and changes nothing. */
import { assign, fromCallback, fromPromise, sendTo, setup, spawnChild, stopChild } from 'xstate';
import { expect, test } from 'vitest';
import { seen, Stand } from '../support/runtime-stand.ts';

const types = {} as {
  context: { heard: string[]; round: number };
  events: { type: 'AGAIN' } | { type: 'OFF' } | { type: 'LATE'; what: string };
};

test('a done of an earlier life of an invoked machine never passes for the next one', async () => {
  const kid = setup({
    types: {} as { input: { name: string }; context: { name: string }; output: string },
  }).createMachine({
    id: 'kid',
    version: '1',
    initial: 'on',
    context: ({ input }) => input,
    states: { on: { after: { 10: 'over' } }, over: { type: 'final' } },
    output: ({ context }) => context.name,
  });
  const parent = setup({
    types,
    actors: { kid },
    actions: {
      hear: assign({
        heard: ({ context }, params: { what: string }) => [...context.heard, params.what],
      }),
    },
  }).createMachine({
    id: 'parent',
    version: '1',
    initial: 'on',
    context: { heard: [], round: 0 },
    states: {
      on: {
        entry: assign({ round: ({ context }) => context.round + 1 }),
        invoke: {
          id: 'k',
          src: 'kid',
          input: ({ context }) => ({ name: `life ${context.round}` }),
          onDone: { actions: { type: 'hear', params: ({ event }) => ({ what: event.output }) } },
        },
        on: { AGAIN: { target: 'on', reenter: true } },
        after: { 10: { target: 'on', reenter: true, guard: ({ context }) => context.round === 1 } },
      },
    },
  });
  const stand = new Stand();
  const runtime = await stand.start({ machines: [parent] });
  await stand.run(runtime.spawn(parent, { id: 'p' }));
  // The parent's own timer is due in the same millisecond, before the child's end reaches it.
  await stand.clock.advance(10);
  expect(seen(runtime, 'p').context).toEqual({ heard: [], round: 2 });
  await stand.clock.advance(10);
  expect(seen(runtime, 'p').context).toEqual({ heard: ['life 2'], round: 2 });
  expect(runtime.list({ parent: 'p' }).procedures).toHaveLength(2);
});

test('a promise of an earlier life that resolves late is not heard, in this process or the next', async () => {
  const stand = new Stand();
  const machine = setup({
    types,
    actors: {
      wait: fromPromise(
        ({ input }: { input: { round: number } }) =>
          new Promise<string>((resolve) => {
            stand.clock.setTimeout(() => resolve(`round ${input.round}`), 20);
          }),
      ),
    },
    actions: {
      hear: assign({
        heard: ({ context }, params: { what: string }) => [...context.heard, params.what],
      }),
    },
  }).createMachine({
    id: 'm',
    version: '1',
    initial: 'on',
    context: { heard: [], round: 0 },
    states: {
      on: {
        entry: assign({ round: ({ context }) => context.round + 1 }),
        invoke: {
          id: 'w',
          src: 'wait',
          input: ({ context }) => ({ round: context.round }),
          onDone: { actions: { type: 'hear', params: ({ event }) => ({ what: event.output }) } },
        },
        on: { AGAIN: { target: 'on', reenter: true } },
      },
    },
  });
  const first = await stand.start({ machines: [machine] });
  const ref = await stand.run(first.spawn(machine, { id: 'm' }));
  await stand.clock.advance(10);
  await stand.run(ref.sendDurable({ type: 'AGAIN' }));
  await stand.clock.advance(15);
  expect(seen(first, 'm').context).toEqual({ heard: [], round: 2 });
  stand.crash();
  const second = await stand.start({ machines: [machine] });
  await stand.clock.advance(100);
  // Asked for again (at least once), and heard once.
  expect(seen(second, 'm').context).toEqual({ heard: ['round 2'], round: 2 });
  stand.crash();
  const third = await stand.start({ machines: [machine] });
  await stand.clock.advance(100);
  expect(seen(third, 'm').context).toEqual({ heard: ['round 2'], round: 2 });
});

test('a callback that calls after its end is not heard', async () => {
  const calls: ((event: { type: 'LATE'; what: string }) => void)[] = [];
  const machine = setup({
    types,
    actors: { live: fromCallback(({ sendBack }) => void calls.push(sendBack as never)) },
    actions: {
      hear: assign({
        heard: ({ context }, params: { what: string }) => [...context.heard, params.what],
      }),
    },
  }).createMachine({
    id: 'm',
    version: '1',
    initial: 'on',
    context: { heard: [], round: 0 },
    on: {
      LATE: { actions: { type: 'hear', params: ({ event }) => ({ what: event.what }) } },
    },
    states: {
      on: { invoke: { id: 'l', src: 'live' }, on: { AGAIN: { target: 'on', reenter: true } } },
    },
  });
  const stand = new Stand();
  const runtime = await stand.start({ machines: [machine] });
  const ref = await stand.run(runtime.spawn(machine, { id: 'm' }));
  calls[0]!({ type: 'LATE', what: 'first' });
  await stand.run(ref.sendDurable({ type: 'AGAIN' }));
  calls[0]!({ type: 'LATE', what: 'too late' });
  calls[1]!({ type: 'LATE', what: 'second' });
  await stand.clock.settle();
  expect((seen(runtime, 'm').context as { heard: string[] }).heard).toEqual(['first', 'second']);
});

test('C28: a delayed event for a child that was stopped does not reach the child that has its id now', async () => {
  const kid = setup({
    types: {} as { context: { got: number }; events: { type: 'HI' } },
  }).createMachine({
    id: 'kid',
    version: '1',
    context: { got: 0 },
    on: { HI: { actions: assign({ got: ({ context }) => context.got + 1 }) } },
  });
  const live: string[] = [];
  const parent = setup({
    types: {} as { events: { type: 'OFF' } | { type: 'ON' } },
    actors: {
      kid,
      live: fromCallback(({ receive }) => receive((event) => live.push(event.type))),
    },
  }).createMachine({
    id: 'parent',
    version: '1',
    entry: [
      spawnChild('kid', { id: 'k' }),
      spawnChild('live', { id: 'l' }),
      sendTo('k', { type: 'HI' }, { delay: 100 }),
      sendTo('l', { type: 'HI' }, { delay: 100 }),
    ],
    on: {
      OFF: { actions: [stopChild('k'), stopChild('l')] },
      ON: { actions: [spawnChild('kid', { id: 'k' }), spawnChild('live', { id: 'l' })] },
    },
  });
  for (const restart of [false, true]) {
    const stand = new Stand();
    let runtime = await stand.start({ machines: [parent] });
    const ref = await stand.run(runtime.spawn(parent, { id: 'p' }));
    await stand.run(ref.sendDurable({ type: 'OFF' }));
    await stand.run(ref.sendDurable({ type: 'ON' }));
    if (restart) {
      stand.crash();
      runtime = await stand.start({ machines: [parent] });
    }
    await stand.clock.advance(200);
    const now = runtime.list({ parent: 'p', status: 'active' }).procedures;
    expect(now).toHaveLength(1);
    expect(seen(runtime, now[0]!.id).context).toEqual({ got: 0 });
    expect(live).toEqual([]);
  }
});

test('C106: restarts write the same record again, or none: children, timers and references included', async () => {
  const kid = setup({}).createMachine({ id: 'kid', version: '1' });
  const machine = setup({
    types: {} as { context: { kid: unknown; self: unknown } },
    actors: { kid },
  }).createMachine({
    id: 'm',
    version: '1',
    initial: 'on',
    context: ({ spawn, self }) => ({ kid: spawn('kid', { id: 'k', systemId: 'sys' }), self }),
    states: { on: { after: { 1_000_000: 'off' } }, off: {} },
  });
  const stand = new Stand();
  let runtime = await stand.start({ machines: [machine] });
  await stand.run(runtime.spawn(machine, { id: 'm' }));
  const before = await stand.records();
  for (let generation = 0; generation < 3; generation++) {
    stand.crash();
    runtime = await stand.start({ machines: [machine] });
    runtime.get('m')!.getSnapshot();
    await stand.clock.settle();
    const after = await stand.records();
    for (const key of ['p/1', 'p/2']) expect(after.get(key)).toBe(before.get(key));
  }
});

test('C90: a verdict is passed once, however often it is asked for: one line in log and history', async () => {
  const broken = setup({ types: {} as { events: { type: 'BAD' } } }).createMachine({
    id: 'broken',
    version: '1',
    context: {},
    on: { BAD: { actions: assign(() => ({ bad: new Set() })) } },
  });
  const stand = new Stand();
  const first = await stand.start({ machines: [broken] });
  const ref = await stand.run(first.spawn(broken, { id: 'b' }));
  for (let n = 0; n < 5; n++) ref.send({ type: 'BAD' });
  await stand.clock.settle();
  stand.crash();
  const second = await stand.start({ machines: [broken] });
  await stand.clock.settle();
  expect(stand.told('error').filter((message) => message === 'quarantined')).toHaveLength(1);
  const { entries } = await stand.run(second.history('b'));
  const verdicts = entries.filter((entry) => (entry as { st?: string }).st === 'quarantined');
  expect(verdicts).toHaveLength(1);
});
