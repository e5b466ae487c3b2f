/** L15, M15: mail is never lost, doubled, reordered or silently dropped. */
import { assign, enqueueActions, sendTo, setup, type AnyActorRef } from 'xstate';
import { expect, test } from 'vitest';
import { codeOf, seen, Stand } from '../support/runtime-stand.ts';

/** Keeps what it hears; `END` ends it. */
const sink = setup({
  types: {} as { context: { got: unknown[] }; events: { type: 'N'; n: unknown } | { type: 'END' } },
}).createMachine({
  id: 'sink',
  version: '1',
  initial: 'on',
  context: { got: [] },
  states: {
    on: {
      on: {
        N: { actions: assign({ got: ({ context, event }) => [...context.got, event.n] }) },
        END: 'over',
      },
    },
    over: { type: 'final' },
  },
});

/** Sends as many numbered events as it is asked to, in one step. */
const source = setup({
  types: {} as {
    input: { to: unknown; name: string };
    context: { to: unknown; name: string; sent: number };
    events: { type: 'SEND'; count: number };
  },
}).createMachine({
  id: 'source',
  version: '1',
  context: ({ input }) => ({ ...input, sent: 0 }),
  on: {
    SEND: {
      actions: [
        enqueueActions(({ enqueue, context, event }) => {
          for (let n = 0; n < event.count; n++) {
            enqueue.sendTo(context.to as AnyActorRef, {
              type: 'N',
              n: `${context.name}${context.sent + n}`,
            });
          }
        }),
        assign({ sent: ({ context, event }) => context.sent + event.count }),
      ],
    },
  },
});

test('L15: events of one sender arrive in their order, those of several interleave', async () => {
  const stand = new Stand({ latencyMs: 3 });
  const runtime = await stand.start({ machines: [sink, source] });
  const to = await stand.run(runtime.spawn(sink, { id: 'sink' }));
  const a = await stand.run(runtime.spawn(source, { id: 'a', input: { to, name: 'a' } }));
  const b = await stand.run(runtime.spawn(source, { id: 'b', input: { to, name: 'b' } }));
  for (let i = 0; i < 5; i++) {
    a.send({ type: 'SEND', count: 3 });
    b.send({ type: 'SEND', count: 2 });
    if (i % 2 === 0) await stand.clock.advance(2);
  }
  await stand.clock.advance(50);
  const { got } = seen(runtime, 'sink').context as { got: string[] };
  expect(got).toHaveLength(25);
  const of = (name: string) => got.filter((text) => text.startsWith(name));
  expect(of('a')).toEqual(Array.from({ length: 15 }, (_, n) => `a${n}`));
  expect(of('b')).toEqual(Array.from({ length: 10 }, (_, n) => `b${n}`));
});

test('L15: mail committed by the sender and not yet taken by the receiver survives a crash, in order', async () => {
  const stand = new Stand({ latencyMs: 5 });
  const limits = { groupRecordsMax: 4 };
  const first = await stand.start({ machines: [sink, source], limits });
  const to = await stand.run(first.spawn(sink, { id: 'sink' }));
  const a = await stand.run(first.spawn(source, { id: 'a', input: { to, name: 'a' } }));
  await stand.run(a.sendDurable({ type: 'SEND', count: 12 }));
  stand.crash();
  const second = await stand.start({ machines: [sink, source], limits });
  await stand.clock.advance(100);
  const { got } = seen(second, 'sink').context as { got: string[] };
  expect(got).toEqual(Array.from({ length: 12 }, (_, n) => `a${n}`));
});

test('L1: sendDurable resolves when the commit is on the disk, and not a moment before', async () => {
  const stand = new Stand({ latencyMs: 40 });
  const runtime = await stand.start({ machines: [sink] });
  const ref = await stand.run(runtime.spawn(sink, { id: 's' }));
  const { position } = runtime.state();
  const sent = ref.sendDurable({ type: 'N', n: 1 });
  await stand.clock.advance(39);
  expect(await stand.settles(sent)).toBe(false);
  expect(seen(runtime, 's').context).toEqual({ got: [] });
  await stand.clock.advance(1);
  await sent;
  expect(seen(runtime, 's').context).toEqual({ got: [1] });
  expect(stand.disk.position).toBe(position + 1);
});

test('M15: an event for an ended procedure is refused to who waits and a dead letter otherwise', async () => {
  const stand = new Stand();
  const first = await stand.start({ machines: [sink, source] });
  const to = await stand.run(first.spawn(sink, { id: 'sink' }));
  const a = await stand.run(first.spawn(source, { id: 'a', input: { to, name: 'a' } }));
  await stand.run(to.sendDurable({ type: 'END' }));
  expect(await codeOf(stand.run(to.sendDurable({ type: 'N', n: 1 })))).toBe('PROCEDURE_ENDED');
  expect(first.deadLetters()).toEqual([]);
  to.send({ type: 'N', n: 2 });
  a.send({ type: 'SEND', count: 1 });
  await stand.clock.settle();
  const letters = first.deadLetters().map(({ to: id, from, event, reason }) => ({
    id,
    from,
    event,
    reason,
  }));
  expect(letters).toEqual([
    { id: 'sink', from: undefined, event: { type: 'N', n: 2 }, reason: 'receiver-ended' },
    { id: 'sink', from: 'a', event: { type: 'N', n: 'a0' }, reason: 'receiver-ended' },
  ]);
  stand.crash();
  const second = await stand.start({ machines: [sink, source] });
  expect(second.deadLetters()).toHaveLength(2);
  expect(second.state().deadLetters).toBe(2);
});

test('M15: an event for a procedure that is gone is a dead letter and an error for who waits', async () => {
  const stand = new Stand();
  const runtime = await stand.start({ machines: [sink, source] });
  const to = await stand.run(runtime.spawn(sink, { id: 'sink' }));
  const a = await stand.run(runtime.spawn(source, { id: 'a', input: { to, name: 'a' } }));
  await stand.run(to.sendDurable({ type: 'END' }));
  expect(await stand.run(runtime.purge('sink'))).toBe(1);
  expect(await codeOf(stand.run(to.sendDurable({ type: 'N', n: 1 })))).toBe('PROCEDURE_UNKNOWN');
  await stand.run(a.sendDurable({ type: 'SEND', count: 1 }));
  await stand.clock.settle();
  expect(runtime.deadLetters().map(({ reason }) => reason)).toContain('unknown-receiver');
});

test('L11: dead letters beyond deadLettersMax push the oldest out, the same after a restart', async () => {
  const stand = new Stand();
  const limits = { deadLettersMax: 3 };
  const first = await stand.start({ machines: [sink], limits });
  const to = await stand.run(first.spawn(sink, { id: 'sink' }));
  await stand.run(to.sendDurable({ type: 'END' }));
  for (let n = 0; n < 12; n++) to.send({ type: 'N', n });
  await stand.clock.settle();
  const numbers = (letters: ReturnType<typeof first.deadLetters>) =>
    letters.map(({ event }) => (event as { n: number }).n);
  expect(numbers(first.deadLetters())).toEqual([9, 10, 11]);
  stand.crash();
  const second = await stand.start({ machines: [sink], limits });
  expect(numbers(second.deadLetters())).toEqual([9, 10, 11]);
  second.get('sink')?.send({ type: 'N', n: 12 });
  await stand.clock.settle();
  expect(numbers(second.deadLetters())).toEqual([10, 11, 12]);
});

test('what the sender does to its event after the send changes nothing', async () => {
  const stand = new Stand();
  const runtime = await stand.start({ machines: [sink] });
  const ref = await stand.run(runtime.spawn(sink, { id: 's' }));
  const event = { type: 'N' as const, n: { deep: [1] } };
  ref.send(event);
  const sent = ref.sendDurable(event);
  event.n.deep.push(2);
  event.n = { deep: [3] };
  await stand.run(sent);
  expect(seen(runtime, 's').context).toEqual({ got: [{ deep: [1] }, { deep: [1] }] });
});

test('an event that is none, or not JSON, is refused at once and changes nothing', async () => {
  const stand = new Stand();
  const runtime = await stand.start({ machines: [sink] });
  const ref = await stand.run(runtime.spawn(sink, { id: 's' }));
  const bad: unknown[] = [
    null,
    undefined,
    'N',
    {},
    { type: 7 },
    { type: 'N', n: new Date(0) },
    { type: 'N', n: 1n },
    { type: 'N', n: Number.NaN },
    { type: 'N', n: () => 1 },
    { type: 'N', n: JSON.parse('{"__proto__":{"admin":true}}') as unknown },
  ];
  for (const event of bad) {
    expect(() => ref.send(event as never)).toThrow(/VALUE_NOT_JSON/);
    expect(await codeOf(ref.sendDurable(event as never))).toBe('VALUE_NOT_JSON');
  }
  const circle: Record<string, unknown> = { type: 'N' };
  circle['n'] = circle;
  expect(() => ref.send(circle as never)).toThrow(/VALUE_NOT_JSON/);
  await stand.clock.settle();
  expect(seen(runtime, 's').context).toEqual({ got: [] });
});

test('references to itself, to a child and to another procedure come through events, context and input, and a restart', async () => {
  const leaf = sink;
  const holder = setup({
    types: {} as {
      input: { friend: unknown };
      context: { friend: unknown; self: unknown; child: unknown; heard: unknown };
      events: { type: 'HEAR'; who: unknown } | { type: 'TELL'; what: string };
    },
    actors: { leaf },
  }).createMachine({
    id: 'holder',
    version: '1',
    context: ({ input, self, spawn }) => ({
      friend: input.friend,
      self,
      child: spawn('leaf', { id: 'kid' }),
      heard: null,
    }),
    on: {
      HEAR: { actions: assign({ heard: ({ event }) => event.who }) },
      TELL: {
        actions: [
          sendTo(
            ({ context }) => context.friend as AnyActorRef,
            ({ event }) => ({
              type: 'N',
              n: `friend ${event.what}`,
            }),
          ),
          sendTo(
            ({ context }) => context.child as AnyActorRef,
            ({ event }) => ({
              type: 'N',
              n: `child ${event.what}`,
            }),
          ),
          sendTo(
            ({ context }) => context.heard as AnyActorRef,
            ({ event }) => ({
              type: 'N',
              n: `heard ${event.what}`,
            }),
          ),
        ],
      },
    },
  });
  const machines = [sink, holder];
  const stand = new Stand();
  let runtime = await stand.start({ machines });
  const friend = await stand.run(runtime.spawn(sink, { id: 'friend' }));
  const heard = await stand.run(runtime.spawn(sink, { id: 'heard' }));
  const ref = await stand.run(runtime.spawn(holder, { id: 'h', input: { friend } }));
  await stand.run(ref.sendDurable({ type: 'HEAR', who: heard }));
  for (const what of ['one', 'two', 'three']) {
    stand.crash();
    runtime = await stand.start({ machines });
    const own = runtime.get<typeof holder>('h');
    const context = own?.getSnapshot().context;
    expect((context?.self as { sessionId: string }).sessionId).toBe('h');
    await stand.run(own!.sendDurable({ type: 'TELL', what }));
    await stand.clock.settle();
    const got = (id: string) => (seen(runtime, id).context as { got: string[] }).got.at(-1);
    expect([got('friend'), got('h/kid'), got('heard')]).toEqual([
      `friend ${what}`,
      `child ${what}`,
      `heard ${what}`,
    ]);
  }
});

test('procedures that refer to each other in a circle can be read after a restart', async () => {
  const knot = setup({
    types: {} as { context: { other: unknown }; events: { type: 'TIE'; other: unknown } },
  }).createMachine({
    id: 'knot',
    version: '1',
    context: { other: null },
    on: { TIE: { actions: assign({ other: ({ event }) => event.other }) } },
  });
  const stand = new Stand();
  const first = await stand.start({ machines: [knot] });
  const a = await stand.run(first.spawn(knot, { id: 'a' }));
  const b = await stand.run(first.spawn(knot, { id: 'b' }));
  await stand.run(a.sendDurable({ type: 'TIE', other: b }));
  await stand.run(b.sendDurable({ type: 'TIE', other: a }));
  stand.crash();
  const second = await stand.start({ machines: [knot] });
  const other = (
    ref: unknown,
  ): { sessionId: string; getSnapshot(): { context: { other: unknown } } } =>
    (ref as { getSnapshot(): { context: { other: never } } }).getSnapshot().context.other;
  const round = other(other(second.get('a')));
  expect(round.sessionId).toBe('a');
});

test('data that looks like a reference is refused: it would come back as one', async () => {
  const stand = new Stand();
  const runtime = await stand.start({ machines: [sink] });
  const ref = await stand.run(runtime.spawn(sink, { id: 's' }));
  const forged = { xstate$$type: 1, procedure: 's' };
  for (const n of [forged, [forged], { deep: { er: forged } }, { ref, forged }]) {
    expect(await codeOf(stand.run(ref.sendDurable({ type: 'N', n })))).toBe('VALUE_NOT_JSON');
  }
  expect(await codeOf(stand.run(runtime.spawn(sink, { input: forged as never })))).toBe(
    'VALUE_NOT_JSON',
  );
  expect(seen(runtime, 's').context).toEqual({ got: [] });
});
