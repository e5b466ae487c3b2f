/**
 * The parts of XState 5.33 that are not in its public types, named in one place.
 * `xstate` is pinned to ~5.33.3; `test/contract` compares the runtime with `createActor`.
 */
import type { AnyActorLogic, AnyActorRef, AnyStateMachine, EventObject } from 'xstate';

/** What every snapshot has, of a machine or of other logic. */
export interface LiveSnapshot {
  readonly status: 'active' | 'done' | 'error' | 'stopped';
  readonly output?: unknown;
  readonly error?: unknown;
  readonly context?: unknown;
  readonly value?: unknown;
  readonly children?: Readonly<Record<string, AnyActorRef>>;
  readonly historyValue?: unknown;
  readonly tags?: ReadonlySet<string>;
}

/** An action as XState hands it to the scope's executor: resolved, not executed. */
export interface ResolvedAction {
  readonly type: string;
  readonly params: unknown;
  readonly info: {
    readonly context: unknown;
    readonly event: EventObject;
    readonly self: unknown;
    readonly system: unknown;
  };
  readonly exec: ActionFunction | undefined;
}

export type ActionFunction = (args: unknown, params: unknown) => unknown;

/** Members of an XState `Actor` that `createActor` sets and types do not show. */
export interface CreatedActor {
  readonly id: string;
  readonly sessionId: string;
  readonly src: string | AnyActorLogic;
  readonly systemId: string | undefined;
  readonly _parent: unknown;
  readonly _syncSnapshot: boolean | undefined;
  readonly options: { readonly input?: unknown };
}

/** What XState's `ActorScope` is made of. */
export interface Scope {
  readonly self: unknown;
  readonly id: string;
  readonly sessionId: string;
  readonly logger: (...args: unknown[]) => void;
  readonly system: unknown;
  readonly defer: (run: () => void) => void;
  readonly emit: (event: EventObject) => void;
  readonly stopChild: (child: unknown) => void;
  /** XState swaps this member during a microstep and puts it back. */
  actionExecutor: (action: ResolvedAction) => void;
}

/** Logic as this runtime calls it: with its own scope. */
export interface CallableLogic {
  transition(snapshot: unknown, event: EventObject, scope: Scope): LiveSnapshot;
  getInitialSnapshot(scope: Scope, input: unknown): LiveSnapshot;
  getPersistedSnapshot(snapshot: unknown, options?: unknown): unknown;
  restoreSnapshot?(persisted: unknown, scope: Scope): LiveSnapshot;
  start?: unknown;
}

/** A state node's parts that registration looks at. */
export interface InspectedNode {
  readonly id: string;
  readonly entry: readonly unknown[];
  readonly exit: readonly unknown[];
  readonly meta?: unknown;
  readonly config: { readonly after?: unknown; readonly invoke?: unknown };
  readonly invoke: readonly { readonly id: string; readonly src: string }[];
  readonly transitions: ReadonlyMap<string, readonly { readonly actions: readonly unknown[] }[]>;
  readonly always?: readonly { readonly actions: readonly unknown[] }[];
  readonly initial?: { readonly actions: readonly unknown[] };
}

export interface InspectedMachine {
  readonly idMap: ReadonlyMap<string, InspectedNode>;
  readonly implementations: {
    readonly actors: Readonly<Record<string, AnyActorLogic>>;
    readonly actions: Readonly<Record<string, unknown>>;
  };
}

export function inspected(machine: AnyStateMachine): InspectedMachine {
  return machine as unknown as InspectedMachine;
}

export function callable(logic: AnyActorLogic): CallableLogic {
  return logic as unknown as CallableLogic;
}

export function isStateMachine(logic: unknown): logic is AnyStateMachine {
  return typeof logic === 'object' && logic !== null && '__xstatenode' in logic;
}

/** True for XState's own actions (`assign`, `raise`, ...), which are resolved, not run. */
export function isBuiltinAction(action: unknown): boolean {
  return typeof action === 'function' && 'resolve' in action;
}

export const XSTATE_INIT = 'xstate.init';
export const XSTATE_STOP = 'xstate.stop';

export function doneActorEvent(child: string, output: unknown): EventObject {
  return { type: `xstate.done.actor.${child}`, output, actorId: child } as EventObject;
}

export function errorActorEvent(child: string, error: unknown): EventObject {
  return { type: `xstate.error.actor.${child}`, error, actorId: child } as EventObject;
}
