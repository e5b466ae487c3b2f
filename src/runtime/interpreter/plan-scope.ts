/**
 * The `ActorScope` under which a step is planned: it writes down what the machine wants and does
 * none of it (L1). One object serves all steps, one after the other.
 */
import type { EventObject } from 'xstate';
import type { CreatedActor, ResolvedAction, Scope } from './internals.ts';

/** Wants of one step, in the machine's order. */
export interface Planned {
  readonly actions: readonly ResolvedAction[];
  /** Inspection events of the step; empty when nobody listens. */
  readonly inspection: readonly object[];
}

export class PlanScope implements Scope {
  self: unknown = undefined;
  id = '';
  sessionId = '';
  system: unknown = undefined;
  readonly logger: (...args: unknown[]) => void;
  actionExecutor: (action: ResolvedAction) => void;
  #actions: ResolvedAction[] = [];
  #inspection: object[] = [];
  #systemIds: Map<string, object | null> | undefined;
  #booked = 0;
  #bookPrefix = '';
  #active = false;

  constructor(logger: (...args: unknown[]) => void) {
    this.logger = logger;
    this.actionExecutor = (action) => {
      this.#actions.push(action);
      if (action.type === 'xstate.stopChild') this.#releaseSystemIds(action.params);
    };
  }

  /** True while a step is being planned. */
  get active(): boolean {
    return this.#active;
  }

  begin(self: { id: string; sessionId: string; system: unknown }, bookPrefix: string): void {
    this.self = self;
    this.id = self.id;
    this.sessionId = self.sessionId;
    this.system = self.system;
    this.#actions = [];
    this.#inspection = [];
    this.#systemIds = undefined;
    this.#booked = 0;
    this.#bookPrefix = bookPrefix;
    this.#active = true;
  }

  end(): Planned {
    this.#active = false;
    return { actions: this.#actions, inspection: this.#inspection };
  }

  /** Starting a spawned actor is the runtime's business, after the commit. */
  readonly defer = (): void => undefined;
  readonly emit = (): void => undefined;
  readonly stopChild = (): void => undefined;

  /** Session id for an actor created in this step; the same in every run of it. */
  bookId(): string {
    return `${this.#bookPrefix}.${this.#booked++}`;
  }

  inspect(event: object): void {
    this.#inspection.push(event);
  }

  /** Registrations of the step: an actor, or null for "given up in this step". */
  systemId(name: string): object | null | undefined {
    return this.#systemIds?.get(name);
  }

  bookSystemId(name: string, actor: object): void {
    // An actor that a nested inline machine creates belongs to a step of its own.
    if ((actor as CreatedActor)._parent !== this.self) return;
    (this.#systemIds ??= new Map()).set(name, actor);
  }

  #releaseSystemIds(child: unknown): void {
    const systemId = (child as Partial<CreatedActor> | undefined)?.systemId;
    if (typeof systemId === 'string') (this.#systemIds ??= new Map()).set(systemId, null);
  }
}

export type PlannedEvent = EventObject;
