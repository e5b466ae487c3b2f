/**
 * What follows a commit, in the order XState has it: actions, then children and mail to live
 * children, then emitted events, observers, inspection. In chunks, so that a large group does not
 * hold the thread.
 */
import type { EventObject } from 'xstate';
import type { Clock } from '../../world/clock.ts';
import type { AfterCommit, CommitGroup, Sealed, Step } from '../planning/commit-group.ts';
import { stateLabel, type Directory } from '../population/directory.ts';
import type { EffectRunner } from './effect-runner.ts';
import type { Waiter } from '../planning/envelope.ts';
import type { Inspector } from './inspector.ts';
import type { Registry } from '../interpreter/registry.ts';
import type { LocalActors } from './local-actors.ts';
import type { Population } from '../population/population.ts';
import type { Procedure } from '../population/procedure.ts';
import { NONE, type ProcedureRow } from '../records/row.ts';
import { settledKey } from '../planning/row-draft.ts';
import type { TaskDesk } from './task-desk.ts';
import type { Watchers } from '../population/watchers.ts';

/** Steps and answers per turn of the loop; also the size at which resolving in one go hurts. */
const CHUNK = 128;

export interface PublisherNeeds {
  readonly clock: Clock;
  readonly directory: Directory;
  readonly registry: Registry;
  readonly population: Population;
  readonly effects: EffectRunner;
  readonly locals: LocalActors;
  readonly tasks: TaskDesk;
  readonly watchers: Watchers;
  readonly inspector: Inspector;
  /** Sends to something that is no part of this runtime or to a live child of another procedure. */
  sendLive(target: object, event: EventObject, from: Procedure): void;
  log(values: readonly unknown[]): void;
  /** An event or state that a user should know of. */
  noticed(step: Step): void;
  report(error: unknown): void;
}

export class Publisher {
  readonly #needs: PublisherNeeds;
  #jobs: (Step | Waiter)[] = [];
  #at = 0;
  #scheduled = false;
  #stopped = false;

  constructor(needs: PublisherNeeds) {
    this.#needs = needs;
  }

  /** Steps and answers that wait to be published. */
  get backlog(): number {
    return this.#jobs.length - this.#at;
  }

  publish(group: CommitGroup, sealed: readonly Sealed[]): void {
    group.unpin();
    for (const { procedure, row, snapshot } of sealed) {
      procedure.shown = { row, snapshot };
      if (group.removed.has(procedure)) this.#needs.population.remove(procedure);
      else {
        const { directory } = this.#needs;
        directory.publish(procedure.slot, row.machine, stateLabel(row.state), row.status);
      }
      pruneSettled(procedure, row);
    }
    // Steps first, then answers: whoever waited finds the effects begun and the observers told.
    this.#jobs =
      this.#at === this.#jobs.length
        ? [...group.steps, ...group.waiters]
        : [...this.#jobs.slice(this.#at), ...group.steps, ...group.waiters];
    this.#at = 0;
    this.#work();
  }

  stop(): void {
    this.#stopped = true;
    this.#jobs = [];
  }

  #work(): void {
    if (this.#scheduled) return;
    let done = 0;
    while (this.#at < this.#jobs.length && !this.#stopped) {
      if (done++ === CHUNK) {
        this.#scheduled = true;
        this.#needs.clock.setImmediate(() => {
          this.#scheduled = false;
          this.#work();
        });
        return;
      }
      const job = this.#jobs[this.#at++];
      if (job !== undefined) this.#guard(() => this.#do(job));
    }
    this.#jobs = [];
    this.#at = 0;
  }

  #guard(run: () => void): void {
    try {
      run();
    } catch (error) {
      this.#needs.report(error);
    }
  }

  #do(job: Step | Waiter): void {
    if ('resolve' in job) job.resolve();
    else this.#step(job);
  }

  #step(step: Step): void {
    const { procedure, snapshot } = step;
    const { effects, watchers, inspector } = this.#needs;
    if (inspector.active) inspector.before(step);
    effects.add(procedure, step.effects);
    // One that fails, a logger say, must not take the next with it: a task would never begin.
    for (const after of step.after) this.#guard(() => this.#after(procedure, after));
    if (step.quiet) return;
    for (const event of step.emits) watchers.emit(procedure.number, event);
    if (snapshot !== undefined && !step.muted) watchers.tell(procedure.number, snapshot);
    if (inspector.active) inspector.after(step);
    this.#needs.noticed(step);
  }

  #after(procedure: Procedure, after: AfterCommit): void {
    const { locals, registry, tasks } = this.#needs;
    switch (after.do) {
      case 'start-local':
        this.#startLocal(procedure, after.child);
        break;
      case 'stop-local':
        locals.stop(procedure, after.child, after.arming);
        break;
      case 'send-local': {
        const target = after.target as { local?: string; arming?: number };
        if (target.local !== undefined && target.arming !== undefined) {
          locals.send(procedure, target.local, target.arming, after.event);
        } else {
          this.#needs.sendLive(after.target, after.event, procedure);
        }
        break;
      }
      case 'log':
        this.#needs.log(after.values);
        break;
      default: {
        const logic = registry.child(procedure.program, after.src);
        if (logic?.kind !== 'task') return;
        const { attempt, src } = after;
        if (after.do === 'submit-task') tasks.submit(procedure.row, attempt, logic.task, src);
        else if (after.do === 'cancel-task') tasks.cancel(attempt, logic.task, src);
        else tasks.forget(attempt, logic.task, src);
      }
    }
  }

  /** Starts the live child, unless a later step has given it up already. */
  #startLocal(procedure: Procedure, childId: string): void {
    const child = procedure.row.children?.find(({ id }) => id === childId);
    if (child === undefined || child.ended) return;
    const logic = this.#needs.registry.child(procedure.program, child.src);
    if (logic?.kind === 'local') this.#needs.locals.start(procedure, child, logic.logic);
  }
}

/** Settled effects that have left the durable row need not be remembered. */
function pruneSettled(procedure: Procedure, durable: ProcedureRow): void {
  const { settled } = procedure;
  if (settled === undefined) return;
  const effects = durable.effects ?? NONE;
  for (const key of settled) {
    if (!effects.some((effect) => settledKey(effect) === key)) settled.delete(key);
  }
  if (settled.size === 0) procedure.settled = undefined;
}
