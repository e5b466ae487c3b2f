/**
 * Slow work that a machine can ask for by name: `declareTask` gives XState logic to write in
 * `setup({ actors })`, so that `input` and `event.output` are typed. It says nothing of where the
 * work runs: `createRuntime({ actors })` binds it to threads or data nodes.
 *
 * The marker is a registered symbol, so that another copy of this module recognises it too.
 */
import type { PromiseActorLogic } from 'xstate';
import { ReeveError, toErrorData } from './errors.ts';
import { assertJson, type Json } from './json.ts';

/**
 * `T` with what JSON cannot carry turned into `never`: a type is fit for a task when it extends its
 * own `JsonForm`. Unlike `extends Json` it takes interfaces and optional properties.
 */
export type JsonForm<T> = { [Key in keyof T]: JsonPart<T[Key]> };

type JsonPart<T> = T extends Json | undefined
  ? T
  : T extends ((...args: never[]) => unknown) | bigint | symbol
    ? never
    : { [Key in keyof T]: JsonPart<T[Key]> };

/**
 * Looks at a value on its way in or out. It refuses by throwing or by returning `false`; an
 * assertion function, a type guard and a schema's `assert` all fit. Anything returned but `true`
 * and `undefined` refuses too, so that a forgotten `await` or a falsy value never lets one pass.
 */
// eslint-disable-next-line @typescript-eslint/no-invalid-void-type -- assertion functions give void
export type Validator = (value: unknown) => boolean | void;

export interface DeclaredTask {
  /** What runners and records call the task. */
  readonly name: string;
  readonly input?: Validator;
  readonly output?: Validator;
}

/** XState logic of a declared task. Anything that gives the same output can be provided for it. */
export type TaskLogic<Input, Output> = PromiseActorLogic<Output, Input>;

const MARK = Symbol.for('reeve.declared-task');

/** Longest name of a task, in characters. */
const NAME_LENGTH_MAX = 200;

/**
 * Declares a task by its durable name, 1 to 200 characters. Throws OPTION_INVALID.
 *
 * A plain `createActor` cannot run it: the invoke ends in `onError` with TASK_NOT_BOUND. In a unit
 * test of a machine, `machine.provide({ actors })` puts a `fromPromise` of the same types there.
 */
export function declareTask<Input extends JsonForm<Input>, Output extends JsonForm<Output>>(
  name: string,
  validators: { readonly input?: Validator; readonly output?: Validator } = {},
): TaskLogic<Input, Output> {
  const task = Object.freeze({ name: checkedName(name), ...checkedValidators(validators) });
  const logic: TaskLogic<Input, Output> = {
    transition: (snapshot) => snapshot,
    getInitialSnapshot: (_scope, input) => ({
      status: 'error',
      output: undefined,
      error: new ReeveError(
        'TASK_NOT_BOUND',
        `nothing is bound to task '${name}': give createRuntime({ actors }) a binding for it, ` +
          'or provide() a stand-in in a unit test',
        { task: name },
      ),
      input,
    }),
    getPersistedSnapshot: (snapshot) => snapshot,
    restoreSnapshot: (snapshot) => snapshot as ReturnType<typeof logic.getInitialSnapshot>,
  };
  Object.defineProperty(logic, MARK, { value: task });
  return logic;
}

/** True for logic made by `declareTask`, also by another copy of this module. */
export function isDeclaredTask(logic: unknown): boolean {
  return typeof logic === 'object' && logic !== null && Object.hasOwn(logic, MARK);
}

/** Name and validators of a declared task. Throws TASK_NOT_BOUND for any other logic. */
export function taskOf(logic: object): DeclaredTask {
  if (!isDeclaredTask(logic)) {
    throw new ReeveError('TASK_NOT_BOUND', 'this logic was not made by declareTask');
  }
  return (logic as Record<symbol, unknown>)[MARK] as DeclaredTask;
}

/** Throws TASK_INPUT_INVALID when `input` is not plain JSON or the task's validator refuses it. */
export function assertTaskInput(task: DeclaredTask, input: unknown): asserts input is Json {
  check(task, 'input', 'TASK_INPUT_INVALID', input);
}

/** Throws TASK_OUTPUT_INVALID when `output` is not plain JSON or the validator refuses it. */
export function assertTaskOutput(task: DeclaredTask, output: unknown): asserts output is Json {
  check(task, 'output', 'TASK_OUTPUT_INVALID', output);
}

function check(
  task: DeclaredTask,
  side: 'input' | 'output',
  code: 'TASK_INPUT_INVALID' | 'TASK_OUTPUT_INVALID',
  value: unknown,
): void {
  let verdict: unknown;
  try {
    assertJson(value, side);
    verdict = task[side]?.(value);
  } catch (cause) {
    const reason = toErrorData(cause).message;
    throw new ReeveError(
      code,
      `${side} of task '${task.name}': ${reason}`,
      { task: task.name, reason },
      cause,
    );
  }
  if (verdict === true || verdict === undefined) return;
  throw new ReeveError(code, `${side} of task '${task.name}' was refused by its validator`, {
    task: task.name,
  });
}

function checkedName(name: unknown): string {
  if (typeof name === 'string' && name.length > 0 && name.length <= NAME_LENGTH_MAX) return name;
  throw new ReeveError(
    'OPTION_INVALID',
    `a task's name is a string of 1 to ${NAME_LENGTH_MAX} characters`,
    { option: 'name' },
  );
}

function checkedValidators(validators: object): { input?: Validator; output?: Validator } {
  const known: { input?: Validator; output?: Validator } = {};
  for (const [option, value] of Object.entries(validators) as [string, unknown][]) {
    if (value === undefined) continue;
    if ((option !== 'input' && option !== 'output') || typeof value !== 'function') {
      throw new ReeveError(
        'OPTION_INVALID',
        `declareTask takes the functions input and output, not '${option}'`,
        { option },
      );
    }
    known[option] = value as Validator;
  }
  return known;
}
