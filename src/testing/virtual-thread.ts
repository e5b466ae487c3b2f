/**
 * One job on a thread that is a message actor: everything it does and says takes a turn of the
 * clock, in the order of a real thread, through the reader of the real protocol.
 */
import { Alarm } from '../threads/alarm.ts';
import { codedError } from '../threads/describe-thrown.ts';
import { ThreadContext } from '../threads/task-context.ts';
import { reportReturned, reportThrown } from '../threads/task-report.ts';
import {
  readThreadMessage,
  STOP_FLAG,
  type ThreadReport,
  WIRE_VERSION,
} from '../threads/task-wire.ts';
import type {
  Ending,
  Execution,
  ExecutionEvents,
  StopReason,
  ThreadJob,
} from '../threads/thread-host.ts';
import type { Clock } from '../world/clock.ts';
import { copyOf, stepsOf, type VirtualFault, type VirtualTask } from './virtual-task.ts';

export interface VirtualThreadNeeds {
  readonly clock: Clock;
  readonly task: VirtualTask | undefined;
  readonly fault: VirtualFault | undefined;
  readonly deadlineMs: number | null;
  /** Virtual ms until the thread takes the job up. */
  readonly bootMs: number;
  /** Virtual ms from the order to end a thread to its seen end. */
  readonly exitMs: number;
  /** True once the process of this thread is dead: it does and says no more. */
  readonly isCut: () => boolean;
  /** The task's code begins. */
  begins(): void;
  /** The thread is free, or seen to have ended. */
  released(thread: VirtualThread): void;
}

export class VirtualThread implements Execution {
  readonly job: ThreadJob;
  readonly #events: ExecutionEvents;
  readonly #needs: VirtualThreadNeeds;
  readonly #flag = new Int32Array(1);
  readonly #context: ThreadContext;
  /** The wait of work in steps, and the death that is planned. */
  readonly #wait: Alarm;
  readonly #death: Alarm;
  #steps: Generator<number, unknown> | undefined;
  #began = false;
  #reported = false;
  #stopping = false;
  /** The thread does and says no more. */
  #dead = false;
  #ended = false;
  #doubt: Ending | undefined;

  constructor(job: ThreadJob, events: ExecutionEvents, needs: VirtualThreadNeeds) {
    this.job = job;
    this.#events = events;
    this.#needs = needs;
    const { clock, deadlineMs } = needs;
    this.#wait = new Alarm(clock);
    this.#death = new Alarm(clock);
    this.#context = new ThreadContext({
      attempt: job.attempt,
      deadline: deadlineMs === null ? null : clock.now() + deadlineMs,
      flag: this.#flag,
      clock,
      send: (progress) => {
        this.#post({ kind: 'progress', progress });
      },
    });
    if (needs.bootMs > 0) {
      this.#wait.set(needs.bootMs, () => {
        if (!needs.isCut()) this.#begin();
      });
    } else {
      this.#soon(() => {
        this.#begin();
      });
    }
  }

  ask(reason: StopReason): void {
    Atomics.store(this.#flag, 0, STOP_FLAG[reason]);
    this.#soon(() => {
      this.#heed();
    });
  }

  /** A report on its way is not overtaken, as a real thread's port is read first. */
  kill(): void {
    if (!this.#reported) this.die(this.#needs.exitMs);
  }

  /** The thread does no more from now on; that is seen `seenAfterMs` later. */
  die(seenAfterMs: number): void {
    if (this.#dead) return;
    this.#rest();
    this.#later(seenAfterMs, () => {
      this.#conclude();
    });
  }

  #begin(): void {
    if (this.#dead) return;
    const { fault, task } = this.#needs;
    if (fault?.kind === 'never-start') return;
    if (fault?.kind === 'die-before-start') {
      this.die(0);
      return;
    }
    this.#post({ kind: 'started' });
    if (this.#context.cancelled()) {
      this.#report({ kind: 'stopped' });
      return;
    }
    this.#needs.begins();
    if (fault?.kind === 'die') {
      this.#death.set(fault.afterMs ?? 0, () => {
        if (!this.#needs.isCut()) this.die(0);
      });
    }
    if (fault?.kind === 'hang') return;
    if (task === undefined) this.#report(unknownTask(this.job.task));
    else if (typeof task === 'function') void this.#runFunction(task);
    else this.#runSteps(task);
  }

  async #runFunction(task: Extract<VirtualTask, (...args: never[]) => unknown>): Promise<void> {
    let report: ThreadReport;
    try {
      report = reportReturned(await task(copyOf(this.job.input), this.#context));
    } catch (thrown) {
      report = reportThrown(thrown, this.#context);
    }
    this.#report(report);
  }

  #runSteps(task: Exclude<VirtualTask, (...args: never[]) => unknown>): void {
    const steps = stepsOf(task)(copyOf(this.job.input), this.#context);
    if (task.heedsStop !== false) this.#steps = steps;
    this.#step(steps);
  }

  #step(steps: Generator<number, unknown>): void {
    if (!this.#dead && !this.#reported) this.#advance(steps, () => steps.next());
  }

  #advance(steps: Generator<number, unknown>, move: () => IteratorResult<number, unknown>): void {
    try {
      const { done, value } = move();
      if (done === true) {
        this.#report(this.#stopping ? { kind: 'stopped' } : reportReturned(value));
        return;
      }
      this.#wait.set(value, () => {
        if (!this.#needs.isCut()) this.#step(steps);
      });
    } catch (thrown) {
      this.#report(reportThrown(thrown, this.#context));
    }
  }

  /** Asked to stop: the signal aborts, and work in steps ends where it waits, by its `finally`. */
  #heed(): void {
    if (this.#dead || this.#reported || !this.#began) return;
    this.#context.cancelled();
    const steps = this.#steps;
    if (steps === undefined || this.#stopping) return;
    this.#stopping = true;
    this.#advance(steps, () => steps.return(undefined));
  }

  #report(report: ThreadReport): void {
    if (this.#dead || this.#reported) return;
    this.#context.close();
    this.#reported = true;
    const { fault } = this.#needs;
    switch (fault?.kind) {
      case 'lose-answer':
        this.die(fault.deathAfterMs ?? 0);
        return;
      case 'answer-late':
        this.die(0);
        this.#later(fault.afterMs, () => {
          this.#hear({ ...this.#stamp(), ...report });
        });
        return;
      case 'answer-for-another':
        this.#post(report, '0');
        break;
      case 'answer-twice':
        this.#post(report);
        this.#post({ kind: 'success', output: 'null' });
        break;
      default:
        this.#post(report);
    }
    this.#soon(() => {
      this.#returned();
    });
  }

  #post(message: object, attempt: string = this.job.attempt): void {
    if (this.#dead) return;
    const posted = { ...this.#stamp(), ...message, attempt };
    this.#soon(() => {
      this.#hear(posted);
    });
  }

  #stamp(): object {
    return { v: WIRE_VERSION, attempt: this.job.attempt };
  }

  #hear(message: object): void {
    const heard = readThreadMessage(message, this.job.attempt);
    if (heard.kind === 'started') {
      this.#began = true;
      this.#events.started();
    } else if (heard.kind === 'progress') {
      if (!this.#ended) this.#events.progress(heard.progress);
    } else if (heard.kind === 'report') {
      this.#end(heard.ending);
    } else {
      this.#doubt = { kind: 'lost', error: heard.error };
      this.die(this.#needs.exitMs);
    }
  }

  #end(ending: Ending): void {
    if (this.#ended) {
      this.#events.late(ending);
      return;
    }
    this.#ended = true;
    this.#events.ended(ending);
  }

  /** The entry has returned, and everything it posted has been heard: the thread is free. */
  #returned(): void {
    if (!this.#dead) this.#release();
  }

  /** The thread is seen to have ended. */
  #conclude(): void {
    if (this.#doubt !== undefined || this.#began) this.#end(this.#doubt ?? lost());
    else this.#end({ kind: 'not-started', error: codedError('TASK_NOT_STARTED', 'it died') });
    this.#release();
  }

  #rest(): void {
    this.#dead = true;
    this.#wait.clear();
    this.#death.clear();
    this.#context.close();
  }

  #release(): void {
    this.#rest();
    this.#needs.released(this);
    this.#events.released();
  }

  #soon(run: () => void): void {
    this.#needs.clock.setImmediate(() => {
      if (!this.#needs.isCut()) run();
    });
  }

  #later(delayMs: number, run: () => void): void {
    this.#needs.clock.setTimeout(() => {
      if (!this.#needs.isCut()) run();
    }, delayMs);
  }
}

function lost(): Ending {
  return { kind: 'lost', error: codedError('TASK_WORKER_EXITED', 'the virtual thread died') };
}

function unknownTask(task: string): ThreadReport {
  const error = codedError('TASK_MODULE_INVALID', `the virtual pool has no task '${task}'`);
  return { kind: 'fail', error };
}
