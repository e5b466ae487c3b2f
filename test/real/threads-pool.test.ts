/** A pool of real threads as a whole: identity of attempts, limits, order, load, and no leaks. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import type { TaskOutcome } from '../../src/model/task.ts';
import { fromPool } from '../../src/threads/pool.ts';
import { systemClock } from '../../src/world/clock.ts';
import { delay, TaskPools, threadCount, WORKER } from '../support/task-pool.ts';
import { submission, TaskRecorder } from '../support/task-recorder.ts';

const pools = new TaskPools();

afterEach(() => pools.close());

describe('fromPool', () => {
  it('takes the default export of a URL or its text, and carries the ledger', async () => {
    for (const url of [WORKER, WORKER.href]) {
      const runner = fromPool(url).open({ clock: systemClock(), ledger: 'ledger-9' });
      expect(runner.ledger).toBe('ledger-9');
      const heard = new TaskRecorder();
      runner.submit(submission(1, 'x'), heard);
      expect(await heard.outcome()).toEqual({ status: 'success', output: { echo: 'x' } });
      await runner.close();
    }
  });

  it('opened again, as after a crash of the process, it knows no attempt of before', async () => {
    const binding = fromPool(WORKER, { export: 'facts' });
    const outcomes: TaskOutcome[] = [];
    for (const ledger of ['first', 'second']) {
      const runner = binding.open({ clock: systemClock(), ledger });
      const heard = new TaskRecorder();
      runner.submit(submission(1), heard);
      outcomes.push(await heard.outcome());
      await runner.close();
    }
    expect(outcomes[0]).not.toEqual(outcomes[1]);
  });
});

describe('L3 an attempt has an identity', () => {
  it('submitted again while it runs, it goes on, and the new listener hears the end', async () => {
    const runner = pools.open();
    const { task, heard } = pools.submit(runner, 'progressSlowly', [100, 100, 100]);
    await heard.until(() => heard.progressed.length > 0);
    const second = new TaskRecorder();
    runner.submit(task, second);
    expect(await second.outcome()).toEqual({ status: 'success', output: 'shown' });
    expect(heard.outcomes).toEqual([]);
    expect(heard.progressed.length + second.progressed.length).toBe(3);
  });

  it('submitted again after its end, it answers its first outcome and does not run', async () => {
    const runner = pools.open();
    const { task, heard } = pools.submit(runner, 'exit', 5);
    const first = await heard.outcome();
    runner.submit(task, heard);
    await heard.until(() => heard.outcomes.length === 2);
    const other = new TaskRecorder();
    runner.submit(task, other);
    expect(await other.outcome()).toEqual(first);
    expect(heard.outcomes).toEqual([first, first]);
  });

  it('with another payload it is refused, and the known one goes on', async () => {
    const runner = pools.open();
    const { task, heard } = pools.submit(runner, 'spinFor', 200);
    const other = new TaskRecorder();
    const conflict = expect.objectContaining({ code: 'ATTEMPT_CONFLICT' }) as Error;
    expect(() => {
      runner.submit({ ...task, input: { run: 'spinFor', input: 201 } }, other);
    }).toThrow(conflict);
    expect(() => {
      runner.submit({ ...task, task: 'another' }, other);
    }).toThrow(conflict);
    // The same value with its keys in another order is the same payload.
    runner.submit({ ...task, input: { input: 200, run: 'spinFor' } }, heard);
    expect(await heard.outcome()).toEqual({ status: 'success', output: 'spun' });
    expect(other.outcomes).toEqual([]);
  });

  it('is kept until it is forgotten', async () => {
    const runner = pools.open();
    const { task, heard } = pools.submit(runner, 'facts');
    runner.forget(task.attempt);
    const first = await heard.outcome();
    runner.forget(task.attempt);
    const again = new TaskRecorder();
    runner.submit({ ...task, input: { run: 'echo', input: 1 } }, again);
    expect(await again.outcome()).toEqual({ status: 'success', output: { echo: 1 } });
    expect(first).toMatchObject({ status: 'success' });
  });

  it('an input that is not JSON is refused, and takes no place', () => {
    const runner = pools.open();
    expect(() => {
      runner.submit(submission(1, { at: new Date() } as never), new TaskRecorder());
    }).toThrow(expect.objectContaining({ code: 'VALUE_NOT_JSON' }));
  });
});

describe('M07 L11 the limit of the queue', () => {
  it('refuses with TASK_QUEUE_FULL, consumes nothing, and tells when there is room', async () => {
    let rooms = 0;
    const told = new TaskRecorder();
    const runner = pools.open({ queueMax: 1 }, WORKER, () => {
      rooms++;
      told.progress(rooms);
    });
    const running = pools.submit(runner, 'spinFor', 200);
    const waiting = pools.submit(runner, 'echo', 'waiting');
    const refused = submission('9000', { run: 'echo', input: 'refused' });
    const heard = new TaskRecorder();
    expect(() => {
      runner.submit(refused, heard);
    }).toThrow(expect.objectContaining({ code: 'TASK_QUEUE_FULL', details: expect.anything() }));
    // What is known already needs no room.
    runner.submit(waiting.task, waiting.heard);
    expect(rooms).toBe(0);
    await told.until(() => rooms > 0);
    runner.submit(refused, heard);
    expect(await heard.outcome()).toEqual({ status: 'success', output: { echo: 'refused' } });
    expect(await running.heard.outcome()).toMatchObject({ status: 'success' });
    expect(rooms).toBe(1);
  });

  it('with queueMax 0 takes as many attempts as there are threads', async () => {
    const runner = pools.open({ queueMax: 0, threads: 2 });
    const both = [1, 2].map(() => pools.submit(runner, 'spinFor', 50));
    expect(() => pools.submit(runner, 'echo')).toThrow(
      expect.objectContaining({ code: 'TASK_QUEUE_FULL' }),
    );
    for (const { heard } of both) expect(await heard.outcome()).toMatchObject({ output: 'spun' });
  });
});

describe('progress', () => {
  it('of a tight loop collapses, and the last one arrives before the end', async () => {
    const runner = pools.open();
    await pools.outcome(runner, 'echo');
    const began = performance.now();
    const { heard } = pools.submit(runner, 'progressFlood', 200_000);
    expect(await heard.outcome()).toEqual({ status: 'success', output: 200_000 });
    const atMost = (performance.now() - began) / 50 + 2;
    expect(heard.progressed.length).toBeLessThanOrEqual(atMost);
    expect(heard.progressed[0]).toEqual({ i: 1 });
    expect(heard.progressed.at(-1)).toEqual({ i: 200_000 });
  });

  it('that is not JSON or too large is refused where it is shown', async () => {
    const runner = pools.open();
    for (const kind of ['large', 'date']) {
      expect(await pools.outcome(runner, 'progressBadly', kind)).toEqual({
        status: 'success',
        output: 'VALUE_NOT_JSON',
      });
    }
  });
});

describe('load', () => {
  it('the main loop turns while a thread burns its processor', async () => {
    const runner = pools.open();
    await pools.outcome(runner, 'echo');
    let ticks = 0;
    const ticking = setInterval(() => ticks++, 10);
    expect(await pools.outcome(runner, 'spinFor', 800)).toMatchObject({ status: 'success' });
    clearInterval(ticking);
    // A blocked loop would have had one or none.
    expect(ticks).toBeGreaterThan(10);
  });

  it('200 tasks over 2 threads end exactly once each, with their own output', async () => {
    const runner = pools.open({ threads: 2 });
    const all = Array.from({ length: 200 }, (_, i) => pools.submit(runner, 'echo', i));
    const outcomes = await Promise.all(all.map(({ heard }) => heard.outcome()));
    await delay(50);
    expect(outcomes).toEqual(all.map((_, i) => ({ status: 'success', output: { echo: i } })));
    for (const { heard } of all) {
      expect(heard.outcomes).toHaveLength(1);
      expect(heard.lates).toEqual([]);
    }
  });

  it('ports and threads do not grow with the number of tasks, good or bad', async () => {
    const none = await open();
    const runner = pools.open({ threads: 2, graceMs: 0 });
    await Promise.all([1, 2].map(() => pools.outcome(runner, 'spinFor', 300)));
    const before = await open();
    for (let round = 0; round < 100; round++) {
      await Promise.all([
        pools.outcome(runner, 'echo', round),
        pools.outcome(runner, 'throwNull'),
        pools.outcome(runner, 'returnDate'),
      ]);
    }
    for (const run of ['exit', 'uncaught', 'exit', 'uncaught']) await pools.outcome(runner, run, 1);
    const stuck = pools.submit(runner, 'spin');
    await delay(50);
    runner.cancel(stuck.task.attempt);
    await stuck.heard.outcome();
    await Promise.all([1, 2].map(() => pools.outcome(runner, 'spinFor', 300)));
    const after = await open();
    expect(after.ports).toBeLessThanOrEqual(before.ports);
    expect(after.threads).toBe(before.threads);
    await runner.close();
    expect(await open()).toEqual({ ports: 0, threads: none.threads });
  });

  it('under any mix of good and bad tasks and cancels each attempt ends once', async () => {
    const runner = pools.open({ threads: 3, graceMs: 5, idleMs: 20 });
    const endless = [
      'spin',
      'hang',
      'spinUntilCancelled',
      'waitForSignal',
      'uncaught',
      'unhandled',
    ];
    const brief = ['echo', 'exit', 'exitAtOnce', 'throwLater', 'exitLater', 'throwNull', 'nothing'];
    const runs = [...endless, ...brief, ...brief];
    const all = Array.from({ length: 100 }, (_, i) => {
      // A fixed scatter: every run falls on the same order of tasks and cancels.
      const run = runs[(i * 37) % runs.length] ?? 'echo';
      const submitted = pools.submit(runner, run, i % 3);
      if (endless.includes(run) || i % 7 === 0) {
        void delay((i * 53) % 400).then(() => {
          runner.cancel(submitted.task.attempt);
        });
      }
      return submitted.heard;
    });
    await Promise.all(all.map((heard) => heard.outcome()));
    expect(await pools.outcome(runner, 'echo', 'end')).toMatchObject({ status: 'success' });
    for (const heard of all) expect(heard.outcomes).toHaveLength(1);
  });

  it('C103 threads that end for idleness while tasks arrive lose none', async () => {
    const runner = pools.open({ idleMs: 1 });
    for (let i = 0; i < 15; i++) {
      expect(await pools.outcome(runner, 'echo', i)).toEqual({
        status: 'success',
        output: { echo: i },
      });
      // Around the moment at which the idle thread is let go, with a lagging loop.
      const until = performance.now() + (i % 4);
      while (performance.now() < until);
      if (i % 2 === 0) await delay(i % 3);
    }
  });
});

describe('M05 a segmentation fault in a thread', () => {
  it('ends the process; the pool does not protect from it', async () => {
    const program = new URL('../support/task-crash-program.ts', import.meta.url);
    const child = spawn(process.execPath, ['--import', 'tsx', fileURLToPath(program)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let said = '';
    child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
    const [code, signal] = (await once(child, 'exit')) as [number | null, string | null];
    expect({ code, signal, said }).toEqual({ code: null, signal: 'SIGSEGV', said: '' });
  });
});

/** Ports that keep this process alive, and its threads, once what was closed has gone. */
async function open(): Promise<{ ports: number; threads: number }> {
  await delay(100);
  const ports = process.getActiveResourcesInfo().filter((name) => name === 'MessagePort').length;
  return { ports, threads: await threadCount() };
}
