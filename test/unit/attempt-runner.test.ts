/** The runner that decides for all threads, on virtual threads and virtual time. */
import { describe, expect, it } from 'vitest';
import type { TaskRunner } from '../../src/model/task.ts';
import {
  type VirtualPool,
  virtualPool,
  type VirtualPoolOptions,
} from '../../src/testing/virtual-pool.ts';
import type { FaultPlan } from '../../src/testing/virtual-task.ts';
import { virtualClock, type VirtualClock } from '../../src/world/virtual-clock.ts';
import { attemptOf, submission, TaskRecorder } from '../support/task-recorder.ts';

const cancelled = { status: 'cancelled' };
const done = { status: 'success', output: 'done' };

function coded(status: string, code: string): unknown {
  return { status, error: expect.objectContaining({ code }) as unknown };
}

interface Bench {
  readonly clock: VirtualClock;
  readonly pool: VirtualPool;
  readonly runner: TaskRunner;
  readonly rooms: number[];
  submit(id: number, task?: string): TaskRecorder;
}

/** Tasks: `work` takes 100 ms; `deaf` takes 1 s and looks at nothing; `loud` shows progress. */
function bench(options: Partial<VirtualPoolOptions> = {}): Bench {
  const clock = virtualClock();
  const rooms: number[] = [];
  const pool = virtualPool({
    threads: 1,
    graceMs: 20,
    exitMs: 5,
    tasks: {
      work: { durationMs: 100, run: () => 'done' },
      deaf: { durationMs: 1_000, run: () => 'done', heedsStop: false },
      loud: {
        *steps(_input, context) {
          for (let i = 0; i < 3; i++) {
            yield 300;
            context.progress({ i });
          }
          return 'done';
        },
      },
    },
    ...options,
  });
  const needs = { clock, ledger: 'ledger-7', room: () => rooms.push(clock.monotonic()) };
  const runner = pool.open(needs);
  return {
    clock,
    pool,
    runner,
    rooms,
    submit(id, task = 'work') {
      const heard = new TaskRecorder();
      runner.submit(submission(id, null, task), heard);
      return heard;
    },
  };
}

describe('the queue', () => {
  it('runs as many as there are threads, first come, first served', async () => {
    const { clock, pool, submit } = bench({ threads: 2 });
    const heard = [1, 2, 3, 4, 5].map((id) => submit(id));
    await clock.settle();
    expect(pool.running).toEqual(['1', '2']);
    await clock.advance(100);
    expect(pool.running).toEqual(['3', '4']);
    await clock.advance(200);
    expect(heard.map(({ outcomes }) => outcomes)).toEqual(Array(5).fill([done]));
    expect(pool.begun).toEqual(['1', '2', '3', '4', '5']);
  });

  it('M07 L11 at its limit refuses, consumes nothing, tells once when there is room', async () => {
    const { clock, pool, runner, rooms, submit } = bench({ queueMax: 1 });
    submit(1);
    submit(2);
    const full = expect.objectContaining({
      code: 'TASK_QUEUE_FULL',
      details: { limit: 'queueMax', value: 1 },
    }) as Error;
    expect(() => submit(3)).toThrow(full);
    expect(() => submit(3)).toThrow(full);
    await clock.advance(99);
    expect(rooms).toEqual([]);
    await clock.advance(1);
    expect(rooms).toEqual([100]);
    const third = submit(3);
    expect(() => submit(4)).toThrow(full);
    runner.cancel(attemptOf(3));
    await clock.settle();
    expect(rooms).toEqual([100, 100]);
    expect(third.outcomes).toEqual([cancelled]);
    await clock.advance(1_000);
    expect(pool.begun).toEqual(['1', '2']);
    expect(rooms).toHaveLength(2);
  });

  it('C101 whatever is cancelled in whatever order, all others run', async () => {
    for (const order of orders([1, 2, 3, 4])) {
      for (let count = 0; count <= 4; count++) {
        const { clock, runner, submit } = bench();
        const heard = new Map([1, 2, 3, 4].map((id) => [id, submit(id)]));
        await clock.settle();
        const gone = order.slice(0, count);
        for (const id of gone) runner.cancel(attemptOf(id));
        await clock.advance(1_000);
        for (const [id, { outcomes }] of heard) {
          expect(outcomes).toEqual([gone.includes(id) ? cancelled : done]);
        }
      }
    }
  });
});

describe('L13 cancel', () => {
  it('ends only when the thread is seen to have ended: flag, grace, kill, exit', async () => {
    const { clock, runner, submit } = bench();
    const heard = submit(1, 'deaf');
    await clock.advance(10);
    runner.cancel(attemptOf(1));
    runner.cancel(attemptOf(1));
    await clock.advance(24);
    expect(heard.outcomes).toEqual([]);
    await clock.advance(1);
    expect(heard.outcomes).toEqual([cancelled]);
    await clock.advance(10_000);
    expect(heard.outcomes).toEqual([cancelled]);
    expect(heard.lates).toEqual([]);
  });

  it('does not wait for the grace when the task stops by itself', async () => {
    const { clock, runner, submit } = bench();
    const heard = submit(1);
    await clock.advance(10);
    runner.cancel(attemptOf(1));
    await clock.settle();
    expect(heard.outcomes).toEqual([cancelled]);
  });

  it('a success that comes within the grace stands', async () => {
    const { clock, runner, submit } = bench();
    const heard = submit(1, 'deaf');
    await clock.advance(990);
    runner.cancel(attemptOf(1));
    await clock.advance(10);
    expect(heard.outcomes).toEqual([done]);
  });

  it('never tells from inside cancel', async () => {
    const { clock, runner, submit } = bench();
    submit(1);
    const waiting = submit(2);
    runner.cancel(attemptOf(2));
    expect(waiting.outcomes).toEqual([]);
    await clock.settle();
    expect(waiting.outcomes).toEqual([cancelled]);
  });
});

describe('a deadline', () => {
  it('counts from the start of the code and fails the attempt at its seen end', async () => {
    const { clock, submit } = bench({ deadlineMs: 200 });
    const first = submit(1);
    const second = submit(2, 'deaf');
    await clock.advance(300 + 24);
    expect(first.outcomes).toEqual([done]);
    expect(second.outcomes).toEqual([]);
    await clock.advance(1);
    expect(second.outcomes).toEqual([coded('fail', 'TASK_DEADLINE')]);
  });

  it('does not count while the thread starts', async () => {
    const { clock, submit } = bench({ deadlineMs: 150, bootMs: 200 });
    const heard = submit(1);
    await clock.advance(1_000);
    expect(heard.outcomes).toEqual([done]);
  });

  it('that passes while a cancel is on its way changes nothing', async () => {
    const { clock, runner, submit } = bench({ deadlineMs: 30 });
    const heard = submit(1, 'deaf');
    await clock.advance(20);
    runner.cancel(attemptOf(1));
    await clock.advance(1_000);
    expect(heard.outcomes).toEqual([cancelled]);
  });
});

describe('silence', () => {
  it('is told once each, and ended by progress', async () => {
    const { clock, submit } = bench({ noProgressMs: 200 });
    const heard = submit(1, 'loud');
    await clock.advance(250);
    expect(heard.silences).toEqual([200]);
    await clock.advance(650);
    expect(heard.outcomes).toEqual([done]);
    expect(heard.silences).toEqual([200, 200, 200]);
    await clock.advance(10_000);
    expect(heard.silences).toHaveLength(3);
  });

  it('that lasts is told once', async () => {
    const { clock, submit } = bench({ noProgressMs: 200 });
    const heard = submit(1, 'deaf');
    await clock.advance(999);
    expect(heard.silences).toEqual([200]);
  });

  it('is not told while progress comes in time, nor to a listener that does not ask', async () => {
    const { clock, runner, submit } = bench({ noProgressMs: 301 });
    const heard = submit(1, 'loud');
    const ended: unknown[] = [];
    const plain = {
      progress: () => undefined,
      ended: (outcome: unknown) => ended.push(outcome),
      late: () => undefined,
    };
    runner.submit(submission(2, null, 'deaf'), plain);
    await clock.advance(900);
    expect(heard.silences).toEqual([]);
    await clock.advance(1_000);
    expect(ended).toEqual([done]);
  });
});

describe('L3 identity', () => {
  it('the same attempt again re-attaches, waiting, running or ended; it runs once', async () => {
    const { clock, pool, submit } = bench();
    const first = submit(1);
    const second = submit(1);
    submit(2);
    const waiting = submit(2);
    await clock.advance(50);
    const third = submit(1);
    await clock.advance(500);
    expect([first, second, third, waiting].map(({ outcomes }) => outcomes)).toEqual([
      [],
      [],
      [done],
      [done],
    ]);
    const after = submit(1);
    expect(after.outcomes).toEqual([]);
    await clock.settle();
    expect(after.outcomes).toEqual([done]);
    expect(pool.begun).toEqual(['1', '2']);
  });

  it('another payload is refused with ATTEMPT_CONFLICT and leaves the listener', async () => {
    const { clock, runner, submit } = bench();
    const heard = submit(1);
    const other = new TaskRecorder();
    for (const again of [submission(1, 'other', 'work'), submission(1, null, 'deaf')]) {
      expect(() => {
        runner.submit(again, other);
      }).toThrow(expect.objectContaining({ code: 'ATTEMPT_CONFLICT' }));
    }
    await clock.advance(100);
    expect(heard.outcomes).toEqual([done]);
    expect(other.outcomes).toEqual([]);
  });

  it('forget lets go of what has ended, and of nothing else', async () => {
    const { clock, pool, runner, submit } = bench();
    submit(1);
    runner.forget(attemptOf(1));
    await clock.advance(100);
    submit(1);
    await clock.settle();
    expect(pool.begun).toEqual(['1']);
    runner.forget(attemptOf(1));
    runner.forget(attemptOf(99));
    submit(1);
    await clock.settle();
    expect(pool.begun).toEqual(['1', '1']);
  });

  it('an input that is no JSON is refused and not known afterwards', async () => {
    const { clock, pool, runner, submit } = bench();
    expect(() => {
      runner.submit(submission(1, Number.NaN, 'work'), new TaskRecorder());
    }).toThrow(expect.objectContaining({ code: 'VALUE_NOT_JSON' }));
    const heard = submit(1);
    await clock.advance(100);
    expect(heard.outcomes).toEqual([done]);
    expect(pool.begun).toEqual(['1']);
  });
});

describe('close', () => {
  it('M06 ends what has not ended as unknown, and resolves at the last seen end', async () => {
    const { clock, runner, submit } = bench();
    const running = submit(1, 'deaf');
    const waiting = submit(2);
    await clock.advance(10);
    let closed = false;
    const closing = runner.close().then(() => (closed = true));
    expect(runner.close()).toBe(runner.close());
    expect(() => submit(3)).toThrow(expect.objectContaining({ code: 'TASK_RUNNER_CLOSED' }));
    await clock.advance(24);
    expect(waiting.outcomes).toEqual([coded('unknown', 'TASK_RUNNER_CLOSED')]);
    expect(closed).toBe(false);
    await clock.advance(1);
    await closing;
    expect(running.outcomes).toEqual([coded('unknown', 'TASK_RUNNER_CLOSED')]);
    expect(clock.pending).toBe(0);
  });

  it('L13 is bounded: a thread that is never seen to end is named', async () => {
    const { clock, runner, submit } = bench({ exitMs: 1_000_000 });
    const heard = submit(1, 'deaf');
    await clock.advance(10);
    const closing = runner.close();
    const refused = expect(closing).rejects.toMatchObject({
      code: 'TASK_THREADS_ALIVE',
      details: { alive: 1 },
    });
    await clock.advance(10_020);
    await refused;
    expect(heard.outcomes).toEqual([]);
  });
});

describe('an attempt that has not begun', () => {
  it('is taken from a thread that does not take it up in time, and given to another', async () => {
    const plan: FaultPlan = (_task, run) => (run === 1 ? { kind: 'never-start' } : undefined);
    const { clock, pool, submit } = bench({ fault: plan });
    const heard = submit(1);
    await clock.advance(30_000 + 4);
    expect(pool.begun).toEqual([]);
    await clock.advance(101);
    expect(heard.outcomes).toEqual([done]);
    expect(pool.begun).toEqual(['1']);
  });

  it('gets another thread, three in all, and then fails with TASK_NOT_STARTED', async () => {
    const plan: FaultPlan = (task, run) =>
      task.attempt === '1' || run < 3 ? { kind: 'die-before-start' } : undefined;
    const { clock, pool, submit } = bench({ fault: plan });
    const never = submit(1);
    const third = submit(2);
    await clock.advance(200);
    expect(never.outcomes).toEqual([coded('fail', 'TASK_NOT_STARTED')]);
    expect(third.outcomes).toEqual([done]);
    expect(pool.begun).toEqual(['2']);
  });
});

function orders(values: readonly number[]): number[][] {
  if (values.length === 0) return [[]];
  return values.flatMap((first) =>
    orders(values.filter((value) => value !== first)).map((rest) => [first, ...rest]),
  );
}
