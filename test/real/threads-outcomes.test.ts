/** How an attempt on a real pool ends, whatever its function does; and that the pool heals. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Json } from '../../src/model/json.ts';
import type { TaskOutcome, TaskRunner } from '../../src/model/task.ts';
import { delay, TaskPools } from '../support/task-pool.ts';
import type { TaskRecorder } from '../support/task-recorder.ts';

const pools = new TaskPools();
let runner: TaskRunner;

beforeAll(() => {
  runner = pools.open({ resourceLimits: { maxOldGenerationSizeMb: 64 } });
});

afterAll(() => pools.close());

/** The pool heals: after whatever a test did, the next task runs. */
afterEach(async () => {
  expect(await pools.outcome(runner, 'echo', 'healed')).toEqual({
    status: 'success',
    output: { echo: 'healed' },
  });
});

function failed(error: object): unknown {
  return { status: 'fail', error: expect.objectContaining(error) as unknown };
}

function unknown(error: object): unknown {
  return { status: 'unknown', error: expect.objectContaining(error) as unknown };
}

const text = (part: string): unknown => expect.stringContaining(part);

describe('L5 success is only the function’s own return of plain JSON', () => {
  it('carries the output', async () => {
    expect(await pools.outcome(runner, 'echo', { a: [1, 'b', null] })).toEqual({
      status: 'success',
      output: { echo: { a: [1, 'b', null] } },
    });
  });

  it('counts a function that returns nothing as success with null', async () => {
    expect(await pools.outcome(runner, 'nothing')).toEqual({ status: 'success', output: null });
  });

  it('gives the function its attempt and no deadline', async () => {
    const { task, heard } = pools.submit(runner, 'facts');
    expect(await heard.outcome()).toMatchObject({
      status: 'success',
      output: { attempt: task.attempt, deadline: null },
    });
  });
});

describe('what a function throws is a failure, whatever it is', () => {
  const cases: [string, string, object][] = [
    ['M01 throw null', 'throwNull', { message: 'thrown: null' }],
    ['M01 a rejection with null', 'rejectNull', { message: 'thrown: null' }],
    ['M02 throw undefined', 'throwUndefined', { message: 'thrown: undefined' }],
    ['M02 throw {}', 'throwObject', { message: '{}' }],
    ['M02 throw of a string', 'throwText', { message: 'thrown: disk on fire' }],
    ['M02 throw of what cannot be read', 'throwTrap', { message: text('cannot be read') }],
    [
      'M02 an error keeps code, details and cause',
      'throwCoded',
      {
        message: 'cannot remove',
        code: 'REGION_BUSY',
        details: expect.objectContaining({
          region: 7,
          cause: expect.objectContaining({ name: 'TypeError', message: 'deep' }) as unknown,
        }) as unknown,
      },
    ],
    [
      'M02 a system error keeps code, path and errno',
      'readMissing',
      {
        code: 'ENOENT',
        details: { errno: -2, syscall: 'open', path: '/no/such/file' },
      },
    ],
    ['an AbortError that nobody asked for', 'abortByItself', { name: 'AbortError' }],
  ];

  it.each(cases)('%s', async (_what, run, error) => {
    expect(await pools.outcome(runner, run)).toEqual(failed(error));
  });
});

describe('a result that cannot be carried is unknown, TASK_RESULT_INVALID', () => {
  const cases: [string, string, string][] = [
    ['M02 a function in it', 'returnFunction', 'output.run'],
    ['a Date in it', 'returnDate', 'output.at is not plain JSON: Date'],
    ['a bigint', 'returnBigInt', 'bigint'],
    ['a circle', 'returnCircular', 'nested deeper'],
    ['a property that throws when read', 'returnTrap', 'read me not'],
    ['L11 more than 1 MiB of JSON', 'returnMuch', 'the limit is 1048576'],
  ];

  it.each(cases)('%s', async (_what, run, message) => {
    expect(await pools.outcome(runner, run)).toEqual(
      unknown({ code: 'TASK_RESULT_INVALID', message: text(message) }),
    );
  });
});

describe('a thread that ends without a report leaves the attempt unknown', () => {
  const cases: [string, string, Json, string, object][] = [
    ['C100 C110 process.exit(0)', 'exit', 0, 'exited with code 0', { exitCode: 0 }],
    ['C100 process.exit(1)', 'exit', 1, 'exited with code 1', { exitCode: 1 }],
    ['C100 process.exit(7)', 'exit', 7, 'exited with code 7', { exitCode: 7 }],
    ['C110 process.exit before the first await', 'exitAtOnce', null, 'code 0', { exitCode: 0 }],
    [
      'an error that nobody catches',
      'uncaught',
      null,
      'nobody catches this',
      { cause: expect.objectContaining({ message: 'nobody catches this' }) as unknown },
    ],
    ['a rejection that nobody handles', 'unhandled', null, 'nobody awaits this', {}],
  ];

  it.each(cases)('%s', async (_what, run, input, message, details) => {
    expect(await pools.outcome(runner, run, input)).toEqual(
      unknown({
        code: 'TASK_WORKER_EXITED',
        message: text(message),
        details: expect.objectContaining(details) as unknown,
      }),
    );
  });

  it('out of memory under resourceLimits has a code of its own', async () => {
    expect(await pools.outcome(runner, 'eatMemory')).toEqual(
      unknown({ code: 'TASK_WORKER_OUT_OF_MEMORY' }),
    );
  });

  it('progress that was posted before the exit is not lost', async () => {
    const { heard } = pools.submit(runner, 'exitAfterProgress', 3);
    expect(await heard.outcome()).toEqual(unknown({ code: 'TASK_WORKER_EXITED' }));
    expect(heard.progressed).toEqual([{ step: 'last words' }]);
  });
});

describe('M04 a thread that dies after the answer', () => {
  const deaths: [string, string, string][] = [
    ['by an error', 'throwLater', 'after the answer'],
    ['by process.exit', 'exitLater', 'exited with code 1'],
  ];

  it.each(deaths)('%s leaves the success standing; the death is late', async (_how, run, why) => {
    const { heard } = pools.submit(runner, run, 20);
    expect(await heard.outcome()).toEqual({ status: 'success', output: 'answered' });
    await heard.until(() => heard.lates.length > 0);
    expect(heard.lates).toEqual([unknown({ code: 'TASK_WORKER_EXITED', message: text(why) })]);
    expect(heard.outcomes).toHaveLength(1);
  });

  it('the attempt that waits on such a thread has not begun, and runs on another', async () => {
    // On a busy machine the thread may begin it before it dies; then it is lost with the thread.
    for (let tries = 0; tries < 20; tries++) {
      const first = pools.submit(runner, 'throwAfterBlocking', 400);
      expect(await first.heard.outcome()).toEqual({ status: 'success', output: 'answered' });
      const second = pools.submit(runner, 'echo', 2);
      const outcome = await second.heard.outcome();
      expect(second.heard.lates).toEqual([]);
      if (outcome.status === 'unknown') {
        expect(outcome).toEqual(unknown({ code: 'TASK_WORKER_EXITED' }));
        continue;
      }
      expect(outcome).toEqual({ status: 'success', output: { echo: 2 } });
      expect(first.heard.lates).toEqual([unknown({ code: 'TASK_WORKER_EXITED' })]);
      return;
    }
    expect.fail('in twenty tries the second attempt had always begun');
  });

  it('attempts on their way to the dying thread run, or are lost with it', async () => {
    const all: { heard: TaskRecorder; outcome: TaskOutcome }[] = [];
    for (let i = 0; i < 24; i++) {
      // 0 ms: the thread dies while the next attempt is being handed to it.
      const { heard } = pools.submit(runner, i % 2 === 0 ? 'throwLater' : 'echo', 0);
      all.push({ heard, outcome: await heard.outcome() });
    }
    // Only an attempt whose code had begun can be lost to another task's left-over.
    const lost = all.filter(({ outcome }) => outcome.status !== 'success');
    for (const { outcome } of lost) {
      expect(outcome).toEqual(unknown({ code: 'TASK_WORKER_EXITED' }));
    }
    await delay(100);
    const blamed = all.filter(({ heard }) => heard.lates.length > 0);
    expect(blamed.length + lost.length).toBeGreaterThan(0);
    for (const { heard } of blamed) {
      expect(heard.lates).toEqual([unknown({ code: 'TASK_WORKER_EXITED' })]);
    }
  });
});

describe('a module that cannot be used fails with TASK_MODULE_INVALID', () => {
  const support = (file: string): URL => new URL(`../support/${file}`, import.meta.url);
  const cases: [string, URL, string, string][] = [
    ['missing', support('no-such-module.ts'), 'any', 'Cannot find module'],
    ['without that export', support('task-worker.ts'), 'nobody', "no function 'nobody'"],
    ['with an inherited name as export', support('task-worker.ts'), 'toString', 'toString'],
    ['that throws when it is loaded', support('task-module-broken.ts'), 'never', 'no licence'],
  ];

  it.each(cases)('%s', async (_what, url, exportName, message) => {
    const other = pools.open({ export: exportName }, url);
    const expected = failed({ code: 'TASK_MODULE_INVALID', message: text(message) });
    expect(await pools.outcome(other, 'echo')).toEqual(expected);
    expect(await pools.outcome(other, 'echo')).toEqual(expected);
  });

  it('that never finishes loading meets the deadline', async () => {
    const other = pools.open(
      { export: 'never', deadlineMs: 200, graceMs: 50 },
      support('task-module-stuck.ts'),
    );
    expect(await pools.outcome(other, 'echo')).toEqual(failed({ code: 'TASK_DEADLINE' }));
  });
});

describe('a thread that cannot start', () => {
  it('fails the attempt with TASK_NOT_STARTED and the cause after three tries', async () => {
    const tiny = pools.open({ resourceLimits: { maxOldGenerationSizeMb: 1 } });
    const outcome = await pools.outcome(tiny, 'echo');
    expect(outcome).toEqual(
      failed({
        code: 'TASK_NOT_STARTED',
        details: {
          cause: expect.objectContaining({ code: 'TASK_WORKER_OUT_OF_MEMORY' }) as unknown,
        },
      }),
    );
  });

  it('that hangs in what a task left behind is replaced, and the attempt runs', async () => {
    const other = pools.open({ startMs: 3_000 });
    expect(await pools.outcome(other, 'spinLater', 1)).toMatchObject({ status: 'success' });
    await delay(50);
    expect(await pools.outcome(other, 'echo', 1)).toMatchObject({ status: 'success' });
  });
});
