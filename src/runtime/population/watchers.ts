/**
 * Who watches which procedure: subscribers and listeners of emitted events. They hear of durable
 * steps only, in order; an observer that throws harms nobody else.
 */
import type { EventObject, Subscription } from 'xstate';
import type { LiveSnapshot } from '../interpreter/internals.ts';

export interface ActorObserver {
  next?: ((snapshot: LiveSnapshot) => void) | undefined;
  error?: ((error: unknown) => void) | undefined;
  complete?: (() => void) | undefined;
}

interface Watch {
  readonly observers: Set<ActorObserver>;
  readonly listeners: Map<string, Set<(event: EventObject) => void>>;
}

export class Watchers {
  readonly #watches = new Map<number, Watch>();
  readonly #report: (error: unknown) => void;

  /** @param report hears what an observer threw */
  constructor(report: (error: unknown) => void) {
    this.#report = report;
  }

  watched(procedure: number): boolean {
    return this.#watches.has(procedure);
  }

  /** Subscribing to an ended procedure reports its end at once, as XState does. */
  subscribe(
    procedure: number,
    observer: ActorObserver,
    snapshot: () => LiveSnapshot,
  ): Subscription {
    const { status, error } = snapshot();
    if (status !== 'active') {
      this.#guard(() => {
        if (status === 'error') observer.error?.(error);
        else observer.complete?.();
      });
      return { unsubscribe: () => undefined };
    }
    const entry = { ...bound(observer) };
    this.#watch(procedure).observers.add(entry);
    return {
      unsubscribe: () => {
        this.#watches.get(procedure)?.observers.delete(entry);
        this.#drop(procedure);
      },
    };
  }

  on(procedure: number, type: string, handler: (event: EventObject) => void): Subscription {
    const { listeners } = this.#watch(procedure);
    const set = listeners.get(type) ?? new Set();
    listeners.set(type, set);
    const entry = (event: EventObject): void => {
      handler(event);
    };
    set.add(entry);
    return {
      unsubscribe: () => {
        set.delete(entry);
        if (set.size === 0) listeners.delete(type);
        this.#drop(procedure);
      },
    };
  }

  emit(procedure: number, event: EventObject): void {
    const listeners = this.#watches.get(procedure)?.listeners;
    if (listeners === undefined) return;
    const handlers = [...(listeners.get(event.type) ?? []), ...(listeners.get('*') ?? [])];
    for (const handler of handlers) this.#guard(() => handler(event));
  }

  /** Tells the observers of a step; an ended procedure loses them. */
  tell(procedure: number, snapshot: LiveSnapshot): void {
    const watch = this.#watches.get(procedure);
    if (watch === undefined) return;
    const observers = [...watch.observers];
    if (snapshot.status !== 'error') {
      for (const observer of observers) this.#guard(() => observer.next?.(snapshot));
    }
    if (snapshot.status === 'active') return;
    this.#watches.delete(procedure);
    for (const observer of observers) {
      this.#guard(() => {
        if (snapshot.status === 'error') observer.error?.(snapshot.error);
        else observer.complete?.();
      });
    }
  }

  #watch(procedure: number): Watch {
    let watch = this.#watches.get(procedure);
    if (watch === undefined) {
      watch = { observers: new Set(), listeners: new Map() };
      this.#watches.set(procedure, watch);
    }
    return watch;
  }

  #drop(procedure: number): void {
    const watch = this.#watches.get(procedure);
    if (watch?.observers.size === 0 && watch.listeners.size === 0) this.#watches.delete(procedure);
  }

  #guard(run: () => void): void {
    try {
      run();
    } catch (error) {
      this.#report(error);
    }
  }
}

function bound(observer: ActorObserver): ActorObserver {
  return {
    next: observer.next?.bind(observer),
    error: observer.error?.bind(observer),
    complete: observer.complete?.bind(observer),
  };
}
