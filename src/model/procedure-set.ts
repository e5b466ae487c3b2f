/**
 * The procedure set: one invoke that runs a child procedure for each of many keys.
 *
 * A plain child is an entry in its parent's snapshot, which suits a handful. A set is one child
 * that counts: keys are read in pages, at most `inFlight` children run, each end is one small step,
 * and the parent gets one summary.
 */
import type { ActorLogic, AnyActorLogic, EventObject, Snapshot } from 'xstate';
import type { ErrorData } from './errors.ts';
import { ReeveError } from './errors.ts';
import type { Json } from './json.ts';

export interface ProcedureSetInput {
  /** Id of the machine that each child runs; it must be known to the runtime. */
  readonly of: string;
  /** One child per item, at most 1,000. Give either `items` or `table`. */
  readonly items?: readonly ProcedureSetItem[];
  /** One child per row of a table, in key order: rows may be many and are read in pages. */
  readonly table?: { readonly name: string; readonly prefix?: string };
  /** Merged into each child's input, which also gets `key` and, for a table, `row`. */
  readonly input?: { readonly [key: string]: Json };
  /** Most children running at a time; default and upper limit: option `childrenInFlightMax`. */
  readonly inFlight?: number;
  /**
   * `continue` (default): run all, then end done with a summary that counts failures.
   * `stop`: after the first failure start no more, let the running ones end, then end in error.
   */
  readonly onFailure?: 'continue' | 'stop';
}

export interface ProcedureSetItem {
  readonly key: string;
  readonly input?: { readonly [key: string]: Json };
}

export interface ProcedureSetOutput {
  readonly started: number;
  readonly done: number;
  readonly failed: number;
  /** The first failures, at most option `setFailuresKept`. */
  readonly failures: readonly { readonly key: string; readonly error: ErrorData }[];
}

type SetSnapshot = Snapshot<ProcedureSetOutput> & { readonly input: ProcedureSetInput };

export type ProcedureSetLogic = ActorLogic<SetSnapshot, EventObject, ProcedureSetInput>;

/**
 * The logic to name in `setup({ actors: { procedureSet } })`, so that input and output are typed.
 * Only Reeve's runtime can run it; under a plain `createActor` it ends with SET_NEEDS_RUNTIME.
 */
export const procedureSet: ProcedureSetLogic = {
  transition: (snapshot) => snapshot,
  getInitialSnapshot: (_scope, input) => ({
    status: 'error',
    output: undefined,
    error: new ReeveError('SET_NEEDS_RUNTIME', 'a procedure set runs only in a runtime', {}),
    input,
  }),
  getPersistedSnapshot: (snapshot) => snapshot,
  restoreSnapshot: (snapshot) => snapshot as SetSnapshot,
};

/** The set is known to every machine by this `src`, declared or not. */
export const PROCEDURE_SET = {
  src: 'procedureSet',
  logic: procedureSet as unknown as AnyActorLogic,
} as const;

export function isProcedureSet(logic: unknown): boolean {
  return logic === procedureSet;
}
