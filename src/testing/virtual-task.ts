/**
 * Tasks of a virtual pool: what runs on its threads, on virtual time, and what can go wrong there.
 */
import type { Json } from '../model/json.ts';
import type { TaskSubmission } from '../model/task.ts';
import type { TaskContext, TaskFunction } from '../threads/task-context.ts';

/**
 * Work in steps: each yielded number is a wait of so many virtual ms. It stops for good when the
 * thread dies; asked to stop, it ends where it waits, and its `finally` blocks run.
 */
export type TaskSteps = (
  // Tasks of one pool have inputs of many types; the machine's declaration checks them.
  input: never,
  context: TaskContext,
) => Generator<number, unknown>;

/**
 * - a function, synchronous or not, as a worker module exports it. JavaScript cannot stop a
 *   promise, so what it does after its thread has died still happens; what it says does not;
 * - `durationMs` and `run`: the thread is busy for so long, then `run` happens at once;
 * - `steps`, for work that has effects on its way.
 */
export type VirtualTask =
  | TaskFunction<never, unknown>
  | {
      readonly durationMs: number | ((input: never) => number);
      readonly run: (input: never, context: TaskContext) => unknown;
      /** Default true. False: it does not look whether it is asked to stop. */
      readonly heedsStop?: boolean;
    }
  | { readonly steps: TaskSteps; readonly heedsStop?: boolean };

/** What goes wrong with one run of a task. Times are virtual ms. */
export type VirtualFault =
  /** The thread hangs before it has begun the task. */
  | { readonly kind: 'never-start' }
  /** The thread dies before it has begun the task. */
  | { readonly kind: 'die-before-start' }
  /** The thread dies without a report, so long after it began. Default: 0. */
  | { readonly kind: 'die'; readonly afterMs?: number }
  /** The task never ends and looks at nothing: only the end of its thread ends it. */
  | { readonly kind: 'hang' }
  /** The task runs to its end, its report is lost; the thread is seen dead later. Default: 0. */
  | { readonly kind: 'lose-answer'; readonly deathAfterMs?: number }
  /** As `lose-answer` with a death at once, but the report comes in so long after it. */
  | { readonly kind: 'answer-late'; readonly afterMs: number }
  /** The report is followed by another one: null as a second output. */
  | { readonly kind: 'answer-twice' }
  /** The report says that it is of another attempt. */
  | { readonly kind: 'answer-for-another' };

/**
 * Decides, from what it is given alone, whether a run goes wrong. `run` is 1 when a thread is given
 * the attempt for the first time.
 */
export type FaultPlan = (task: TaskSubmission, run: number) => VirtualFault | undefined;

/** A task as steps; a function is none. */
export function stepsOf(task: Exclude<VirtualTask, TaskFunction<never, unknown>>): TaskSteps {
  if ('steps' in task) return task.steps;
  const { durationMs, run } = task;
  return function* (input, context) {
    yield typeof durationMs === 'number' ? durationMs : durationMs(input);
    return run(input, context);
  };
}

/** The input as a thread gets it: a copy of its own. */
export function copyOf(input: string): never {
  return JSON.parse(input) as Json as never;
}
