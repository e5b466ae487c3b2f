/**
 * What the runner of attempts needs of threads. Two implementations: real ones (Piscina) and the
 * simulator's. Everything that decides (queue, cancel, deadlines, whose word counts) is above this
 * port, so that the simulation runs the code that production runs.
 */
import type { ErrorData } from '../model/errors.ts';
import type { Json } from '../model/json.ts';
import type { AttemptId } from '../model/task.ts';

/** Why an execution was asked to stop. The first reason counts. */
export type StopReason = 'cancel' | 'deadline' | 'close';

export interface ThreadJob {
  readonly attempt: AttemptId;
  readonly task: string;
  /** JSON text. */
  readonly input: string;
}

/**
 * How one execution ended. `success`, `fail` and `stopped` are the thread's own word. `lost`: the
 * thread is seen to have ended, or to have let go of the job, without a word that can be believed.
 * `not-started`: the same, and it is proven that the task's code never began.
 */
export type Ending =
  | { readonly kind: 'success'; readonly output: Json }
  | { readonly kind: 'fail'; readonly error: ErrorData }
  | { readonly kind: 'stopped' }
  | { readonly kind: 'lost'; readonly error: ErrorData }
  | { readonly kind: 'not-started'; readonly error: ErrorData };

/** Called by the host, never from inside `start` or `ask`. */
export interface ExecutionEvents {
  /** At most once: a thread has taken the job up; the task's code runs from now on. */
  started(): void;
  progress(progress: Json): void;
  /** Exactly once. After `not-started` and `lost`, `released` follows before anything else. */
  ended(ending: Ending): void;
  /** A word that came after `ended`. */
  late(ending: Ending): void;
  /** Exactly once, after `ended`: the job's thread is free, or seen to have ended. */
  released(): void;
}

export interface Execution {
  /** Sets the flag that the task's `cancelled()` and `signal` show. */
  ask(reason: StopReason): void;
  /**
   * Terminates the thread of this job, and no other, unless its report is found waiting. The end is
   * told by the events.
   */
  kill(): void;
}

export interface ThreadHost {
  start(job: ThreadJob, events: ExecutionEvents): Execution;
  /** Threads that are not seen to have ended. */
  readonly alive: number;
  /** Ends all threads; resolves when the last one is seen to have ended. */
  close(): Promise<void>;
}
