/**
 * The handle of a procedure: an XState `ActorRef`. It holds an address, not the procedure, so it
 * stays good while the procedure is passivated, and XState's own functions (`waitFor`, `toPromise`)
 * work on it. It shows durable states only.
 */
import type { AnyActorLogic, EventObject, Subscription } from 'xstate';
import type { ActorAddress } from '../interpreter/actor-refs.ts';
import { DurableSystem, type SystemHost } from '../interpreter/durable-system.ts';
import type { LiveSnapshot } from '../interpreter/internals.ts';
import type { Program } from '../interpreter/program.ts';
import type { ActorObserver, Watchers } from './watchers.ts';

export interface DurableSendOptions {
  /** A second send with the same key changes nothing and resolves like the first. */
  readonly key?: string;
}

/** What a handle needs of the runtime. */
export interface RefHost extends SystemHost {
  readonly watchers: Watchers;
  shownSnapshot(number: number): LiveSnapshot;
  persistedSnapshot(number: number): unknown;
  send(number: number, event: EventObject): void;
  sendDurable(number: number, event: EventObject, options: DurableSendOptions): Promise<void>;
  refOfNumber(number: number): ProcedureRef | undefined;
}

/** Where a handle points. */
export interface RefFacts {
  readonly id: string;
  readonly number: number;
  readonly root: number;
  readonly parent?: { readonly number: number; readonly child: string } | undefined;
}

/** XState's numbers for an actor's `_processingStatus`. */
const RUNNING = 1;
const STOPPED = 2;

export class ProcedureRef {
  /** As in XState: a child has the id its parent gave it. */
  readonly id: string;
  /** Id of the procedure, by which the runtime knows it. */
  readonly sessionId: string;
  readonly number: number;
  readonly root: number;
  readonly src: AnyActorLogic | string;
  readonly #host: RefHost;
  readonly #parent: number | undefined;
  #system: DurableSystem | undefined;

  constructor(host: RefHost, facts: RefFacts, program: Program) {
    this.#host = host;
    this.id = facts.parent?.child ?? facts.id;
    this.sessionId = facts.id;
    this.number = facts.number;
    this.root = facts.root;
    this.#parent = facts.parent?.number;
    this.src = program.machine ?? program.key;
  }

  get ref(): this {
    return this;
  }

  get address(): ActorAddress {
    return { procedure: this.sessionId };
  }

  /** True for a handle of this runtime. */
  isOf(host: object): boolean {
    return this.#host === host;
  }

  get system(): DurableSystem {
    return (this.#system ??= new DurableSystem(this.#host, this.root));
  }

  get clock(): SystemHost['clock'] {
    return this.#host.clock;
  }

  /** The parent's handle; XState's `sendParent` looks here. */
  get _parent(): ProcedureRef | undefined {
    return this.#parent === undefined ? undefined : this.#host.refOfNumber(this.#parent);
  }

  get _processingStatus(): number {
    return this.getSnapshot().status === 'active' ? RUNNING : STOPPED;
  }

  /** The last durable snapshot. Throws PROCEDURE_UNKNOWN after a purge, QUARANTINED if unread. */
  getSnapshot(): LiveSnapshot {
    return this.#host.shownSnapshot(this.number);
  }

  getPersistedSnapshot(): unknown {
    return this.#host.persistedSnapshot(this.number);
  }

  /**
   * Hands the event over and returns at once, as XState does. Throws VALUE_NOT_JSON for an event
   * that cannot be recorded, MAILBOX_FULL at the limit and STORE_CLOSED after the runtime's end.
   */
  readonly send = (event: EventObject): void => {
    this.#host.send(this.number, event);
  };

  /** Resolves when the step that the event caused is durable; rejects when nothing happened. */
  sendDurable(event: EventObject, options: DurableSendOptions = {}): Promise<void> {
    return this.#host.sendDurable(this.number, event, options);
  }

  subscribe(
    next: ActorObserver | ((snapshot: LiveSnapshot) => void),
    error?: (error: unknown) => void,
    complete?: () => void,
  ): Subscription {
    const observer =
      typeof next === 'function' || next === undefined ? { next, error, complete } : next;
    return this.#host.watchers.subscribe(this.number, observer, () => this.getSnapshot());
  }

  on(type: string, handler: (event: EventObject) => void): Subscription {
    return this.#host.watchers.on(this.number, type, handler);
  }

  select<T>(
    selector: (snapshot: LiveSnapshot) => T,
    same: (a: T, b: T) => boolean = Object.is,
  ): { get(): T; subscribe(next: (value: T) => void): Subscription } {
    return {
      get: () => selector(this.getSnapshot()),
      subscribe: (next) => {
        let last = selector(this.getSnapshot());
        return this.subscribe((snapshot) => {
          const value = selector(snapshot);
          if (same(last, value)) return;
          last = value;
          next(value);
        });
      },
    };
  }

  toJSON(): { readonly xstate$$type: 1; readonly id: string } {
    return { xstate$$type: 1, id: this.id };
  }

  [Symbol.observable ?? '@@observable'](): this {
    return this;
  }
}

declare global {
  interface SymbolConstructor {
    readonly observable: symbol;
  }
}
