/** Builds the next row of a procedure, its history entry, and its last snapshot. Pure. */
import { toErrorData } from '../../model/errors.ts';
import { assertJson, type Json } from '../../model/json.ts';
import type { Encoded } from '../interpreter/actor-refs.ts';
import { encodeValue } from '../interpreter/actor-refs.ts';
import type { LiveSnapshot } from '../interpreter/internals.ts';
import type { Program, StoredParts } from '../interpreter/program.ts';
import type { RowDraft } from './row-draft.ts';
import type { ProcedureRow } from '../records/row.ts';
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
  const made: Mutable<ProcedureRow> = {
    id: row.id,
    number: row.number,
    machine: row.machine,
    version: program.version,
    print: program.print,
    root: row.root,
    inputHash: row.inputHash,
    status: ended ? (pending ? 'stopping' : (next.status as 'done')) : 'active',
    state: parts.state,
    context: context.json,
    seq: draft.seq,
    armed: draft.armed,
    tasked: draft.tasked,
    createdAt: row.createdAt,
    at: now,
  };
  // A step is made ten thousand times a second: assignments, where spreads would each copy.
  if (row.parent !== undefined) made.parent = row.parent;
  if (pending) made.ending = next.status as 'done';
  if (awaiting.length > 0) made.awaiting = awaiting;
  if (row.cancelled || facts.cancelled) made.cancelled = true;
  if (context.refs) made.refs = true;
  if (parts.historyValue !== undefined) made.historyValue = parts.historyValue;
  if (ended) Object.assign(made, ending(next));
  addLists(made, draft, context.json === row.context ? draft.effects : withContexts(draft, row));
  return made;
}

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

function addLists(row: Mutable<ProcedureRow>, draft: RowDraft, effects: RowDraft['effects']): void {
  if (draft.children.length > 0) row.children = draft.children;
  if (draft.tasks.length > 0) row.tasks = draft.tasks;
  if (draft.timers.length > 0) row.timers = draft.timers;
  if (effects.length > 0) row.effects = effects;
}

/** The row after a change decided without the machine. */
export function upkeepRow(
  row: ProcedureRow,
  draft: RowDraft,
  awaiting: readonly number[],
): ProcedureRow {
  const { children: _c, tasks: _t, timers: _m, effects: _e, awaiting: _a, ...rest } = row;
  const made: Mutable<ProcedureRow> = { ...rest, armed: draft.armed, tasked: draft.tasked };
  if (awaiting.length > 0) made.awaiting = awaiting;
  addLists(made, draft, draft.effects);
  return made;
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
  const entry: Record<string, unknown> = {
    n: row.seq,
    at: row.at,
    e: eventForHistory(facts.event),
    s: row.state,
  };
  if (row.context !== before.context) entry['c'] = row.context;
  if (facts.source !== undefined) entry['by'] = facts.source;
  if (row.status !== 'active') entry['st'] = row.status;
  return JSON.stringify(entry);
}

function eventForHistory(event: { type: string }): unknown {
  try {
    return encodeValue(event, 'event', () => undefined).json;
  } catch {
    return { type: event.type };
  }
}
