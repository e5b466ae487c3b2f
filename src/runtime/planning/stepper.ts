/**
 * Takes one envelope and decides what follows, purely: new rows, mail, timers, table changes. All
 * of it goes into the forming group; nothing acts (L1). Which envelope means what is here; how a
 * machine's wishes become a row is in `step-plan.ts`.
 */
import type { EventObject } from 'xstate';
import { ReeveError } from '../../model/errors.ts';
import type { Json } from '../../model/json.ts';
import type { CommitGroup } from './commit-group.ts';
import type {
  Envelope,
  MailEnvelope,
  SpawnEnvelope,
  TaskEndedEnvelope,
  TimerEnvelope,
  UpkeepEnvelope,
  Waiter,
} from './envelope.ts';
import { reviveValue } from '../interpreter/actor-refs.ts';
import type { Procedure } from '../population/procedure.ts';
import { isTerminal, NONE, type DeadLetter } from '../records/row.ts';
import { unsettled } from './row-draft.ts';
import type { Births } from './births.ts';
import type { Postman } from './postman.ts';
import { isEnd, type StepCases } from './step-cases.ts';
import type { StepPlan } from './step-plan.ts';
import type { StepperNeeds } from './stepper-needs.ts';
import { taskEvent } from './task-event.ts';

const ANSWERED: Waiter = { resolve: () => undefined, reject: () => undefined };

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
    const procedure = this.#needs.population.find(envelope.to);
    if (procedure === undefined || procedure.leaving) return undefined;
    if (procedure.unfit !== undefined && !isTerminal(procedure.row.status)) {
      this.#cases.quarantine(procedure, procedure.unfit, group, true);
    }
    if (procedure.migrated) this.#plan.keep(procedure, group);
    return procedure;
  }

  /** A waiter hears after the commit; when nothing changed, that is at once. */
  #answer(envelope: Envelope, procedure: Procedure, group: CommitGroup): void {
    if (envelope.waiter === undefined) return;
    const marks = envelope.kind === 'upkeep' && envelope.what === 'mark' && !group.isEmpty;
    if (marks || procedure.pinned > 0) group.waiters.push(envelope.waiter);
    else envelope.waiter.resolve();
  }

  #refuse(envelope: Envelope, procedure: Procedure, group: CommitGroup, error: ReeveError): void {
    const { waiter } = envelope;
    if (waiter === undefined) return;
    const refuse = (): void => waiter.reject(error);
    // A refusal rests on state that may not be durable yet: it waits like any answer (L1).
    if (procedure.pinned > 0) group.waiters.push({ resolve: refuse, reject: refuse });
    else refuse();
    // Answered: nobody hears more, and a discarded group does not plan it again.
    (envelope as { waiter?: Waiter }).waiter = ANSWERED;
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
    const procedure = slot === undefined ? undefined : population.find(directory.numberOf(slot));
    if (procedure === undefined) {
      this.#spawnNew(envelope, group);
      return;
    }
    const { row, leaving } = procedure;
    const same = row.machine === envelope.program.key && row.inputHash === envelope.inputHash;
    if (same && !leaving) {
      this.#answer(envelope, procedure, group);
      return;
    }
    const error = new ReeveError(
      'ID_CONFLICT',
      leaving
        ? `the procedure with the id '${envelope.id}' is just being removed`
        : `'${envelope.id}' is the id of another procedure of '${row.machine}' or has other input`,
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
    const { key } = envelope;
    if (key !== undefined && this.#needs.keys.has(procedure, key)) return;
    if (envelope.settles !== undefined) this.#settle(procedure, envelope.settles, group);
    const ends = envelope.act === 'stop' || envelope.act === 'cancel';
    if (row.status === 'quarantined' && !ends) {
      this.#hold(procedure, envelope, group);
      return;
    }
    if (envelope.seq !== undefined) group.takeMail(envelope.seq);
    if (ends) {
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
      // Not before: a key stands for an event that was taken, never for one that was refused.
      if (key !== undefined) this.#needs.keys.take(procedure, key, group);
    } else {
      this.#fromChild(procedure, envelope, envelope.child, group);
    }
  }

  /** The news that an effect failed settles it: neither is there without the other. */
  #settle(procedure: Procedure, key: string, group: CommitGroup): void {
    this.#needs.settled(procedure, key);
    group.onUndo(() => procedure.settled?.delete(key));
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
    if (child === undefined || (child.ended && isEnd(event))) {
      // L16: the child was stopped or armed anew after it sent this, or has told its end before.
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
      this.#refuse(envelope, procedure, group, quarantined(procedure));
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
    const listens = row.status === 'active' || row.status === 'quarantined';
    if (!listens || child === undefined || task.phase !== 'submitted') {
      this.#cases.taskOver(procedure, task, group);
      return;
    }
    const logic = this.#needs.registry.child(program, task.src);
    const event = taskEvent(child, envelope, logic?.kind === 'task' ? logic.task : undefined);
    if (row.status === 'quarantined') {
      // The attempt is over; the news of it waits with the other mail.
      this.#cases.taskOver(procedure, task, group);
      const { id, arming } = child;
      const mail = { kind: 'mail', to: procedure.number, event, child: id, arming } as const;
      this.#cases.hold(procedure, mail, group, false);
      return;
    }
    this.#cases.taskStep(procedure, child, task, event, group);
  }

  #upkeep(procedure: Procedure, envelope: UpkeepEnvelope, group: CommitGroup): void {
    const { row } = procedure;
    switch (envelope.what) {
      case 'settle': {
        const { effects = NONE, ...rest } = row;
        const left = unsettled(effects, procedure.settled);
        if (left.length === effects.length) break;
        const next = left.length === 0 ? rest : { ...rest, effects: left };
        this.#plan.keep(procedure, group, next);
        break;
      }
      case 'renew-tasks':
        this.#cases.renewTasks(procedure, group);
        break;
      case 'retry':
        if (!this.#cases.release(procedure, group)) {
          this.#refuse(envelope, procedure, group, quarantined(procedure));
        }
        break;
      case 'hydrate':
      case 'mark':
        break;
    }
  }

  #purge(procedure: Procedure, group: CommitGroup): void {
    if (!isTerminal(procedure.row.status)) return;
    this.#needs.keys.drop(procedure, group);
    procedure.leaving = true;
    group.onUndo(() => {
      procedure.leaving = false;
    });
    group.forget(procedure);
  }
}

function quarantined({ id, row }: Procedure): ReeveError {
  return new ReeveError('QUARANTINED', `procedure '${id}' is quarantined`, {
    procedure: id,
    reason: row.quarantine?.error,
  });
}
