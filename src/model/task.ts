/**
 * Slow work, as the runtime sees it: a named task with validated input, tried in attempts.
 * A runner (threads, a data node) executes attempts and reports; see `src/threads`.
 */
import type { Clock } from '../world/clock.ts';
import type { ErrorData } from './errors.ts';
import type { Json } from './json.ts';

/** One try of a task; a decimal string, unique for ever: procedure number * 2^20 + task counter. */
export type AttemptId = string & { readonly __brand: 'AttemptId' };

export interface TaskSubmission {
  readonly attempt: AttemptId;
  /** Name given to `declareTask`. */
  readonly task: string;
  readonly input: Json;
}

/**
 * How an attempt ended; in every case it is proven over. Only `success` carries output; it is plain
 * JSON, not yet seen by the task's validator. `fail`: the task said so, or it never began.
 * `cancelled`: it was asked to stop, and did. `unknown`: the worker is proven to have ended, but it
 * never said how (exit, out of memory, a value that cannot be carried, the runner was closed).
 */
export type TaskOutcome =
  | { readonly status: 'success'; readonly output: Json }
  | { readonly status: 'fail'; readonly error: ErrorData }
  | { readonly status: 'cancelled' }
  | { readonly status: 'unknown'; readonly error: ErrorData };

/** Never called from inside `submit`, `cancel`, `forget` or `close`, but from a later turn. */
export interface TaskListener {
  /** May be called often; never causes a commit. */
  progress(progress: Json): void;
  /** Called exactly once, when the attempt is proven over. */
  ended(outcome: TaskOutcome): void;
  /** A terminal report that came after the first one. Kept as evidence, changes nothing. */
  late(outcome: TaskOutcome): void;
  /**
   * The running attempt has shown no progress for `sinceMs`. Called once per silence, which the
   * next progress ends. Nothing is stopped by it.
   */
  silent?(sinceMs: number): void;
}

export interface TaskRunner {
  /**
   * Identity of this life of the runner's ledger. Attempts submitted under another ledger id are
   * proven over when the runner itself is new (its threads died with their process).
   */
  readonly ledger: string;
  /**
   * Starts or queues the attempt. The same attempt again never runs again: `listener` takes the
   * place of the one before, and hears the first outcome again if the attempt has ended.
   *
   * What it throws was not taken up: the listener hears nothing, no attempt is consumed, and the
   * same attempt may be submitted later. TASK_QUEUE_FULL (try again when `needs.room` is called or
   * after a while), TASK_RUNNER_CLOSED, VALUE_NOT_JSON; ATTEMPT_CONFLICT when the attempt is known
   * with another task or input (the known one goes on, and keeps its listener).
   */
  submit(task: TaskSubmission, listener: TaskListener): void;
  /**
   * Asks the attempt to stop. One that has not begun is taken out of the queue and ends
   * `cancelled`; otherwise `ended` follows when the worker is seen to have ended, with `success` or
   * `fail` when the task said so before it saw the request. Unknown and ended attempts: no effect.
   */
  cancel(attempt: AttemptId): void;
  /**
   * The outcome is durable: the attempt will not be submitted again and what is kept of it can go.
   * No effect unless the attempt has ended. Outcomes that nobody forgets are kept and count against
   * a limit, at which `submit` throws TASK_QUEUE_FULL; none is ever dropped to make room.
   */
  forget(attempt: AttemptId): void;
  /**
   * Stops everything and resolves when no worker of this runner is alive. What had not ended ends
   * `unknown` with TASK_RUNNER_CLOSED: it says nothing about the work. Rejects with
   * TASK_THREADS_ALIVE when a worker cannot be seen to end within the runner's limit.
   */
  close(): Promise<void>;
}

export interface TaskRunnerNeeds {
  readonly clock: Clock;
  /** A fresh identity for the runner's ledger. */
  readonly ledger: string;
  /** Called in a turn of its own once there is room again after a TASK_QUEUE_FULL. */
  readonly room?: () => void;
}

/** What `createRuntime({ actors })` binds to a declared task. */
export interface TaskBinding {
  readonly kind: 'task-binding';
  open(needs: TaskRunnerNeeds): TaskRunner;
}
