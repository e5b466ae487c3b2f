/**
 * Hands task attempts to their runners and turns their ends into mail. Progress causes no commit
 * (L10): the latest is kept in memory for whoever asks.
 */
import { assertTaskInput, type DeclaredTask } from '../../model/declare-task.ts';
import { hasCode, ReeveError, toErrorData } from '../../model/errors.ts';
import type { Json } from '../../model/json.ts';
import type {
  AttemptId,
  TaskBinding,
  TaskListener,
  TaskOutcome,
  TaskRunner,
} from '../../model/task.ts';
import type { Clock } from '../../world/clock.ts';
import type { TaskEndedEnvelope } from '../planning/envelope.ts';
import type { ProcedureRow } from '../records/row.ts';

export interface TaskDeskNeeds {
  readonly bindings: Readonly<Record<string, TaskBinding>>;
  readonly clock: Clock;
  /** Random name of this reign; ledgers of runners that live in this process derive from it. */
  readonly reign: string;
  post(envelope: TaskEndedEnvelope): void;
  late(attempt: string, outcome: TaskOutcome): void;
}

export interface TaskStanding {
  readonly attempt: string;
  /** Monotonic ms of the submission. */
  readonly since: number;
  readonly progress?: Json;
  /** Monotonic ms of the last progress. */
  readonly progressAt?: number;
}

interface Wish {
  readonly procedure: number;
  readonly attempt: string;
  readonly task: DeclaredTask;
  readonly src: string;
  readonly input: Json;
}

export class TaskDesk {
  readonly #needs: TaskDeskNeeds;
  readonly #runners = new Map<string, TaskRunner>();
  readonly #standings = new Map<string, TaskStanding>();
  readonly #waiting: Wish[] = [];
  #closed = false;

  constructor(needs: TaskDeskNeeds) {
    this.#needs = needs;
    for (const [name, binding] of Object.entries(needs.bindings)) {
      const ledger = `${needs.reign}:${name}`;
      const room = (): void => {
        this.#room();
      };
      this.#runners.set(name, binding.open({ clock: needs.clock, ledger, room }));
    }
  }

  /** The ledger behind a task; throws TASK_NOT_BOUND. */
  ledgerOf(task: string, src: string): string {
    return this.#runner(task, src).ledger;
  }

  standing(attempt: string): TaskStanding | undefined {
    return this.#standings.get(attempt);
  }

  get running(): number {
    return this.#standings.size;
  }

  submit(row: ProcedureRow, attempt: string, task: DeclaredTask, src: string): void {
    const stored = row.tasks?.find((own) => own.attempt === attempt);
    if (stored === undefined || this.#closed) return;
    const { clock } = this.#needs;
    this.#standings.set(attempt, { attempt, since: clock.monotonic() });
    this.#try({ procedure: row.number, attempt, task, src, input: stored.input ?? null });
  }

  cancel(attempt: string, task: DeclaredTask, src: string): void {
    const waiting = this.#waiting.findIndex((wish) => wish.attempt === attempt);
    if (waiting === -1) {
      this.#runner(task.name, src).cancel(attempt as AttemptId);
      return;
    }
    // It never reached its runner: it is over without having begun.
    const [wish] = this.#waiting.splice(waiting, 1);
    if (wish !== undefined) this.#ended(wish.procedure, attempt, { status: 'cancelled' });
  }

  /** The end of the attempt is on record: the runner need not remember it. */
  forget(attempt: string, task: DeclaredTask, src: string): void {
    this.#standings.delete(attempt);
    this.#runner(task.name, src).forget(attempt as AttemptId);
  }

  /** Resolves when no worker of any runner is alive. */
  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#runners.values()].map((runner) => runner.close()));
  }

  /** A full runner keeps nothing: the attempt waits here until there is room. */
  #try(wish: Wish): void {
    if (!this.#taken(wish)) this.#waiting.push(wish);
  }

  /** Offers what waits, in order, until the runner is full again. */
  #room(): void {
    let taken = 0;
    for (const wish of this.#waiting) {
      if (!this.#taken(wish)) break;
      taken++;
    }
    this.#waiting.splice(0, taken);
  }

  /** False when the runner is full. */
  #taken({ procedure, attempt, task, src, input }: Wish): boolean {
    try {
      assertTaskInput(task, input);
      const submission = { attempt: attempt as AttemptId, task: task.name, input };
      this.#runner(task.name, src).submit(submission, this.#listener(procedure, attempt));
    } catch (error) {
      if (hasCode(error, 'TASK_QUEUE_FULL')) return false;
      this.#ended(procedure, attempt, { status: 'fail', error: toErrorData(error) });
    }
    return true;
  }

  #listener(procedure: number, attempt: string): TaskListener {
    return {
      progress: (progress) => {
        const standing = this.#standings.get(attempt);
        if (standing === undefined) return;
        const progressAt = this.#needs.clock.monotonic();
        this.#standings.set(attempt, { ...standing, progress, progressAt });
      },
      ended: (outcome) => {
        this.#ended(procedure, attempt, outcome);
      },
      late: (outcome) => {
        this.#needs.late(attempt, outcome);
      },
    };
  }

  #ended(procedure: number, attempt: string, outcome: TaskOutcome): void {
    // After a close, ends are not news: the attempts are asked for again at the next start.
    if (this.#closed) return;
    this.#needs.post({ kind: 'task-ended', to: procedure, attempt, outcome: recordable(outcome) });
  }

  #runner(task: string, src: string): TaskRunner {
    const runner = this.#runners.get(task) ?? this.#runners.get(src);
    if (runner !== undefined) return runner;
    throw new ReeveError(
      'TASK_NOT_BOUND',
      `nothing runs the task '${task}'; bind it in createRuntime({ actors: { ${task}: ... } })`,
      { task, src },
    );
  }
}

/** Stacks name paths of this machine and differ between runs; records do without. */
function recordable(outcome: TaskOutcome): TaskOutcome {
  if (outcome.status !== 'fail' && outcome.status !== 'unknown') return outcome;
  const { stack: _stack, ...error } = outcome.error;
  return { ...outcome, error };
}
