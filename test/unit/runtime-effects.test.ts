/** L1, L2: effects run after their commit, in order, at least once, and until they are settled. */
import { assign, enqueueActions, raise, setup } from 'xstate';
import { expect, test } from 'vitest';
import { effectKey } from '../../src/runtime/index.ts';
import { codeOf, seen, Stand } from '../support/runtime-stand.ts';

interface Call {
  readonly what: string;
  readonly key: string | undefined;
  readonly context: unknown;
  readonly event: unknown;
}

/** A machine whose actions write down what they were called with, and do what `act` says. */
const machineOf = (calls: Call[], act: (what: string) => unknown) =>
  setup({
    types: {} as {
      context: { n: number; failed: unknown[] };
      events:
        | { type: 'DO'; what: string }
        | { type: 'TWO' }
        | { type: 'INNER' }
        | { type: 'TICK' }
        | { type: 'effect.failed'; effect: string; params: unknown; error: unknown };
    },
    actions: {
      act: (args, params: { what: string }): unknown => {
        const { context, event } = args;
        calls.push({ what: params.what, key: effectKey(args), context: { ...context }, event });
        return act(params.what);
      },
    },
  }).createMachine({
    id: 'actor',
    version: '1',
    context: { n: 0, failed: [] },
    on: {
      DO: {
        actions: [
          assign({ n: ({ context }) => context.n + 1 }),
          { type: 'act', params: ({ event }) => ({ what: event.what }) },
        ],
      },
      TWO: {
        actions: [
          { type: 'act', params: { what: 'a' } },
          assign({ n: ({ context }) => context.n + 1 }),
          { type: 'act', params: { what: 'b' } },
          raise({ type: 'INNER' }),
        ],
      },
      INNER: { actions: { type: 'act', params: { what: 'c' } } },
      TICK: { actions: assign({ n: ({ context }) => context.n + 100 }) },
      'effect.failed': {
        actions: assign({
          failed: ({ context, event }) => {
            const { effect, params, error } = event;
            return [...context.failed, { effect, params, error: (error as Error).message }];
          },
        }),
      },
    },
  });

const whats = (calls: readonly Call[]) => calls.map(({ what }) => what);
const later = (stand: Stand, ms: number) =>
  new Promise<void>((resolve) => {
    stand.clock.setTimeout(resolve, ms);
  });

test('L1: an effect runs when its commit is on the disk, and not a moment before', async () => {
  const stand = new Stand({ latencyMs: 30 });
  const calls: Call[] = [];
  const runtime = await stand.start({ machines: [machineOf(calls, () => undefined)] });
  const ref = await stand.run(runtime.spawn('actor', { id: 'a' }));
  ref.send({ type: 'DO', what: 'x' });
  await stand.clock.advance(29);
  expect(calls).toEqual([]);
  await stand.clock.advance(1);
  expect(whats(calls)).toEqual(['x']);
});

test('effects of one procedure run one after the other, also those that take time', async () => {
  const stand = new Stand();
  const calls: Call[] = [];
  const log: string[] = [];
  const machine = machineOf(calls, (what) =>
    what === 'quick' ? undefined : later(stand, 50).then(() => log.push(`${what} done`)),
  );
  const runtime = await stand.start({ machines: [machine] });
  const ref = await stand.run(runtime.spawn('actor', { id: 'a' }));
  const other = await stand.run(runtime.spawn('actor', { id: 'b' }));
  for (const what of ['slow1', 'quick', 'slow2']) ref.send({ type: 'DO', what });
  other.send({ type: 'DO', what: 'quick' });
  await stand.clock.advance(10);
  // The other procedure does not wait for this one.
  expect(whats(calls)).toEqual(['slow1', 'quick']);
  expect(runtime.state().unsettledEffects).toBe(3);
  expect(runtime.explain('a').waitingFor[0]).toMatchObject({ for: 'effect', type: 'act' });
  await stand.clock.advance(40);
  expect(whats(calls)).toEqual(['slow1', 'quick', 'quick', 'slow2']);
  await stand.clock.advance(50);
  expect(log).toEqual(['slow1 done', 'slow2 done']);
  expect(runtime.state().unsettledEffects).toBe(0);
});

test('a failing effect is tried again after a growing, spread delay, in front of those behind it', async () => {
  const stand = new Stand();
  const calls: Call[] = [];
  const times: number[] = [];
  const machine = machineOf(calls, (what) => {
    times.push(stand.clock.monotonic());
    if (what === 'bad' && times.length < 4) throw new Error('not yet');
    return undefined;
  });
  const runtime = await stand.start({
    machines: [machine],
    random: () => 0.25,
    limits: { effectRetryMs: 100, effectRetryMsMax: 1_000 },
  });
  const ref = await stand.run(runtime.spawn('actor', { id: 'a' }));
  const begin = stand.clock.monotonic();
  ref.send({ type: 'DO', what: 'bad' });
  ref.send({ type: 'DO', what: 'good' });
  await stand.clock.advance(10_000);
  expect(whats(calls)).toEqual(['bad', 'bad', 'bad', 'bad', 'good']);
  // 62.5 % of 100, 200 and 400 ms, rounded up.
  const waits = times.slice(0, 4).map((time) => time - begin);
  expect(waits).toEqual([0, 63, 63 + 125, 63 + 125 + 250]);
  expect(new Set(calls.slice(0, 4).map(({ key }) => key)).size).toBe(1);
  expect(seen(runtime, 'a').status).toBe('active');
});

test('L11: when the tries of an effect are used up the machine hears effect.failed, and the next one runs', async () => {
  const stand = new Stand();
  const calls: Call[] = [];
  const machine = machineOf(calls, (what) => {
    if (what === 'sync') throw new Error('sync no');
    return what === 'async' ? Promise.reject(new Error('async no')) : undefined;
  });
  const limits = { effectAttemptsMax: 3, effectRetryMs: 10 };
  const runtime = await stand.start({ machines: [machine], limits });
  const ref = await stand.run(runtime.spawn('actor', { id: 'a' }));
  for (const what of ['sync', 'async', 'good']) ref.send({ type: 'DO', what });
  await stand.clock.advance(10_000);
  expect(whats(calls)).toEqual(['sync', 'sync', 'sync', 'async', 'async', 'async', 'good']);
  expect(seen(runtime, 'a').context).toMatchObject({
    failed: [
      { effect: 'act', params: { what: 'sync' }, error: 'sync no' },
      { effect: 'act', params: { what: 'async' }, error: 'async no' },
    ],
  });
  expect(runtime.state().unsettledEffects).toBe(0);
  stand.crash();
  const before = calls.length;
  await stand.start({ machines: [machine], limits });
  await stand.clock.advance(10_000);
  expect(calls).toHaveLength(before);
});

test('L2: what a crash left unsettled runs again with its own key, params, context and event', async () => {
  const stand = new Stand();
  const first: Call[] = [];
  const never = machineOf(first, () => new Promise(() => undefined));
  const one = await stand.start({ machines: [never] });
  const ref = await stand.run(one.spawn('actor', { id: 'a' }));
  await stand.run(ref.sendDurable({ type: 'TWO' }));
  // The context changes twice after the effects were decided.
  await stand.run(ref.sendDurable({ type: 'TICK' }));
  await stand.run(ref.sendDurable({ type: 'TICK' }));
  expect(whats(first)).toEqual(['a']);
  stand.crash();
  const second: Call[] = [];
  const two = await stand.start({ machines: [machineOf(second, () => undefined)] });
  await stand.clock.settle();
  expect(second).toEqual(
    [
      { what: 'a', key: '1:1:1', context: { n: 0, failed: [] }, event: { type: 'TWO' } },
      { what: 'b', key: '1:1:2', context: { n: 1, failed: [] }, event: { type: 'TWO' } },
      { what: 'c', key: '1:1:3', context: { n: 1, failed: [] }, event: { type: 'INNER' } },
    ].map((call, index) => ({ ...call, key: second[index]?.key })),
  );
  expect(second[0]?.key).toBe(first[0]?.key);
  expect(new Set(second.map(({ key }) => key)).size).toBe(3);
  expect(seen(two, 'a').context).toMatchObject({ n: 201 });
});

test('L2: a settled effect does not run again after a restart, with or without a later step', async () => {
  const stand = new Stand();
  const calls: Call[] = [];
  const machine = machineOf(calls, () => undefined);
  const limits = { settleDelayMs: 50 };
  const first = await stand.start({ machines: [machine], limits });
  const idle = await stand.run(first.spawn('actor', { id: 'idle' }));
  const going = await stand.run(first.spawn('actor', { id: 'going' }));
  await stand.run(idle.sendDurable({ type: 'DO', what: 'idle' }));
  await stand.run(going.sendDurable({ type: 'DO', what: 'going' }));
  await stand.run(going.sendDurable({ type: 'TICK' }));
  await stand.clock.advance(100);
  stand.crash();
  await stand.start({ machines: [machine], limits });
  await stand.clock.advance(1_000);
  expect(whats(calls)).toEqual(['idle', 'going']);
});

test('L2: a commit that takes a settled effect out and is refused leaves nothing behind in the record', async () => {
  const stand = new Stand({ latencyMs: 10 });
  const calls: Call[] = [];
  const machine = machineOf(calls, () => later(stand, 15));
  const limits = { effectsMax: 2, settleDelayMs: 60_000 };
  const runtime = await stand.start({ machines: [machine], limits });
  const ref = await stand.run(runtime.spawn('actor', { id: 'a' }));
  for (let round = 0; round < 6; round++) {
    await stand.run(ref.sendDurable({ type: 'DO', what: `${round}` }));
    await stand.clock.advance(10);
    // On its way to the disk when the effect settles; the one behind it drops the effect.
    ref.send({ type: 'TICK' });
    await stand.clock.advance(7);
    ref.send({ type: 'TICK' });
    await stand.clock.advance(1);
    stand.faults.fill(1);
    await stand.clock.advance(2_000);
  }
  expect(whats(calls)).toEqual(['0', '1', '2', '3', '4', '5']);
  expect(seen(runtime, 'a')).toMatchObject({ status: 'active', context: { n: 6 + 12 * 100 } });
});

test('L11: more unsettled effects than effectsMax set the procedure aside, and the step has not happened', async () => {
  const stand = new Stand();
  const calls: Call[] = [];
  const machine = machineOf(calls, () => new Promise(() => undefined));
  const runtime = await stand.start({ machines: [machine], limits: { effectsMax: 2 } });
  const ref = await stand.run(runtime.spawn('actor', { id: 'a' }));
  await stand.run(ref.sendDurable({ type: 'DO', what: '1' }));
  await stand.run(ref.sendDurable({ type: 'DO', what: '2' }));
  expect(await codeOf(stand.run(ref.sendDurable({ type: 'DO', what: '3' })))).toBe('EFFECTS_LIMIT');
  expect(runtime.list().procedures[0]?.status).toBe('quarantined');
  expect(seen(runtime, 'a').context).toMatchObject({ n: 2 });
  expect(runtime.state().unsettledEffects).toBe(2);
});

test('L2: an inline action is found again by its position after a restart', async () => {
  const called: string[] = [];
  const inline = (run: (what: string) => unknown) =>
    setup({}).createMachine({
      id: 'inline',
      version: '1',
      initial: 'a',
      states: {
        a: { entry: [() => run('first'), () => run('second')], exit: () => run('exit') },
      },
    });
  const stand = new Stand();
  const first = await stand.start({
    machines: [inline((what) => (called.push(what), new Promise(() => undefined)))],
  });
  await stand.run(first.spawn('inline', { id: 'i' }));
  expect(called).toEqual(['first']);
  stand.crash();
  await stand.start({ machines: [inline((what) => called.push(`again ${what}`))] });
  await stand.clock.settle();
  expect(called).toEqual(['first', 'again first', 'again second']);
});

test('an action enqueued inline could not be found again: the procedure is set aside, nothing ran', async () => {
  const ran: string[] = [];
  const machine = setup({ types: {} as { events: { type: 'GO' } } }).createMachine({
    id: 'enqueue',
    version: '1',
    on: { GO: { actions: enqueueActions(({ enqueue }) => enqueue(() => ran.push('x'))) } },
  });
  const stand = new Stand();
  const runtime = await stand.start({ machines: [machine] });
  const ref = await stand.run(runtime.spawn(machine, { id: 'e' }));
  expect(await codeOf(stand.run(ref.sendDurable({ type: 'GO' })))).toBe('ACTION_NOT_NAMED');
  await stand.clock.settle();
  expect(ran).toEqual([]);
  expect(runtime.explain('e').words).toContain('ACTION_NOT_NAMED');
});

test('an effect whose action is gone is tried, reported and kept, not dropped', async () => {
  const stand = new Stand();
  const calls: Call[] = [];
  const first = await stand.start({
    machines: [machineOf(calls, () => new Promise(() => undefined))],
  });
  const ref = await stand.run(first.spawn('actor', { id: 'a' }));
  await stand.run(ref.sendDurable({ type: 'DO', what: 'x' }));
  stand.crash();
  const without = setup({}).createMachine({ id: 'actor', version: '1' });
  const second = await stand.start({ machines: [without] });
  await stand.clock.advance(50);
  expect(second.explain('a').words).toContain("no action 'act'");
  stand.crash();
  await stand.start({ machines: [machineOf(calls, () => undefined)] });
  await stand.clock.settle();
  expect(whats(calls)).toEqual(['x', 'x']);
});

test('an effect that returns something with a `then` that is no function is settled', async () => {
  const stand = new Stand();
  const calls: Call[] = [];
  const runtime = await stand.start({ machines: [machineOf(calls, () => ({ then: 5 }))] });
  const ref = await stand.run(runtime.spawn('actor', { id: 'a' }));
  await stand.run(ref.sendDurable({ type: 'DO', what: 'x' }));
  await stand.run(ref.sendDurable({ type: 'DO', what: 'y' }));
  expect(whats(calls)).toEqual(['x', 'y']);
  expect(runtime.state().unsettledEffects).toBe(0);
});
