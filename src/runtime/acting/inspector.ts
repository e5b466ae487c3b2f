/**
 * XState's inspection events, from durable steps and live children. Costs nothing while nobody
 * listens: planning asks `active` before it keeps anything.
 */
import type { AnyActorRef, InspectionEvent } from 'xstate';
import type { Step } from '../planning/commit-group.ts';
import type { LiveEffect } from '../planning/commit-group.ts';

type InspectionObserver = (event: InspectionEvent) => void;

export class Inspector {
  readonly #observers = new Set<InspectionObserver>();
  readonly #report: (error: unknown) => void;

  constructor(report: (error: unknown) => void) {
    this.#report = report;
  }

  get active(): boolean {
    return this.#observers.size > 0;
  }

  /** @param observer XState's `inspect` option: a function, or an observer with `next` */
  add(observer: unknown): { unsubscribe(): void } {
    const given = observer as { next?: InspectionObserver };
    const listen: InspectionObserver =
      typeof observer === 'function'
        ? (observer as InspectionObserver)
        : (event) => given.next?.(event);
    const own: InspectionObserver = (event) => listen(event);
    this.#observers.add(own);
    return { unsubscribe: () => this.#observers.delete(own) };
  }

  send(event: object): void {
    for (const observer of this.#observers) {
      try {
        observer(event as InspectionEvent);
      } catch (error) {
        this.#report(error);
      }
    }
  }

  /** What XState shows before the snapshot of a step. */
  before(step: Step): void {
    if (step.quiet) return;
    const base = this.#base(step);
    if (step.started) this.send({ type: '@xstate.actor', ...base });
    const source = step.source === undefined ? undefined : { id: step.source };
    this.send({ type: '@xstate.event', ...base, event: step.event, sourceRef: source });
    for (const event of step.inspection) {
      if ((event as { type?: unknown }).type === '@xstate.microstep')
        this.send({ ...base, ...event });
    }
    for (const effect of step.effects) this.send({ ...base, ...actionEvent(effect) });
  }

  after(step: Step): void {
    const { event, snapshot } = step;
    this.send({ type: '@xstate.snapshot', ...this.#base(step), event, snapshot });
  }

  #base({ procedure }: Step): { rootId: string; actorRef: AnyActorRef } {
    const { ref } = procedure;
    let root = ref;
    for (let up = ref._parent; up !== undefined; up = up._parent) root = up;
    return { rootId: root.sessionId, actorRef: ref as unknown as AnyActorRef };
  }
}

function actionEvent({ stored, params }: LiveEffect): object {
  return { type: '@xstate.action', action: { type: stored.type, params } };
}
