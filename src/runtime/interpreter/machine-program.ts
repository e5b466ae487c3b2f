/** A program made of an XState machine. */
import type { AnyActorLogic, AnyActorRef, AnyStateMachine, EventObject } from 'xstate';
import { ReeveError, toErrorData } from '../../model/errors.ts';
import type { Json } from '../../model/json.ts';
import { ActionNames } from './inline-actions.ts';
import {
  callable,
  inspected,
  type CallableLogic,
  type InspectedNode,
  type LiveSnapshot,
  type Scope,
} from './internals.ts';
import { machinePrint } from './machine-print.ts';
import type { ChildLogic, Migrate, Program, RestorableParts, StoredParts } from './program.ts';

export interface MachineProgramParts {
  readonly key: string;
  readonly version: number;
  /** The user's machine. */
  readonly machine: AnyStateMachine;
  /** The same machine with light stand-ins for its children: nothing runs while planning. */
  readonly planning: AnyStateMachine;
  readonly children: ReadonlyMap<string, ChildLogic>;
  readonly sources: ReadonlyMap<AnyActorLogic, string>;
  readonly migrate: Readonly<Record<number, Migrate>>;
  readonly positionalInvokes: boolean;
}

export class MachineProgram implements Program {
  readonly kind = 'machine';
  readonly key: string;
  readonly version: number;
  readonly print: string;
  readonly positional: boolean;
  readonly machine: AnyStateMachine;
  readonly actions: ActionNames;
  readonly migrate: Readonly<Record<number, Migrate>>;
  readonly #logic: CallableLogic;
  readonly #children: ReadonlyMap<string, ChildLogic>;
  readonly #sources: ReadonlyMap<AnyActorLogic, string>;
  readonly #skipping: ReadonlySet<string>;

  constructor(parts: MachineProgramParts) {
    this.key = parts.key;
    this.version = parts.version;
    this.print = machinePrint(parts.machine);
    this.machine = parts.planning;
    this.actions = new ActionNames(parts.planning);
    this.positional = this.actions.positional || parts.positionalInvokes;
    this.migrate = parts.migrate;
    this.#logic = callable(parts.planning);
    this.#children = parts.children;
    this.#sources = parts.sources;
    this.#skipping = skippingTimers(parts.planning);
  }

  start(scope: Scope, input: unknown): LiveSnapshot {
    return this.#logic.getInitialSnapshot(scope, input);
  }

  transition(snapshot: LiveSnapshot, event: EventObject, scope: Scope): LiveSnapshot {
    return this.#logic.transition(snapshot, event, scope);
  }

  store(snapshot: LiveSnapshot): StoredParts {
    const history = historyIds(snapshot.historyValue);
    return {
      state: snapshot.value as Json,
      context: snapshot.context,
      ...(history ? { historyValue: history } : {}),
    };
  }

  restore(
    parts: RestorableParts,
    children: Record<string, AnyActorRef>,
    scope: Scope,
  ): LiveSnapshot {
    this.#assertState(this.machine.root as unknown as StateTree, parts.state);
    let snapshot: LiveSnapshot | undefined;
    try {
      snapshot = this.#logic.restoreSnapshot?.(
        {
          status: parts.status,
          value: parts.state,
          context: parts.context,
          historyValue: historyNodes(parts.historyValue),
          output: parts.output,
          error: parts.error,
          children: {},
        },
        scope,
      );
    } catch (cause) {
      throw new ReeveError('ROW_UNFIT', toErrorData(cause).message, { machine: this.key }, cause);
    }
    if (snapshot === undefined) {
      throw new ReeveError('ROW_UNFIT', 'XState restores no snapshots', { machine: this.key });
    }
    // XState made the object and its empty `children` a moment ago; nobody else holds it yet.
    Object.assign(snapshot.children as object, children);
    return snapshot;
  }

  child(src: string): ChildLogic | undefined {
    return this.#children.get(src);
  }

  srcOf(logic: AnyActorLogic): string | undefined {
    return this.#sources.get(logic);
  }

  skipsMissed(eventType: string): boolean {
    return this.#skipping.has(eventType);
  }

  #assertState(node: StateTree, value: Json): void {
    if (typeof value === 'string') {
      if (!Object.hasOwn(node.states, value)) this.#unfit(`${node.id}.${value}`);
      return;
    }
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      this.#unfit(`${node.id}: ${JSON.stringify(value)}`);
    }
    for (const [key, part] of Object.entries(value as Record<string, Json>)) {
      const child = Object.hasOwn(node.states, key) ? node.states[key] : undefined;
      if (child === undefined) this.#unfit(`${node.id}.${key}`);
      else this.#assertState(child, part);
    }
  }

  #unfit(state: string): never {
    throw new ReeveError('ROW_UNFIT', `machine '${this.key}' has no state ${state}`, {
      machine: this.key,
      version: this.version,
      state,
    });
  }
}

interface StateTree {
  readonly id: string;
  readonly states: Readonly<Record<string, StateTree>>;
}

function historyIds(history: unknown): Json | undefined {
  if (typeof history !== 'object' || history === null) return undefined;
  const entries = Object.entries(history as Record<string, readonly { readonly id: string }[]>);
  if (entries.length === 0) return undefined;
  return Object.fromEntries(entries.map(([key, nodes]) => [key, nodes.map((node) => node.id)]));
}

function historyNodes(stored: Json | undefined): Record<string, { id: string }[]> {
  const ids = (stored ?? {}) as Record<string, readonly string[]>;
  return Object.fromEntries(
    Object.entries(ids).map(([key, nodes]) => [key, nodes.map((id) => ({ id }))]),
  );
}

/** Event types of the `after` transitions of states whose meta says `missed: 'skip'`. */
function skippingTimers(machine: AnyStateMachine): ReadonlySet<string> {
  const types = new Set<string>();
  for (const node of inspected(machine).idMap.values()) {
    if (!skips(node)) continue;
    for (const delay of Object.keys((node.config.after ?? {}) as object)) {
      types.add(`xstate.after.${delay}.${node.id}`);
    }
  }
  return types;
}

function skips(node: InspectedNode): boolean {
  return (node.meta as { missed?: unknown } | undefined)?.missed === 'skip';
}
