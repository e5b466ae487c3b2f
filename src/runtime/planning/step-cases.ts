/** The steps that are not simply "an event arrived": timers, tasks, children, ends, quarantine. */
import type { EventObject } from 'xstate';
import { ReeveError } from '../../model/errors.ts';
import type { Json } from '../../model/json.ts';
import { plainError, type Births } from './births.ts';
import { ChildRef } from '../population/child-ref.ts';
import type { CommitGroup } from './commit-group.ts';
import type { Envelope, MailEnvelope } from './envelope.ts';
import { encodeValue, reviveValue } from '../interpreter/actor-refs.ts';
import { XSTATE_STOP } from '../interpreter/internals.ts';
import { envelopeOf, type Postman } from './postman.ts';
import type { Procedure } from '../population/procedure.ts';
import type { RowDraft } from './row-draft.ts';
import {
  NONE,
  type StoredChild,
  type StoredMail,
  type StoredTask,
  type StoredTimer,
} from '../records/row.ts';
import type { StepPlan } from './step-plan.ts';
import type { StepperNeeds } from './stepper-needs.ts';

export class StepCases {
  readonly #needs: StepperNeeds;
  readonly #plan: StepPlan;
  readonly #postman: Postman;
  readonly #births: Births;

  constructor(needs: StepperNeeds, plan: StepPlan, postman: Postman, births: Births) {
    this.#needs = needs;
    this.#plan = plan;
    this.#postman = postman;
    this.#births = births;
  }

  /** Mail from a living child: its end marks it, so that it is not asked for again. */
  childStep(
    procedure: Procedure,
    child: StoredChild,
    event: EventObject,
    source: string | undefined,
    group: CommitGroup,
  ): void {
    const draft = this.#plan.draft(procedure);
    if (isEnd(event)) markEnded(procedure, draft, child);
    this.#plan.step(procedure, { event, source }, group, draft);
  }

  timerStep(procedure: Procedure, timer: StoredTimer, group: CommitGroup): void {
    const draft = this.#plan.draft(procedure);
    draft.timers = draft.timers.filter(({ arming }) => arming !== timer.arming);
    const event = this.#live(procedure, timer.event, timer.refs) as EventObject;
    this.#plan.step(procedure, { event }, group, draft);
  }

  /** A delayed `sendTo` is due: the mail leaves in the commit that removes the timer. */
  timerMail(procedure: Procedure, timer: StoredTimer, group: CommitGroup): void {
    const draft = this.#plan.draft(procedure);
    draft.timers = draft.timers.filter(({ arming }) => arming !== timer.arming);
    const to = this.#live(procedure, timer.to ?? null, true);
    const event = this.#live(procedure, timer.event, timer.refs) as EventObject;
    // L16: the child it was meant for is gone, whoever has its id now.
    if (to === undefined) this.#needs.stale('timer', procedure.id, timer.id);
    this.#plan.relay(procedure, draft, to as object | undefined, event, group);
  }

  /** A firing missed while nobody ran, of a timer that skips: armed for its next period. */
  skipMissed(procedure: Procedure, timer: StoredTimer, group: CommitGroup): void {
    const now = this.#needs.time.now();
    const period = Math.max(1, timer.delay);
    const due = timer.due + Math.ceil((now + 1 - timer.due) / period) * period;
    const timers = (procedure.row.timers ?? NONE).map((own) =>
      own.arming === timer.arming ? { ...own, due } : own,
    );
    this.#plan.keep(procedure, group, { ...procedure.row, timers });
    this.#needs.timers.add(due, procedure.slot);
  }

  taskStep(
    procedure: Procedure,
    child: StoredChild,
    task: StoredTask,
    event: EventObject,
    group: CommitGroup,
  ): void {
    const draft = this.#plan.draft(procedure);
    draft.endTask(task.attempt);
    markEnded(procedure, draft, child);
    this.#plan.step(procedure, { event }, group, draft);
  }

  /** An attempt nobody listens to any more is proven over (L4, L13). */
  taskOver(procedure: Procedure, { attempt }: StoredTask, group: CommitGroup): void {
    const draft = this.#plan.draft(procedure);
    draft.endTask(attempt);
    this.#plan.upkeep(procedure, draft, group);
  }

  /**
   * After a restart: attempts of a runner whose ledger is new are proven over, because its threads
   * ended with their process; running ones get a new attempt under a new id, in a commit of its own
   * (L4). Under the same ledger the same attempt is asked for again (L2).
   */
  renewTasks(
    procedure: Procedure,
    group: CommitGroup,
    startsLocal: (child: StoredChild) => boolean = () => false,
  ): void {
    const draft = this.#plan.draft(procedure);
    for (const child of draft.children) {
      const stands = child.kind === 'local' && !child.ended;
      if (stands && startsLocal(child)) draft.after.push({ do: 'start-local', child: child.id });
    }
    for (const task of draft.before.tasks ?? NONE) {
      const ledger = this.#ledger(procedure, task);
      if (ledger === task.ledger) {
        const { attempt, src, phase } = task;
        // Submitting it again runs nothing again; it makes the runner tell this life of its end.
        if (phase !== 'waiting') draft.after.push({ do: 'submit-task', attempt, src });
        if (phase === 'stopping') draft.after.push({ do: 'cancel-task', attempt, src });
        continue;
      }
      const child = draft.children.find(
        ({ id, arming }) => id === task.child && arming === task.arming,
      );
      draft.tasks = draft.tasks.filter(({ attempt }) => attempt !== task.attempt);
      if (task.phase === 'stopping' || child === undefined) continue;
      draft.addTask(child, ledger);
    }
    this.#plan.upkeep(procedure, draft, group);
  }

  /** Ends a procedure from above. */
  stop(procedure: Procedure, envelope: MailEnvelope, group: CommitGroup): void {
    const event = { type: XSTATE_STOP };
    const cancelled = envelope.act === 'cancel' ? { cancelled: true as const } : {};
    const facts = { event, source: envelope.from, ...cancelled };
    if (procedure.snapshot !== undefined) {
      this.#plan.step(procedure, facts, group);
      this.#deliverHeld(procedure, group);
      return;
    }
    // A quarantined procedure that cannot be read: its machine has no say, only its rows end.
    const draft = this.#plan.draft(procedure);
    const { state: value, context } = procedure.row;
    const stopped = { status: 'stopped' as const, value, context };
    this.#plan.conclude(procedure, draft, stopped, NOTHING, facts, group);
    this.#deliverHeld(procedure, group);
  }

  /** True when the mail was the end of a child the stopping procedure waited for. */
  awaitedChildEnded(procedure: Procedure, envelope: MailEnvelope, group: CommitGroup): boolean {
    if (envelope.child === undefined || envelope.from === undefined) return false;
    const slot = this.#needs.directory.slotOf(envelope.from);
    const number = slot === undefined ? -1 : this.#needs.directory.numberOf(slot);
    const awaiting = procedure.row.awaiting ?? NONE;
    if (!awaiting.includes(number)) return true;
    if (!isEnd(envelope.event) && envelope.act !== 'child-ended') return true;
    const left = awaiting.filter((own) => own !== number);
    const draft = this.#plan.draft(procedure);
    this.#plan.upkeep(procedure, draft, group, { awaiting: left });
    return true;
  }

  /** Sets the procedure aside with the reason; its state, timers and mail stay (L11). */
  quarantine(procedure: Procedure, error: unknown, group: CommitGroup, unread: boolean): void {
    const { row } = procedure;
    // The first reason is the true one: a record that cannot be read breaks rules by itself.
    if (row.quarantine !== undefined && (row.quarantine.unread ?? false) >= unread) return;
    const was = row.status === 'quarantined' ? (row.quarantine?.was ?? 'active') : row.status;
    const quarantine = {
      error: plainError(error),
      was,
      ...(unread ? { unread: true as const } : {}),
    };
    this.#plan.keep(procedure, group, { ...row, status: 'quarantined', quarantine });
    this.#plan.announce(procedure, group, { type: 'reeve.quarantined' });
  }

  /**
   * Lets a quarantined procedure go on: its mail is delivered, its timers are looked at, its tasks
   * and live children asked for again. False when its record still cannot be read.
   */
  release(procedure: Procedure, group: CommitGroup): boolean {
    if (procedure.row.status !== 'quarantined') return true;
    if (procedure.row.seq < 0) this.#births.again(procedure, group);
    if (procedure.snapshot === undefined) return false;
    const { quarantine, ...rest } = procedure.row;
    if (quarantine !== undefined) {
      this.#plan.keep(procedure, group, { ...rest, status: quarantine.was });
    }
    this.#plan.announce(procedure, group, { type: 'reeve.released' });
    for (const { due } of rest.timers ?? NONE) this.#needs.timers.add(due, procedure.slot);
    const answered = this.#needs.held.get(procedure.number) ?? [];
    this.renewTasks(procedure, group, (child) => !answered.some((held) => isEndOf(held, child)));
    this.#deliverHeld(procedure, group);
    return true;
  }

  /** Mail that was held goes on in its order; if the group is discarded it is held again. */
  #deliverHeld(procedure: Procedure, group: CommitGroup): void {
    const { held, queue } = this.#needs;
    const waiting = held.get(procedure.number);
    if (waiting === undefined) return;
    held.delete(procedure.number);
    group.onUndo(() => held.set(procedure.number, waiting));
    // Before what waits already: that was sent later.
    queue.unshift(waiting.map((envelope) => ({ ...envelope, origin: group.serial })));
  }

  /**
   * Keeps mail for a quarantined procedure as a row, in order.
   * @param taken the group has already taken the mail's row for the step that failed
   */
  hold(procedure: Procedure, envelope: MailEnvelope, group: CommitGroup, taken: boolean): void {
    const { held, counters } = this.#needs;
    const waiting = held.get(procedure.number) ?? NONE;
    let kept = envelope;
    if (envelope.seq === undefined || taken) {
      // A row that was there keeps its number, and with it its place.
      const stored = { ...mailOf(envelope), seq: envelope.seq ?? counters.nextMail() };
      group.addMail(stored);
      kept = envelopeOf(stored, group.serial);
    }
    held.set(procedure.number, [...waiting, kept]);
    group.onUndo(() => {
      if (waiting.length > 0) held.set(procedure.number, [...waiting]);
      else held.delete(procedure.number);
    });
  }

  #ledger(procedure: Procedure, task: StoredTask): string {
    const logic = this.#needs.registry.child(procedure.program, task.src);
    if (logic?.kind !== 'task') {
      throw new ReeveError('TASK_NOT_BOUND', `nothing runs the task '${task.src}' any more`, {
        procedure: procedure.id,
        src: task.src,
      });
    }
    return this.#needs.ledgerOf(logic.task.name, task.src);
  }

  #live(procedure: Procedure, value: Json, refs: boolean | undefined): unknown {
    if (!refs) return value;
    const { population } = this.#needs;
    return reviveValue(value, (address) =>
      population.resolve(address, procedure.ref, procedure.snapshot?.children),
    );
  }
}

const NOTHING = { actions: [], inspection: [] };

function isEndOf(envelope: Envelope, { id, arming }: StoredChild): boolean {
  if (envelope.kind !== 'mail' || !isEnd(envelope.event)) return false;
  return envelope.child === id && envelope.arming === arming;
}

/** True for the event by which a parent hears of a child's end. */
export function isEnd(event: EventObject): boolean {
  return (
    event.type.startsWith('xstate.done.actor.') || event.type.startsWith('xstate.error.actor.')
  );
}

/** The child has answered: its row says so, and so does the reference the machine sees. */
function markEnded(procedure: Procedure, draft: RowDraft, child: StoredChild): void {
  const ended: StoredChild = { ...child, ended: true };
  draft.children = draft.children.map((own) => (own === child ? ended : own));
  const { snapshot } = procedure;
  const ref = snapshot?.children?.[child.id] as unknown;
  if (snapshot === undefined || !(ref instanceof ChildRef)) return;
  draft.childrenSeen = { ...snapshot.children, [child.id]: ref.endedAs(ended) as never };
}

function mailOf(envelope: MailEnvelope): Omit<StoredMail, 'seq'> {
  const { to, event, refs, from, child, arming, act } = envelope;
  const json = refs
    ? (event as unknown as Json)
    : encodeValue(event, `event '${event.type}'`, () => undefined).json;
  return {
    to,
    event: json,
    ...(refs ? { refs } : {}),
    ...(from === undefined ? {} : { from }),
    ...(child === undefined ? {} : { child }),
    ...(arming === undefined ? {} : { arming }),
    ...(act === undefined ? {} : { act }),
  };
}
