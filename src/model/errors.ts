/**
 * Every error Reeve raises has a stable code in this table. Codes never change within a major
 * version, messages may. `docs/errors.md` holds the same rows; a test keeps the two equal.
 *
 * At a thread or process edge an error travels as plain `ErrorData`, because structured clone drops
 * `code` and own properties.
 */

/** Who has to act: the caller changes the call, Reeve tries again, an operator steps in. */
export type Actor = 'caller' | 'reeve' | 'operator';

export interface ErrorRow {
  readonly acts: Actor;
  readonly cause: string;
  readonly remedy: string;
}

export const ERRORS = {
  VALUE_NOT_JSON: {
    acts: 'caller',
    cause: 'A context, event, input or table value holds something JSON cannot carry unchanged.',
    remedy: 'Store plain data: numbers, strings, booleans, null, arrays and plain objects.',
  },
  OPTION_INVALID: {
    acts: 'caller',
    cause: 'An option is unknown, has the wrong type or lies outside its limits.',
    remedy: 'See docs/options.md for the name, the unit and the limits.',
  },
  STORE_FULL: {
    acts: 'operator',
    cause: 'The disk (or a quota) is full. The commit was rolled back; nothing of it happened.',
    remedy: 'Free space. Reeve tries again by itself and goes on where it was.',
  },
  STORE_DAMAGED: {
    acts: 'operator',
    cause: 'A record that was acknowledged does not match its checksum, or records are missing.',
    remedy: 'Restore from a backup. The error names the position; nothing was changed.',
  },
  STORE_LOCKED: {
    acts: 'operator',
    cause: 'Another process holds the store; the error names it.',
    remedy: 'Stop that process, or use another directory.',
  },
  STORE_FOREIGN: {
    acts: 'operator',
    cause: 'The file belongs to another application.',
    remedy: 'Use another directory. The file was left as it was.',
  },
  STORE_TOO_NEW: {
    acts: 'operator',
    cause: 'The store was written by a newer version of Reeve.',
    remedy: 'Use that version or a newer one. The file was left as it was.',
  },
  STORE_OUTCOME_UNKNOWN: {
    acts: 'operator',
    cause: 'A commit or fsync failed so that it is not known what is on disk.',
    remedy: 'Start the process again: it recovers by replay from what is really there.',
  },
  STORE_REFUSED: {
    acts: 'caller',
    cause: 'A group is not the next one (gap, or other bytes at a taken position) or no group.',
    remedy: 'Nothing was written. Open the store again and go on from the position it reports.',
  },
  STORE_UNAVAILABLE: {
    acts: 'operator',
    cause: 'The directory or a file of the store cannot be opened, read or created.',
    remedy: 'The error names the path and the reason: check rights, owner and file system.',
  },
  STORE_CLOSED: {
    acts: 'caller',
    cause: 'The store or the runtime was closed.',
    remedy: 'Open it again.',
  },
  STALE_EPOCH: {
    acts: 'operator',
    cause: 'A newer reign has acquired the store; this one no longer decides anything.',
    remedy: 'Let the newer process work; stop this one.',
  },
  CLOCK_RUNAWAY: {
    acts: 'caller',
    cause: 'On a virtual clock, callbacks go on arming others for the same instant without end.',
    remedy: 'Look for a timer of 0 ms or an immediate that arms itself; raise the limit if not.',
  },
  TASK_NOT_BOUND: {
    acts: 'caller',
    cause: 'A machine invoked a declared task, and nothing is bound to it where it runs.',
    remedy: 'Bind it in createRuntime({ actors }), or provide() a stand-in in a unit test.',
  },
  TASK_INPUT_INVALID: {
    acts: 'caller',
    cause: "The input of a task is not plain JSON, or the task's validator refused it.",
    remedy: 'Give the task the input it declares; nothing was submitted.',
  },
  TASK_OUTPUT_INVALID: {
    acts: 'caller',
    cause: "A task ended in success with an output that the task's validator refuses.",
    remedy: 'Make the worker function and the declared output agree. The work was done.',
  },
  TASK_MODULE_INVALID: {
    acts: 'caller',
    cause: 'The worker module is missing, throws when it is loaded or lacks the export.',
    remedy: 'Correct the URL or the export name; the error carries what loading it gave.',
  },
  TASK_RESULT_INVALID: {
    acts: 'caller',
    cause: 'The worker ended without a report that can be believed or carried.',
    remedy: 'Return plain JSON within the size limit. Whether the work was done is not known.',
  },
  TASK_CANCELLED: {
    acts: 'caller',
    cause: 'The task was asked to stop; this is the reason of its AbortSignal.',
    remedy: 'Let it pass through: an attempt that throws it ends as cancelled.',
  },
  TASK_DEADLINE: {
    acts: 'caller',
    cause: 'The attempt did not end within deadlineMs and was stopped.',
    remedy: 'Raise the deadline, or do less in one attempt. Part of the work may be done.',
  },
  TASK_WORKER_EXITED: {
    acts: 'caller',
    cause: 'The worker thread ended (exit, uncaught error) before the task had reported.',
    remedy: 'See the exit code and the error; whether the work was done is not known.',
  },
  TASK_WORKER_OUT_OF_MEMORY: {
    acts: 'operator',
    cause: 'The worker thread reached its memory limit before the task had reported.',
    remedy: 'Raise resourceLimits or process less at a time.',
  },
  TASK_NOT_STARTED: {
    acts: 'operator',
    cause: 'No worker thread took the task up: each one tried ended before it began.',
    remedy: 'See the cause; the task did not run.',
  },
  TASK_QUEUE_FULL: {
    acts: 'reeve',
    cause: 'The runner holds as many attempts as its limits allow. No attempt was consumed.',
    remedy: 'Reeve submits the same attempt again later. Raise queueMax or threads if it lasts.',
  },
  TASK_RUNNER_CLOSED: {
    acts: 'reeve',
    cause: 'The runner was closed before the attempt had reported.',
    remedy: 'The next life of the runner decides; whether the work was done is not known.',
  },
  TASK_THREADS_ALIVE: {
    acts: 'operator',
    cause: 'Worker threads were told to end and are not seen to have ended.',
    remedy: 'They hang in a call of the system. End the process.',
  },
  ATTEMPT_CONFLICT: {
    acts: 'reeve',
    cause: 'An attempt id was submitted again with another task or input.',
    remedy: 'An attempt id belongs to one payload for ever; this is a defect of the submitter.',
  },
  SET_NEEDS_RUNTIME: {
    acts: 'caller',
    cause: 'A procedure set was started by a plain `createActor`.',
    remedy: 'Run the machine in a runtime, or provide other logic for `procedureSet` in the test.',
  },
  SET_INVALID: {
    acts: 'caller',
    cause: 'The input of a procedure set is incomplete or contradicts itself.',
    remedy: 'Give `of` and either `items` (unique keys) or `table`.',
  },
  SET_FAILED: {
    acts: 'caller',
    cause: "A child of a procedure set with `onFailure: 'stop'` failed.",
    remedy: "Read `failures` in the error's details; the other running children have ended.",
  },
  MACHINE_INVALID: {
    acts: 'caller',
    cause: 'A machine breaks a rule that durable machines keep; the error names it.',
    remedy: 'Change the machine as the message says.',
  },
  MACHINE_UNKNOWN: {
    acts: 'caller',
    cause: 'A machine is named that was not given to `createRuntime`, or that no export is.',
    remedy: 'Add it to `machines`, or correct the name.',
  },
  MACHINE_DUPLICATE: {
    acts: 'caller',
    cause: 'Two machines have the same id and version.',
    remedy: 'Give one of them another id or version.',
  },
  MACHINE_CHANGED: {
    acts: 'caller',
    cause: 'A machine with unnamed parts changed under the same version.',
    remedy: 'Raise its version and give `migrate`, or name its actions and invokes.',
  },
  VERSION_UNKNOWN: {
    acts: 'caller',
    cause: 'A record belongs to a version of its machine for which there is no way on.',
    remedy: 'Give that version too, or a `migrate` from it.',
  },
  ROW_UNFIT: {
    acts: 'caller',
    cause: 'A record is no state of its machine as it is now.',
    remedy: "Raise the machine's version and give `migrate`, or bring the state back.",
  },
  ACTOR_UNKNOWN: {
    acts: 'caller',
    cause: 'A machine starts an actor that nobody provides.',
    remedy: 'Declare it in `setup({ actors })` or bind it in `createRuntime({ actors })`.',
  },
  ACTOR_NOT_NAMED: {
    acts: 'caller',
    cause: 'A machine spawned logic that could not be found again after a restart.',
    remedy: 'Declare it in `setup({ actors })` and spawn it by name, or register the machine.',
  },
  ACTION_NOT_NAMED: {
    acts: 'caller',
    cause: 'An action was enqueued as an inline function; a restart could not find it again.',
    remedy: 'Name it in `setup({ actions })` and enqueue the name.',
  },
  TIMER_INVALID: {
    acts: 'caller',
    cause: 'A delay is not a finite number of milliseconds.',
    remedy: 'Give a number.',
  },
  TABLE_UNKNOWN: {
    acts: 'caller',
    cause: 'A table or table action was asked for that was not given to `createRuntime`.',
    remedy: 'Add it to `tables`, or correct the name.',
  },
  TABLE_FAILED: {
    acts: 'caller',
    cause: 'A table action threw; table actions must be total.',
    remedy: 'Answer with a reply instead of throwing.',
  },
  CHILDREN_LIMIT: {
    acts: 'caller',
    cause: 'A procedure would have more plain children than option `childrenMax` allows.',
    remedy: 'Use a procedure set for many.',
  },
  TIMERS_LIMIT: {
    acts: 'caller',
    cause: 'A procedure would have more timers than option `timersMax` allows.',
    remedy: 'Cancel timers that are no longer needed, or raise the option.',
  },
  EFFECTS_LIMIT: {
    acts: 'caller',
    cause: 'A procedure would have more unsettled effects than option `effectsMax` allows.',
    remedy: 'Wait for effects before taking on more, or raise the option.',
  },
  DEPTH_LIMIT: {
    acts: 'caller',
    cause: 'Procedures are nested deeper than 64 levels.',
    remedy: 'A machine probably starts itself; break the circle.',
  },
  RECORD_TOO_LARGE: {
    acts: 'caller',
    cause: 'The record of a procedure would be larger than option `recordBytesMax`.',
    remedy: 'Keep large data elsewhere and its address in the context.',
  },
  ATTEMPTS_EXHAUSTED: {
    acts: 'caller',
    cause: 'A procedure has used up its 2^20 task attempts, or all numbers are used.',
    remedy: 'Start a new procedure.',
  },
  MAILBOX_FULL: {
    acts: 'caller',
    cause: 'Too many events wait for one procedure (option `mailboxMax`).',
    remedy: 'Wait for `sendDurable` to resolve before sending more.',
  },
  QUEUE_FULL: {
    acts: 'caller',
    cause: 'Too many events wait in all (option `queueMax`); new procedures are refused.',
    remedy: 'Try again later; running procedures go on.',
  },
  ID_INVALID: {
    acts: 'caller',
    cause: 'A procedure id is empty, too long or holds control characters.',
    remedy: 'Use 1 to 200 printable characters.',
  },
  ID_CONFLICT: {
    acts: 'caller',
    cause: 'The id belongs to another procedure, or to one with other input.',
    remedy: 'Use another id, or the same input.',
  },
  PROCEDURE_UNKNOWN: {
    acts: 'caller',
    cause: 'There is no procedure with this id; it may have been purged.',
    remedy: 'Check the id with `list`.',
  },
  PROCEDURE_ENDED: {
    acts: 'caller',
    cause: 'The procedure has ended and takes no more events.',
    remedy: 'Read its output or error; spawn a new one.',
  },
  QUARANTINED: {
    acts: 'operator',
    cause: 'The procedure is set aside because it cannot go on under the present code.',
    remedy: 'Read its reason with `explain`, repair the code, then `retry`.',
  },
  CANCELLED: {
    acts: 'operator',
    cause: 'A procedure or task was cancelled.',
    remedy: 'Nothing; it was asked for.',
  },
  EFFECT_LOST: {
    acts: 'caller',
    cause: 'An effect on record has no action of that name any more.',
    remedy: 'Bring the action back; the effect is still on record.',
  },
  USAGE_INVALID: {
    acts: 'caller',
    cause: 'The command line has an unknown command, option or value. Nothing was done.',
    remedy: 'See `reeve --help`, or `--help` behind the command.',
  },
  MODULE_INVALID: {
    acts: 'caller',
    cause: 'The module given with `--from` is missing, cannot be loaded or exports no machine.',
    remedy: 'Correct the path, or what the message says of the module.',
  },
} as const satisfies Record<string, ErrorRow>;

export type ErrorCode = keyof typeof ERRORS;

/** An error as it travels between threads and processes and into records. */
export interface ErrorData {
  readonly name: string;
  readonly message: string;
  readonly code?: string;
  readonly stack?: string;
  readonly details?: Readonly<Record<string, unknown>>;
}

/** An error with a code of the table. Match on `code`, not on `instanceof`. */
export class ReeveError extends Error {
  readonly code: ErrorCode;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(
    code: ErrorCode,
    message: string,
    details: Readonly<Record<string, unknown>> = {},
    cause?: unknown,
  ) {
    super(`${code}: ${message}`, cause === undefined ? undefined : { cause });
    this.name = 'ReeveError';
    this.code = code;
    this.details = details;
  }
}

/** True when `error` carries `code`, also when it comes from another copy of this module. */
export function hasCode(error: unknown, code: ErrorCode): boolean {
  return typeof error === 'object' && error !== null && (error as { code?: unknown }).code === code;
}

/**
 * Any thrown value as plain data: `throw null`, `throw 'text'` and class instances included.
 * Keeps `code`, which structured clone would drop.
 */
export function toErrorData(thrown: unknown): ErrorData {
  if (typeof thrown !== 'object' || thrown === null) {
    return { name: 'Error', message: `thrown: ${String(thrown)}` };
  }
  const error = thrown as Partial<Record<'name' | 'message' | 'code' | 'stack', unknown>>;
  return {
    name: typeof error.name === 'string' ? error.name : 'Error',
    message: typeof error.message === 'string' ? error.message : describe(thrown),
    ...(typeof error.code === 'string' ? { code: error.code } : {}),
    ...(typeof error.stack === 'string' ? { stack: error.stack } : {}),
  };
}

function describe(value: object): string {
  try {
    return JSON.stringify(value) ?? Object.prototype.toString.call(value);
  } catch {
    return Object.prototype.toString.call(value);
  }
}
