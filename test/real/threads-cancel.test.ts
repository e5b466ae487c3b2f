/** Cancel, deadline, silence and close on real threads: stopped means seen to have ended (L13). */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { AttemptRunner } from '../../src/threads/attempt-runner.ts';
import { PiscinaHost } from '../../src/threads/piscina-host.ts';
import { entryArguments, entryUrl } from '../../src/threads/thread-entry.ts';
import { systemClock } from '../../src/world/clock.ts';
import { delay, TaskPools, threadCount, WORKER } from '../support/task-pool.ts';
import { submission, TaskRecorder } from '../support/task-recorder.ts';

const pools = new TaskPools();
let directory: string;

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'reeve-threads-'));
});

afterEach(() => pools.close());

afterAll(() => {
  rmSync(directory, { recursive: true, force: true });
});

const cancelled = { status: 'cancelled' };

function failed(code: string): unknown {
  return { status: 'fail', error: expect.objectContaining({ code }) as unknown };
}

function unknown(code: string): unknown {
  return { status: 'unknown', error: expect.objectContaining({ code }) as unknown };
}

/** True when nothing is written to the file any more. */
async function isStill(file: string): Promise<boolean> {
  const before = statSync(file).size;
  await delay(100);
  return statSync(file).size === before;
}

describe('L13 cancel', () => {
  const cooperative: [string, string][] = [
    ['a synchronous loop that asks cancelled()', 'spinUntilCancelled'],
    ['a function that listens to the signal', 'waitForSignal'],
    ['a call of Node’s that takes the signal', 'waitByNode'],
  ];

  it.each(cooperative)('%s ends cancelled, and keeps its thread', async (_what, run) => {
    const runner = pools.open({ graceMs: 20_000 });
    const before = await pools.outcome(runner, 'facts');
    const { task, heard } = pools.submit(runner, run);
    await delay(30);
    runner.cancel(task.attempt);
    expect(await heard.outcome()).toEqual(cancelled);
    const after = await pools.outcome(runner, 'facts');
    const threads = [before, after].map((outcome) =>
      outcome.status === 'success' ? (outcome.output as { threadId: number }).threadId : outcome,
    );
    expect(threads[0]).toBe(threads[1]);
  });

  it('what never looks is terminated after the grace, and seen to have ended', async () => {
    const file = join(directory, 'spin');
    const runner = pools.open({ graceMs: 50 });
    const { task, heard } = pools.submit(runner, 'spinAndWrite', file);
    await pools.outcome(pools.open(), 'echo');
    while (statSync(file, { throwIfNoEntry: false }) === undefined) await delay(10);
    runner.cancel(task.attempt);
    expect(await heard.outcome()).toEqual(cancelled);
    expect(await isStill(file)).toBe(true);
    expect(await pools.outcome(runner, 'echo')).toMatchObject({ status: 'success' });
    expect(heard.outcomes).toHaveLength(1);
  });

  it('a promise that never settles is terminated too', async () => {
    const runner = pools.open({ graceMs: 20 });
    const { task, heard } = pools.submit(runner, 'hang');
    await delay(10);
    runner.cancel(task.attempt);
    expect(await heard.outcome()).toEqual(cancelled);
  });

  it('an attempt whose thread has not begun it yet never loads its module', async () => {
    const file = join(directory, 'starting');
    const runner = pools.open({ graceMs: 20_000 });
    const { task, heard } = pools.submit(runner, 'spinAndWrite', file);
    runner.cancel(task.attempt);
    expect(await heard.outcome()).toEqual(cancelled);
    expect(await pools.outcome(runner, 'echo')).toMatchObject({ status: 'success' });
    expect(statSync(file, { throwIfNoEntry: false })).toBeUndefined();
  });

  it('a success that was answered in spite of it stands', async () => {
    const runner = pools.open({ graceMs: 20_000 });
    const { task, heard } = pools.submit(runner, 'finishDespiteCancel');
    await heard.until(() => heard.progressed.length > 0);
    runner.cancel(task.attempt);
    expect(await heard.outcome()).toEqual({ status: 'success', output: 'done all the same' });
  });

  it('an error of its own that the task meets while it stops stands', async () => {
    const runner = pools.open({ graceMs: 20_000 });
    const { task, heard } = pools.submit(runner, 'failDespiteCancel');
    await heard.until(() => heard.progressed.length > 0);
    runner.cancel(task.attempt);
    expect(await heard.outcome()).toEqual(failed('EIO'));
  });

  it('a task that exits its thread when asked is cancelled', async () => {
    const runner = pools.open({ graceMs: 20_000 });
    const { task, heard } = pools.submit(runner, 'exitOnCancel');
    await heard.until(() => heard.progressed.length > 0);
    runner.cancel(task.attempt);
    expect(await heard.outcome()).toEqual(cancelled);
  });

  it('an attempt that waits in the queue is taken out at once, and never begins', async () => {
    const file = join(directory, 'queued');
    const runner = pools.open();
    const first = pools.submit(runner, 'spinFor', 300);
    const second = pools.submit(runner, 'spinAndWrite', file);
    runner.cancel(second.task.attempt);
    expect(second.heard.outcomes).toEqual([]);
    expect(await second.heard.outcome()).toEqual(cancelled);
    expect(first.heard.outcomes).toEqual([]);
    expect(await first.heard.outcome()).toMatchObject({ status: 'success' });
    expect(statSync(file, { throwIfNoEntry: false })).toBeUndefined();
  });

  it('while a thread cannot be terminated, nothing is claimed and its place is kept', async () => {
    const runner = pools.open({ graceMs: 20 });
    await pools.outcome(runner, 'echo');
    const stuck = pools.submit(runner, 'hangInSystem', 2);
    await stuck.heard.until(() => stuck.heard.progressed.length > 0);
    runner.cancel(stuck.task.attempt);
    const next = pools.submit(runner, 'echo');
    await delay(700);
    expect(stuck.heard.outcomes).toEqual([]);
    expect(next.heard.outcomes).toEqual([]);
    expect(await stuck.heard.outcome()).toEqual(cancelled);
    expect(await next.heard.outcome()).toMatchObject({ status: 'success' });
  });

  it('C104 a task that is asked to stop finishes the batch in hand and cleans up', async () => {
    const file = join(directory, 'batches');
    const runner = pools.open({ graceMs: 20_000 });
    const { task, heard } = pools.submit(runner, 'batches', file);
    await heard.until(() => heard.progressed.length > 0);
    runner.cancel(task.attempt);
    expect(await heard.outcome()).toEqual(cancelled);
    const lines = readFileSync(file, 'utf8').trim().split('\n');
    expect(lines.pop()).toBe('cleaned');
    expect(lines).toHaveLength(2 * Math.floor(lines.length / 2));
    expect(lines.at(-1)).toBe(`end ${lines.length / 2}`);
  });

  it('C102 terminating one attempt leaves the others alone', async () => {
    const runner = pools.open({ threads: 2, graceMs: 0 });
    const stuck = pools.submit(runner, 'spin');
    const other = pools.submit(runner, 'progressSlowly', [50, 700, 700, 700]);
    await other.heard.until(() => other.heard.progressed.length > 0);
    runner.cancel(stuck.task.attempt);
    expect(await stuck.heard.outcome()).toEqual(cancelled);
    expect(other.heard.outcomes).toEqual([]);
    expect(await other.heard.outcome()).toEqual({ status: 'success', output: 'shown' });
  });

  it('C101 cancelling the second before the first starts the third and the fourth', async () => {
    const runner = pools.open({ graceMs: 0 });
    const first = pools.submit(runner, 'spin');
    const second = pools.submit(runner, 'spin');
    const third = pools.submit(runner, 'echo', 3);
    const fourth = pools.submit(runner, 'echo', 4);
    runner.cancel(second.task.attempt);
    runner.cancel(first.task.attempt);
    expect(await first.heard.outcome()).toEqual(cancelled);
    expect(await second.heard.outcome()).toEqual(cancelled);
    expect(await third.heard.outcome()).toEqual({ status: 'success', output: { echo: 3 } });
    expect(await fourth.heard.outcome()).toEqual({ status: 'success', output: { echo: 4 } });
  });

  it('M03 once a terminated removal is seen to have ended, no further file vanishes', async () => {
    const tree = join(directory, 'tree');
    const runner = pools.open({ graceMs: 0 });
    await pools.outcome(runner, 'makeTree', { directory: tree, files: 8_000 });
    const { task, heard } = pools.submit(runner, 'removeTree', tree);
    await heard.until(() => heard.progressed.length > 0);
    runner.cancel(task.attempt);
    expect(await heard.outcome()).toEqual(cancelled);
    const left = readdirSync(tree).length;
    await delay(300);
    expect(readdirSync(tree)).toHaveLength(left);
    expect(left).toBeGreaterThan(0);
  });

  it('has no effect on attempts that have ended or are not known', async () => {
    const runner = pools.open();
    const { task, heard } = pools.submit(runner, 'echo');
    await heard.outcome();
    runner.cancel(task.attempt);
    runner.cancel(submission('777').attempt);
    expect(await pools.outcome(runner, 'echo')).toMatchObject({ status: 'success' });
    expect(heard.outcomes).toHaveLength(1);
  });
});

describe('a deadline', () => {
  it('fails a never-ending loop with TASK_DEADLINE once it is seen to have ended', async () => {
    const file = join(directory, 'deadline');
    const runner = pools.open({ deadlineMs: 400, graceMs: 50 });
    expect(await pools.outcome(runner, 'spinAndWrite', file)).toEqual(failed('TASK_DEADLINE'));
    expect(await isStill(file)).toBe(true);
    expect(await pools.outcome(runner, 'echo')).toMatchObject({ status: 'success' });
  });

  it('is shown to the task, and is the reason of its signal', async () => {
    const runner = pools.open({ deadlineMs: 400, graceMs: 20_000 });
    const before = Date.now();
    const facts = await pools.outcome(runner, 'facts');
    expect(facts.status).toBe('success');
    const { deadline } = (facts as unknown as { output: { deadline: number } }).output;
    expect(deadline).toBeGreaterThanOrEqual(before + 400);
    expect(deadline).toBeLessThan(Date.now() + 400);
    // Cooperative: the thread lives on, and the failure is the deadline's all the same.
    expect(await pools.outcome(runner, 'waitForSignal')).toEqual(failed('TASK_DEADLINE'));
  });

  it('runs from the start of the code, not while the attempt waits for a thread', async () => {
    const runner = pools.open({ deadlineMs: 1_500 });
    await pools.outcome(runner, 'echo');
    const all = [1, 2, 3, 4].map(() => pools.submit(runner, 'spinFor', 500));
    for (const { heard } of all) {
      expect(await heard.outcome()).toEqual({ status: 'success', output: 'spun' });
    }
  });
});

describe('noProgressMs', () => {
  it('reports each silence once, and stops nothing', async () => {
    const runner = pools.open({ noProgressMs: 200 });
    await pools.outcome(runner, 'echo');
    const { heard } = pools.submit(runner, 'progressSlowly', [1, 700, 1, 700]);
    expect(await heard.outcome()).toEqual({ status: 'success', output: 'shown' });
    // A loaded machine may make silences of the two short waits as well.
    expect(heard.silences.length).toBeGreaterThanOrEqual(2);
    expect(heard.silences.length).toBeLessThanOrEqual(4);
    for (const sinceMs of heard.silences) expect(sinceMs).toBeGreaterThanOrEqual(200);
  });
});

describe('close', () => {
  it('M06 what it stops is unknown, not failed and not cancelled', async () => {
    const runner = pools.open({ graceMs: 30 });
    await pools.outcome(runner, 'echo');
    const running = pools.submit(runner, 'spin');
    const waiting = pools.submit(runner, 'spin');
    await delay(30);
    await runner.close();
    const closed = unknown('TASK_RUNNER_CLOSED');
    expect(await running.heard.outcome()).toEqual(closed);
    expect(await waiting.heard.outcome()).toEqual(closed);
  });

  it('keeps the word of a task that was cancelled before', async () => {
    const runner = pools.open({ graceMs: 100 });
    const { task, heard } = pools.submit(runner, 'spin');
    await delay(400);
    runner.cancel(task.attempt);
    await runner.close();
    expect(heard.outcomes).toEqual([cancelled]);
  });

  it('gives tasks the grace to answer, and resolves once all threads are gone', async () => {
    const before = await threadCount();
    const runner = pools.open({ threads: 2, graceMs: 20_000 });
    await Promise.all([1, 2].map(() => pools.outcome(runner, 'spinFor', 400)));
    const { heard } = pools.submit(runner, 'finishDespiteCancel');
    await heard.until(() => heard.progressed.length > 0);
    expect(await threadCount()).toBeGreaterThanOrEqual(before + 2);
    await runner.close();
    expect(await heard.outcome()).toMatchObject({ status: 'success' });
    expect(await threadCount()).toBe(before);
    await expect(runner.close()).resolves.toBeUndefined();
    expect(() => pools.submit(runner, 'echo')).toThrow(
      expect.objectContaining({ code: 'TASK_RUNNER_CLOSED' }),
    );
  });

  it('L13 is bounded: threads that hang in the system are counted, not denied', async () => {
    const host = new PiscinaHost({
      module: WORKER.href,
      exportName: 'hangInSystem',
      deadlineMs: null,
      threads: 1,
      idleMs: 1_000,
      entry: { url: entryUrl('pool-worker'), exportName: 'runTask' },
      execArgv: entryArguments(),
    });
    const clock = systemClock();
    const limits = { deadlineMs: null, graceMs: 20, noProgressMs: null, startMs: 30_000 };
    const runner = new AttemptRunner({ clock, ledger: 'l' }, host, {
      ...limits,
      threads: 1,
      queueMax: 1,
      knownMax: 10,
      closeMs: 200,
    });
    const heard = new TaskRecorder();
    runner.submit(submission(1, 2), heard);
    await heard.until(() => heard.progressed.length > 0);
    await expect(runner.close()).rejects.toMatchObject({
      code: 'TASK_THREADS_ALIVE',
      details: { alive: 1 },
    });
    expect(heard.outcomes).toEqual([]);
    expect(await heard.outcome()).toEqual(unknown('TASK_RUNNER_CLOSED'));
  });
});
