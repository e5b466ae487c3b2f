/**
 * What a procedure set does, as pure functions over its counted state. The executor asks `refill`
 * after each step which children to start, and hands it pages of keys.
 */
import type { EventObject } from 'xstate';
import { ReeveError, toErrorData, type ErrorData } from '../../model/errors.ts';
import type { Json } from '../../model/json.ts';
import {
  PROCEDURE_SET,
  type ProcedureSetInput,
  type ProcedureSetOutput,
} from '../../model/procedure-set.ts';
import type { LiveSnapshot } from './internals.ts';
import type { Program } from './program.ts';

const ITEMS_MAX = 1_000;

export interface SetContext {
  readonly input: ProcedureSetInput;
  /** Where reading goes on: the last key taken from the table, or the index of the next item. */
  readonly cursor: string | number | null;
  readonly exhausted: boolean;
  readonly running: number;
  readonly started: number;
  readonly done: number;
  readonly failed: number;
  readonly failures: readonly { readonly key: string; readonly error: ErrorData }[];
}

export interface SetStart {
  readonly key: string;
  readonly input: Json;
}

/** Reads the next keys of a table behind `after`. */
export type ReadPage = (
  table: string,
  prefix: string,
  after: string | null,
  limit: number,
) => readonly { readonly key: string; readonly row: Json }[];

export interface SetLimits {
  readonly childrenInFlightMax: number;
  readonly setFailuresKept: number;
}

export const setProgram: Program = {
  kind: 'set',
  key: PROCEDURE_SET.src,
  version: 1,
  print: 'set',
  positional: false,
  migrate: {},
  start: (_scope, input) => active(openSet(input)),
  // Ends of children are counted by `countEnd`, which knows the limits; other events are ignored.
  transition: (snapshot, event) =>
    event.type === 'xstate.stop' ? { ...snapshot, status: 'stopped' } : snapshot,
  store: (snapshot) => ({ state: 'running', context: snapshot.context }),
  restore: (parts) => ({ ...active(parts.context as SetContext), ...ended(parts) }),
  child: () => undefined,
  srcOf: () => undefined,
  skipsMissed: () => false,
};

function active(context: SetContext): LiveSnapshot {
  return { status: 'active', value: 'running', context, output: undefined, error: undefined };
}

function ended(parts: { status: LiveSnapshot['status']; output?: unknown; error?: unknown }) {
  return { status: parts.status, output: parts.output, error: parts.error };
}

function openSet(given: unknown): SetContext {
  const input = given as Partial<ProcedureSetInput> | undefined;
  const bad = (why: string): never => {
    throw new ReeveError('SET_INVALID', why, {});
  };
  if (typeof input?.of !== 'string') bad('a procedure set needs `of`, the id of a machine');
  const { items, table, inFlight, onFailure } = input ?? {};
  if ((items === undefined) === (table === undefined)) {
    bad('a procedure set needs either `items` or `table`');
  }
  if (table !== undefined && typeof (table as { name?: unknown } | null)?.name !== 'string') {
    bad('`table` needs a `name`');
  }
  if (items !== undefined) assertItems(items, bad);
  if (inFlight !== undefined && (!Number.isInteger(inFlight) || inFlight < 1)) {
    bad('`inFlight` is a whole number from 1');
  }
  if (onFailure !== undefined && !['continue', 'stop'].includes(onFailure)) {
    bad("`onFailure` is 'continue' or 'stop'");
  }
  return {
    input: input as ProcedureSetInput,
    cursor: null,
    exhausted: false,
    running: 0,
    started: 0,
    done: 0,
    failed: 0,
    failures: [],
  };
}

function assertItems(items: unknown, bad: (why: string) => never): void {
  if (!Array.isArray(items)) return bad('`items` is a list');
  if (items.length > ITEMS_MAX) bad(`at most ${ITEMS_MAX} items; use a table`);
  const keys = new Set(items.map((item: { key?: unknown } | null) => item?.key));
  if (keys.size !== items.length) bad('two items have the same key');
  for (const key of keys) {
    if (typeof key !== 'string' || key === '') bad('the key of an item is text, and not empty');
  }
}

/** Counts the end of the child `key`. */
export function countEnd(
  context: SetContext,
  key: string,
  event: EventObject,
  limits: SetLimits,
): SetContext {
  const failed = event.type.startsWith('xstate.error.');
  if (!failed) return { ...context, running: context.running - 1, done: context.done + 1 };
  const error = toErrorData((event as { error?: unknown }).error);
  const kept = context.failures.length < limits.setFailuresKept;
  return {
    ...context,
    running: context.running - 1,
    failed: context.failed + 1,
    failures: kept ? [...context.failures, { key, error }] : context.failures,
    exhausted: context.exhausted || context.input.onFailure === 'stop',
  };
}

/** Which children to start now, and the snapshot after that; done when nothing is left to do. */
export function refill(
  snapshot: LiveSnapshot,
  read: ReadPage,
  limits: SetLimits,
): { readonly snapshot: LiveSnapshot; readonly starts: readonly SetStart[] } {
  const context = snapshot.context as SetContext;
  const { inFlight = limits.childrenInFlightMax } = context.input;
  const room = Math.min(inFlight, limits.childrenInFlightMax) - context.running;
  if (room <= 0 || context.exhausted) return { snapshot: finish(context), starts: [] };
  const { starts, cursor } = take(context, read, room);
  const next = {
    ...context,
    cursor,
    exhausted: starts.length < room,
    running: context.running + starts.length,
    started: context.started + starts.length,
  };
  return { snapshot: finish(next), starts };
}

function take(
  context: SetContext,
  read: ReadPage,
  room: number,
): { starts: SetStart[]; cursor: SetContext['cursor'] } {
  const { items, table, input } = context.input;
  if (items !== undefined) {
    const from = typeof context.cursor === 'number' ? context.cursor : 0;
    const starts = items.slice(from, from + room).map((item) => ({
      key: item.key,
      input: { ...input, ...item.input, key: item.key },
    }));
    return { starts, cursor: from + starts.length };
  }
  const after = typeof context.cursor === 'string' ? context.cursor : null;
  const page = read(table?.name ?? '', table?.prefix ?? '', after, room);
  const starts = page.map(({ key, row }) => ({ key, input: { ...input, key, row } }));
  return { starts, cursor: page.at(-1)?.key ?? context.cursor };
}

function finish(context: SetContext): LiveSnapshot {
  const snapshot = active(context);
  if (!context.exhausted || context.running > 0) return snapshot;
  const { started, done, failed, failures } = context;
  const output: ProcedureSetOutput = { started, done, failed, failures };
  if (failed > 0 && context.input.onFailure === 'stop') {
    const error = {
      name: 'ReeveError',
      code: 'SET_FAILED',
      message: `SET_FAILED: ${failed} of ${started} children failed`,
      details: output,
    };
    return { ...snapshot, status: 'error', error };
  }
  return { ...snapshot, status: 'done', output };
}
