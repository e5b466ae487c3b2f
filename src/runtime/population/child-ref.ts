/**
 * A child as its parent sees it in `snapshot.children` and `context`: the child's id under the
 * parent, and an address. Events sent through it go the way of all mail.
 */
import type { AnyActorRef, EventObject, Subscription } from 'xstate';
import type { ActorAddress } from '../interpreter/actor-refs.ts';
import type { DurableSystem } from '../interpreter/durable-system.ts';
import type { LiveSnapshot } from '../interpreter/internals.ts';
import type { ProcedureRef } from './procedure-ref.ts';
import type { ActorObserver } from './watchers.ts';
import type { StoredChild } from '../records/row.ts';

export interface ChildHost {
  /** The live actor behind a local child; undefined before its commit and after its end. */
  localActor(parent: number, child: string, arming: number): LocalHandle | undefined;
  refOfNumber(number: number): ProcedureRef | undefined;
}

/** The part of an XState actor that a child reference passes on to. */
export interface LocalHandle {
  getSnapshot(): unknown;
  subscribe(observer: ActorObserver): Subscription;
  on(type: string, handler: (event: EventObject) => void): Subscription;
}

/** A live child in memory. */
export interface LocalActor extends LocalHandle {
  readonly arming: number;
  readonly actor: AnyActorRef;
}

export class ChildRef {
  readonly stored: StoredChild;
  readonly _parent: ProcedureRef;
  readonly #host: ChildHost;

  constructor(host: ChildHost, parent: ProcedureRef, stored: StoredChild) {
    this.#host = host;
    this._parent = parent;
    this.stored = stored;
  }

  get id(): string {
    return this.stored.id;
  }

  get sessionId(): string {
    return `${this._parent.sessionId}/${this.stored.id}~${this.stored.arming}`;
  }

  get src(): string {
    return this.stored.src;
  }

  get systemId(): string | undefined {
    return this.stored.systemId;
  }

  get ref(): this {
    return this;
  }

  /** True for a child in this runtime. */
  isOf(host: object): boolean {
    return this.#host === host;
  }

  get system(): DurableSystem {
    return this._parent.system;
  }

  get address(): ActorAddress {
    const child = this.procedure;
    const { id, arming } = this.stored;
    return child?.address ?? { procedure: this._parent.sessionId, child: id, arming };
  }

  /** The handle of a child that is a procedure. */
  get procedure(): ProcedureRef | undefined {
    const { number } = this.stored;
    return number === undefined ? undefined : this.#host.refOfNumber(number);
  }

  get _processingStatus(): number {
    return (this.getSnapshot() as LiveSnapshot).status === 'active' ? 1 : 2;
  }

  /** The same child after its end. */
  endedAs(stored: StoredChild): ChildRef {
    return new ChildRef(this.#host, this._parent, stored);
  }

  getSnapshot(): unknown {
    const child = this.procedure ?? this.#local;
    if (child !== undefined) return child.getSnapshot();
    const { input, ended } = this.stored;
    return { status: ended ? 'done' : 'active', input, output: undefined, error: undefined };
  }

  getPersistedSnapshot(): unknown {
    return this.procedure?.getPersistedSnapshot() ?? this.getSnapshot();
  }

  readonly send = (event: EventObject): void => {
    this._parent.system._relay(undefined, this, event);
  };

  subscribe(observer: ActorObserver | ((snapshot: LiveSnapshot) => void)): Subscription {
    const full = typeof observer === 'function' ? { next: observer } : observer;
    const child = this.procedure ?? this.#local;
    return child?.subscribe(full) ?? NO_SUBSCRIPTION;
  }

  on(type: string, handler: (event: EventObject) => void): Subscription {
    return (this.procedure ?? this.#local)?.on(type, handler) ?? NO_SUBSCRIPTION;
  }

  toJSON(): { readonly xstate$$type: 1; readonly id: string } {
    return { xstate$$type: 1, id: this.stored.id };
  }

  get #local(): LocalHandle | undefined {
    return this.#host.localActor(this._parent.number, this.stored.id, this.stored.arming);
  }
}

const NO_SUBSCRIPTION: Subscription = { unsubscribe: () => undefined };
