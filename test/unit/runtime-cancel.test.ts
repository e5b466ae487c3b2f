/** L13, C50: cancel means stopped: it ends when everything below is seen to have ended. */
import { assign, fromCallback, setup, type AnyStateMachine } from 'xstate';
import { expect, test } from 'vitest';
import { declareTask } from '../../src/model/declare-task.ts';
import type { Runtime } from '../../src/runtime/index.ts';
import { handRunner } from '../support/runtime-tasks.ts';
import { codeOf, seen, Stand } from '../support/runtime-stand.ts';

const work = declareTask<{ n: number }, { n: number }>('work');
const log: string[] = [];

const steps = setup({
  types: {} as { events: { type: 'GO' } },
  actions: { exit: (_, params: { state: string }) => void log.push(`exit ${params.state}`) },
}).createMachine({
  id: 'steps',
  version: '1',
  initial: 'a',
  states: {
    a: { on: { GO: 'b' }, exit: { type: 'exit', params: { state: 'a' } } },
    b: { after: { 1000: 'c' }, exit: { type: 'exit', params: { state: 'b' } } },
    c: { exit: { type: 'exit', params: { state: 'c' } } },
  },
});

const working = setup({
  types: {} as { context: { heard: string } },
  actors: { work },
}).createMachine({
  id: 'working',
  version: '1',
  context: { heard: '' },
  invoke: {
    id: 'w',
    src: 'work',
    input: { n: 1 },
    onDone: { actions: assign({ heard: 'done' }) },
    onError: { actions: assign({ heard: 'error' }) },
  },
});

const statusOf = (runtime: Runtime, id: string) =>
  runtime.list().procedures.find((facts) => facts.id === id)?.status;

test.each([0, 1, 2])(
  'a procedure is cancelled after %s steps: as in XState no exit action runs; timers are gone',
  async (n) => {
    log.length = 0;
    const stand = new Stand();
    const runtime = await stand.start({ machines: [steps] });
    const ref = await stand.run(runtime.spawn(steps, { id: 's' }));
    if (n > 0) await stand.run(ref.sendDurable({ type: 'GO' }));
    if (n > 1) await stand.clock.advance(1_000);
    log.length = 0;
    await stand.run(runtime.cancel('s'));
    expect(statusOf(runtime, 's')).toBe('stopped');
    await stand.clock.advance(10_000);
    expect(log).toEqual([]);
    expect(seen(runtime, 's').value).toBe('abc'[n]);
    stand.crash();
    const next = await stand.start({ machines: [steps] });
    await stand.clock.advance(10_000);
    expect(statusOf(next, 's')).toBe('stopped');
  },
);

test('C50: cancelling twice, at the same time and later, is one end and one line of history', async () => {
  const stand = new Stand({ latencyMs: 3 });
  const runtime = await stand.start({ machines: [steps] });
  const ref = await stand.run(runtime.spawn(steps, { id: 's' }));
  let completed = 0;
  ref.subscribe({ complete: () => completed++ });
  const first = runtime.cancel('s');
  await stand.clock.advance(1);
  await stand.run(Promise.all([first, runtime.cancel('s'), runtime.cancel('s')]));
  await stand.run(runtime.cancel('s'));
  const { entries } = await stand.run(runtime.history('s'));
  const ends = entries.filter((entry) => (entry as { st?: string }).st !== undefined);
  expect(ends).toHaveLength(1);
  expect(completed).toBe(1);
  expect(await codeOf(runtime.cancel('gone'))).toBe('PROCEDURE_UNKNOWN');
});

test('cancel of what has ended changes nothing and resolves', async () => {
  const ended = setup({}).createMachine({
    id: 'ended',
    version: '1',
    initial: 'over',
    states: { over: { type: 'final' } },
    output: 7,
  });
  const stand = new Stand();
  const runtime = await stand.start({ machines: [ended] });
  await stand.run(runtime.spawn(ended, { id: 'e' }));
  await stand.run(runtime.cancel('e'));
  expect(runtime.get('e')?.getSnapshot()).toMatchObject({ status: 'done', output: 7 });
});

test('a running task: the procedure is stopping until its attempt is seen to have ended', async () => {
  const stand = new Stand();
  const runner = handRunner();
  const runtime = await stand.start({ machines: [working], actors: { work: runner } });
  await stand.run(runtime.spawn(working, { id: 'w' }));
  const [{ attempt } = { attempt: '' }] = runner.submitted;
  const cancelled = runtime.cancel('w');
  expect(await stand.settles(cancelled)).toBe(false);
  expect(statusOf(runtime, 'w')).toBe('stopping');
  expect(runtime.explain('w').words).toContain(`attempt ${attempt}, stopping`);
  expect(runner.cancelled).toEqual([attempt]);
  await stand.clock.advance(3_600_000);
  expect(statusOf(runtime, 'w')).toBe('stopping');
  // It had finished before it saw the request: that is no news to anybody any more.
  runner.end(attempt, { status: 'success', output: { n: 2 } });
  await stand.run(cancelled);
  expect(statusOf(runtime, 'w')).toBe('stopped');
  expect(seen(runtime, 'w').context).toEqual({ heard: '' });
  expect(runner.forgotten).toEqual([attempt]);
  expect(runtime.state().runningTasks).toBe(0);
});

test('L2, L4: a stop in the middle of a cancel: the next life asks again, or knows that it is over', async () => {
  for (const ledger of ['lasting', undefined]) {
    const stand = new Stand();
    const runner = handRunner(ledger);
    const options = { machines: [working], actors: { work: runner } };
    const first = await stand.start(options);
    await stand.run(first.spawn(working, { id: 'w' }));
    const cancelled = first.cancel('w');
    await stand.settles(cancelled);
    stand.crash();
    const second = await stand.start(options);
    await stand.clock.settle();
    const [{ attempt } = { attempt: '' }] = runner.submitted;
    if (ledger !== undefined) {
      expect(statusOf(second, 'w')).toBe('stopping');
      expect(runner.cancelled).toEqual([attempt, attempt]);
      runner.end(attempt, { status: 'cancelled' });
      await stand.clock.settle();
    }
    expect(statusOf(second, 'w')).toBe('stopped');
    expect(runner.submitted).toHaveLength(1);
  }
});

test('a tree: everything below stops, the root last', async () => {
  const stand = new Stand();
  const runner = handRunner();
  log.length = 0;
  const live = fromCallback(() => {
    log.push('live +');
    return () => void log.push('live -');
  });
  const middle: AnyStateMachine = setup({ actors: { working, live } }).createMachine({
    id: 'middle',
    version: '1',
    invoke: [
      { id: 'w', src: 'working' },
      { id: 'l', src: 'live' },
    ],
  });
  const top = setup({ actors: { middle, steps } }).createMachine({
    id: 'top',
    version: '1',
    invoke: [
      { id: 'm', src: 'middle' },
      { id: 's', src: 'steps' },
    ],
  });
  const runtime = await stand.start({ machines: [top], actors: { work: runner } });
  await stand.run(runtime.spawn(top, { id: 't' }));
  expect(runtime.list().procedures).toHaveLength(4);
  const cancelled = runtime.cancel('t');
  expect(await stand.settles(cancelled)).toBe(false);
  const states = () => Object.fromEntries(runtime.list().procedures.map((p) => [p.id, p.status]));
  expect(states()).toEqual({
    t: 'stopping',
    't/m': 'stopping',
    't/m/w': 'stopping',
    't/s': 'stopped',
  });
  expect(log).toEqual(['live +', 'live -']);
  expect(runtime.explain('t').words).toContain("the child 't/m'");
  runner.end(runner.submitted[0]!.attempt, { status: 'cancelled' });
  await stand.run(cancelled);
  expect(new Set(Object.values(states()))).toEqual(new Set(['stopped']));
});

test('a child that an operator cancels is an error to its parent, with a code', async () => {
  const parent = setup({
    types: {} as { context: { code: unknown } },
    actors: { steps },
  }).createMachine({
    id: 'parent',
    version: '1',
    context: { code: null },
    invoke: {
      id: 's',
      src: 'steps',
      onError: {
        actions: assign({ code: ({ event }) => (event.error as { code: string }).code }),
      },
    },
  });
  const stand = new Stand();
  const runtime = await stand.start({ machines: [parent] });
  await stand.run(runtime.spawn(parent, { id: 'p' }));
  await stand.run(runtime.cancel('p/s'));
  await stand.clock.settle();
  expect(seen(runtime, 'p')).toMatchObject({ status: 'active', context: { code: 'CANCELLED' } });
});

test('L11: a cancel that waits is answered when the runtime is closed, or dies, before the end', async () => {
  for (const end of ['close', 'die'] as const) {
    const stand = new Stand();
    const runtime = await stand.start({
      machines: [working, steps],
      actors: { work: handRunner() },
    });
    await stand.run(runtime.spawn(working, { id: 'w' }));
    const cancelled = codeOf(runtime.cancel('w'));
    expect(await stand.settles(cancelled)).toBe(false);
    if (end === 'close') await stand.close(runtime);
    else {
      stand.faults.failNextSync('lost');
      await codeOf(stand.run(runtime.spawn(steps, { id: 's' })));
    }
    expect(await stand.run(cancelled)).toBe(
      end === 'close' ? 'STORE_CLOSED' : 'STORE_OUTCOME_UNKNOWN',
    );
  }
});

test('a cancel that the disk refuses leaves the procedure as it was', async () => {
  const stand = new Stand();
  const runtime = await stand.start({ machines: [steps] });
  const ref = await stand.run(runtime.spawn(steps, { id: 's' }));
  stand.faults.fill(1);
  expect(await codeOf(stand.run(runtime.cancel('s')))).toBe('STORE_FULL');
  await stand.clock.advance(5_000);
  expect(statusOf(runtime, 's')).toBe('active');
  await stand.run(ref.sendDurable({ type: 'GO' }));
  await stand.run(runtime.cancel('s'));
  expect(statusOf(runtime, 's')).toBe('stopped');
});
