/**
 * What actor references and live children ask of the runtime: snapshots, sending, look-ups by
 * system id. One object for all of them; it is also how two runtimes tell their references apart.
 */
import type { EventObject } from 'xstate';
import { ReeveError } from '../model/errors.ts';
import type { Clock } from '../world/clock.ts';
import { ChildRef, type ChildHost, type LocalHandle } from './population/child-ref.ts';
import type { Envelope } from './planning/envelope.ts';
import type { Executor } from './executor.ts';
import type { Inspector } from './acting/inspector.ts';
import { assertOwnRefs, encodeValue, reviveValue } from './interpreter/actor-refs.ts';
import { liveScheduler, type LiveScheduler } from './interpreter/durable-system.ts';
import type { LiveSnapshot } from './interpreter/internals.ts';
import type { PlanScope } from './interpreter/plan-scope.ts';
import { assertKey } from './planning/key-index.ts';
import type { LocalActors } from './acting/local-actors.ts';
import type { MailQueue } from './planning/mail-queue.ts';
import type { Population } from './population/population.ts';
import type { Procedure } from './population/procedure.ts';
import { ProcedureRef, type DurableSendOptions, type RefHost } from './population/procedure-ref.ts';
import { NONE } from './records/row.ts';
import type { SystemIds } from './records/system-ids.ts';
import type { Watchers } from './population/watchers.ts';

/** Parts of the engine; some of them come into being after this object. */
export interface ActorHostNeeds {
  readonly plan: PlanScope;
  readonly clock: Clock;
  readonly logger: (...values: unknown[]) => void;
  readonly watchers: Watchers;
  readonly inspector: Inspector;
  readonly population: Population;
  readonly locals: LocalActors;
  readonly executor: Executor;
  readonly queue: MailQueue;
  readonly held: ReadonlyMap<number, readonly Envelope[]>;
  readonly systemIds: SystemIds;
  readonly limits: { readonly mailboxMax: number };
}

export class ActorHost implements RefHost, ChildHost {
  readonly plan: PlanScope;
  readonly clock: Clock;
  readonly logger: (...values: unknown[]) => void;
  readonly watchers: Watchers;
  readonly scheduler: LiveScheduler;
  readonly #needs: ActorHostNeeds;

  constructor(needs: ActorHostNeeds) {
    this.#needs = needs;
    this.plan = needs.plan;
    this.clock = needs.clock;
    this.logger = needs.logger;
    this.watchers = needs.watchers;
    this.scheduler = liveScheduler(needs.clock, (source, target, event) => {
      this.relay(source, target, event);
    });
  }

  get inspecting(): boolean {
    return this.#needs.inspector.active;
  }

  refOfNumber(number: number): ProcedureRef | undefined {
    return this.#needs.population.ref(number);
  }

  localActor(parent: number, child: string, arming: number): LocalHandle | undefined {
    const local = this.#needs.population.peek(parent)?.locals?.get(child);
    return local?.arming === arming ? local : undefined;
  }

  shownSnapshot(number: number): LiveSnapshot {
    const procedure = this.#needs.population.find(number);
    if (procedure === undefined) {
      throw new ReeveError('PROCEDURE_UNKNOWN', `there is no procedure ${number}`, { number });
    }
    // A step that looks around sees what the steps planned before it left; others what is durable.
    const shown = this.plan.active ? undefined : procedure.shown?.snapshot;
    const snapshot = shown ?? procedure.snapshot;
    if (snapshot !== undefined) return snapshot;
    if (procedure.row.seq < 0 && procedure.row.status === 'active') {
      throw new Error(`the snapshot of '${procedure.id}' is not there before its first step ends`);
    }
    throw (
      procedure.unfit ??
      new ReeveError('QUARANTINED', `procedure '${procedure.id}' is quarantined`, {
        procedure: procedure.id,
        reason: procedure.row.quarantine?.error,
      })
    );
  }

  /** The snapshot in the form of XState's own `getPersistedSnapshot`. */
  persistedSnapshot(number: number): unknown {
    const { status, output, error } = this.shownSnapshot(number);
    const procedure = this.#needs.population.find(number);
    const row = procedure?.shown?.row ?? procedure?.row;
    if (procedure?.program.kind === 'logic') return row?.context;
    const children: [string, object][] = (row?.children ?? NONE).map((child) => [
      child.id,
      {
        snapshot:
          child.number === undefined
            ? { status: child.ended ? 'done' : 'active', input: child.input }
            : this.persistedSnapshot(child.number),
        src: child.src,
        systemId: child.systemId,
        syncSnapshot: child.sync ?? false,
      },
    ]);
    const history = Object.entries((row?.historyValue ?? {}) as Record<string, readonly string[]>);
    return {
      status,
      value: row?.state,
      context: row?.context,
      historyValue: Object.fromEntries(
        history.map(([key, ids]) => [key, ids.map((id) => ({ id }))]),
      ),
      children: Object.fromEntries(children),
      output,
      error,
    };
  }

  send(number: number, event: EventObject): void {
    this.#needs.executor.post({ kind: 'mail', to: number, ...this.outsideEvent(number, event) });
  }

  sendDurable(number: number, event: EventObject, { key }: DurableSendOptions = {}): Promise<void> {
    return new Promise((resolve, reject) => {
      if (key !== undefined) assertKey(key);
      this.#needs.executor.post({
        kind: 'mail',
        to: number,
        ...this.outsideEvent(number, event),
        ...(key === undefined ? {} : { key }),
        waiter: { resolve, reject },
      });
    });
  }

  /** The event as it enters: checked, and a copy, so that the sender may go on using its own. */
  outsideEvent(number: number, event: EventObject): { event: EventObject; refs?: true } {
    if (typeof (event as { type?: unknown } | null)?.type !== 'string') {
      throw new ReeveError('VALUE_NOT_JSON', 'an event is an object with a string `type`', {});
    }
    if (this.#needs.executor.halted)
      throw new ReeveError('STORE_CLOSED', 'the runtime has ended', {});
    const what = `event '${event.type}'`;
    const { json, refs } = encodeValue(event, what, () => undefined);
    if (refs) assertOwnRefs(event, this, what);
    const waiting =
      this.#needs.queue.waitingFor(number) + (this.#needs.held.get(number)?.length ?? 0);
    if (waiting >= this.#needs.limits.mailboxMax) {
      throw new ReeveError('MAILBOX_FULL', `too many events wait for procedure ${number}`, {
        number,
        limit: this.#needs.limits.mailboxMax,
      });
    }
    const copy = JSON.parse(JSON.stringify(json)) as EventObject;
    return refs ? { event: copy, refs: true } : { event: copy };
  }

  relay(source: object | undefined, target: object, event: EventObject): void {
    if (target instanceof ProcedureRef) {
      // What a live child sends to its parent carries the child's arming number (L16).
      if (source !== undefined && this.#needs.locals.mailFrom(source, target.number, event)) return;
      this.send(target.number, event);
    } else if (target instanceof ChildRef) {
      const { number, id, arming } = target.stored;
      const parent = this.#needs.population.peek(target._parent.number);
      if (number !== undefined) this.send(number, event);
      else if (parent !== undefined) this.#needs.locals.send(parent, id, arming, event);
    } else {
      (target as { _send(event: EventObject): void })._send(event);
    }
  }

  systemActor(root: number, systemId: string): object | undefined {
    const holder = this.#needs.systemIds.get(root, systemId);
    const procedure = holder && this.#needs.population.find(holder.procedure);
    return holder && procedure?.snapshot?.children?.[holder.child];
  }

  systemActors(root: number): Record<string, object> {
    const actors = [...this.#needs.systemIds.all(root).keys()].flatMap((systemId) => {
      const actor = this.systemActor(root, systemId);
      return actor === undefined ? [] : [[systemId, actor] as const];
    });
    return Object.fromEntries(actors);
  }

  inspectNow(event: object): void {
    this.#needs.inspector.send(event);
  }

  addInspector(observer: unknown): { unsubscribe(): void } {
    return this.#needs.inspector.add(observer);
  }

  /** A value of a record as the procedure sees it: addresses are references again. */
  liveValue(procedure: Procedure, value: unknown, refs: boolean | undefined): unknown {
    if (!refs) return value;
    return reviveValue(value as never, (address) =>
      this.#needs.population.resolve(address, procedure.ref, procedure.snapshot?.children),
    );
  }
}
