/**
 * A program made of XState logic other than a machine that is pure: it has no `start`, so it only
 * turns a snapshot and an event into the next snapshot (`fromTransition`).
 */
import type { AnyActorLogic, EventObject } from 'xstate';
import type { Json } from '../../model/json.ts';
import {
  callable,
  XSTATE_STOP,
  type CallableLogic,
  type LiveSnapshot,
  type Scope,
} from './internals.ts';
import type { Program, RestorableParts, StoredParts } from './program.ts';

export class LogicProgram implements Program {
  readonly kind = 'logic';
  readonly key: string;
  readonly version: number;
  readonly print = 'logic';
  readonly positional = false;
  readonly migrate = {};
  readonly #logic: CallableLogic;

  constructor(key: string, version: number, logic: AnyActorLogic) {
    this.key = key;
    this.version = version;
    this.#logic = callable(logic);
  }

  start(scope: Scope, input: unknown): LiveSnapshot {
    return this.#logic.getInitialSnapshot(scope, input);
  }

  /** A stop is no event of the logic: XState hands it on, but a reducer cannot end by it. */
  transition(snapshot: LiveSnapshot, event: EventObject, scope: Scope): LiveSnapshot {
    if (event.type === XSTATE_STOP) return { ...snapshot, status: 'stopped' };
    return this.#logic.transition(snapshot, event, scope);
  }

  /** The whole snapshot is the logic's own affair; it is kept as the context. */
  store(snapshot: LiveSnapshot): StoredParts {
    return { state: null as Json, context: this.#logic.getPersistedSnapshot(snapshot) };
  }

  restore(parts: RestorableParts, _children: unknown, scope: Scope): LiveSnapshot {
    const persisted = parts.context;
    return this.#logic.restoreSnapshot?.(persisted, scope) ?? (persisted as LiveSnapshot);
  }

  child(): undefined {
    return undefined;
  }

  srcOf(): undefined {
    return undefined;
  }

  skipsMissed(): boolean {
    return false;
  }
}

/** True for logic that only computes: it can be a durable child. */
export function isPureLogic(logic: AnyActorLogic): boolean {
  return callable(logic).start === undefined;
}
