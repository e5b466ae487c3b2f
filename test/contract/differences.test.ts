/**
 * Where the runtime departs from `createActor` on purpose: effects, errors, order. Each difference
 * has a test of what XState does and one of what the runtime does instead; the comment says why.
 * What concerns refs, values and names is in differences-refs.test.ts.
 */
import { expect, test } from 'vitest';
import type { TaskBinding, TaskListener } from '../../src/model/task.ts';
import { memoryFaults } from '../../src/store/memory-faults.ts';
import { memoryStore } from '../../src/store/memory-store.ts';
import { comparison } from './actor-comparison.ts';
import * as machines from './machines-differences.ts';

const { underXState, underRuntime, withRuntime } = comparison();
const DAY_MS = 24 * 3_600_000;

// D1  L1: an effect runs when the step that asked for it is durable; XState runs it in the middle
//     of the step. Observers see every state all the same.
test('D1 XState calls an action while the event is being sent', async () => {
  const actor = await underXState(machines.effectful);
  actor.ref.send({ type: 'GO' });
  expect(actor.said()).toEqual(['a to b', '+b']);
  expect(actor.value).toBe('b');
});

test('D1 the runtime calls no action of a step that the store has refused', async () => {
  const faults = memoryFaults();
  const { actor } = await withRuntime(machines.effectful, { store: memoryStore({ faults }) });
  faults.fill();
  await actor.send('GO');
  expect([actor.said(), actor.value]).toEqual([[], 'a']);
  faults.free();
  await actor.advance(60_000);
  expect(actor.said()).toEqual(['a to b', '+b']);
  expect(actor.notes.seen()).toEqual(['a', 'b']);
});

// D2  An effect is the world's business: a disk that is full must not kill the procedure that knows
//     what to do about it. It is tried again, and in the end the machine hears `effect.failed`.
test('D2 XState ends the actor whose action throws', async () => {
  const actor = await underXState(machines.effectful);
  await actor.send('FALL');
  expect(actor.snapshot.status).toBe('error');
  expect(actor.said()).toEqual(['before', 'falls']);
});

test('D2 the runtime tries a throwing action again, and then sends effect.failed', async () => {
  const actor = await underRuntime(machines.effectful);
  await actor.send('FALL');
  expect(actor.said()).toEqual(['before', 'falls']);
  await actor.advance(DAY_MS);
  const lines = actor.notes.lines();
  expect(lines.filter((line) => line['what'] === 'falls').length).toBeGreaterThan(1);
  expect(lines.find((line) => line['what'] === 'effect.failed')?.['event']).toMatchObject({
    type: 'effect.failed',
    effect: 'fall',
    error: 'error: the effect fell',
  });
  expect(actor.snapshot.status).toBe('active');
});

// D3  The transition was durable before its effects ran, so one that throws does not take it back,
//     and the effects behind it in the list still run.
test('D3 XState stays in the state whose transition had an action that threw', async () => {
  const actor = await underXState(machines.effectful);
  await actor.send('FALL');
  expect(actor.value).toBe('a');
});

test('D3 the runtime takes the transition, and runs what stands behind the action', async () => {
  const actor = await underRuntime(machines.effectful);
  await actor.send('FALL');
  expect(actor.value).toBe('b');
  await actor.advance(DAY_MS);
  expect(actor.said().filter((what) => what !== 'falls')).toEqual([
    'before',
    'behind',
    '+b',
    'effect.failed',
  ]);
});

// D4  Errors enter a record, so they are plain data: name, message, code. What was thrown and is no
//     error stays what it was.
test('D4 XState hands the Error itself to onError', async () => {
  const actor = await underXState(machines.rejecting);
  await actor.send('CODED', 'TEXT');
  const { coded, text } = actor.context;
  expect(coded).toBeInstanceOf(TypeError);
  expect(coded).toMatchObject({ message: 'no such host', code: 'ENOTFOUND', port: 1 });
  expect(text).toBe('just text');
});

test('D4 the runtime hands plain data with name, message and code to onError', async () => {
  const actor = await underRuntime(machines.rejecting);
  await actor.send('CODED', 'TEXT');
  const { coded, text } = actor.context;
  expect(coded).not.toBeInstanceOf(Error);
  expect(coded).toEqual({ name: 'TypeError', message: 'no such host', code: 'ENOTFOUND' });
  expect(text).toBe('just text');
});

// D5  A step whose pure part throws has not happened, so none of its effects has either. XState has
//     run those in front of the throwing assign already.
test('D5 XState has called the actions in front of an assign that throws', async () => {
  const actor = await underXState(machines.effectful);
  await actor.send('BREAK');
  expect(actor.snapshot.status).toBe('error');
  expect(actor.said()).toEqual(['before']);
});

test('D5 the runtime calls no action of a step whose assign throws', async () => {
  const actor = await underRuntime(machines.effectful);
  await actor.send('BREAK');
  expect(actor.snapshot.status).toBe('error');
  expect(actor.said()).toEqual([]);
});

// D6  An effect runs behind its step, so it finds its own actor in the state the step led to. Its
//     arguments (context, event) are those of its place in the list under both.
test('D6 an action that looks at its own actor sees the old state in XState', async () => {
  const actor = await underXState(machines.effectful);
  await actor.send('LOOK');
  expect(actor.said()).toEqual(['sees a {"heard":[]}', '+b']);
});

test('D6 an action that looks at its own actor sees the new state in the runtime', async () => {
  const actor = await underRuntime(machines.effectful);
  await actor.send('LOOK');
  expect(actor.said()).toEqual(['sees b {"heard":["LOOK"]}', '+b']);
});

// D7  An effect is settled when its promise is: the effects behind it wait, and a rejection is a
//     failure like a throw. XState does not look at what an action returns.
test('D7 XState does not wait for an asynchronous action', async () => {
  const actor = await underXState(machines.effectful);
  await actor.send('SLOW');
  await actor.advance(100);
  expect(actor.said()).toEqual(['slow begins', 'behind', '+b', 'slow ends']);
});

test('D7 the runtime runs the next action when the asynchronous one has ended', async () => {
  const actor = await underRuntime(machines.effectful);
  await actor.send('SLOW');
  expect(actor.value).toBe('b');
  await actor.advance(100);
  expect(actor.said()).toEqual(['slow begins', 'slow ends', 'behind', '+b']);
});

// D8  Events that arrive together stand in the mailbox before anything they cause: what an effect
//     sends, or a child answers, comes behind them. XState handles all consequences of one event
//     before `send` returns. Raised events are part of the step under both.
test('D8 XState handles what an event causes before the next event', async () => {
  const own = await underXState(machines.effectful);
  await own.sendTogether('SELF', 'NEXT');
  expect(own.context).toEqual({ heard: ['RAISED', 'FROM_EFFECT', 'NEXT'] });
  const child = await underXState(machines.asking);
  await child.sendTogether('ASK', 'NEXT');
  expect(child.context).toEqual({ heard: ['ASK', 'ANSWER', 'NEXT'] });
});

test('D8 the runtime handles events that arrived together before those they cause', async () => {
  const own = await underRuntime(machines.effectful);
  await own.sendTogether('SELF', 'NEXT');
  expect(own.context).toEqual({ heard: ['RAISED', 'NEXT', 'FROM_EFFECT'] });
  const child = await underRuntime(machines.asking);
  await child.sendTogether('ASK', 'NEXT');
  expect(child.context).toEqual({ heard: ['ASK', 'NEXT', 'ANSWER'] });
});

// D9  L16: a delayed event that is asked for again under the same id replaces the earlier one. In
//     XState the earlier one cannot be cancelled any more, but fires all the same.
test('D9 XState fires both of two delayed events with one id', async () => {
  const actor = await underXState(machines.sameIdTwice);
  await actor.send('REMIND');
  await actor.advance(50);
  await actor.send('REMIND');
  await actor.advance(1000);
  expect(actor.said()).toEqual(['ring', 'ring']);
});

test('D9 the runtime fires the later of two delayed events with one id', async () => {
  const actor = await underRuntime(machines.sameIdTwice);
  await actor.send('REMIND');
  await actor.advance(50);
  await actor.send('REMIND');
  await actor.advance(99);
  expect(actor.said()).toEqual([]);
  await actor.advance(1000);
  expect(actor.said()).toEqual(['ring']);
});

// D10 L13: an actor has ended when everything below it is seen to have ended. Where that takes more
//     than the commit of its last step (a task that has to be stopped), observers are shown the
//     last state once, still active, before it is done. XState stops children without looking.
test('D10 XState is done at once, whatever its children do', async () => {
  const actor = await underXState(machines.lastingChild);
  await actor.send('END');
  expect(actor.notes.seen()).toEqual(['on', 'end', 'complete']);
});

test('D10 the runtime is done when all procedures below it have ended', async () => {
  const actor = await underRuntime(machines.lastingChild);
  const below = [actor.child('child'), actor.child('child', 'grandchild')];
  let statuses: unknown;
  actor.ref.subscribe({
    complete: () => {
      statuses = below.map((ref) => ref?.getSnapshot().status as unknown);
    },
  });
  await actor.send('END');
  expect(actor.notes.seen()).toEqual(['on', 'end', 'complete']);
  expect(statuses).toEqual(['stopped', 'stopped']);
});

test('D10 the runtime is in error when all procedures below it have ended', async () => {
  const actor = await underRuntime(machines.lastingChild);
  const grandchild = actor.child('child', 'grandchild');
  await actor.send('FAIL');
  expect(actor.notes.seen()).toEqual(['on', expect.stringContaining('the guard fell')]);
  expect(actor.snapshot).toMatchObject({ status: 'error', value: 'on', children: {} });
  expect(grandchild?.getSnapshot().status).toBe('stopped');
});

test('D10 the runtime is still active while a task below it is being stopped', async () => {
  const { actor } = await withRuntime(machines.lastingTask, {
    actors: { dig: stoppingAfter(100) },
  });
  await actor.send('END');
  expect(actor.snapshot).toMatchObject({ status: 'active', value: 'end' });
  await actor.advance(99);
  expect(actor.snapshot.status).toBe('active');
  await actor.advance(1);
  expect(actor.notes.snapshots.slice(1)).toMatchObject([
    { status: 'active', value: 'end' },
    { status: 'done', value: 'end', output: 'over' },
    { ended: 'complete' },
  ]);
});

// D11 L11: `always` without end would hold the coordinator's thread. XState's own limit is Infinity
//     unless the machine sets one; the runtime's default is 1,000.
test('D11 the runtime ends a machine whose transitions never come to rest', async () => {
  const actor = await underRuntime(machines.endless);
  expect(actor.snapshot.machine.options.maxIterations).not.toBe(Infinity);
  await actor.send('SPIN');
  expect(actor.snapshot).toMatchObject({ status: 'error', value: 'still', context: { n: 0 } });
});

/** Runs tasks that never end by themselves, and takes `ms` to stop one. */
function stoppingAfter(ms: number): TaskBinding {
  return {
    kind: 'task-binding',
    open({ clock, ledger }) {
      const listeners = new Map<string, TaskListener>();
      return {
        ledger,
        submit: ({ attempt }, listener) => void listeners.set(attempt, listener),
        cancel: (attempt) => {
          clock.setTimeout(() => listeners.get(attempt)?.ended({ status: 'cancelled' }), ms);
        },
        forget: (attempt) => void listeners.delete(attempt),
        close: () => Promise.resolve(),
      };
    },
  };
}
