/** L5, L13, L15: what was under way when a procedure was set aside is there when it goes on. */
import { assign, fromPromise, sendTo, setup, type AnyActorRef } from 'xstate';
import { expect, test } from 'vitest';
import { declareTask } from '../../src/model/declare-task.ts';
import { procedureSet } from '../../src/model/procedure-set.ts';
import type { Runtime } from '../../src/runtime/index.ts';
import { virtualPool } from '../../src/testing/virtual-pool.ts';
import { codeOf, seen, Stand } from '../support/runtime-stand.ts';

const work = declareTask<{ n: number }, { n: number }>('work');
const doubling = (ms: number) =>
  virtualPool({
    tasks: {
      work: { durationMs: ms, run: (input: never) => ({ n: (input as { n: number }).n * 2 }) },
    },
  });

/** Waits for a task, a promise and a child; `BAD` breaks a rule while `broken`. */
const busy = (broken: boolean, promise: () => Promise<string>) => {
  const kid = setup({}).createMachine({
    id: 'kid',
    version: '1',
    initial: 'on',
    states: { on: { after: { 50: 'over' } }, over: { type: 'final' } },
    output: 'kid',
  });
  return setup({
    types: {} as { context: { got: string[]; bad: unknown }; events: { type: 'BAD' } },
    actors: { work, kid, promise: fromPromise(promise) },
    actions: {
      note: assign({
        got: ({ context }, params: { what: string }) => [...context.got, params.what].sort(),
      }),
    },
  }).createMachine({
    id: 'busy',
    version: '1',
    context: { got: [], bad: null },
    invoke: [
      {
        id: 'w',
        src: 'work',
        input: { n: 21 },
        onDone: {
          actions: { type: 'note', params: ({ event }) => ({ what: `${event.output.n}` }) },
        },
        onError: { actions: { type: 'note', params: { what: 'failed' } } },
      },
      {
        id: 'k',
        src: 'kid',
        onDone: { actions: { type: 'note', params: ({ event }) => ({ what: `${event.output}` }) } },
      },
      {
        id: 'p',
        src: 'promise',
        onDone: { actions: { type: 'note', params: ({ event }) => ({ what: event.output }) } },
      },
    ],
    on: { BAD: { actions: assign({ bad: () => (broken ? new Set() : 'good') }) } },
  });
};

const later = (stand: Stand) => () =>
  new Promise<string>((resolve) => {
    stand.clock.setTimeout(() => resolve('promise'), 50);
  });
const statusOf = (runtime: Runtime, id: string) =>
  runtime.list().procedures.find((facts) => facts.id === id)?.status;

test('ends of a task, a child and a promise that come while it is set aside are heard after the repair', async () => {
  const stand = new Stand();
  const actors = { work: doubling(50) };
  const runtime = await stand.start({ machines: [busy(true, later(stand))], actors });
  const ref = await stand.run(runtime.spawn('busy', { id: 'b' }));
  ref.send({ type: 'BAD' });
  await stand.clock.advance(500);
  expect(statusOf(runtime, 'b')).toBe('quarantined');
  expect(seen(runtime, 'b').context).toEqual({ got: [], bad: null });
  stand.crash();
  const fixed = busy(false, later(stand));
  const second = await stand.start({ machines: [fixed], actors: { work: doubling(50) } });
  await stand.run(second.retry('b'));
  await stand.clock.advance(500);
  expect(seen(second, 'b').context).toEqual({ got: ['42', 'kid', 'promise'], bad: 'good' });
  expect(second.state().runningTasks).toBe(0);
});

test('a task, a child and a promise that had not ended when the process died go on after the repair', async () => {
  const stand = new Stand();
  const actors = { work: doubling(50) };
  const runtime = await stand.start({ machines: [busy(true, later(stand))], actors });
  const ref = await stand.run(runtime.spawn('busy', { id: 'b' }));
  ref.send({ type: 'BAD' });
  await stand.clock.advance(10);
  stand.crash();
  const second = await stand.start({
    machines: [busy(false, later(stand))],
    actors: { work: doubling(50) },
  });
  await stand.clock.settle();
  expect(statusOf(second, 'b')).toBe('quarantined');
  await stand.run(second.retry('b'));
  await stand.clock.advance(500);
  expect(seen(second, 'b').context).toEqual({ got: ['42', 'kid', 'promise'], bad: 'good' });
});

/** Starts a child whose first step breaks a rule while `broken`. */
const parentOf = (broken: boolean) => {
  const child = setup({
    types: {} as { input: { n: number }; context: { n: number; bad: unknown } },
  }).createMachine({
    id: 'child',
    version: '1',
    initial: 'on',
    context: ({ input }) => ({ n: input.n, bad: broken ? new Map() : null }),
    output: ({ context }) => context.n,
    states: { on: { after: { 10: 'over' } }, over: { type: 'final' } },
  });
  return setup({
    types: {} as { context: { got: unknown } },
    actors: { child },
  }).createMachine({
    id: 'parent',
    version: '1',
    context: { got: null },
    invoke: {
      id: 'c',
      src: 'child',
      input: { n: 7 },
      onDone: { actions: assign({ got: ({ event }) => event.output }) },
    },
  });
};

test('a child whose first step breaks a rule is set aside; after the repair it takes that step with its input', async () => {
  const stand = new Stand();
  const first = await stand.start({ machines: [parentOf(true)] });
  await stand.run(first.spawn('parent', { id: 'p' }));
  expect(statusOf(first, 'p/c')).toBe('quarantined');
  expect(first.explain('p').words).toContain("the child 'p/c'");
  expect(await codeOf(stand.run(first.retry('p/c')))).toBe('VALUE_NOT_JSON');
  stand.crash();
  const second = await stand.start({ machines: [parentOf(true)] });
  await stand.clock.settle();
  expect(statusOf(second, 'p/c')).toBe('quarantined');
  stand.crash();
  const third = await stand.start({ machines: [parentOf(false)] });
  await stand.clock.advance(20);
  expect(statusOf(third, 'p/c')).toBe('done');
  expect(seen(third, 'p').context).toEqual({ got: 7 });
});

test('a child set aside at birth can be cancelled by itself, and with its parent', async () => {
  const stand = new Stand();
  const runtime = await stand.start({ machines: [parentOf(true)] });
  await stand.run(runtime.spawn('parent', { id: 'p' }));
  await stand.run(runtime.spawn('parent', { id: 'q' }));
  await stand.run(runtime.cancel('q'));
  expect([statusOf(runtime, 'q'), statusOf(runtime, 'q/c')]).toEqual(['stopped', 'stopped']);
  await stand.run(runtime.cancel('p/c'));
  await stand.clock.settle();
  // Its parent has no onError: as in XState, the error is its own.
  expect([statusOf(runtime, 'p'), statusOf(runtime, 'p/c')]).toEqual(['error', 'stopped']);
});

test('a set of a machine that is not known is set aside, and runs when the machine is given', async () => {
  const item = setup({ types: {} as { input: { key: string } } }).createMachine({
    id: 'item',
    version: '1',
    initial: 'over',
    states: { over: { type: 'final' } },
  });
  const crowd = setup({ actors: { procedureSet } }).createMachine({
    id: 'crowd',
    version: '1',
    initial: 'on',
    states: {
      on: {
        invoke: {
          id: 'all',
          src: 'procedureSet',
          input: { of: 'item', items: [{ key: 'a' }, { key: 'b' }] },
          onDone: 'over',
        },
      },
      over: { type: 'final' },
    },
  });
  const stand = new Stand();
  const first = await stand.start({ machines: [crowd] });
  await stand.run(first.spawn(crowd, { id: 'c' }));
  expect(statusOf(first, 'c/all')).toBe('quarantined');
  expect(first.explain('c/all').words).toContain('MACHINE_UNKNOWN');
  stand.crash();
  const second = await stand.start({ machines: [crowd, item] });
  await stand.clock.settle();
  expect(statusOf(second, 'c')).toBe('done');
  expect(second.list({ machine: 'item' }).procedures).toHaveLength(2);
});

test('L13: cancelling a quarantined procedure turns its held mail into dead letters', async () => {
  const stand = new Stand();
  const runtime = await stand.start({
    machines: [busy(true, later(stand))],
    actors: { work: doubling(50) },
  });
  const ref = await stand.run(runtime.spawn('busy', { id: 'b' }));
  ref.send({ type: 'BAD' });
  ref.send({ type: 'AFTER' } as never);
  await stand.clock.settle();
  await stand.run(runtime.cancel('b'));
  await stand.clock.settle();
  expect(statusOf(runtime, 'b')).toBe('stopped');
  expect(runtime.deadLetters().map(({ event }) => (event as { type: string }).type)).toEqual([
    'BAD',
    'AFTER',
  ]);
  const mail = [...(await stand.records()).keys()].filter((key) => key.startsWith('m/'));
  expect(mail).toEqual([]);
});

test('L11: mail for a quarantined procedure counts against its mailbox', async () => {
  const feed = setup({
    types: {} as { input: { to: unknown }; context: { to: unknown } },
  }).createMachine({
    id: 'feed',
    version: '1',
    context: ({ input }) => input,
    on: { GO: { actions: sendTo(({ context }) => context.to as AnyActorRef, { type: 'MAIL' }) } },
  });
  const stand = new Stand();
  const machines = [busy(true, later(stand)), feed];
  const runtime = await stand.start({
    machines,
    actors: { work: doubling(50) },
    limits: { mailboxMax: 3 },
  });
  const ref = await stand.run(runtime.spawn('busy', { id: 'b' }));
  const from = await stand.run(runtime.spawn('feed', { id: 'f', input: { to: ref } }));
  ref.send({ type: 'BAD' });
  await stand.clock.settle();
  ref.send({ type: 'ONE' } as never);
  await stand.clock.settle();
  ref.send({ type: 'TWO' } as never);
  await stand.clock.settle();
  expect(() => ref.send({ type: 'THREE' } as never)).toThrow(/MAILBOX_FULL/);
  await stand.run(from.sendDurable({ type: 'GO' } as never));
  await stand.clock.settle();
  expect(runtime.deadLetters()).toMatchObject([{ reason: 'mailbox-full', from: 'f', to: 'b' }]);
});

test('L1, L15: a release that the disk refuses is taken back whole: held mail is applied once, in order', async () => {
  const machine = (broken: boolean) =>
    setup({
      types: {} as {
        context: { got: number[]; bad: unknown };
        events: { type: 'N'; n: number } | { type: 'BAD' };
      },
    }).createMachine({
      id: 'keeper',
      version: '1',
      context: { got: [], bad: null },
      on: {
        N: { actions: assign({ got: ({ context, event }) => [...context.got, event.n] }) },
        BAD: { actions: assign({ bad: () => (broken ? new Set() : 'good') }) },
      },
    });
  const stand = new Stand({ latencyMs: 2 });
  const limits = { groupRecordsMax: 2 };
  const first = await stand.start({ machines: [machine(true)], limits });
  const ref = await stand.run(first.spawn('keeper', { id: 'p' }));
  ref.send({ type: 'BAD' });
  for (const n of [1, 2, 3]) ref.send({ type: 'N', n });
  await stand.clock.advance(100);
  stand.crash();
  const second = await stand.start({ machines: [machine(false)], limits });
  stand.faults.fill(1);
  expect(await codeOf(stand.run(second.retry('p')))).toBe('STORE_FULL');
  await stand.clock.advance(2_000);
  expect(statusOf(second, 'p')).toBe('quarantined');
  await stand.run(second.retry('p'));
  await stand.clock.advance(2_000);
  expect(seen(second, 'p').context).toEqual({ got: [1, 2, 3], bad: 'good' });
});
