/** Threads whose word cannot be believed: success is a positive token of the right attempt (L5). */
import { afterEach, describe, expect, it } from 'vitest';
import type { TaskOutcome, TaskRunner } from '../../src/model/task.ts';
import { AttemptRunner } from '../../src/threads/attempt-runner.ts';
import { PiscinaHost } from '../../src/threads/piscina-host.ts';
import { entryArguments } from '../../src/threads/thread-entry.ts';
import { systemClock } from '../../src/world/clock.ts';
import { submission, TaskRecorder } from '../support/task-recorder.ts';

const ENTRIES = new URL('../support/task-garbage-entry.ts', import.meta.url).href;

const runners: TaskRunner[] = [];

/** @param entry the function that takes the orders in each thread */
function open(entry: string, execArgv = entryArguments()): TaskRunner {
  const host = new PiscinaHost({
    module: ENTRIES,
    exportName: 'unused',
    deadlineMs: null,
    threads: 1,
    idleMs: 10_000,
    entry: { url: ENTRIES, exportName: entry },
    execArgv,
  });
  const runner = new AttemptRunner({ clock: systemClock(), ledger: 'l' }, host, {
    threads: 1,
    queueMax: 10,
    knownMax: 100,
    deadlineMs: null,
    graceMs: 100,
    noProgressMs: null,
    startMs: 30_000,
    closeMs: 5_000,
  });
  runners.push(runner);
  return runner;
}

interface Told {
  readonly outcome: TaskOutcome;
  readonly heard: TaskRecorder;
}

async function run(runner: TaskRunner, id: number): Promise<Told> {
  const heard = new TaskRecorder();
  runner.submit(submission(id), heard);
  return { outcome: await heard.outcome(), heard };
}

afterEach(async () => {
  await Promise.all(runners.splice(0).map((runner) => runner.close()));
});

function unknown(code: string, part = ''): unknown {
  const message = expect.stringContaining(part) as unknown;
  return { status: 'unknown', error: expect.objectContaining({ code, message }) as unknown };
}

describe('an attempt is unknown, and its thread is not trusted again, when', () => {
  const cases: [string, string, string][] = [
    ['M01 the promise resolves with null', 'resolvesNull', 'without a report'],
    ['M01 the same after it had begun', 'startsAndResolvesNull', 'without a report'],
    ['M01 the promise is rejected with null', 'rejectsWithNull', 'without a report'],
    ['the entry throws', 'rejectsWithError', 'an entry that throws'],
    ['the promise itself brings a success', 'resolvesSuccess', 'without a report'],
    ['the thread says what nobody understands', 'babbles', 'without the stamp'],
    ['it says so before it has named itself', 'babblesUnnamed', 'without the stamp'],
    ['it speaks another version', 'answersInAnotherVersion', 'without the stamp'],
    ['its success carries no JSON', 'answersNoJson', 'without an output'],
    ['its success carries a poisonous key', 'answersPoison', 'without an output'],
    ['its success carries no text', 'answersObject', 'without an output'],
    ['its failure carries no error', 'failsWithoutError', 'without an error'],
    ['it stops and nobody had asked for it', 'stopsUnasked', 'nobody had asked'],
  ];

  it.each(cases)('%s', async (_what, entry, message) => {
    const runner = open(entry);
    const expected = unknown('TASK_RESULT_INVALID', message);
    expect((await run(runner, 1)).outcome).toEqual(expected);
    // The pool heals, and the next one is judged the same.
    expect((await run(runner, 2)).outcome).toEqual(expected);
  });

  it('it answers for another attempt, even if the right answer follows', async () => {
    const { outcome, heard } = await run(open('answersForAnother'), 1);
    expect(outcome).toEqual(unknown('TASK_RESULT_INVALID', 'for another attempt'));
    expect(heard.outcomes).toHaveLength(1);
  });
});

describe('the first report wins', () => {
  it('a second one is late', async () => {
    const { outcome, heard } = await run(open('answersTwice'), 1);
    expect(outcome).toEqual({ status: 'success', output: 1 });
    await heard.until(() => heard.lates.length > 0);
    expect(heard.lates).toEqual([{ status: 'success', output: 2 }]);
  });

  it('over a receipt for another attempt, which is late', async () => {
    const { outcome, heard } = await run(open('returnsAnotherReceipt'), 1);
    expect(outcome).toEqual({ status: 'success', output: 'done' });
    await heard.until(() => heard.lates.length > 0);
    expect(heard.lates).toEqual([unknown('TASK_RESULT_INVALID', 'receipt')]);
  });

  it('over the exit of its thread, which is late', async () => {
    const runner = open('answersAndExits');
    for (const id of [1, 2]) {
      const { outcome, heard } = await run(runner, id);
      expect(outcome).toEqual({ status: 'success', output: 'done' });
      await heard.until(() => heard.lates.length > 0);
      expect(heard.lates).toEqual([unknown('TASK_WORKER_EXITED', 'code 3')]);
    }
  });

  it('and a thread that never lets go after it is terminated; the next one runs', async () => {
    const runner = open('answersAndNeverReturns');
    const first = await run(runner, 1);
    expect(first.outcome).toEqual({ status: 'success', output: 'done' });
    const second = await run(runner, 2);
    expect(second.outcome).toEqual({ status: 'success', output: 'done' });
    expect(first.heard.lates).toEqual([unknown('TASK_WORKER_EXITED')]);
  });
});

describe('an attempt that is proven not to have begun gets another thread, three in all', () => {
  it('when the thread ends before it has named itself', async () => {
    const { outcome } = await run(open('exitsUnstarted'), 1);
    expect(outcome).toMatchObject({ status: 'fail', error: { code: 'TASK_NOT_STARTED' } });
  });

  it('when no thread can be made at all', async () => {
    const runner = open('answersTwice', ['--no-such-flag']);
    const { outcome } = await run(runner, 1);
    expect(outcome).toMatchObject({ status: 'fail', error: { code: 'TASK_NOT_STARTED' } });
    expect(JSON.stringify(outcome)).toContain('ERR_WORKER_INVALID_EXEC_ARGV');
  });
});
