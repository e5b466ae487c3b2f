/**
 * What a runner remembers of attempts: their payload, who listens, and how they ended first.
 * Nothing of an attempt is dropped before it is forgotten, so that none can run twice (L3).
 */
import { ReeveError } from '../model/errors.ts';
import { type Json, sameJson } from '../model/json.ts';
import type { AttemptId, TaskListener, TaskOutcome, TaskSubmission } from '../model/task.ts';
import type { Clock } from '../world/clock.ts';

/** One attempt. Its listener hears the first outcome once, and never inside its own call. */
export class Attempt {
  readonly id: AttemptId;
  readonly task: string;
  /** JSON text. */
  readonly input: string;
  readonly #clock: Clock;
  #listener: TaskListener;
  #outcome: TaskOutcome | undefined;
  #told = false;

  constructor(submission: TaskSubmission, listener: TaskListener, clock: Clock) {
    this.id = submission.attempt;
    this.task = submission.task;
    this.input = JSON.stringify(submission.input);
    this.#listener = listener;
    this.#clock = clock;
  }

  get ended(): boolean {
    return this.#outcome !== undefined;
  }

  /** Another listener for the same payload. Throws ATTEMPT_CONFLICT. */
  attach(submission: TaskSubmission, listener: TaskListener): void {
    if (submission.task !== this.task || !this.#isInput(submission.input)) {
      throw new ReeveError(
        'ATTEMPT_CONFLICT',
        `attempt ${this.id} is known with another ${
          submission.task === this.task ? 'input' : `task, '${this.task}'`
        }`,
        { attempt: this.id, task: this.task },
      );
    }
    this.#listener = listener;
    this.#told = false;
    if (this.ended) this.#tellLater();
  }

  progress(progress: Json): void {
    this.#listener.progress(progress);
  }

  silent(sinceMs: number): void {
    this.#listener.silent?.(sinceMs);
  }

  /** The first outcome stands; any other one is kept as evidence by the listener. */
  end(outcome: TaskOutcome): void {
    if (this.ended) {
      this.#listener.late(outcome);
      return;
    }
    this.#outcome = outcome;
    this.#tell();
  }

  /** As `end`, for callers inside one of the runner's own methods. */
  endLater(outcome: TaskOutcome): void {
    if (this.ended) return;
    this.#outcome = outcome;
    this.#tellLater();
  }

  #tellLater(): void {
    this.#clock.setImmediate(() => {
      this.#tell();
    });
  }

  #tell(): void {
    if (this.#told || this.#outcome === undefined) return;
    this.#told = true;
    this.#listener.ended(this.#outcome);
  }

  #isInput(input: Json): boolean {
    return JSON.stringify(input) === this.input || sameJson(input, JSON.parse(this.input) as Json);
  }
}

export class AttemptLedger {
  readonly #attempts = new Map<AttemptId, Attempt>();

  get size(): number {
    return this.#attempts.size;
  }

  get(id: AttemptId): Attempt | undefined {
    return this.#attempts.get(id);
  }

  add(attempt: Attempt): void {
    this.#attempts.set(attempt.id, attempt);
  }

  /** No effect unless the attempt has ended. */
  forget(id: AttemptId): void {
    if (this.#attempts.get(id)?.ended === true) this.#attempts.delete(id);
  }
}
