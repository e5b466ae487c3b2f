/** What a worker function gets beside its input, and how it is made inside the thread. */
import { ReeveError } from '../model/errors.ts';
import { assertJson, type Json } from '../model/json.ts';
import type { Clock } from '../world/clock.ts';
import { Alarm } from './alarm.ts';
import { STOP_FLAG } from './task-wire.ts';

/**
 * A worker function is `(input, context) => output | Promise<output>`. When its promise settles,
 * its work must be over: what it leaves running is not waited for, and may disturb the next task of
 * the thread.
 */
export interface TaskContext {
  /** Id of this attempt, the same after a restart: fit for a key of what the task does outside. */
  readonly attempt: string;
  /**
   * Aborts when the task is asked to stop (cancelled, deadline, shutdown). Its reason carries the
   * code TASK_CANCELLED, TASK_DEADLINE or TASK_RUNNER_CLOSED. To stop, throw the reason or any
   * AbortError: `signal.throwIfAborted()`. A value that is returned counts as success all the same.
   *
   * A loop that never awaits does not hear the signal: it asks `cancelled()`.
   */
  readonly signal: AbortSignal;
  /** Reads the request to stop from shared memory; works in synchronous loops. */
  cancelled(): boolean;
  /**
   * Shows how far the task is. Cheap: calls within 50 ms collapse to the latest. Throws
   * VALUE_NOT_JSON, also for more than 64 KiB of JSON text.
   */
  progress(progress: Json): void;
  /** When the task will be asked to stop, in ms since 1970; null without a deadline. */
  readonly deadline: number | null;
}

export type TaskFunction<Input, Output> = (
  input: Input,
  context: TaskContext,
) => Output | Promise<Output>;

/** Shortest time between two progress messages of one task: at most 20 a second reach the loop. */
export const PROGRESS_INTERVAL_MS = 50;
const PROGRESS_LENGTH_MAX = 64 * 1024;

export interface ThreadContextNeeds {
  readonly attempt: string;
  readonly deadline: number | null;
  /** One cell in shared memory; see STOP_FLAG. */
  readonly flag: Int32Array;
  readonly clock: Clock;
  /** Carries a progress, as JSON text, to the pool. */
  readonly send: (progress: string) => void;
}

/** The context as the thread's entry sees it. Its functions may be taken apart from it. */
export class ThreadContext implements TaskContext {
  readonly attempt: string;
  readonly deadline: number | null;
  readonly #needs: ThreadContextNeeds;
  readonly #controller = new AbortController();
  readonly #flush: Alarm;
  #sentAt = Number.NEGATIVE_INFINITY;
  #waiting: string | undefined;
  #closed = false;

  constructor(needs: ThreadContextNeeds) {
    this.attempt = needs.attempt;
    this.deadline = needs.deadline;
    this.#needs = needs;
    this.#flush = new Alarm(needs.clock);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  readonly cancelled = (): boolean => {
    const flag = Atomics.load(this.#needs.flag, 0);
    if (flag === 0) return false;
    if (!this.signal.aborted) this.#controller.abort(stopError(flag));
    return true;
  };

  readonly progress = (progress: Json): void => {
    const text = progressText(progress);
    if (this.#closed) return;
    const waitMs = this.#sentAt + PROGRESS_INTERVAL_MS - this.#needs.clock.monotonic();
    if (waitMs <= 0) {
      this.#send(text);
      return;
    }
    this.#waiting = text;
    if (!this.#flush.isSet) {
      this.#flush.set(Math.ceil(waitMs), () => {
        this.#sendWaiting();
      });
    }
  };

  /** True when `thrown` is how a task gives up because it was asked to. Never throws. */
  isStop(thrown: unknown): boolean {
    if (!this.cancelled()) return false;
    if (thrown === this.signal.reason) return true;
    if (typeof thrown !== 'object' || thrown === null) return false;
    try {
      const { name, cause } = thrown as { name?: unknown; cause?: unknown };
      return name === 'AbortError' || cause === this.signal.reason;
    } catch {
      return false;
    }
  }

  /** The task has ended: its last progress leaves, and nothing after it. */
  close(): void {
    this.#sendWaiting();
    this.#closed = true;
  }

  #sendWaiting(): void {
    if (this.#waiting !== undefined) this.#send(this.#waiting);
  }

  #send(text: string): void {
    this.#flush.clear();
    this.#waiting = undefined;
    this.#sentAt = this.#needs.clock.monotonic();
    this.#needs.send(text);
  }
}

/** As text at once, so that a value which the task goes on changing is shown as it was. */
function progressText(progress: Json): string {
  assertJson(progress, 'progress');
  const text = JSON.stringify(progress);
  if (text.length <= PROGRESS_LENGTH_MAX) return text;
  throw new ReeveError(
    'VALUE_NOT_JSON',
    `progress is limited to ${PROGRESS_LENGTH_MAX} characters of JSON, not ${text.length}`,
    { path: 'progress', length: text.length, limit: PROGRESS_LENGTH_MAX },
  );
}

function stopError(flag: number): ReeveError {
  if (flag === STOP_FLAG.deadline) {
    return new ReeveError('TASK_DEADLINE', 'the task has not ended within its deadline');
  }
  if (flag === STOP_FLAG.close) {
    return new ReeveError('TASK_RUNNER_CLOSED', 'the runner of the task is closing');
  }
  return new ReeveError('TASK_CANCELLED', 'the task was asked to stop');
}
