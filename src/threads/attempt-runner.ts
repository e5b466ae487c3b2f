/**
 * Runs attempts on a host's threads: queue, limits, cancel, deadlines, close. It decides; the host
 * has the threads. One attempt per thread at a time, first come, first served.
 */
import { ReeveError } from '../model/errors.ts';
import { assertJson } from '../model/json.ts';
import type {
  AttemptId,
  TaskListener,
  TaskRunner,
  TaskRunnerNeeds,
  TaskSubmission,
} from '../model/task.ts';
import { Alarm } from './alarm.ts';
import { Attempt, AttemptLedger } from './attempt-ledger.ts';
import { AttemptTurn, closedOutcome, type TurnLimits } from './attempt-turn.ts';
import type { ThreadHost } from './thread-host.ts';

export interface RunnerLimits extends TurnLimits {
  readonly threads: number;
  /** Most attempts that wait for a thread. */
  readonly queueMax: number;
  /** Most attempts that are known: waiting, running, ended and not yet forgotten. */
  readonly knownMax: number;
  /** Beyond the grace, the longest that `close` waits for threads to be seen to have ended. */
  readonly closeMs: number;
}

export class AttemptRunner implements TaskRunner {
  readonly ledger: string;
  readonly #needs: TaskRunnerNeeds;
  readonly #host: ThreadHost;
  readonly #limits: RunnerLimits;
  readonly #known = new AttemptLedger();
  readonly #queue = new Set<Attempt>();
  readonly #turns = new Map<Attempt, AttemptTurn>();
  #refused = false;
  #closed: Promise<void> | undefined;
  #idle: (() => void) | undefined;

  constructor(needs: TaskRunnerNeeds, host: ThreadHost, limits: RunnerLimits) {
    this.ledger = needs.ledger;
    this.#needs = needs;
    this.#host = host;
    this.#limits = limits;
  }

  submit(submission: TaskSubmission, listener: TaskListener): void {
    if (this.#closed !== undefined) {
      throw new ReeveError('TASK_RUNNER_CLOSED', 'the runner was closed; nothing was submitted');
    }
    assertJson(submission.input, 'input');
    const known = this.#known.get(submission.attempt);
    if (known !== undefined) {
      known.attach(submission, listener);
      return;
    }
    this.#admit();
    const attempt = new Attempt(submission, listener, this.#needs.clock);
    this.#known.add(attempt);
    this.#queue.add(attempt);
    this.#fill();
  }

  cancel(id: AttemptId): void {
    const attempt = this.#known.get(id);
    if (attempt === undefined || attempt.ended) return;
    this.#turns.get(attempt)?.ask('cancel');
    if (this.#queue.delete(attempt)) {
      attempt.endLater({ status: 'cancelled' });
      this.#tellRoom();
    }
  }

  forget(id: AttemptId): void {
    this.#known.forget(id);
    this.#tellRoom();
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  /** Throws TASK_QUEUE_FULL, and remembers to tell when there is room again. */
  #admit(): void {
    const full = this.#fullLimit();
    if (full === undefined) return;
    this.#refused = true;
    const limit = this.#limits[full];
    throw new ReeveError('TASK_QUEUE_FULL', `${full} (${limit}) is reached; nothing was taken up`, {
      limit: full,
      value: limit,
    });
  }

  #fullLimit(): 'queueMax' | 'knownMax' | undefined {
    if (this.#known.size >= this.#limits.knownMax) return 'knownMax';
    const free = this.#limits.threads - this.#turns.size;
    return free <= 0 && this.#queue.size >= this.#limits.queueMax ? 'queueMax' : undefined;
  }

  #fill(): void {
    for (const attempt of this.#queue) {
      if (this.#turns.size >= this.#limits.threads) return;
      this.#queue.delete(attempt);
      this.#begin(attempt, 1);
    }
  }

  #begin(attempt: Attempt, number: number): void {
    const { clock } = this.#needs;
    const turn = new AttemptTurn(attempt, number, {
      clock,
      host: this.#host,
      limits: this.#limits,
      over: (ended, again) => {
        this.#over(ended, again);
      },
    });
    this.#turns.set(attempt, turn);
  }

  #over(turn: AttemptTurn, again: boolean): void {
    this.#turns.delete(turn.attempt);
    if (again) this.#begin(turn.attempt, turn.number + 1);
    this.#fill();
    this.#tellRoom();
    if (this.#turns.size === 0) this.#idle?.();
  }

  #tellRoom(): void {
    const { clock, room } = this.#needs;
    if (!this.#refused || this.#closed !== undefined || this.#fullLimit() !== undefined) return;
    this.#refused = false;
    if (room !== undefined) clock.setImmediate(room);
  }

  async #close(): Promise<void> {
    for (const attempt of this.#queue) attempt.endLater(closedOutcome());
    this.#queue.clear();
    for (const turn of this.#turns.values()) turn.ask('close');
    const inTime = await this.#within(this.#limits.graceMs + this.#limits.closeMs, async () => {
      if (this.#turns.size > 0) {
        await new Promise<void>((resolve) => {
          this.#idle = resolve;
        });
      }
      await this.#host.close();
    });
    if (inTime) return;
    // The idle ones need not stay with those that hang.
    void this.#host.close();
    const { alive } = this.#host;
    throw new ReeveError('TASK_THREADS_ALIVE', `${alive} threads are not seen to have ended`, {
      alive,
    });
  }

  async #within(limitMs: number, run: () => Promise<void>): Promise<boolean> {
    const alarm = new Alarm(this.#needs.clock);
    try {
      return await Promise.race([
        run().then(() => true),
        new Promise<boolean>((resolve) => {
          alarm.set(limitMs, () => {
            resolve(false);
          });
        }),
      ]);
    } finally {
      alarm.clear();
    }
  }
}
