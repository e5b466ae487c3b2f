/** A task listener that keeps what it hears, and lets a test wait for it. */
import type { Json } from '../../src/model/json.ts';
import type { AttemptId, TaskListener, TaskOutcome, TaskSubmission } from '../../src/model/task.ts';

export class TaskRecorder implements TaskListener {
  readonly progressed: Json[] = [];
  readonly outcomes: TaskOutcome[] = [];
  readonly lates: TaskOutcome[] = [];
  readonly silences: number[] = [];
  readonly #waiting: (() => void)[] = [];

  progress(progress: Json): void {
    this.progressed.push(progress);
    this.#wake();
  }

  ended(outcome: TaskOutcome): void {
    this.outcomes.push(outcome);
    this.#wake();
  }

  late(outcome: TaskOutcome): void {
    this.lates.push(outcome);
    this.#wake();
  }

  silent(sinceMs: number): void {
    this.silences.push(sinceMs);
    this.#wake();
  }

  /** The first outcome, once it is there. */
  async outcome(): Promise<TaskOutcome> {
    await this.until(() => this.outcomes.length > 0);
    return this.outcomes[0] as TaskOutcome;
  }

  /** Resolves as soon as `holds` after something was heard. */
  async until(holds: () => boolean): Promise<void> {
    while (!holds()) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  #wake(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }
}

export function attemptOf(id: string | number): AttemptId {
  return String(id) as AttemptId;
}

export function submission(id: string | number, input: Json = null, task = 't'): TaskSubmission {
  return { attempt: attemptOf(id), task, input };
}
