/** Observers, loggers and inspectors hear what is durable, harm nobody, and cost nothing unheard. */
import { assign, createActor, emit, log, setup, spawnChild, type InspectionEvent } from 'xstate';
import { expect, test, vi } from 'vitest';
import { declareTask } from '../../src/model/declare-task.ts';
import { handRunner } from '../support/runtime-tasks.ts';
import { codeOf, seen, Stand } from '../support/runtime-stand.ts';

const work = declareTask<null, null>('work');

const machineOf = (acted: string[]) => {
  const kid = setup({
    types: {} as { events: { type: 'DONE' } },
  }).createMachine({
    id: 'kid',
    version: '1',
    initial: 'on',
    states: { on: { on: { DONE: 'over' } }, over: { type: 'final' } },
  });
  return setup({
    types: {} as {
      context: { n: number };
      events: { type: 'N' } | { type: 'LOUD' } | { type: 'WORK' } | { type: 'KID' };
      emitted: { type: 'noise'; n: number };
    },
    actors: { work, kid },
    actions: { act: ({ event }) => void acted.push(event.type) },
  }).createMachine({
    id: 'm',
    version: '1',
    initial: 'idle',
    context: { n: 0 },
    states: {
      idle: {
        on: {
          N: { actions: [assign({ n: ({ context }) => context.n + 1 }), 'act'] },
          LOUD: { actions: [emit(({ context }) => ({ type: 'noise', n: context.n })), 'act'] },
          WORK: { target: 'working', actions: [log('begins'), 'act'] },
          KID: { actions: spawnChild('kid', { id: 'k' }) },
        },
      },
      working: { invoke: { id: 'w', src: 'work', input: null } },
    },
  });
};

const boom = (): never => {
  throw new Error('observer');
};

test('an observer, a listener and an inspector that throw harm neither the machine nor each other', async () => {
  const acted: string[] = [];
  const machine = machineOf(acted);
  const stand = new Stand();
  const runtime = await stand.start({ machines: [machine], inspect: boom });
  const ref = await stand.run(runtime.spawn(machine, { id: 'p' }));
  const heard: unknown[] = [];
  ref.subscribe(boom);
  ref.subscribe((snapshot) => heard.push(snapshot.context.n));
  ref.on('noise', boom);
  ref.on('noise', ({ n }) => heard.push(`noise ${n}`));
  await stand.run(ref.sendDurable({ type: 'N' }));
  await stand.run(ref.sendDurable({ type: 'LOUD' }));
  expect(heard).toEqual([1, 'noise 1', 1]);
  expect(acted).toEqual(['N', 'LOUD']);
  expect(stand.told('error').filter((message) => message === 'observer').length).toBeGreaterThan(3);
  expect(stand.fatal).toEqual([]);
});

test('a logger that throws does not keep the task of the same step from being submitted', async () => {
  const acted: string[] = [];
  const machine = machineOf(acted);
  const runner = handRunner();
  const stand = new Stand();
  const runtime = await stand.start({
    machines: [machine],
    actors: { work: runner },
    logger: boom,
  });
  const ref = await stand.run(runtime.spawn(machine, { id: 'p' }));
  const states: unknown[] = [];
  ref.subscribe((snapshot) => states.push(snapshot.value));
  await stand.run(ref.sendDurable({ type: 'WORK' }));
  expect(runner.submitted).toHaveLength(1);
  expect(acted).toEqual(['WORK']);
  expect(states).toEqual(['working']);
});

test('a log that throws harms nobody: the runtime goes on and can be closed', async () => {
  const acted: string[] = [];
  const machine = machineOf(acted);
  const stand = new Stand();
  const runtime = await stand.start({
    machines: [machine],
    actors: { work: handRunner() },
    log: { info: boom, warn: boom, error: boom },
  });
  const ref = await stand.run(runtime.spawn(machine, { id: 'p' }));
  ref.subscribe(boom);
  await stand.run(ref.sendDurable({ type: 'N' }));
  stand.faults.fill(1);
  expect(await codeOf(stand.run(ref.sendDurable({ type: 'N' })))).toBe('STORE_FULL');
  await stand.clock.advance(5_000);
  await stand.run(ref.sendDurable({ type: 'N' }));
  expect(seen(runtime, 'p').context).toEqual({ n: 2 });
  expect(acted).toEqual(['N', 'N']);
  await stand.close(runtime);
  expect(stand.clock.pending).toBe(0);
});

test('L1: observers hear of a step when it is durable, each step once and in order', async () => {
  const machine = machineOf([]);
  const stand = new Stand({ latencyMs: 10 });
  const runtime = await stand.start({ machines: [machine], limits: { groupRecordsMax: 3 } });
  const ref = await stand.run(runtime.spawn(machine, { id: 'p' }));
  const heard: number[] = [];
  ref.subscribe((snapshot) => heard.push(snapshot.context.n));
  for (let n = 0; n < 6; n++) ref.send({ type: 'N' });
  await stand.clock.advance(9);
  expect(heard).toEqual([]);
  await stand.clock.advance(100);
  expect(heard).toEqual([1, 2, 3, 4, 5, 6]);
  const { unsubscribe } = ref.subscribe((snapshot) => heard.push(-snapshot.context.n));
  unsubscribe();
  await stand.run(ref.sendDurable({ type: 'N' }));
  expect(heard).toEqual([1, 2, 3, 4, 5, 6, 7]);
});

test('an observer that sends, spawns, subscribes and unsubscribes while it is told is served', async () => {
  const machine = machineOf([]);
  const stand = new Stand();
  const runtime = await stand.start({ machines: [machine] });
  const ref = await stand.run(runtime.spawn(machine, { id: 'p' }));
  const heard: string[] = [];
  const watch = ref.subscribe((snapshot) => {
    heard.push(`first ${snapshot.context.n}`);
    if (snapshot.context.n === 2) watch.unsubscribe();
    if (snapshot.context.n >= 2) return;
    ref.send({ type: 'N' });
    void runtime.spawn(machine, { id: `q${snapshot.context.n}` });
    ref.subscribe((later) => heard.push(`second ${later.context.n}`));
  });
  await stand.run(ref.sendDurable({ type: 'N' }));
  await stand.clock.settle();
  await stand.run(ref.sendDurable({ type: 'N' }));
  expect(heard).toEqual(['first 1', 'first 2', 'second 2', 'second 3']);
  expect(runtime.get('q1')).toBeDefined();
});

/** Types of inspection events, with what they are about. */
const told = (events: InspectionEvent[]) =>
  events.map((event) => {
    const { type } = event;
    if (type === '@xstate.event') return `${type} ${event.event.type}`;
    if (type === '@xstate.action') return `${type} ${event.action.type}`;
    return type;
  });

test('inspection: the events of a step are those of createActor, in its order', async () => {
  const machine = setup({
    types: {} as { context: { n: number }; events: { type: 'N' } },
    actions: { act: () => undefined, other: () => undefined },
  }).createMachine({
    id: 'm',
    version: '1',
    initial: 'a',
    context: { n: 0 },
    states: {
      a: { entry: 'act', on: { N: 'b' } },
      b: {
        entry: [assign({ n: ({ context }) => context.n + 1 }), 'other'],
        always: { target: 'c', actions: 'act' },
      },
      c: {},
    },
  });
  const plain: InspectionEvent[] = [];
  const actor = createActor(machine, { inspect: (event) => plain.push(event) }).start();
  actor.send({ type: 'N' });
  const durable: InspectionEvent[] = [];
  const stand = new Stand();
  const runtime = await stand.start({
    machines: [machine],
    inspect: (event) => durable.push(event),
  });
  const ref = await stand.run(runtime.spawn(machine, { id: 'p' }));
  await stand.run(ref.sendDurable({ type: 'N' }));
  const own = durable.filter((event) => event.actorRef === (ref as unknown));
  expect(told(own)).toEqual(told(durable));
  const order = (events: InspectionEvent[]) =>
    told(events).filter((what) => !what.startsWith('@xstate.action'));
  expect(order(durable)).toEqual(order(plain));
  expect(told(durable).filter((what) => what.startsWith('@xstate.action'))).toEqual(
    told(plain).filter((what) => /@xstate.action (act|other)/.test(what)),
  );
});

test('inspection: who starts to listen later hears what comes later, until he stops', async () => {
  const machine = machineOf([]);
  const stand = new Stand();
  const { runtime, engine } = await stand.open({ machines: [machine] });
  const inspected = vi.spyOn(engine.plan, 'inspect');
  const ref = await stand.run(runtime.spawn(machine, { id: 'p' }));
  await stand.run(ref.sendDurable({ type: 'N' }));
  // Nothing is kept while nobody listens.
  expect(inspected).not.toHaveBeenCalled();
  const events: InspectionEvent[] = [];
  const { unsubscribe } = runtime.inspect({ next: (event) => void events.push(event) });
  await stand.run(ref.sendDurable({ type: 'N' }));
  const count = events.length;
  expect(told(events)).toContain('@xstate.event N');
  unsubscribe();
  await stand.run(ref.sendDurable({ type: 'N' }));
  expect(events).toHaveLength(count);
});

test('two runtimes in one process share nothing: ids, numbers, tables, systems, inspection', async () => {
  const machine = machineOf([]);
  const [one, two] = [new Stand(), new Stand()];
  const heard: string[] = [];
  const first = await one.start({ machines: [machine], inspect: () => void heard.push('one') });
  const second = await two.start({ machines: [machine] });
  const a = await one.run(first.spawn(machine, { id: 'p' }));
  heard.length = 0;
  const b = await two.run(second.spawn(machine, { id: 'p' }));
  await two.run(b.sendDurable({ type: 'N' }));
  await two.run(second.spawn(machine, { id: 'q' }));
  expect(heard).toEqual([]);
  expect(seen(first, 'p').context).toEqual({ n: 0 });
  expect(first.get('q')).toBeUndefined();
  expect([a.number, b.number]).toEqual([1, 1]);
  one.faults.failNextSync('lost');
  await codeOf(one.run(a.sendDurable({ type: 'N' })));
  expect(one.fatal).toHaveLength(1);
  await two.run(b.sendDurable({ type: 'N' }));
  expect(seen(second, 'p').context).toEqual({ n: 2 });
});

test('a reference of one runtime is refused by another: it would mean somebody else there', async () => {
  const machine = machineOf([]);
  const keeper = setup({
    types: {} as { context: { who: unknown }; events: { type: 'WHO'; who: unknown } },
  }).createMachine({
    id: 'keeper',
    version: '1',
    context: { who: null },
    on: { WHO: { actions: assign({ who: ({ event }) => event.who }) } },
  });
  const [one, two] = [new Stand(), new Stand()];
  const first = await one.start({ machines: [machine] });
  const second = await two.start({ machines: [machine, keeper] });
  const foreign = await one.run(first.spawn(machine, { id: 'p' }));
  await two.run(second.spawn(machine, { id: 'p' }));
  const ref = await two.run(second.spawn(keeper, { id: 'k' }));
  expect(await codeOf(two.run(ref.sendDurable({ type: 'WHO', who: foreign })))).toBe(
    'VALUE_NOT_JSON',
  );
  expect(seen(second, 'k').context).toEqual({ who: null });
});
