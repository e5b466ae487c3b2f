/**
 * Live children: promises, callbacks, observables and other logic that acts. They run as XState's
 * own actors, so that they behave as XState documents, are started after the commit that wants
 * them, and again after a restart (at least once). What they send is mail like any other.
 */
import { createActor, type AnyActorLogic, type AnyActorRef, type EventObject } from 'xstate';
import { toErrorData } from '../../model/errors.ts';
import type { LocalActor } from '../population/child-ref.ts';
import type { MailEnvelope } from '../planning/envelope.ts';
import { encodeValue } from '../interpreter/actor-refs.ts';
import { errorActorEvent } from '../interpreter/internals.ts';
import type { Procedure } from '../population/procedure.ts';
import type { StoredChild } from '../records/row.ts';

/** The members of an XState actor that only its parent may use. */
interface OwnedActor {
  start(): void;
  _stop(): void;
  _send(event: EventObject): void;
}

interface Owner {
  readonly procedure: Procedure;
  readonly child: StoredChild;
}

export interface LocalNeeds {
  post(envelope: MailEnvelope): void;
  /** The live input of a child: addresses in it become references. */
  input(procedure: Procedure, child: StoredChild): unknown;
}

export class LocalActors {
  readonly #needs: LocalNeeds;
  readonly #owners = new Map<object, Owner>();

  constructor(needs: LocalNeeds) {
    this.#needs = needs;
  }

  get count(): number {
    return this.#owners.size;
  }

  start(procedure: Procedure, child: StoredChild, logic: AnyActorLogic): void {
    const known = procedure.locals?.get(child.id);
    if (known?.arming === child.arming) return;
    const actor = createActor(logic, {
      id: child.id,
      src: child.src,
      input: this.#needs.input(procedure, child),
      parent: procedure.ref as unknown as AnyActorRef,
      ...(child.sync ? { syncSnapshot: true } : {}),
    } as Parameters<typeof createActor>[1]) as unknown as AnyActorRef;
    const local: LocalActor = {
      arming: child.arming,
      actor,
      getSnapshot: () => actor.getSnapshot() as unknown,
      subscribe: (observer) => actor.subscribe(observer as never),
      on: (type, handler) => (actor.on as (t: string, h: unknown) => never)(type, handler),
    };
    this.#owners.set(actor, { procedure, child });
    (procedure.locals ??= new Map()).set(child.id, local);
    owned(actor).start();
  }

  stop(procedure: Procedure, childId: string, arming: number): void {
    const local = procedure.locals?.get(childId);
    if (local?.arming !== arming) return;
    this.#forget(procedure, childId, local);
    owned(local.actor)._stop();
  }

  stopAll(): void {
    for (const [actor, { procedure, child }] of [...this.#owners]) {
      procedure.locals?.delete(child.id);
      this.#owners.delete(actor);
      owned(actor as AnyActorRef)._stop();
    }
  }

  send(procedure: Procedure, childId: string, arming: number, event: EventObject): void {
    const local = procedure.locals?.get(childId);
    if (local?.arming === arming) owned(local.actor)._send(event);
  }

  /** An event from a live child to its parent becomes mail with the child's arming number (L16). */
  mailFrom(source: object, parent: number, event: EventObject): boolean {
    const owner = this.#owners.get(source);
    if (owner?.procedure.number !== parent) return false;
    const { procedure, child } = owner;
    const ends =
      event.type === `xstate.done.actor.${child.id}` ||
      event.type === `xstate.error.actor.${child.id}`;
    const local = procedure.locals?.get(child.id);
    if (ends && local !== undefined) this.#forget(procedure, child.id, local);
    const { sent, refs } = plain(event, child.id);
    this.#needs.post({
      kind: 'mail',
      to: procedure.number,
      event: sent,
      ...(refs ? { refs: true as const } : {}),
      child: child.id,
      arming: child.arming,
    });
    return true;
  }

  #forget(procedure: Procedure, childId: string, local: LocalActor): void {
    procedure.locals?.delete(childId);
    if (procedure.locals?.size === 0) procedure.locals = undefined;
    this.#owners.delete(local.actor);
  }
}

/** The event as it can be recorded; what JSON cannot carry arrives as an error, not as silence. */
function plain(event: EventObject, child: string): { sent: EventObject; refs: boolean } {
  const { error, snapshot } = event as { error?: unknown; snapshot?: { toJSON?: unknown } };
  let sent: EventObject = event;
  if (event.type.startsWith('xstate.error.actor.')) {
    const { stack: _stack, ...data } = toErrorData(error);
    sent = error instanceof Error ? errorActorEvent(child, data) : event;
  } else if (snapshot !== undefined) {
    const { status, context, output } = snapshot as Record<string, unknown>;
    sent = { type: event.type, snapshot: { status, context, output } } as EventObject;
  }
  try {
    const { json, refs } = encodeValue(sent, `event '${event.type}'`, () => undefined);
    return { sent: json as unknown as EventObject, refs };
  } catch (cause) {
    const { stack: _stack, ...data } = toErrorData(cause);
    return { sent: errorActorEvent(child, data), refs: false };
  }
}

function owned(actor: AnyActorRef): OwnedActor {
  return actor as unknown as OwnedActor;
}
