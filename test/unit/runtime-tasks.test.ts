/** L3-L5, L16, C86: attempts, their reports, and what a late one may not do. */
import { assign, setup } from 'xstate';
import { expect, test } from 'vitest';
import { declareTask } from '../../src/model/declare-task.ts';
import { handRunner, type HandRunner } from '../support/runtime-tasks.ts';
import { codeOf, seen, Stand } from '../support/runtime-stand.ts';

const work = declareTask<{ n: number }, { n: number }>('work', {
  output: (value) => typeof (value as { n?: unknown }).n === 'number',
});

const machine = setup({
  types: {} as {
    context: { heard: string[]; round: number };
    events: { type: 'AGAIN' } | { type: 'OFF' };
  },
  actors: { work },
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
        src: 'work',
        input: ({ context }) => ({ n: context.round }),
        onDone: {
          target: 'off',
          actions: { type: 'hear', params: ({ event }) => ({ what: `done ${event.output.n}` }) },
        },
        onError: {
          target: 'off',
          actions: {
            type: 'hear',
            params: ({ event }) => ({
              what: `error ${(event.error as { code?: string; message: string }).code ?? ''}`,
            }),
          },
        },
      },
      on: { AGAIN: { target: 'on', reenter: true }, OFF: 'off' },
    },
    off: { on: { AGAIN: 'on' } },
  },
});

async function fresh(runner: HandRunner = handRunner()) {
  const stand = new Stand();
  const options = { machines: [machine], actors: { work: runner } };
  const runtime = await stand.start(options);
  const ref = await stand.run(runtime.spawn(machine, { id: 'p' }));
  const attempts = () => runner.submitted.map(({ attempt }) => attempt as string);
  return { stand, runtime, ref, runner, options, attempts };
}

const heard = (runtime: Parameters<typeof seen>[0]) =>
  (seen(runtime, 'p').context as { heard: string[] }).heard;

test('L3: attempt ids are number * 2^20 + counter, in order, and go on over a restart', async () => {
  const { stand, ref, runner, options, attempts } = await fresh();
  expect(attempts()).toEqual([String(2 ** 20 + 1)]);
  runner.end(attempts()[0]!, { status: 'success', output: { n: 1 } });
  await stand.clock.settle();
  await stand.run(ref.sendDurable({ type: 'AGAIN' }));
  expect(attempts()).toEqual([String(2 ** 20 + 1), String(2 ** 20 + 2)]);
  stand.crash();
  await stand.start(options);
  await stand.clock.settle();
  expect(attempts().at(-1)).toBe(String(2 ** 20 + 3));
});

test('L4: a state that is entered anew waits with its attempt until the one before is proven over', async () => {
  const { stand, runtime, ref, runner, attempts } = await fresh();
  const [first] = attempts();
  await stand.run(ref.sendDurable({ type: 'AGAIN' }));
  await stand.run(ref.sendDurable({ type: 'AGAIN' }));
  expect(attempts()).toEqual([first]);
  expect(runner.cancelled).toEqual([first]);
  expect(runtime.explain('p').words).toMatch(/stopping.*waiting/);
  // L16: what the old one says is no news for the new life of the invoke.
  runner.end(first!, { status: 'success', output: { n: 99 } });
  await stand.clock.settle();
  expect(heard(runtime)).toEqual([]);
  expect(runner.submitted.map(({ input }) => input)).toEqual([{ n: 1 }, { n: 3 }]);
  runner.end(attempts()[1]!, { status: 'success', output: { n: 3 } });
  await stand.clock.settle();
  expect(heard(runtime)).toEqual(['done 3']);
});

test('C86, L16: a second report of an attempt is dropped and counted; it never passes for the next one', async () => {
  const { stand, runtime, ref, runner, attempts } = await fresh();
  const [first] = attempts();
  runner.end(first!, { status: 'fail', error: { name: 'E', message: 'no', code: 'ENO' } });
  await stand.clock.settle();
  await stand.run(ref.sendDurable({ type: 'AGAIN' }));
  runner.end(first!, { status: 'success', output: { n: 99 } });
  runner.late(first!, { status: 'success', output: { n: 99 } });
  await stand.clock.settle();
  expect(heard(runtime)).toEqual(['error ENO']);
  expect(seen(runtime, 'p').value).toBe('on');
  expect(runtime.state()).toMatchObject({ staleEvents: { task: 1 }, lateReports: 1 });
});

test.each([
  ['success', { status: 'success', output: { n: 2 } }, 'done 2'],
  [
    'a success whose output breaks its promise',
    { status: 'success', output: { n: 'x' } },
    'error TASK_OUTPUT_INVALID',
  ],
  ['fail', { status: 'fail', error: { name: 'E', message: 'no', code: 'ENO' } }, 'error ENO'],
  [
    'unknown',
    { status: 'unknown', error: { name: 'E', message: 'exit', code: 'TASK_WORKER_EXITED' } },
    'error TASK_WORKER_EXITED',
  ],
  ['cancelled', { status: 'cancelled' }, 'error CANCELLED'],
] as const)('L5: the machine hears of %s in one way only', async (_, outcome, what) => {
  const { stand, runtime, runner, attempts } = await fresh();
  runner.end(attempts()[0]!, outcome as never);
  await stand.clock.settle();
  expect(heard(runtime)).toEqual([what]);
  expect(runner.forgotten).toEqual(attempts());
  expect(runtime.state().runningTasks).toBe(0);
});

test('L1: an attempt is forgotten only when its outcome is on the disk', async () => {
  const { stand, runtime, runner, attempts, options } = await fresh(handRunner('lasting'));
  stand.faults.fill(1);
  runner.end(attempts()[0]!, { status: 'success', output: { n: 2 } });
  await stand.clock.settle();
  expect(runner.forgotten).toEqual([]);
  expect(heard(runtime)).toEqual([]);
  await stand.clock.advance(5_000);
  expect(heard(runtime)).toEqual(['done 2']);
  expect(runner.forgotten).toEqual(attempts());
  stand.crash();
  const next = await stand.start(options);
  await stand.clock.settle();
  expect(heard(next)).toEqual(['done 2']);
  expect(runner.submitted).toHaveLength(1);
});

test('L2, L3: under a ledger that outlives the process the same attempt is asked for again', async () => {
  const { stand, runner, attempts, options } = await fresh(handRunner('lasting'));
  stand.crash();
  const next = await stand.start(options);
  await stand.clock.settle();
  expect(attempts()).toEqual([String(2 ** 20 + 1)]);
  runner.end(attempts()[0]!, { status: 'success', output: { n: 2 } });
  await stand.clock.settle();
  expect(heard(next)).toEqual(['done 2']);
});

test('TASK_QUEUE_FULL: the attempt waits, is not consumed, and begins when there is room', async () => {
  const runner = handRunner();
  runner.full(true);
  const { stand, runtime, attempts } = await fresh(runner);
  await stand.clock.advance(60_000);
  expect(attempts()).toEqual([]);
  expect(seen(runtime, 'p').value).toBe('on');
  runner.full(false);
  await stand.clock.settle();
  expect(attempts()).toEqual([String(2 ** 20 + 1)]);
});

test('an attempt that waits for room and is given up has never begun', async () => {
  const runner = handRunner();
  runner.full(true);
  const { stand, runtime, ref, attempts } = await fresh(runner);
  await stand.run(ref.sendDurable({ type: 'OFF' }));
  await stand.clock.settle();
  runner.full(false);
  await stand.clock.settle();
  expect(attempts()).toEqual([]);
  expect(runner.cancelled).toEqual([]);
  expect(runtime.state().runningTasks).toBe(0);
  await stand.run(runtime.cancel('p'));
});

test('a task nobody is bound to sets the machine aside at once, and goes on where it is bound', async () => {
  const stand = new Stand();
  const first = await stand.start({ machines: [machine] });
  expect(await codeOf(stand.run(first.spawn(machine, { id: 'p' })))).toBe('TASK_NOT_BOUND');
  expect(first.get('p')).toBeUndefined();
});

test('a binding that is gone after a restart: the procedure is set aside, and finds its task again', async () => {
  const { stand, runner, options } = await fresh(handRunner('lasting'));
  stand.crash();
  const second = await stand.start({ machines: [machine] });
  await stand.clock.settle();
  expect(second.explain('p').words).toContain('TASK_NOT_BOUND');
  stand.crash();
  const third = await stand.start(options);
  await stand.clock.settle();
  await stand.run(third.retry('p'));
  runner.end(runner.submitted[0]!.attempt, { status: 'success', output: { n: 5 } });
  await stand.clock.settle();
  expect(heard(third)).toEqual(['done 5']);
});

test('L10: progress causes no commit; explain shows the latest and how long it has been silent', async () => {
  const { stand, runtime, runner, attempts } = await fresh();
  const { position } = runtime.state();
  for (let n = 0; n < 50; n++) {
    runner.progress(attempts()[0]!, { n } as never);
    await stand.clock.advance(10);
  }
  expect(runtime.state().position).toBe(position);
  await stand.clock.advance(90);
  expect(runtime.explain('p').waitingFor[0]).toMatchObject({
    for: 'task',
    progress: { n: 49 },
    silentMs: 100,
    runningMs: 590,
  });
});

test('close ends the runners once and takes no report for news: the attempt is asked for again', async () => {
  const { stand, runtime, runner, attempts, options } = await fresh();
  await stand.close(runtime);
  await runtime.close();
  expect(runner.closed()).toBe(1);
  runner.end(attempts()[0]!, { status: 'unknown', error: { name: 'E', message: 'closed' } });
  const next = await stand.start(options);
  await stand.clock.settle();
  expect(heard(next)).toEqual([]);
  expect(attempts()).toHaveLength(2);
});
