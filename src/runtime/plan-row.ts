/** Builds the next row of a procedure, its history entry, and its last snapshot. Pure. */
import { toErrorData } from '../model/errors.ts';
import { assertJson, type Json } from '../model/json.ts';
import type { Encoded } from './interpreter/actor-refs.ts';
import { encodeValue } from './interpreter/actor-refs.ts';
import type { LiveSnapshot } from './interpreter/internals.ts';
import type { Program, StoredParts } from './interpreter/program.ts';
import type { RowDraft } from './row-draft.ts';
import type { ProcedureRow } from './row.ts';
import type { StepFacts } from './step-facts.ts';

export function rowOf(given: {
  readonly row: ProcedureRow;
  readonly draft: RowDraft;
  readonly program: Program;
  readonly parts: StoredParts;
  readonly context: Encoded;
  readonly next: LiveSnapshot;
  readonly awaiting: readonly number[];
  readonly now: number;
  readonly facts: StepFacts;
}): ProcedureRow {
  const { row, draft, program, parts, context, next, awaiting, now, facts } = given;
  const ended = next.status !== 'active';
  const pending = ended && (draft.tasks.length > 0 || awaiting.length > 0);
  const effects = context.json === row.context ? draft.effects : withContexts(draft, row);
  return {
    id: row.id,
    number: row.number,
    machine: row.machine,
    version: program.version,
    print: program.print,
    root: row.root,
    ...(row.parent ? { parent: row.parent } : {}),
    inputHash: row.inputHash,
    status: ended ? (pending ? 'stopping' : (next.status as 'done')) : 'active',
    ...(pending ? { ending: next.status as 'done' } : {}),
    ...(awaiting.length > 0 ? { awaiting } : {}),
    ...(row.cancelled || facts.cancelled ? { cancelled: true as const } : {}),
    state: parts.state,
    context: context.json,
    ...(context.refs ? { refs: true as const } : {}),
    ...(parts.historyValue === undefined ? {} : { historyValue: parts.historyValue }),
    ...ending(next),
    ...(draft.children.length > 0 ? { children: draft.children } : {}),
    ...(draft.tasks.length > 0 ? { tasks: draft.tasks } : {}),
    ...(draft.timers.length > 0 ? { timers: draft.timers } : {}),
    ...(effects.length > 0 ? { effects } : {}),
    seq: draft.seq,
    armed: draft.armed,
    tasked: draft.tasked,
    createdAt: row.createdAt,
    at: now,
  };
}

/** The row after a change decided without the machine. */
export function upkeepRow(
  row: ProcedureRow,
  draft: RowDraft,
  awaiting: readonly number[],
): ProcedureRow {
  const { children: _c, tasks: _t, timers: _m, effects: _e, awaiting: _a, ...rest } = row;
  return {
    ...rest,
    ...(awaiting.length > 0 ? { awaiting } : {}),
    ...(draft.children.length > 0 ? { children: draft.children } : {}),
    ...(draft.tasks.length > 0 ? { tasks: draft.tasks } : {}),
    ...(draft.timers.length > 0 ? { timers: draft.timers } : {}),
    ...(draft.effects.length > 0 ? { effects: draft.effects } : {}),
    armed: draft.armed,
    tasked: draft.tasked,
  };
}

/**
 * Effects of earlier steps that are still unsettled keep the context they saw: once the row's own
 * context changes it has to be written beside them.
 */
function withContexts(draft: RowDraft, row: ProcedureRow): RowDraft['effects'] {
  return draft.effects.map((effect) =>
    effect.seq === draft.seq || effect.context !== undefined
      ? effect
      : { ...effect, context: row.context, ...(row.refs ? { refs: true as const } : {}) },
  );
}

function ending(next: LiveSnapshot): { output?: Json; error?: Json } {
  if (next.status === 'done' && next.output !== undefined) {
    return { output: encodeValue(next.output, 'output', () => undefined).json };
  }
  if (next.status === 'error') return { error: errorJson(next.error) };
  return {};
}

/** The snapshot with its error as it will be after a restart. */
export function withErrorData(snapshot: LiveSnapshot): LiveSnapshot {
  return snapshot.status === 'error' ? { ...snapshot, error: errorJson(snapshot.error) } : snapshot;
}

/** An error as a record keeps it: data, without a stack, which differs between two runs. */
export function errorJson(error: unknown): Json {
  if (!(error instanceof Error)) {
    try {
      assertJson(error, 'error');
      return error;
    } catch {
      // What JSON cannot carry is told in words.
    }
  }
  const { stack: _stack, ...data } = toErrorData(error);
  return data as unknown as Json;
}

/** The snapshot of an ended procedure, the same before and after a restart. */
export function endSnapshot(snapshot: LiveSnapshot, row: ProcedureRow): LiveSnapshot {
  return {
    ...snapshot,
    status: row.status as LiveSnapshot['status'],
    output: row.output,
    error: row.error,
    children: {},
  };
}

/**
 * One line of the audit trail: `n` step, `at` ms, `e` event, `s` state after it, `c` context if it
 * changed, `by` the sending procedure, `st` status unless active.
 */
export function historyEntry(row: ProcedureRow, before: ProcedureRow, facts: StepFacts): string {
  return JSON.stringify({
    n: row.seq,
    at: row.at,
    e: eventForHistory(facts.event),
    s: row.state,
    ...(row.context === before.context ? {} : { c: row.context }),
    ...(facts.source === undefined ? {} : { by: facts.source }),
    ...(row.status === 'active' ? {} : { st: row.status }),
  });
}

function eventForHistory(event: { type: string }): unknown {
  try {
    return encodeValue(event, 'event', () => undefined).json;
  } catch {
    return { type: event.type };
  }
}
