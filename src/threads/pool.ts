/** `fromPool`: binds a declared task to a function in a module of the user's, run on threads. */
import type { TaskBinding, TaskRunner, TaskRunnerNeeds } from '../model/task.ts';
import { AttemptRunner } from './attempt-runner.ts';
import { PiscinaHost } from './piscina-host.ts';
import { parsePoolOptions, type PoolOptions } from './pool-options.ts';
import { entryArguments, entryUrl } from './thread-entry.ts';

/** Ended attempts are kept until they are forgotten; a runtime that never forgets meets this. */
const KNOWN_MAX_BEYOND_QUEUE = 100_000;
/** Beyond the grace: threads that are terminated are gone in tens of ms, unless a call hangs. */
const CLOSE_MS = 10_000;

/**
 * Runs a task on a pool of worker threads of this process.
 *
 * `url` names a module, `file:` only, as `new URL('./hash-worker.js', import.meta.url)`; the export
 * is a `TaskFunction`. It is loaded in the threads, on the first attempt. Each attempt runs at most
 * once, one at a time on a thread.
 *
 * What an attempt ends with:
 * - `success` only by the function's own return of plain JSON, at most 1 MiB of it as text (nothing
 *   returned counts as null);
 * - `fail` with what it threw, whatever that is, `code`, `details` and causes kept; with
 *   TASK_MODULE_INVALID, TASK_DEADLINE, or TASK_NOT_STARTED when three threads in a row died before
 *   they began it;
 * - `cancelled` once its thread is seen to have stopped or ended;
 * - `unknown` with TASK_WORKER_EXITED (`process.exit`, an error outside its promise),
 *   TASK_WORKER_OUT_OF_MEMORY, TASK_RESULT_INVALID or TASK_RUNNER_CLOSED.
 *
 * A thread that dies takes nothing else with it, and the next attempt gets a new one. The process
 * is not protected: a segmentation fault in native code ends it. Throws OPTION_INVALID.
 */
export function fromPool(url: string | URL, options: PoolOptions = {}): TaskBinding {
  const settings = parsePoolOptions(url, options);
  return {
    kind: 'task-binding',
    open(needs: TaskRunnerNeeds): TaskRunner {
      const host = new PiscinaHost({
        ...settings,
        entry: { url: entryUrl('pool-worker'), exportName: 'runTask' },
        execArgv: entryArguments(),
      });
      return new AttemptRunner(needs, host, {
        ...settings,
        knownMax: settings.queueMax + settings.threads + KNOWN_MAX_BEYOND_QUEUE,
        closeMs: CLOSE_MS,
      });
    },
  };
}
