/** Why a procedure is where it is: what it waits for, in data and in words (L12). */
import type { ErrorData } from '../model/errors.ts';
import type { Json } from '../model/json.ts';
import type { EffectStanding } from './acting/effect-runner.ts';
import type { Procedure } from './population/procedure.ts';
import { NONE, type ProcedureStatus } from './records/row.ts';
import type { TaskStanding } from './acting/task-desk.ts';

export type Waiting =
  | { readonly for: 'timer'; readonly id: string; readonly dueInMs: number }
  | {
      readonly for: 'task';
      readonly task: string;
      readonly attempt: string;
      readonly phase: string;
      readonly runningMs?: number;
      readonly progress?: Json;
      readonly silentMs?: number;
    }
  | { readonly for: 'child'; readonly id: string; readonly state: string }
  | ({ readonly for: 'effect' } & EffectStanding)
  | { readonly for: 'event'; readonly types: readonly string[] }
  | { readonly for: 'store'; readonly error: ErrorData }
  | { readonly for: 'repair'; readonly error: ErrorData };

export interface Explanation {
  readonly id: string;
  readonly machine: string;
  readonly state: Json;
  readonly status: ProcedureStatus;
  readonly waitingFor: readonly Waiting[];
  /** One sentence. */
  readonly words: string;
}

export interface ExplainNeeds {
  readonly now: number;
  readonly monotonic: number;
  readonly storeError: ErrorData | undefined;
  readonly effects: readonly EffectStanding[];
  standing(attempt: string): TaskStanding | undefined;
  /** Id and state of a child procedure that has not ended. */
  child(number: number): { readonly id: string; readonly state: string } | undefined;
  /** Children a procedure set is waiting for. */
  running: number;
}

export function explain(procedure: Procedure, needs: ExplainNeeds): Explanation {
  const row = procedure.shown?.row ?? procedure.row;
  const waitingFor = [...waits(procedure, needs)];
  const { id, machine, state, status } = row;
  return { id, machine, state, status, waitingFor, words: words(status, waitingFor) };
}

function* waits(procedure: Procedure, needs: ExplainNeeds): Generator<Waiting> {
  const row = procedure.shown?.row ?? procedure.row;
  if (needs.storeError !== undefined) yield { for: 'store', error: needs.storeError };
  if (row.quarantine !== undefined) yield { for: 'repair', error: row.quarantine.error };
  for (const effect of needs.effects) yield { for: 'effect', ...effect };
  for (const task of row.tasks ?? NONE) yield taskWait(task, needs);
  for (const child of row.children ?? NONE) {
    const standing = child.number === undefined ? undefined : needs.child(child.number);
    if (standing !== undefined && !child.ended) yield { for: 'child', ...standing };
    if (child.kind === 'local' && !child.ended) {
      yield { for: 'child', id: child.id, state: `live actor '${child.src}'` };
    }
  }
  for (const number of row.awaiting ?? NONE) {
    const standing = needs.child(number);
    if (standing !== undefined) yield { for: 'child', ...standing };
  }
  if (procedure.program.kind === 'set' && needs.running > 0) {
    yield { for: 'child', id: `${row.id}/*`, state: `${needs.running} running` };
  }
  for (const { id, due } of row.timers ?? NONE) {
    yield { for: 'timer', id, dueInMs: Math.max(0, due - needs.now) };
  }
  if (row.status === 'active') {
    const types = acceptedEvents(procedure);
    if (types.length > 0) yield { for: 'event', types };
  }
}

function taskWait(
  task: { attempt: string; src: string; phase: string },
  needs: ExplainNeeds,
): Waiting {
  const standing = needs.standing(task.attempt);
  const lastSeen = standing?.progressAt ?? standing?.since;
  return {
    for: 'task',
    task: task.src,
    attempt: task.attempt,
    phase: task.phase,
    ...(standing === undefined ? {} : { runningMs: Math.round(needs.monotonic - standing.since) }),
    ...(standing?.progress === undefined ? {} : { progress: standing.progress }),
    ...(lastSeen === undefined ? {} : { silentMs: Math.round(needs.monotonic - lastSeen) }),
  };
}

/** Event types that someone outside may send and the current states have a transition for. */
export function acceptedEvents(procedure: Procedure): readonly string[] {
  const snapshot = procedure.shown?.snapshot ?? procedure.snapshot;
  const nodes = (snapshot as { _nodes?: readonly { ownEvents: readonly string[] }[] })?._nodes;
  const types = new Set((nodes ?? []).flatMap(({ ownEvents }) => ownEvents));
  return [...types].filter((type) => !type.startsWith('xstate.') && type !== '').sort();
}

function words(status: ProcedureStatus, waiting: readonly Waiting[]): string {
  if (status === 'done' || status === 'error' || status === 'stopped')
    return `It has ended: ${status}.`;
  const parts = waiting.map(inWords);
  const begin = status === 'active' ? 'It waits for' : `It is ${status} and waits for`;
  return parts.length === 0
    ? `It is ${status} and waits for nothing.`
    : `${begin} ${parts.join('; ')}.`;
}

function inWords(wait: Waiting): string {
  switch (wait.for) {
    case 'timer':
      return `the timer '${wait.id}', due in ${wait.dueInMs} ms`;
    case 'task':
      return `the task '${wait.task}' (attempt ${wait.attempt}, ${wait.phase})`;
    case 'child':
      return `the child '${wait.id}' (${wait.state})`;
    case 'effect': {
      const last = wait.lastError === undefined ? '' : `, last error: ${wait.lastError}`;
      return `the effect '${wait.type}' (tries so far: ${wait.attempts}${last})`;
    }
    case 'event':
      return `an event: ${wait.types.join(', ')}`;
    case 'store':
      return `the store, which refuses commits: ${wait.error.message}`;
    case 'repair':
      return `repair: ${wait.error.message}`;
  }
}
