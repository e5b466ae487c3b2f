/** L2, M08, M25, C105: timers are due when they are due, whatever clocks and processes do. */
import { assign, cancel, raise, sendTo, setup, type AnyActorRef } from 'xstate';
import { expect, test } from 'vitest';
import { Stand, seen } from '../support/runtime-stand.ts';

const HOUR = 3_600_000;
const YEAR = 365 * 24 * HOUR;

/** Waits as long as its input says, then is over; writes down when. */
const waiter = setup({
  types: {} as { input: { ms: number }; context: { ms: number } },
  delays: { long: ({ context }) => context.ms },
}).createMachine({
  id: 'waiter',
  version: '1',
  initial: 'waiting',
  context: ({ input }) => input,
  states: { waiting: { after: { long: 'over' }, on: { GO: 'free' } }, free: {}, over: {} },
});

/** Counts the beats of a period; misses none, or skips the missed ones. */
const beats = (missed: 'skip' | 'late-once') =>
  setup({ types: {} as { context: { beats: number } } }).createMachine({
    id: `beats-${missed}`,
    version: '1',
    initial: 'on',
    context: { beats: 0 },
    states: {
      on: {
        meta: { missed },
        after: {
          1000: {
            target: 'on',
            reenter: true,
            actions: assign({ beats: ({ context }) => context.beats + 1 }),
          },
        },
      },
    },
  });

test('C105: a due time is absolute: a restart in the middle of the wait does not lengthen it', async () => {
  const stand = new Stand();
  const first = await stand.start({ machines: [waiter] });
  await stand.run(first.spawn(waiter, { id: 'w', input: { ms: 10_000 } }));
  await stand.clock.advance(6_000);
  stand.crash();
  await stand.clock.advance(3_000);
  const second = await stand.start({ machines: [waiter] });
  await stand.clock.advance(999);
  expect(seen(second, 'w').value).toBe('waiting');
  await stand.clock.advance(1);
  expect(seen(second, 'w').value).toBe('over');
});

test('M08, C105: timers missed during a stop fire once each, in the order of their due times', async () => {
  const order: string[] = [];
  const machine = setup({
    types: {} as { input: { ms: number }; context: { ms: number } },
    delays: { long: ({ context }) => context.ms, longer: ({ context }) => context.ms + 400 },
    actions: {
      note: ({ self }, params: { what: string }) => void order.push(`${self.id} ${params.what}`),
    },
  }).createMachine({
    id: 'two',
    version: '1',
    initial: 'on',
    context: ({ input }) => input,
    states: {
      on: {
        after: {
          long: { actions: { type: 'note', params: { what: 'long' } } },
          longer: { actions: { type: 'note', params: { what: 'longer' } } },
        },
      },
    },
  });
  const stand = new Stand();
  const first = await stand.start({ machines: [machine] });
  for (const [id, ms] of [
    ['a', 1_000],
    ['b', 1_200],
    ['c', 1_100],
  ] as const) {
    await stand.run(first.spawn(machine, { id, input: { ms } }));
  }
  stand.crash();
  await stand.clock.advance(HOUR);
  const second = await stand.start({ machines: [machine] });
  await stand.clock.settle();
  await stand.clock.advance(0);
  expect(order).toEqual(['a long', 'c long', 'b long', 'a longer', 'c longer', 'b longer']);
  await stand.clock.advance(HOUR);
  expect(order).toHaveLength(6);
  expect(second.state().staleEvents.timer).toBe(0);
});

test('a period with late-once makes up for one missed beat and goes on from there', async () => {
  const machine = beats('late-once');
  const stand = new Stand();
  const first = await stand.start({ machines: [machine] });
  await stand.run(first.spawn(machine, { id: 'b' }));
  await stand.clock.advance(2_500);
  stand.crash();
  await stand.clock.advance(10_000);
  const second = await stand.start({ machines: [machine] });
  await stand.clock.advance(0);
  expect(seen(second, 'b').context).toEqual({ beats: 3 });
  await stand.clock.advance(999);
  expect(seen(second, 'b').context).toEqual({ beats: 3 });
  await stand.clock.advance(1);
  expect(seen(second, 'b').context).toEqual({ beats: 4 });
});

test("meta { missed: 'skip' }: a missed beat is never made up for; the next whole period counts", async () => {
  const machine = beats('skip');
  const stand = new Stand();
  const first = await stand.start({ machines: [machine] });
  await stand.run(first.spawn(machine, { id: 'b' }));
  await stand.clock.advance(2_500);
  stand.crash();
  await stand.clock.advance(10_100);
  const second = await stand.start({ machines: [machine] });
  // 12.6 s since the start: the beats at 3, 4, .. 12 s were missed, the next is at 13 s.
  await stand.clock.advance(399);
  expect(seen(second, 'b').context).toEqual({ beats: 2 });
  await stand.clock.advance(1);
  expect(seen(second, 'b').context).toEqual({ beats: 3 });
  await stand.clock.advance(1_000);
  expect(seen(second, 'b').context).toEqual({ beats: 4 });
  expect(second.state().staleEvents.timer).toBe(0);
});

test("missed: 'skip' holds over a second stop right after the first", async () => {
  const machine = beats('skip');
  const stand = new Stand();
  const first = await stand.start({ machines: [machine] });
  await stand.run(first.spawn(machine, { id: 'b' }));
  stand.crash();
  await stand.clock.advance(5_500);
  await stand.start({ machines: [machine] });
  await stand.clock.settle();
  stand.crash();
  await stand.clock.advance(5_000);
  const third = await stand.start({ machines: [machine] });
  await stand.clock.advance(499);
  expect(seen(third, 'b').context).toEqual({ beats: 0 });
  await stand.clock.advance(1);
  expect(seen(third, 'b').context).toEqual({ beats: 1 });
});

test('a wait of more than 2^31 ms ends on time, over restarts too', async () => {
  const stand = new Stand();
  const ms = 2 ** 31 * 3 + 12_345;
  const first = await stand.start({ machines: [waiter] });
  await stand.run(first.spawn(waiter, { id: 'w', input: { ms } }));
  await stand.clock.advance(2 ** 31 + 7);
  await stand.close(first);
  const second = await stand.start({ machines: [waiter] });
  const left = first.explain('w').waitingFor.find((wait) => wait.for === 'timer');
  await stand.clock.advance((left as { dueInMs: number }).dueInMs - 1);
  expect(seen(second, 'w').value).toBe('waiting');
  await stand.clock.advance(1);
  expect(seen(second, 'w').value).toBe('over');
});

for (const [name, jump] of [
  ['an hour forward', HOUR],
  ['an hour back', -HOUR],
  ['ten years forward', 10 * YEAR],
  ['ten years back', -10 * YEAR],
] as const) {
  test(`M25: a wall clock that jumps ${name} neither fires a timer early nor holds it back`, async () => {
    const stand = new Stand();
    const runtime = await stand.start({ machines: [waiter] });
    await stand.run(runtime.spawn(waiter, { id: 'before', input: { ms: 10_000 } }));
    await stand.clock.advance(1_000);
    stand.clock.jumpWall(jump);
    await stand.run(runtime.spawn(waiter, { id: 'after', input: { ms: 9_500 } }));
    await stand.clock.advance(8_999);
    expect([seen(runtime, 'before').value, seen(runtime, 'after').value]).toEqual([
      'waiting',
      'waiting',
    ]);
    await stand.clock.advance(1);
    expect([seen(runtime, 'before').value, seen(runtime, 'after').value]).toEqual([
      'over',
      'waiting',
    ]);
    await stand.clock.advance(500);
    expect(seen(runtime, 'after').value).toBe('over');
  });
}

test('M25: after a restart with the wall clock set back, waiting goes on from the last time on record', async () => {
  const stand = new Stand();
  const first = await stand.start({ machines: [waiter] });
  await stand.run(first.spawn(waiter, { id: 'w', input: { ms: 10_000 } }));
  await stand.clock.advance(4_000);
  await stand.run(first.spawn(waiter, { id: 'x', input: { ms: 10_000 } }));
  stand.crash();
  stand.clock.jumpWall(-10 * YEAR);
  const second = await stand.start({ machines: [waiter] });
  await stand.clock.advance(5_999);
  expect(seen(second, 'w').value).toBe('waiting');
  await stand.clock.advance(1);
  expect([seen(second, 'w').value, seen(second, 'x').value]).toEqual(['over', 'waiting']);
  await stand.clock.advance(4_000);
  expect(seen(second, 'x').value).toBe('over');
});

test('L16: arming a timer again replaces it; a cancelled one never fires; both hold after a restart', async () => {
  const machine = setup({
    types: {} as {
      context: { rang: string[] };
      events:
        { type: 'EARLY' } | { type: 'LATE' } | { type: 'NEVER' } | { type: 'RING'; what: string };
    },
  }).createMachine({
    id: 'alarm2',
    version: '1',
    context: { rang: [] },
    on: {
      EARLY: { actions: raise({ type: 'RING', what: 'early' }, { delay: 1_000, id: 'bell' }) },
      LATE: { actions: raise({ type: 'RING', what: 'late' }, { delay: 3_000, id: 'bell' }) },
      NEVER: { actions: cancel('bell') },
      RING: { actions: assign({ rang: ({ context, event }) => [...context.rang, event.what] }) },
    },
  });
  const stand = new Stand();
  const first = await stand.start({ machines: [machine] });
  const ref = await stand.run(first.spawn(machine, { id: 'a' }));
  const other = await stand.run(first.spawn(machine, { id: 'b' }));
  await stand.run(ref.sendDurable({ type: 'EARLY' }));
  await stand.run(other.sendDurable({ type: 'EARLY' }));
  await stand.clock.advance(500);
  await stand.run(ref.sendDurable({ type: 'LATE' }));
  await stand.run(other.sendDurable({ type: 'NEVER' }));
  stand.crash();
  const second = await stand.start({ machines: [machine] });
  await stand.clock.advance(2_999);
  expect(seen(second, 'a').context).toEqual({ rang: [] });
  await stand.clock.advance(1);
  expect(seen(second, 'a').context).toEqual({ rang: ['late'] });
  await stand.clock.advance(HOUR);
  expect(seen(second, 'a').context).toEqual({ rang: ['late'] });
  expect(seen(second, 'b').context).toEqual({ rang: [] });
});

test('two timers of one procedure due in the same millisecond fire once each and none is stale', async () => {
  const machine = setup({
    types: {} as { context: { rang: string[] }; events: { type: 'RING'; what: string } },
  }).createMachine({
    id: 'three',
    version: '1',
    context: { rang: [] },
    entry: [
      raise({ type: 'RING', what: 'x' }, { delay: 100, id: 'x' }),
      raise({ type: 'RING', what: 'y' }, { delay: 100, id: 'y' }),
      raise({ type: 'RING', what: 'z' }, { delay: 100, id: 'z' }),
    ],
    on: {
      RING: { actions: assign({ rang: ({ context, event }) => [...context.rang, event.what] }) },
    },
  });
  const stand = new Stand();
  const runtime = await stand.start({ machines: [machine] });
  await stand.run(runtime.spawn(machine, { id: 'a' }));
  await stand.clock.advance(100);
  expect(seen(runtime, 'a').context).toEqual({ rang: ['x', 'y', 'z'] });
  expect(runtime.state().staleEvents.timer).toBe(0);
});

test('a delayed event for another procedure arrives once although the sender restarts on the way', async () => {
  const target = setup({ types: {} as { context: { got: number } } }).createMachine({
    id: 'target',
    version: '1',
    context: { got: 0 },
    on: { LATE: { actions: assign({ got: ({ context }) => context.got + 1 }) } },
  });
  const sender = setup({
    types: {} as { input: { to: unknown }; context: { to: unknown } },
  }).createMachine({
    id: 'sender',
    version: '1',
    context: ({ input }) => input,
    entry: sendTo(({ context }) => context.to as AnyActorRef, { type: 'LATE' }, { delay: 5_000 }),
  });
  const stand = new Stand();
  const first = await stand.start({ machines: [target, sender] });
  const to = await stand.run(first.spawn(target, { id: 't' }));
  await stand.run(first.spawn(sender, { id: 's', input: { to } }));
  await stand.clock.advance(2_000);
  stand.crash();
  const second = await stand.start({ machines: [target, sender] });
  await stand.clock.advance(2_999);
  expect(seen(second, 't').context).toEqual({ got: 0 });
  await stand.clock.advance(1);
  expect(seen(second, 't').context).toEqual({ got: 1 });
  stand.crash();
  const third = await stand.start({ machines: [target, sender] });
  await stand.clock.advance(HOUR);
  expect(seen(third, 't').context).toEqual({ got: 1 });
});
