/**
 * Turns the actions XState resolved for a step into the draft of a row: timers, mail, effects,
 * emitted events. Table actions are collected and run last, when nothing else can fail any more.
 */
import type { EventObject } from 'xstate';
import { ReeveError } from '../../model/errors.ts';
import { ChildRef } from '../population/child-ref.ts';
import { encodeValue, type ActorAddress, type Encoded } from '../interpreter/actor-refs.ts';
import {
  errorActorEvent,
  type CreatedActor,
  type ResolvedAction,
} from '../interpreter/internals.ts';
import type { Procedure } from '../population/procedure.ts';
import { ProcedureRef } from '../population/procedure-ref.ts';
import type { RowDraft } from './row-draft.ts';
import { childAddress, type ChildPlan } from './step-children.ts';

export interface TableWish {
  readonly type: string;
  readonly params: unknown;
}

export class ActionPlan {
  readonly tableWishes: TableWish[] = [];
  readonly #procedure: Procedure;
  readonly #draft: RowDraft;
  readonly #children: ChildPlan;
  readonly #now: number;
  readonly #finalContext: unknown;
  #event: EventObject | undefined;
  #eventEncoded: Encoded = { json: null, refs: false };
  #index = 0;

  constructor(parts: {
    procedure: Procedure;
    draft: RowDraft;
    children: ChildPlan;
    now: number;
    /** The context the step ends with; an effect that saw it needs no copy of its own. */
    finalContext: unknown;
  }) {
    this.#procedure = parts.procedure;
    this.#draft = parts.draft;
    this.#children = parts.children;
    this.#now = parts.now;
    this.#finalContext = parts.finalContext;
  }

  /** Throws VALUE_NOT_JSON, ACTION_NOT_NAMED, TIMER_INVALID or a limit's code. */
  add(action: ResolvedAction): void {
    this.#index++;
    switch (action.type) {
      case 'xstate.raise':
        this.#raise(action.params as SendParams);
        break;
      case 'xstate.sendTo':
        this.#sendTo(action.params as SendParams);
        break;
      case 'xstate.cancel':
        this.#draft.cancelTimer((action.params as { sendId: string }).sendId);
        break;
      case 'xstate.spawnChild': {
        const { actorRef } = action.params as { actorRef?: CreatedActor };
        if (actorRef) this.#children.start(actorRef);
        break;
      }
      case 'xstate.stopChild':
        this.#children.stop(action.params);
        break;
      case 'xstate.emit':
        this.#draft.emits.push((action.params as { event: EventObject }).event);
        break;
      case 'xstate.log': {
        const { value, label } = action.params as { value: unknown; label?: string };
        const values = label === undefined ? [value] : [label, value];
        this.#draft.after.push({ do: 'log', values });
        break;
      }
      default:
        this.#custom(action);
    }
  }

  #raise({ event, delay, id }: SendParams): void {
    // Without a delay the event was raised and consumed inside the step.
    if (typeof delay !== 'number') return;
    const { json, refs } = this.#encode(event, `event '${event.type}'`);
    this.#arm(id, delay, { event: json, ...(refs ? { refs: true as const } : {}) });
  }

  #sendTo({ to, event, delay, id }: SendParams): void {
    const sent =
      event.type === 'xstate.error'
        ? errorActorEvent(this.#procedure.ref.id, (event as { data?: unknown }).data)
        : event;
    if (typeof delay === 'number') {
      const { json, refs } = this.#encode(sent, `event '${event.type}'`);
      const target = to === this.#procedure.ref ? {} : { to: this.#encode(to, 'receiver').json };
      this.#arm(id, delay, { event: json, ...(refs ? { refs: true as const } : {}), ...target });
      return;
    }
    this.send(to as object, sent);
  }

  /** Sends to whatever a machine can name: a procedure, a child, a live actor. */
  send(to: object, event: EventObject): void {
    const child = to instanceof ChildRef ? undefined : this.#children.of(to);
    const number =
      to instanceof ProcedureRef ? to.number : (child?.number ?? (to as ChildRef).stored?.number);
    if (number !== undefined) {
      const { json, refs } = this.#encode(event, `event '${event.type}'`);
      const flag = refs ? { refs: true as const } : {};
      this.#draft.mails.push({ to: number, event, json, ...flag });
      return;
    }
    if (child?.kind === 'task' || (to instanceof ChildRef && to.stored.kind === 'task')) return;
    const target = child === undefined ? to : { local: child.id, arming: child.arming };
    this.#draft.after.push({ do: 'send-local', target, event });
  }

  #arm(
    id: string | undefined,
    delay: number,
    rest: { event: Encoded['json']; refs?: true; to?: Encoded['json'] },
  ): void {
    if (!Number.isFinite(delay)) {
      throw new ReeveError('TIMER_INVALID', `a delay of ${delay} ms can never be over`, {
        procedure: this.#procedure.id,
        delay: String(delay),
      });
    }
    const { type } = rest.event as { type: string };
    this.#draft.armTimer({
      id: id ?? `${this.#draft.seq}:${this.#index}`,
      due: this.#now + Math.max(0, Math.ceil(delay)),
      delay: Math.max(0, Math.ceil(delay)),
      ...rest,
      ...(this.#procedure.program.skipsMissed(type) ? { missed: 'skip' as const } : {}),
    });
  }

  #custom(action: ResolvedAction): void {
    if (action.type.startsWith('table.')) {
      this.tableWishes.push({ type: action.type, params: action.params });
      return;
    }
    // XState too does nothing for an action that nobody provides.
    if (action.exec === undefined) return;
    const { id, program } = this.#procedure;
    const type = program.actions?.nameOf(action.type, action.exec);
    if (type === undefined) {
      throw new ReeveError(
        'ACTION_NOT_NAMED',
        `'${action.type}' in machine '${program.key}' is a function enqueued inline; after a ` +
          'restart nobody could find it again. Name it in setup({ actions })',
        { procedure: id, action: action.type },
      );
    }
    this.#effect(type, action);
  }

  #effect(type: string, { info, params }: ResolvedAction): void {
    // The actions of one microstep share its event; a raised event makes a microstep of its own.
    if (this.#event !== info.event) {
      this.#event = info.event;
      this.#eventEncoded = this.#encode(info.event, `event '${info.event.type}'`);
    }
    const event = this.#eventEncoded;
    const encodedParams = params === undefined ? undefined : this.#encode(params, 'params');
    const context =
      info.context === this.#finalContext ? undefined : this.#encode(info.context, 'context');
    const refs = [event, encodedParams, context].some((part) => part?.refs);
    const stored = {
      seq: this.#draft.seq,
      index: this.#index,
      type,
      event: event.json,
      ...(encodedParams === undefined ? {} : { params: encodedParams.json }),
      ...(context === undefined ? {} : { context: context.json }),
      ...(refs ? { refs: true as const } : {}),
    };
    this.#draft.addEffect(stored, { stored, context: info.context, event: info.event, params });
  }

  #encode(value: unknown, what: string): Encoded {
    return encodeValue(value, what, (ref) => this.#addressOf(ref));
  }

  #addressOf(ref: object): ActorAddress | undefined {
    const child = this.#children.of(ref);
    return child && childAddress(this.#procedure, child);
  }
}

interface SendParams {
  readonly to: unknown;
  readonly event: EventObject;
  readonly delay?: unknown;
  readonly id?: string;
}
