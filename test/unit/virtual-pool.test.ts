/** The simulator's pool: deterministic threads that fail as planned or on demand. */
import { describe, expect, it } from 'vitest';
import type { Json } from '../../src/model/json.ts';
import { virtualPool, type VirtualPoolOptions } from '../../src/testing/virtual-pool.ts';
import type { VirtualFault, VirtualTask } from '../../src/testing/virtual-task.ts';
import type { TaskContext } from '../../src/threads/task-context.ts';
import { virtualClock } from '../../src/world/virtual-clock.ts';
import { attemptOf, submission, TaskRecorder } from '../support/task-recorder.ts';

const success = { status: 'success', output: 'done' };
const cancelled = { status: 'cancelled' };

function unknown(code: string): unknown {
  return { status: 'unknown', error: expect.objectContaining({ code }) as unknown };
}

function failed(error: object): unknown {
  return { status: 'fail', error: expect.objectContaining(error) as unknown };
}

function bench(task: VirtualTask, options: Partial<VirtualPoolOptions> = {}) {
  const clock = virtualClock();
  const pool = virtualPool({ tasks: { t: task }, threads: 1, ...options });
  const open = (ledger: string) => pool.open({ clock, ledger });
  const runner = open('first');
  const submit = (id: number, input: Json = null, to = runner): TaskRecorder => {
    const heard = new TaskRecorder();
    to.submit(submission(id, input), heard);
    return heard;
  };
  return { clock, pool, runner, open, submit };
}

describe('what runs on a virtual thread', () => {
  it('a timed task is busy for its duration, which may depend on its input', async () => {
    const { clock, submit } = bench({
      durationMs: (input: { ms: number }) => input.ms,
      run: (input: { ms: number }, context) => ({ ...input, attempt: context.attempt }),
    });
    const heard = submit(1, { ms: 70 });
    await clock.advance(69);
    expect(heard.outcomes).toEqual([]);
    await clock.advance(1);
    expect(heard.outcomes).toEqual([{ status: 'success', output: { ms: 70, attempt: '1' } }]);
  });

  it('a function gives what it returns or throws, at once or by its promise', async () => {
    const functions: [VirtualTask, unknown][] = [
      [() => 'done', success],
      [async () => Promise.resolve('done'), success],
      [() => undefined, { status: 'success', output: null }],
      [
        () => {
          throw Object.assign(new Error('no'), { code: 'BUSY' });
        },
        failed({ message: 'no', code: 'BUSY' }),
      ],
      // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- M01
      [() => Promise.reject(null), failed({ message: 'thrown: null' })],
      [() => new Date(), unknown('TASK_RESULT_INVALID')],
    ];
    for (const [task, outcome] of functions) {
      const { clock, submit } = bench(task);
      const heard = submit(1);
      await clock.settle();
      expect(heard.outcomes).toEqual([outcome]);
    }
  });

  it('an input is a copy of the thread’s own', async () => {
    const input = { deep: { count: 1 } };
    const { clock, submit } = bench((mine: { deep: { count: number } }) => ++mine.deep.count);
    const heard = submit(1, input);
    await clock.settle();
    expect(heard.outcomes).toEqual([{ status: 'success', output: 2 }]);
    expect(input.deep.count).toBe(1);
  });

  it('steps show progress, and clean up by their finally blocks when stopped', async () => {
    const log: string[] = [];
    const { clock, runner, submit } = bench({
      *steps(_input: null, context: TaskContext) {
        try {
          for (let i = 0; ; i++) {
            context.progress(i);
            yield 60;
          }
        } finally {
          log.push(`cleaning ${context.cancelled()}`);
          yield 30;
          log.push('clean');
        }
      },
    });
    const heard = submit(1);
    await clock.advance(130);
    expect(heard.progressed).toEqual([0, 1, 2]);
    runner.cancel(attemptOf(1));
    await clock.advance(29);
    expect(log).toEqual(['cleaning true']);
    expect(heard.outcomes).toEqual([]);
    await clock.advance(1);
    expect(log).toEqual(['cleaning true', 'clean']);
    expect(heard.outcomes).toEqual([cancelled]);
  });

  it('a function is asked by its signal, and terminated when it does not listen', async () => {
    for (const listens of [true, false]) {
      const { clock, runner, submit } = bench(
        (_input: null, { signal }) =>
          new Promise((_resolve, reject) => {
            signal.addEventListener('abort', () => {
              if (listens) reject(signal.reason as Error);
            });
          }),
        { graceMs: 40, exitMs: 2 },
      );
      const heard = submit(1);
      await clock.advance(10);
      runner.cancel(attemptOf(1));
      await clock.advance(41);
      expect(heard.outcomes).toEqual(listens ? [cancelled] : []);
      await clock.advance(1);
      expect(heard.outcomes).toEqual([cancelled]);
    }
  });

  it('cancelled before its thread has begun it, a task never begins', async () => {
    const { clock, pool, runner, submit } = bench(() => 'done');
    const heard = submit(1);
    runner.cancel(attemptOf(1));
    await clock.settle();
    expect(heard.outcomes).toEqual([cancelled]);
    expect(pool.begun).toEqual([]);
  });

  it('a task that the pool does not have fails', async () => {
    const { clock, runner } = bench(() => 'done');
    const heard = new TaskRecorder();
    runner.submit(submission(1, null, 'toString'), heard);
    await clock.settle();
    expect(heard.outcomes).toEqual([failed({ code: 'TASK_MODULE_INVALID' })]);
  });

  it('an option that is not known is refused', () => {
    expect(() => virtualPool({ tasks: {}, thread: 2 } as never)).toThrow(
      expect.objectContaining({ code: 'OPTION_INVALID' }),
    );
  });
});

describe('what goes wrong with one run, as planned', () => {
  const work: VirtualTask = { durationMs: 100, run: () => 'done' };

  async function meet(fault: VirtualFault, task = work) {
    const setup = bench(task, { fault: (_task, run) => (run === 1 ? fault : undefined) });
    const heard = setup.submit(1);
    await setup.clock.settle();
    return { ...setup, heard };
  }

  it('the thread dies before it begins: the attempt begins once, on another thread', async () => {
    const { clock, pool, heard } = await meet({ kind: 'die-before-start' });
    await clock.advance(200);
    expect(heard.outcomes).toEqual([success]);
    expect(pool.begun).toEqual(['1']);
  });

  it('the thread dies without a report: unknown at the seen end', async () => {
    const { clock, heard } = await meet({ kind: 'die', afterMs: 40 });
    await clock.advance(39);
    expect(heard.outcomes).toEqual([]);
    await clock.advance(200);
    expect(heard.outcomes).toEqual([unknown('TASK_WORKER_EXITED')]);
    expect(heard.lates).toEqual([]);
  });

  it('it hangs: only termination ends it', async () => {
    const { clock, runner, heard } = await meet({ kind: 'hang' });
    await clock.advance(100_000);
    expect(heard.outcomes).toEqual([]);
    runner.cancel(attemptOf(1));
    await clock.advance(2_000);
    expect(heard.outcomes).toEqual([cancelled]);
  });

  it('the answer is lost: the work was done, and nothing is said until the end', async () => {
    let done = 0;
    const { clock, heard } = await meet(
      { kind: 'lose-answer', deathAfterMs: 500 },
      { durationMs: 100, run: () => ++done },
    );
    await clock.advance(599);
    expect(done).toBe(1);
    expect(heard.outcomes).toEqual([]);
    await clock.advance(1);
    expect(heard.outcomes).toEqual([unknown('TASK_WORKER_EXITED')]);
  });

  it('the answer is late: the first word, the death, stands', async () => {
    const { clock, heard } = await meet({ kind: 'answer-late', afterMs: 300 });
    await clock.advance(1_000);
    expect(heard.outcomes).toEqual([unknown('TASK_WORKER_EXITED')]);
    expect(heard.lates).toEqual([success]);
  });

  it('it answers twice: the first answer stands', async () => {
    const { clock, heard } = await meet({ kind: 'answer-twice' });
    await clock.advance(1_000);
    expect(heard.outcomes).toEqual([success]);
    expect(heard.lates).toEqual([{ status: 'success', output: null }]);
  });

  it('it answers for another attempt: its thread is ended, the outcome unknown', async () => {
    const { clock, heard } = await meet({ kind: 'answer-for-another' });
    await clock.advance(100);
    expect(heard.outcomes).toEqual([]);
    await clock.advance(1);
    expect(heard.outcomes).toEqual([unknown('TASK_RESULT_INVALID')]);
  });

  it('and after each of them the next attempt runs', async () => {
    const faults: VirtualFault[] = [
      { kind: 'die-before-start' },
      { kind: 'die' },
      { kind: 'lose-answer' },
      { kind: 'answer-late', afterMs: 1 },
      { kind: 'answer-twice' },
      { kind: 'answer-for-another' },
    ];
    for (const fault of faults) {
      const { clock, submit } = await meet(fault);
      await clock.advance(1_000);
      const next = submit(2);
      await clock.advance(1_000);
      expect(next.outcomes).toHaveLength(1);
    }
  });
});

describe('what goes wrong on demand', () => {
  it('a thread dies: its attempt is unknown, the others go on', async () => {
    const { clock, pool, submit } = bench({ durationMs: 100, run: () => 'done' }, { threads: 2 });
    const first = submit(1);
    const second = submit(2);
    await clock.advance(50);
    expect(pool.running).toEqual(['1', '2']);
    expect(pool.die(attemptOf(1))).toBe(true);
    expect(pool.die(attemptOf(7))).toBe(false);
    await clock.advance(100);
    expect(first.outcomes).toEqual([unknown('TASK_WORKER_EXITED')]);
    expect(second.outcomes).toEqual([success]);
    expect(pool.running).toEqual([]);
  });

  it('the process dies: nobody hears of its threads, and they do no more', async () => {
    const effects: number[] = [];
    const { clock, pool, open, submit } = bench({
      *steps() {
        for (let i = 0; ; i++) {
          effects.push(i);
          yield 10;
        }
      },
    });
    const heard = submit(1);
    await clock.advance(25);
    pool.crash();
    await clock.advance(1_000);
    expect(effects).toEqual([0, 1, 2]);
    expect(heard.outcomes).toEqual([]);
    expect(pool.running).toEqual([]);

    // The next life is a new ledger: it knows no attempt, and runs it anew.
    const second = open('second');
    expect(second.ledger).toBe('second');
    submit(1, null, second);
    await clock.advance(5);
    expect(pool.begun).toEqual(['1', '1']);
    expect(effects).toEqual([0, 1, 2, 0]);
    second.cancel(attemptOf(1));
    await clock.advance(10);
    expect(clock.pending).toBe(0);
  });
});
