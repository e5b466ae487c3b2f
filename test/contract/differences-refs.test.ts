/**
 * Where the runtime departs from `createActor` on purpose: refs, values that can be recorded, and
 * names by which a later process finds things again. See differences.test.ts.
 */
import { expect, test } from 'vitest';
import { MemoryDisk } from '../../src/store/memory-disk.ts';
import { memoryStore } from '../../src/store/memory-store.ts';
import { codeOf, comparison } from './actor-comparison.ts';
import { closeRuntime, startRuntime } from './actor-runtime-driver.ts';
import * as machines from './machines-differences.ts';

const { underXState, underRuntime, withRuntime } = comparison();

// D12 `send` hands the event over; it returns before the event is durable, so before anything has
//     happened. `sendDurable` waits. In XState everything has happened when `send` returns.
test('D12 XState has taken the transition when send returns', async () => {
  const actor = await underXState(machines.effectful);
  actor.ref.send({ type: 'GO' });
  expect(actor.value).toBe('b');
});

test('D12 the runtime shows the old state when send returns', async () => {
  const { actor, stage } = await withRuntime(machines.effectful);
  actor.ref.send({ type: 'GO' });
  expect(actor.value).toBe('a');
  await stage.clock.settle();
  expect(actor.value).toBe('b');
});

// D13 A ref is an address: after the end it reads what is on record, also in a later process. An
//     event for an ended procedure is not dropped in silence, it is a dead letter. After the
//     runtime is closed nothing is taken any more, and the caller is told.
test('D13 the runtime keeps what an ended procedure was, and a letter that was late', async () => {
  const disk = new MemoryDisk();
  const first = await withRuntime(machines.lastingChild, { store: memoryStore({ disk }) });
  await first.actor.send('END', 'TOO_LATE');
  expect(first.runtime.deadLetters()).toMatchObject([
    { to: 'subject', event: { type: 'TOO_LATE' }, reason: 'receiver-ended' },
  ]);
  await closeRuntime(first.stage.clock, first.runtime);
  expect(() => first.actor.ref.send({ type: 'CLOSED' })).toThrow(/STORE_CLOSED/);

  const { stage } = first;
  const machine = machines.lastingChild(stage);
  const store = memoryStore({ disk });
  const second = await startRuntime(stage, { machines: [machine], store });
  const ref = second.get('subject');
  expect(ref?.getSnapshot()).toMatchObject({ status: 'done', value: 'end', output: 'over' });
  expect(second.deadLetters()).toHaveLength(1);
  await closeRuntime(stage.clock, second);
});

// D14 What cannot be recorded is refused where it is handed over: an outside event by `send`, with
//     the path in it. XState keeps any value.
test('D14 XState takes an event with a value that no record can hold', async () => {
  const actor = await underXState(machines.unrecordable);
  await actor.send({ type: 'KEEP', value: new Map([[1, 2]]) });
  expect(actor.context).toEqual({ value: new Map([[1, 2]]) });
});

test('D14 the runtime refuses an event with such a value, by its path', async () => {
  const { actor, stage } = await withRuntime(machines.unrecordable);
  const event = { type: 'KEEP', value: { deep: [new Map()] } };
  expect(() => actor.ref.send(event)).toThrow(/VALUE_NOT_JSON.*value\.deep\[0\]/);
  const { sendDurable } = actor.ref as unknown as {
    sendDurable(event: object): Promise<void>;
  };
  expect(
    await codeOf(
      stage,
      Promise.resolve().then(() => sendDurable.call(actor.ref, event)),
    ),
  ).toBe('VALUE_NOT_JSON');
  expect(actor.context).toEqual({ value: null });
});

// D15 A machine that puts such a value into its context is wrong, but may be repaired: its
//     procedure is set aside (quarantined) as it was before the event, which waits. XState goes on.
test('D15 XState goes on with a context that no record can hold', async () => {
  const actor = await underXState(machines.unrecordable);
  await actor.send('DATE');
  expect(actor.context).toEqual({ value: new Date(0) });
});

test('D15 the runtime sets the procedure aside, with the reason', async () => {
  const { actor, runtime } = await withRuntime(machines.unrecordable);
  await actor.send('DATE', { type: 'KEEP', value: 1 });
  expect(actor.context).toEqual({ value: null });
  expect(actor.said()).toEqual([]);
  expect(runtime.list({ status: 'quarantined' }).procedures).toMatchObject([{ id: 'subject' }]);
  expect(JSON.stringify(runtime.explain('subject'))).toContain('VALUE_NOT_JSON');
});

// D16 An effect is found again by its name or its place in the machine. A function that is made
//     while an action list is made has neither, so the step is refused instead of being lost by a
//     restart. Name it in `setup({ actions })`.
test('D16 XState calls a function that enqueueActions enqueues', async () => {
  const actor = await underXState(machines.enqueuedFunction);
  await actor.send('INLINE');
  expect(actor.said()).toEqual(['INLINE: 1, then 100']);
});

test('D16 the runtime sets the procedure aside instead', async () => {
  const { actor, runtime } = await withRuntime(machines.enqueuedFunction);
  await actor.send('INLINE');
  expect([actor.said(), actor.context]).toEqual([[], { n: 1 }]);
  expect(JSON.stringify(runtime.explain('subject'))).toContain('ACTION_NOT_NAMED');
});

// D17 A child is started again by its name after a restart. Logic that is spawned as an object is
//     found when it is among the machines of the runtime, and refused when it is not.
test('D17 XState spawns logic without a name', async () => {
  const actor = await underXState((stage) => machines.namelessChild(stage).list);
  await actor.send('ADD');
  expect(Object.keys(actor.snapshot.children)).toEqual(['first']);
});

test('D17 the runtime spawns it when it knows it, or else sets the parent aside', async () => {
  const { item, list } = machines.namelessChild({} as never);
  const known = await withRuntime(() => list, { machines: [list, item] });
  await known.actor.send('ADD');
  expect(known.actor.child('first')?.getSnapshot()).toMatchObject({ status: 'active' });

  const unknown = await withRuntime(() => list);
  await unknown.actor.send('ADD');
  expect(unknown.actor.snapshot.children).toEqual({});
  expect(JSON.stringify(unknown.runtime.explain('subject'))).toContain('ACTOR_NOT_NAMED');
});

// D18 A snapshot that travels in an event is plain data (status, value, context, output, error): it
//     has no `matches`, `can` or `hasTag`. Ask the child's ref for those.
test('D18 XState hands the live snapshot on in a snapshot event', async () => {
  const actor = await underXState(machines.lookingAtChild);
  expect(actor.context['seen']).toEqual({ value: 'on', context: { n: 0 }, knowsItsMachine: true });
});

test('D18 the runtime hands plain data on in a snapshot event', async () => {
  const actor = await underRuntime(machines.lookingAtChild);
  expect(actor.context['seen']).toEqual({ value: 'on', context: { n: 0 }, knowsItsMachine: false });
  expect(actor.child('child')?.getSnapshot().matches('on')).toBe(true);
});

// D19 Nobody can listen to a procedure before `spawn` has made it durable, so what its first step
//     emits is heard by nobody (L15: emit is for observers, at most once).
test('D19 XState lets a listener in before the start, who hears the first step', async () => {
  const actor = await underXState(machines.emittingAtOnce);
  await actor.send('SAY');
  expect(actor.notes.emitted.map((line) => line['event'])).toEqual([
    { type: 'born' },
    { type: 'said' },
  ]);
});

test('D19 the runtime’s listeners hear what comes after spawn', async () => {
  const actor = await underRuntime(machines.emittingAtOnce);
  await actor.send('SAY');
  expect(actor.notes.emitted.map((line) => line['event'])).toEqual([{ type: 'said' }]);
});

// D20 A child spawned under the id of a living one takes its place: the old one is stopped (L16).
//     In XState the old one lives on, though nobody can reach or stop it any more.
test('D20 XState lets a child live on whose id was given to another', async () => {
  const actor = await underXState(machines.rehiring);
  await actor.send('HIRE', 'HIRE');
  await actor.advance(100);
  expect(Object.keys(actor.snapshot.children)).toEqual(['joe']);
  expect(actor.said('worker')).toEqual(['no 1', 'no 2']);
});

test('D20 the runtime stops a child whose id is given to another', async () => {
  const actor = await underRuntime(machines.rehiring);
  const first = await actor.send('HIRE').then(() => actor.child('joe'));
  await actor.send('HIRE');
  expect(first?.getSnapshot()).toMatchObject({ status: 'stopped', context: { no: 1 } });
  await actor.advance(100);
  expect(Object.keys(actor.snapshot.children)).toEqual(['joe']);
  expect(actor.said('worker')).toEqual(['no 2']);
});
