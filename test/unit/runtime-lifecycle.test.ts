/** C57, C59, C70: what has ended leaves, what is idle costs nothing, and a close keeps its promise. */
import { assign, fromCallback, sendTo, setup, type AnyActorRef } from 'xstate';
import { expect, test, vi } from 'vitest';
import { codeOf, seen, Stand } from '../support/runtime-stand.ts';

const HOUR = 3_600_000;

const counter = setup({
  types: {} as { context: { n: number }; events: { type: 'ADD' } | { type: 'END' } },
}).createMachine({
  id: 'counter',
  version: '1',
  initial: 'on',
  context: { n: 0 },
  states: {
    on: {
      on: { ADD: { actions: assign({ n: ({ context }) => context.n + 1 }) }, END: 'over' },
    },
    over: { type: 'final' },
  },
});

const parent = setup({
  types: {} as { events: { type: 'END' } },
  actors: { counter },
}).createMachine({
  id: 'parent',
  version: '1',
  initial: 'on',
  states: {
    on: { invoke: { id: 'c', src: 'counter' }, on: { END: 'over' } },
    over: { type: 'final' },
  },
});

test('purge removes an ended tree with its history, and nothing while a part of it lives', async () => {
  const stand = new Stand();
  const first = await stand.start({ machines: [parent] });
  const ref = await stand.run(first.spawn(parent, { id: 'p' }));
  expect(await stand.run(first.purge('p'))).toBe(0);
  expect(await stand.run(first.purge('p/c'))).toBe(0);
  await stand.run(ref.sendDurable({ type: 'END' }));
  const { number } = first.get('p')!;
  expect(await stand.run(first.purge('p'))).toBe(2);
  expect(first.list().procedures).toEqual([]);
  expect(first.counts()).toEqual([]);
  expect(first.state()).toMatchObject({ procedures: 0, live: 0 });
  expect(() => ref.getSnapshot()).toThrow(/PROCEDURE_UNKNOWN/);
  const keys = [...(await stand.records()).keys()];
  expect(keys).toEqual(['c']);
  stand.crash();
  const next = await stand.start({ machines: [parent] });
  const again = await stand.run(next.spawn(parent, { id: 'p' }));
  expect(again.number).toBeGreaterThan(number);
  const { entries } = await stand.run(next.history('p'));
  expect(entries).toHaveLength(1);
});

test('an ended child leaves with its root, not before: the parent still refers to it', async () => {
  const stand = new Stand();
  const runtime = await stand.start({ machines: [parent] });
  const ref = await stand.run(runtime.spawn(parent, { id: 'p' }));
  await stand.run(runtime.get('p/c')!.sendDurable({ type: 'END' } as never));
  expect(await stand.run(runtime.purge('p/c'))).toBe(0);
  expect(() => ref.getPersistedSnapshot()).not.toThrow();
  await stand.run(ref.sendDurable({ type: 'END' }));
  expect(await stand.run(runtime.purge('p'))).toBe(2);
});

test('L2: an ended procedure is not purged while an effect of it is not settled', async () => {
  let fails = true;
  const runs: string[] = [];
  const ending = setup({
    actions: {
      act: () => {
        runs.push('run');
        if (fails) throw new Error('not yet');
      },
    },
  }).createMachine({
    id: 'ending',
    version: '1',
    initial: 'over',
    states: { over: { type: 'final', entry: 'act' } },
  });
  const stand = new Stand();
  const runtime = await stand.start({
    machines: [ending],
    limits: {
      retentionMs: 1_000,
      effectRetryMs: 500,
      effectRetryMsMax: 500,
      effectAttemptsMax: 1_000,
    },
  });
  await stand.run(runtime.spawn(ending, { id: 'e' }));
  await stand.clock.advance(10_000);
  expect(await stand.run(runtime.purge('e'))).toBe(0);
  expect(seen(runtime, 'e').status).toBe('done');
  fails = false;
  await stand.clock.advance(5_000);
  expect(runtime.get('e')).toBeUndefined();
  expect(runtime.state().unsettledEffects).toBe(0);
});

test('retentionMs: ended roots leave when their time is over, with their trees; over restarts too', async () => {
  const stand = new Stand();
  const options = { machines: [parent, counter], limits: { retentionMs: HOUR } };
  const first = await stand.start(options);
  const p = await stand.run(first.spawn(parent, { id: 'p' }));
  await stand.run(first.spawn(counter, { id: 'alive' }));
  const c = await stand.run(first.spawn(counter, { id: 'c' }));
  await stand.run(p.sendDurable({ type: 'END' }));
  await stand.clock.advance(HOUR / 2);
  await stand.run(c.sendDurable({ type: 'END' }));
  await stand.clock.advance(HOUR / 2 - 60_000);
  expect(first.list().procedures).toHaveLength(4);
  await stand.clock.advance(120_000);
  expect(
    first
      .list()
      .procedures.map(({ id }) => id)
      .sort(),
  ).toEqual(['alive', 'c']);
  stand.crash();
  await stand.clock.advance(HOUR);
  const next = await stand.start(options);
  await stand.clock.advance(60_000);
  expect(next.list().procedures.map(({ id }) => id)).toEqual(['alive']);
});

test('an idle procedure leaves memory; its snapshot, its subscribers and its mail still work', async () => {
  const stand = new Stand();
  const runtime = await stand.start({ machines: [counter], limits: { passivateAfterMs: 100 } });
  const ref = await stand.run(runtime.spawn(counter, { id: 'c' }));
  const snapshots: number[] = [];
  ref.subscribe((snapshot) => snapshots.push(snapshot.context.n));
  await stand.clock.advance(300);
  expect(runtime.state().live).toBe(0);
  expect(ref.getSnapshot().context).toEqual({ n: 0 });
  await stand.clock.advance(300);
  await stand.run(ref.sendDurable({ type: 'ADD' }));
  await stand.clock.advance(300);
  expect(runtime.state().live).toBe(0);
  let completed = 0;
  ref.subscribe({ complete: () => completed++ });
  await stand.run(ref.sendDurable({ type: 'END' }));
  expect(snapshots).toEqual([1, 1]);
  expect(completed).toBe(1);
  await stand.clock.advance(300);
  expect(runtime.state().live).toBe(0);
  // M16: who subscribes to an ended one hears of the end at once, and only of that.
  ref.subscribe({ next: () => snapshots.push(99), complete: () => completed++ });
  expect([snapshots, completed]).toEqual([[1, 1], 2]);
  await stand.clock.advance(10_000);
  // An idle runtime sleeps: nothing is armed.
  expect(stand.clock.pending).toBe(0);
});

test('what has a live child, an unsettled effect or a step on its way stays in memory', async () => {
  const stand = new Stand();
  let settle = (): void => undefined;
  const busy = setup({
    types: {} as { events: { type: 'ACT' } | { type: 'LIVE' } },
    actors: { live: fromCallback(() => undefined) },
    actions: { act: () => new Promise<void>((resolve) => (settle = resolve)) as never },
  }).createMachine({
    id: 'busy',
    version: '1',
    initial: 'idle',
    states: {
      idle: { on: { ACT: { actions: 'act' }, LIVE: 'live' } },
      live: { invoke: { id: 'l', src: 'live' } },
    },
  });
  const runtime = await stand.start({ machines: [busy], limits: { passivateAfterMs: 100 } });
  const acting = await stand.run(runtime.spawn(busy, { id: 'acting' }));
  const living = await stand.run(runtime.spawn(busy, { id: 'living' }));
  await stand.run(acting.sendDurable({ type: 'ACT' }));
  await stand.run(living.sendDurable({ type: 'LIVE' }));
  await stand.clock.advance(HOUR);
  expect(runtime.state().live).toBe(2);
  settle();
  await stand.clock.advance(HOUR);
  expect(runtime.state().live).toBe(1);
});

test('C57: 20,000 idle procedures keep no object, each can be asked, and their timers still fire', async () => {
  const sleeper = setup({
    types: {} as { input: { ms: number }; context: { ms: number } },
    delays: { long: ({ context }) => context.ms },
  }).createMachine({
    id: 'sleeper',
    version: '1',
    initial: 'asleep',
    context: ({ input }) => input,
    states: { asleep: { after: { long: 'awake' } }, awake: {} },
  });
  const stand = new Stand();
  const { runtime, engine } = await stand.open({ machines: [sleeper] });
  const count = 20_000;
  const spawns = Array.from({ length: count }, (_, n) =>
    runtime.spawn(sleeper, { id: `s${n}`, input: { ms: HOUR + n } }),
  );
  await stand.run(Promise.all(spawns));
  await stand.clock.advance(10_000);
  expect(runtime.state()).toMatchObject({ procedures: count, live: 0 });
  expect([engine.cold.count, engine.timers.size, engine.armedTimers.count]).toEqual([
    count,
    count,
    count,
  ]);
  expect(seen(runtime, 's19999').context).toEqual({ ms: HOUR + 19_999 });
  await stand.clock.advance(HOUR - 10_000 + 999);
  await stand.clock.advance(5_000);
  expect(runtime.list({ state: 'awake', limit: 1_000 }).procedures.length).toBeGreaterThan(900);
  await stand.clock.advance(HOUR);
  expect(runtime.state().live).toBe(0);
});

test('10,000 timers armed and cancelled do not grow the timer queue', async () => {
  const flip = setup({
    types: {} as { events: { type: 'ON' } | { type: 'OFF' } },
  }).createMachine({
    id: 'flip',
    version: '1',
    initial: 'off',
    states: {
      off: { on: { ON: 'on' } },
      on: { after: { [24 * HOUR]: 'off' }, on: { OFF: 'off' } },
    },
  });
  const stand = new Stand();
  const { runtime, engine } = await stand.open({ machines: [flip] });
  const ref = await stand.run(runtime.spawn(flip, { id: 'f' }));
  for (let n = 0; n < 10_000; n++) {
    ref.send({ type: 'ON' });
    ref.send({ type: 'OFF' });
    if (n % 1_000 === 0) await stand.clock.settle();
  }
  await stand.run(ref.sendDurable({ type: 'OFF' }));
  expect(engine.armedTimers.count).toBe(0);
  expect(engine.timers.size).toBeLessThan(5_000);
});

test('cancelled timers of procedures that have left memory do not make every turn look at them', async () => {
  const once = setup({ types: {} as { events: { type: 'OFF' } } }).createMachine({
    id: 'once',
    version: '1',
    initial: 'on',
    states: { on: { after: { [24 * HOUR]: 'off' }, on: { OFF: 'off' } }, off: {} },
  });
  const stand = new Stand();
  const { runtime, engine } = await stand.open({ machines: [once, counter] });
  const refs = await stand.run(
    Promise.all(Array.from({ length: 12_000 }, (_, n) => runtime.spawn(once, { id: `o${n}` }))),
  );
  await stand.clock.advance(10_000);
  for (let from = 0; from < refs.length; from += 1_000) {
    for (const ref of refs.slice(from, from + 1_000)) ref.send({ type: 'OFF' });
    await stand.clock.advance(10_000);
  }
  expect([runtime.state().live, engine.armedTimers.count]).toEqual([0, 0]);
  expect(engine.timers.size).toBeGreaterThan(4_096);
  const drops = vi.spyOn(engine.timers, 'drop');
  const ref = await stand.run(runtime.spawn(counter, { id: 'c' }));
  for (let n = 0; n < 100; n++) await stand.run(ref.sendDurable({ type: 'ADD' }));
  expect(drops.mock.calls.length).toBeLessThan(5);
});

test('close lets decided steps become durable and running effects settle, and takes no more calls', async () => {
  const stand = new Stand({ latencyMs: 20 });
  const log: string[] = [];
  const acting = setup({
    types: {} as { events: { type: 'ACT' } },
    actions: {
      act: () =>
        new Promise<void>((resolve) => {
          log.push('begun');
          stand.clock.setTimeout(() => {
            log.push('done');
            resolve();
          }, 500);
        }) as never,
    },
  }).createMachine({ id: 'acting', version: '1', on: { ACT: { actions: 'act' } } });
  const runtime = await stand.start({ machines: [acting] });
  const ref = await stand.run(runtime.spawn(acting, { id: 'a' }));
  const sent = ref.sendDurable({ type: 'ACT' });
  const closed = runtime.close();
  expect(await codeOf(runtime.spawn(acting, { id: 'b' }))).toBe('STORE_CLOSED');
  expect(await codeOf(runtime.purge('a'))).toBe('STORE_CLOSED');
  await stand.run(closed);
  await sent;
  expect(log).toEqual(['begun', 'done']);
  expect(stand.clock.pending).toBe(0);
  await runtime.close();
  const next = await stand.start({ machines: [acting] });
  await stand.clock.advance(HOUR);
  expect(log).toEqual(['begun', 'done']);
  expect(next.state().unsettledEffects).toBe(0);
});

test('close waits for effects for at most drainMs; what is not settled then runs at the next start', async () => {
  const stand = new Stand();
  let runs = 0;
  const acting = setup({
    actions: { act: () => (runs++, new Promise(() => undefined)) as never },
  }).createMachine({ id: 'acting', version: '1', entry: 'act' });
  const options = { machines: [acting], limits: { drainMs: 3_000 } };
  const runtime = await stand.start(options);
  await stand.run(runtime.spawn(acting, { id: 'a' }));
  const begin = stand.clock.monotonic();
  await stand.close(runtime);
  const took = stand.clock.monotonic() - begin;
  expect(took).toBeGreaterThanOrEqual(3_000);
  expect(took).toBeLessThan(3_100);
  await stand.start(options);
  await stand.clock.settle();
  expect(runs).toBe(2);
});

const pingPong = setup({
  types: {} as {
    input: { to: unknown };
    context: { to: unknown; n: number };
    events: { type: 'PING'; from: unknown };
  },
}).createMachine({
  id: 'pingPong',
  version: '1',
  context: ({ input }) => ({ to: input.to, n: 0 }),
  on: {
    PING: {
      actions: [
        assign({ n: ({ context }) => context.n + 1 }),
        sendTo(
          ({ event }) => event.from as AnyActorRef,
          ({ self }) => ({ type: 'PING', from: self }),
        ),
      ],
    },
  },
});

test('procedures that write to each other for ever hold up neither a close nor the next start', async () => {
  const stand = new Stand({ latencyMs: 1 });
  const options = { machines: [pingPong, counter], limits: { drainMs: 50, groupRecordsMax: 4 } };
  const first = await stand.start(options);
  const a = await stand.run(first.spawn(pingPong, { id: 'a', input: { to: null } }));
  const b = await stand.run(first.spawn(pingPong, { id: 'b', input: { to: null } }));
  a.send({ type: 'PING', from: b });
  await stand.clock.advance(20);
  await stand.close(first);
  const before = seen(first, 'a').context as { n: number };
  expect(before.n).toBeGreaterThan(3);
  const second = await stand.start(options);
  const ref = await stand.run(second.spawn(counter, { id: 'c' }));
  await stand.run(ref.sendDurable({ type: 'ADD' }));
  expect((seen(second, 'a').context as { n: number }).n).toBeGreaterThan(before.n);
  stand.crash();
});
