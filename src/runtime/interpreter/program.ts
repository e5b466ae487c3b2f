/**
 * A program is what a procedure runs: an XState machine, other pure XState logic
 * (`fromTransition`), or the procedure set. The executor sees all of them alike.
 */
import type { AnyActorLogic, AnyActorRef, AnyStateMachine, EventObject } from 'xstate';
import type { Json } from '../../model/json.ts';
import type { DeclaredTask } from '../../model/declare-task.ts';
import type { ActionNames } from './inline-actions.ts';
import type { LiveSnapshot, Scope } from './internals.ts';

/** A snapshot's durable parts; the context is encoded by the caller, who knows the references. */
export interface StoredParts {
  readonly state: Json;
  readonly context: unknown;
  readonly historyValue?: Json;
}

export interface RestorableParts {
  readonly status: LiveSnapshot['status'];
  readonly state: Json;
  readonly context: unknown;
  readonly historyValue?: Json | undefined;
  readonly output?: unknown;
  readonly error?: unknown;
}

/** What stands behind a child's `src`. */
export type ChildLogic =
  | { readonly kind: 'procedure'; readonly program: Program }
  | { readonly kind: 'task'; readonly task: DeclaredTask }
  | { readonly kind: 'local'; readonly logic: AnyActorLogic };

/** How a changed machine takes over rows of an earlier version. Pure; plain JSON in and out. */
export interface MigratedState {
  readonly state: Json;
  readonly context: Json;
}
export type Migrate = (old: MigratedState) => MigratedState;

export interface Program {
  readonly kind: 'machine' | 'logic' | 'set';
  /** Durable name: the machine's id, or `<parent>/<src>` for logic found under a parent. */
  readonly key: string;
  readonly version: number;
  /** Fingerprint of the structure. */
  readonly print: string;
  /** True when rows of this program refer to parts of it by position. */
  readonly positional: boolean;
  readonly machine?: AnyStateMachine;
  readonly actions?: ActionNames;
  /** `migrate[n]` takes a state of version n to version n + 1. */
  readonly migrate: Readonly<Record<number, Migrate>>;
  start(scope: Scope, input: unknown): LiveSnapshot;
  transition(snapshot: LiveSnapshot, event: EventObject, scope: Scope): LiveSnapshot;
  store(snapshot: LiveSnapshot): StoredParts;
  /** Throws ROW_UNFIT when the parts are no state of this program. */
  restore(
    parts: RestorableParts,
    children: Record<string, AnyActorRef>,
    scope: Scope,
  ): LiveSnapshot;
  /** The child logic of a `src`; undefined when this program has none of that name. */
  child(src: string): ChildLogic | undefined;
  /** The `src` by which a logic object can be found again; undefined when it has none. */
  srcOf(logic: AnyActorLogic): string | undefined;
  /** True when a firing of this timer that was missed while nobody ran is not made up for. */
  skipsMissed(eventType: string): boolean;
}
