/**
 * The `ActorSystem` that machines and their live children see. One per tree of procedures; it holds
 * nothing but the root's number, all state is the runtime's.
 */
import type { AnyActorRef, EventObject } from 'xstate';
import type { Clock, TimerHandle } from '../../world/clock.ts';
import type { PlanScope } from './plan-scope.ts';

/** Timers of live children; the shape XState gives its scheduler. */
export interface LiveScheduler {
  schedule(source: object, target: object, event: EventObject, delay: number, id?: string): void;
  cancel(source: object, id: string): void;
  cancelAll(actor: object): void;
}

/** What the runtime does for its actor systems. */
export interface SystemHost {
  readonly plan: PlanScope;
  readonly clock: Clock;
  readonly logger: (...args: unknown[]) => void;
  readonly inspecting: boolean;
  readonly scheduler: LiveScheduler;
  systemActor(root: number, systemId: string): object | undefined;
  systemActors(root: number): Record<string, object>;
  /** An event that a live actor (or user code holding a reference) sends. */
  relay(source: object | undefined, target: object, event: EventObject): void;
  inspectNow(event: object): void;
  addInspector(observer: unknown): { unsubscribe(): void };
}

export class DurableSystem {
  readonly #host: SystemHost;
  readonly root: number;
  readonly _clock: Clock;
  readonly _logger: (...args: unknown[]) => void;
  readonly scheduler: LiveScheduler;

  constructor(host: SystemHost, root: number) {
    this.#host = host;
    this.root = root;
    this._clock = host.clock;
    this._logger = host.logger;
    this.scheduler = host.scheduler;
  }

  _bookId(): string {
    return this.#host.plan.active ? this.#host.plan.bookId() : `live:${this.root}`;
  }

  _register(sessionId: string): string {
    return sessionId;
  }

  _unregister(): void {
    // Registrations are rows: they leave with the child's row.
  }

  /** Throws as XState does when another living actor has the name. */
  _set(systemId: string, actor: object): void {
    const { plan } = this.#host;
    if (!plan.active) return;
    const planned = plan.systemId(systemId);
    const taken = planned === undefined ? this.#host.systemActor(this.root, systemId) : planned;
    if (taken !== undefined && taken !== null && taken !== actor) {
      throw new Error(`Actor with system ID '${systemId}' already exists.`);
    }
    plan.bookSystemId(systemId, actor);
  }

  get(systemId: string): object | undefined {
    const { plan } = this.#host;
    const planned = plan.active ? plan.systemId(systemId) : undefined;
    if (planned === null) return undefined;
    return planned ?? this.#host.systemActor(this.root, systemId);
  }

  getAll(): Record<string, object> {
    return this.#host.systemActors(this.root);
  }

  inspect(observer: unknown): { unsubscribe(): void } {
    return this.#host.addInspector(observer);
  }

  _sendInspectionEvent(event: object): void {
    if (!this.#host.inspecting) return;
    if (this.#host.plan.active) this.#host.plan.inspect(event);
    else this.#host.inspectNow(event);
  }

  _relay(source: object | undefined, target: object, event: EventObject): void {
    this.#host.relay(source, target, event);
  }

  getSnapshot(): { _scheduledEvents: Record<string, never> } {
    return { _scheduledEvents: {} };
  }

  start(): void {
    // The runtime arms timers itself, from rows.
  }
}

/**
 * Schedules for live children (custom logic that delays events). These timers are as volatile as
 * the child; a procedure's own timers never come here, the plan takes them.
 */
export function liveScheduler(
  clock: Clock,
  relay: (source: object, target: object, event: EventObject) => void,
): LiveScheduler {
  const armed = new Map<object, Map<string, TimerHandle>>();
  const cancel = (source: object, id: string): void => {
    const handle = armed.get(source)?.get(id);
    if (handle === undefined) return;
    clock.clearTimeout(handle);
    armed.get(source)?.delete(id);
  };
  return {
    schedule(source, target, event, delay, id = `${(source as AnyActorRef).id}.${event.type}`) {
      cancel(source, id);
      const timers = armed.get(source) ?? new Map<string, TimerHandle>();
      armed.set(source, timers);
      const handle = clock.setTimeout(() => {
        timers.delete(id);
        relay(source, target, event);
      }, delay);
      timers.set(id, handle);
    },
    cancel,
    cancelAll(actor) {
      for (const id of armed.get(actor)?.keys() ?? []) cancel(actor, id);
      armed.delete(actor);
    },
  };
}
