/**
 * Takes one envelope and decides what follows, purely: new rows, mail, timers, table changes. All of
 * it goes into the forming group; nothing acts (L1). Which envelope means what is here; how a
 * machine's wishes become a row is in `step-plan.ts`.
 */
import type { EventObject } from 'xstate';
import { assertTaskOutput, type DeclaredTask } from '../model/declare-task.ts';
import { ReeveError } from '../model/errors.ts';
import type { Json } from '../model/json.ts';
import type { CommitGroup } from './commit-group.ts';
import type {
  Envelope,
  MailEnvelope,
  SpawnEnvelope,
  TaskEndedEnvelope,
  TimerEnvelope,
  UpkeepEnvelope,
} from './envelope.ts';
import { reviveValue } from './interpreter/actor-refs.ts';
import { doneActorEvent, errorActorEvent } from './interpreter/internals.ts';
import type { Procedure } from './procedure.ts';
import { isTerminal, NONE, type DeadLetter, type StoredChild } from './row.ts';
import { unsettled } from './row-draft.ts';
import { plainError, type Births } from './births.ts';
import type { Postman } from './postman.ts';
import type { StepCases } from './step-cases.ts';
import type { StepPlan } from './step-plan.ts';
import type { StepperNeeds } from './stepper-needs.ts';

export interface StepperParts {
  readonly needs: StepperNeeds;
  readonly plan: StepPlan;
  readonly cases: StepCases;
  readonly births: Births;
  readonly postman: Postman;
}

export class Stepper {
  readonly #needs: StepperNeeds;
  readonly #plan: StepPlan;
  readonly #cases: StepCases;
  readonly #births: Births;
  readonly #postman: Postman;

  constructor({ needs, plan, cases, births, postman }: StepperParts) {
    this.#needs = needs;
    this.#plan = plan;
    this.#cases = cases;
    this.#births = births;
    this.#postman = postman;
  }

  /** Plans the envelope into `group`. Never throws for what an envelope says. */
  take(envelope: Envelope, group: CommitGroup): void {
    group.consumed.push(envelope);
    if (envelope.kind === 'spawn') {
      this.#spawn(envelope, group);
      return;
    }
    const procedure = this.#find(envelope, group);
    if (procedure === undefined) {
      this.#unknown(envelope, group);
      return;
    }
    try {
      this.#dispatch(procedure, envelope, group);
    } catch (error) {
      this.#poisoned(procedure, envelope, error, group);
      return;
    }
    this.#answer(envelope, procedure, group);
  }

  #dispatch(
    procedure: Procedure,
    envelope: Exclude<Envelope, SpawnEnvelope>,
    group: CommitGroup,
  ): void {
    switch (envelope.kind) {
      case 'mail':
        this.#mail(procedure, envelope, group);
        break;
      case 'timer':
        this.#timer(procedure, envelope, group);
        break;
      case 'task-ended':
        this.#taskEnded(procedure, envelope, group);
        break;
      case 'upkeep':
        this.#upkeep(procedure, envelope, group);
        break;
      case 'purge':
        this.#purge(procedure, group);
        break;
    }
  }

  /** A step that breaks a rule sets its procedure aside; nothing of the step has happened. */
  #poisoned(
    procedure: Procedure,
    envelope: Exclude<Envelope, SpawnEnvelope>,
    error: unknown,
    group: CommitGroup,
  ): void {
    this.#cases.quarantine(procedure, error, group, false);
    if (envelope.waiter !== undefined) {
      const { waiter } = envelope;
      const refuse = (): void => waiter.reject(error);
      group.waiters.push({ resolve: refuse, reject: refuse });
    } else if (envelope.kind === 'mail') {
      this.#cases.hold(procedure, envelope, group, true);
    }
  }

  #find(envelope: Envelope, group: CommitGroup): Procedure | undefined {
    const found = this.#needs.population.find(envelope.to);
    if (found === undefined) return undefined;
    if (found.unfit !== undefined && !isTerminal(found.procedure.row.status)) {
      this.#cases.quarantine(found.procedure, found.unfit, group, true);
    }
    if (found.migrated) this.#plan.keep(found.procedure, group);
    return found.procedure;
  }

  /** A waiter hears after the commit; when nothing changed, that is at once. */
  #answer(envelope: Envelope, procedure: Procedure, group: CommitGroup): void {
    if (envelope.waiter === undefined) return;
    if (procedure.pinned > 0) group.waiters.push(envelope.waiter);
    else envelope.waiter.resolve();
  }

  #refuse(envelope: Envelope, procedure: Procedure, group: CommitGroup, error: ReeveError): void {
    const { waiter } = envelope;
    if (waiter === undefined) return;
    const refuse = (): void => waiter.reject(error);
    // A refusal rests on state that may not be durable yet: it waits like any answer (L1).
    if (procedure.pinned > 0) group.waiters.push({ resolve: refuse, reject: refuse });
    else refuse();
    (envelope as { waiter?: unknown }).waiter = undefined;
  }

  #unknown(envelope: Exclude<Envelope, SpawnEnvelope>, group: CommitGroup): void {
    const id = String(envelope.to);
    if (envelope.kind === 'mail') this.#deadLetter(envelope, id, 'unknown-receiver', group);
    envelope.waiter?.reject(
      new ReeveError('PROCEDURE_UNKNOWN', `there is no procedure ${id}`, { procedure: id }),
    );
  }

  #spawn(envelope: SpawnEnvelope, group: CommitGroup): void {
    const { directory, population } = this.#needs;
    const slot = directory.slotOf(envelope.id);
    const known = slot === undefined ? undefined : population.find(directory.numberOf(slot));
    if (known === undefined) {
      this.#spawnNew(envelope, group);
      return;
    }
    const { procedure } = known;
    const { row } = procedure;
    if (row.machine === envelope.program.key && row.inputHash === envelope.inputHash) {
      this.#answer(envelope, procedure, group);
      return;
    }
    const error = new ReeveError(
      'ID_CONFLICT',
      `'${envelope.id}' is the id of another procedure of '${row.machine}' or has other input`,
      { id: envelope.id, machine: row.machine },
    );
    this.#refuse(envelope, procedure, group, error);
  }

  #spawnNew(envelope: SpawnEnvelope, group: CommitGroup): void {
    try {
      const procedure = this.#births.root(envelope, group);
      this.#answer(envelope, procedure, group);
    } catch (error) {
      envelope.waiter?.reject(error);
    }
  }

  #deadLetter(
    envelope: MailEnvelope,
    to: string,
    reason: DeadLetter['reason'],
    group: CommitGroup,
  ): void {
    if (envelope.seq !== undefined) group.takeMail(envelope.seq);
    const event = envelope.event as unknown as Json;
    this.#postman.deadLetter({ to, from: envelope.from, event }, reason, group);
  }

  #mail(procedure: Procedure, envelope: MailEnvelope, group: CommitGroup): void {
    const { row } = procedure;
    if (row.status === 'quarantined' && envelope.act !== 'cancel') {
      this.#hold(procedure, envelope, group);
      return;
    }
    if (envelope.seq !== undefined) group.takeMail(envelope.seq);
    if (envelope.key !== undefined && !this.#needs.keys.take(procedure, envelope.key, group)) {
      return;
    }
    if (envelope.act === 'stop' || envelope.act === 'cancel') {
      if (row.status === 'active' || row.status === 'quarantined') {
        this.#cases.stop(procedure, envelope, group);
      } else if (envelope.act === 'stop' && isTerminal(row.status)) {
        this.#postman.tellParent(procedure, group);
      }
      return;
    }
    if (row.status === 'stopping') {
      if (this.#cases.awaitedChildEnded(procedure, envelope, group)) return;
    }
    if (row.status !== 'active') {
      if (envelope.child === undefined) this.#ended(procedure, envelope, group);
      return;
    }
    if (envelope.act === 'child-ended') return;
    if (envelope.child === undefined) {
      const facts = { event: this.#live(procedure, envelope), source: envelope.from };
      this.#plan.step(procedure, facts, group);
    } else {
      this.#fromChild(procedure, envelope, envelope.child, group);
    }
  }

  #fromChild(
    procedure: Procedure,
    envelope: MailEnvelope,
    childId: string,
    group: CommitGroup,
  ): void {
    const event = this.#live(procedure, envelope);
    if (procedure.program.kind === 'set') {
      this.#plan.setStep(procedure, childId, { event, source: envelope.from }, group);
      return;
    }
    const child = procedure.row.children?.find(
      ({ id, arming }) => id === childId && arming === envelope.arming,
    );
    if (child === undefined) {
      // L16: the child was stopped or armed anew after it sent this.
      this.#needs.stale('mail', procedure.id, event.type);
      return;
    }
    this.#cases.childStep(procedure, child, event, envelope.from, group);
  }

  #live(procedure: Procedure, envelope: MailEnvelope): EventObject {
    if (!envelope.refs) return envelope.event;
    const { population } = this.#needs;
    return reviveValue(envelope.event as never, (address) =>
      population.resolve(address, procedure.ref, procedure.snapshot?.children),
    ) as EventObject;
  }

  /** Mail for a quarantined procedure is kept as rows, in order, until it is let go on. */
  #hold(procedure: Procedure, envelope: MailEnvelope, group: CommitGroup): void {
    if (envelope.waiter !== undefined) {
      const error = new ReeveError('QUARANTINED', `procedure '${procedure.id}' is quarantined`, {
        procedure: procedure.id,
        reason: procedure.row.quarantine?.error,
      });
      this.#refuse(envelope, procedure, group, error);
      return;
    }
    this.#cases.hold(procedure, envelope, group, false);
  }

  #ended(procedure: Procedure, envelope: MailEnvelope, group: CommitGroup): void {
    const error = new ReeveError('PROCEDURE_ENDED', `procedure '${procedure.id}' has ended`, {
      procedure: procedure.id,
      status: procedure.row.status,
    });
    const outside = envelope.waiter !== undefined;
    this.#refuse(envelope, procedure, group, error);
    if (!outside) this.#deadLetter(envelope, procedure.id, 'receiver-ended', group);
  }

  #timer(procedure: Procedure, envelope: TimerEnvelope, group: CommitGroup): void {
    const { row } = procedure;
    const timer = row.timers?.find(
      ({ id, arming }) => id === envelope.timer && arming === envelope.arming,
    );
    // A quarantined procedure keeps its timers; they are looked at again when it goes on.
    if (row.status === 'quarantined') return;
    if (timer === undefined || row.status !== 'active') {
      this.#needs.stale('timer', procedure.id, envelope.timer);
      return;
    }
    if (timer.missed === 'skip' && timer.due < this.#needs.time.began) {
      this.#cases.skipMissed(procedure, timer, group);
    } else if (timer.to === undefined) {
      this.#cases.timerStep(procedure, timer, group);
    } else {
      this.#cases.timerMail(procedure, timer, group);
    }
  }

  #taskEnded(procedure: Procedure, envelope: TaskEndedEnvelope, group: CommitGroup): void {
    const { row, program } = procedure;
    const task = row.tasks?.find(({ attempt }) => attempt === envelope.attempt);
    if (task === undefined) {
      this.#needs.stale('task', procedure.id, envelope.attempt);
      return;
    }
    const child = row.children?.find(
      ({ id, arming }) => id === task.child && arming === task.arming,
    );
    const listens = row.status === 'active' && child !== undefined && task.phase === 'submitted';
    if (!listens || procedure.snapshot === undefined) {
      this.#cases.taskOver(procedure, task, group);
      return;
    }
    const logic = this.#needs.registry.child(program, task.src);
    const event = taskEvent(child, envelope, logic?.kind === 'task' ? logic.task : undefined);
    this.#cases.taskStep(procedure, child, task, event, group);
  }

  #upkeep(procedure: Procedure, envelope: UpkeepEnvelope, group: CommitGroup): void {
    const { row } = procedure;
    switch (envelope.what) {
      case 'settle': {
        const effects = unsettled(row.effects ?? NONE, procedure.settled);
        if (effects.length !== (row.effects?.length ?? 0)) {
          this.#plan.keep(procedure, group, { ...row, effects });
        }
        break;
      }
      case 'renew-tasks':
        this.#cases.renewTasks(procedure, group);
        break;
      case 'retry':
        this.#cases.release(procedure, group);
        break;
      case 'hydrate':
        break;
    }
  }

  #purge(procedure: Procedure, group: CommitGroup): void {
    if (!isTerminal(procedure.row.status)) return;
    this.#needs.keys.drop(procedure, group);
    group.forget(procedure);
  }
}

/** The event by which a machine hears of its task's end. Only a valid success is a `done` (L5). */
function taskEvent(
  child: StoredChild,
  { outcome }: TaskEndedEnvelope,
  task: DeclaredTask | undefined,
): EventObject {
  switch (outcome.status) {
    case 'success':
      try {
        if (task !== undefined) assertTaskOutput(task, outcome.output);
        return doneActorEvent(child.id, outcome.output);
      } catch (error) {
        return errorActorEvent(child.id, plainError(error));
      }
    case 'cancelled':
      return errorActorEvent(child.id, {
        name: 'ReeveError',
        code: 'CANCELLED',
        message: 'CANCELLED: the task was cancelled',
      });
    default:
      return errorActorEvent(child.id, outcome.error);
  }
}
