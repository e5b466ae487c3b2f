/**
 * One turn of an attempt on a thread: watches over it and turns its ending into an outcome.
 *
 * T1 Asked to stop, the thread has `graceMs` before it is terminated; the outcome comes only with
 *    its seen end (L13). What the task said itself before that stands.
 * T2 The deadline runs from the start of the task's code, and takes the same road.
 * T3 A turn that is proven not to have begun is no outcome: the attempt gets another turn.
 */
import type { Json } from '../model/json.ts';
import type { TaskOutcome } from '../model/task.ts';
import type { Clock } from '../world/clock.ts';
import { Alarm } from './alarm.ts';
import type { Attempt } from './attempt-ledger.ts';
import { codedError } from './describe-thrown.ts';
import type { Ending, Execution, ExecutionEvents, StopReason, ThreadHost } from './thread-host.ts';

/** Times in ms. */
export interface TurnLimits {
  readonly deadlineMs: number | null;
  readonly graceMs: number;
  readonly noProgressMs: number | null;
  /** Within this time a thread must have taken the job up; else another one gets it. */
  readonly startMs: number;
}

export interface TurnNeeds {
  readonly clock: Clock;
  readonly host: ThreadHost;
  readonly limits: TurnLimits;
  /** The turn's thread is free. `again`: the task did not begin, and nothing ended the attempt. */
  over(turn: AttemptTurn, again: boolean): void;
}

/** Threads that may die before they have begun an attempt, until that is its failure. */
const TURNS_MAX = 3;
/** A thread that has reported lets go of the job at once, unless it hangs in a left-over. */
const RELEASE_MS = 5_000;

export class AttemptTurn implements ExecutionEvents {
  readonly attempt: Attempt;
  readonly number: number;
  readonly #needs: TurnNeeds;
  readonly #execution: Execution;
  /** Rings when the next step is overdue: to begin, to stop, to let go of the thread. */
  readonly #overdue: Alarm;
  readonly #deadline: Alarm;
  readonly #silence: Alarm;
  #reason: StopReason | undefined;
  #lastSign = 0;
  #again = false;

  /** @param number 1 for the attempt's first turn */
  constructor(attempt: Attempt, number: number, needs: TurnNeeds) {
    this.attempt = attempt;
    this.number = number;
    this.#needs = needs;
    this.#overdue = new Alarm(needs.clock);
    this.#deadline = new Alarm(needs.clock);
    this.#silence = new Alarm(needs.clock);
    const { id, task, input } = attempt;
    this.#execution = needs.host.start({ attempt: id, task, input }, this);
    this.#killAfter(needs.limits.startMs);
  }

  ask(reason: StopReason): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    this.#deadline.clear();
    this.#silence.clear();
    this.#execution.ask(reason);
    this.#killAfter(this.#needs.limits.graceMs);
  }

  started(): void {
    if (this.#reason !== undefined) return;
    const { deadlineMs } = this.#needs.limits;
    this.#overdue.clear();
    if (deadlineMs !== null) {
      this.#deadline.set(deadlineMs, () => {
        this.ask('deadline');
      });
    }
    this.#sign();
  }

  progress(progress: Json): void {
    if (this.#reason === undefined) this.#sign();
    this.attempt.progress(progress);
  }

  ended(ending: Ending): void {
    this.#deadline.clear();
    this.#silence.clear();
    const outcome = this.#outcomeOf(ending);
    this.#killAfter(RELEASE_MS);
    if (outcome === undefined) this.#again = true;
    else this.attempt.end(outcome);
  }

  late(ending: Ending): void {
    this.attempt.end(plainOutcome(ending));
  }

  released(): void {
    this.#overdue.clear();
    this.#needs.over(this, this.#again);
  }

  #killAfter(delayMs: number): void {
    this.#overdue.set(delayMs, () => {
      this.#execution.kill();
    });
  }

  /** The task shows life: a silence begins now. */
  #sign(): void {
    this.#lastSign = this.#needs.clock.monotonic();
    const { noProgressMs } = this.#needs.limits;
    if (noProgressMs !== null && !this.#silence.isSet) this.#listen(noProgressMs);
  }

  /** One alarm for all signs: when it rings, it looks how long ago the last one was. */
  #listen(delayMs: number): void {
    this.#silence.set(delayMs, () => {
      const sinceMs = this.#needs.clock.monotonic() - this.#lastSign;
      const leftMs = (this.#needs.limits.noProgressMs ?? 0) - sinceMs;
      if (leftMs > 0) this.#listen(Math.ceil(leftMs));
      else this.attempt.silent(Math.round(sinceMs));
    });
  }

  /** Undefined: the attempt has not begun and may have another turn. */
  #outcomeOf(ending: Ending): TaskOutcome | undefined {
    if (ending.kind === 'success' || ending.kind === 'fail') return plainOutcome(ending);
    if (this.#reason !== undefined) return this.#stoppedOutcome(this.#reason);
    if (ending.kind === 'stopped') {
      const error = codedError('TASK_RESULT_INVALID', 'stopped, and nobody had asked for it');
      return { status: 'unknown', error };
    }
    if (ending.kind === 'lost') return plainOutcome(ending);
    return this.number < TURNS_MAX ? undefined : { status: 'fail', error: ending.error };
  }

  #stoppedOutcome(reason: StopReason): TaskOutcome {
    if (reason === 'cancel') return { status: 'cancelled' };
    if (reason === 'close') return closedOutcome();
    const { deadlineMs } = this.#needs.limits;
    const message = `attempt ${this.attempt.id} did not end within ${deadlineMs} ms`;
    return { status: 'fail', error: codedError('TASK_DEADLINE', message, { deadlineMs }) };
  }
}

/** What an attempt ends with when its runner closes before it has ended by itself. */
export function closedOutcome(): TaskOutcome {
  const message = 'the runner was closed before the attempt had ended';
  return { status: 'unknown', error: codedError('TASK_RUNNER_CLOSED', message) };
}

function plainOutcome(ending: Ending): TaskOutcome {
  switch (ending.kind) {
    case 'success':
      return { status: 'success', output: ending.output };
    case 'fail':
      return { status: 'fail', error: ending.error };
    case 'stopped':
      return { status: 'cancelled' };
    case 'lost':
    case 'not-started':
      return { status: 'unknown', error: ending.error };
  }
}
