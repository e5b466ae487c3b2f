/**
 * Runs checkpoints in slices: one transaction of bounded time, then a turn for the appends that
 * have come meanwhile, and so on.
 */
import type { ReeveError } from '../model/errors.ts';
import type { OpenStore } from './sqlite-open.ts';
import { refused, stale } from './sqlite-log.ts';

export interface CheckpointJob {
  readonly epoch: number;
  readonly position: number;
  readonly settle: (error?: ReeveError) => void;
}

/** Share of a slice that is always left for work, however long its commit takes. */
const WORK_PART_MIN = 8;
/** Weight of the last commit in the running mean of commit times. */
const MEAN_WEIGHT = 0.3;

export class Checkpointer {
  readonly #store: OpenStore;
  readonly #sliceMs: number;
  readonly #now: () => number;
  readonly #jobs: CheckpointJob[] = [];
  #steps: Generator<void, void> | undefined;
  #commitMs = 0;

  /** @param now ms of a clock that never goes back */
  constructor(store: OpenStore, sliceMs: number, now: () => number) {
    this.#store = store;
    this.#sliceMs = sliceMs;
    this.#now = now;
  }

  get busy(): boolean {
    return this.#jobs.length > 0;
  }

  add(job: CheckpointJob): void {
    this.#jobs.push(job);
  }

  /** Ends all jobs with `error`. What they have committed stays. */
  abort(error: ReeveError): void {
    this.#steps = undefined;
    for (const job of this.#jobs.splice(0)) job.settle(error);
  }

  /**
   * Works for one slice and commits it. A job that cannot go on is settled with its error.
   *
   * @throws STORE_OUTCOME_UNKNOWN when the commit failed otherwise than for lack of space
   */
  slice(): void {
    const job = this.#jobs[0];
    if (job === undefined) return;
    try {
      this.#steps ??= this.#begin(job);
      if (this.#work(this.#steps)) this.#finish(job);
    } catch (error) {
      const fault = this.#store.commitFault(error, 'a checkpoint');
      if (fault.code === 'STORE_OUTCOME_UNKNOWN') throw fault;
      this.#finish(job, fault);
    }
  }

  #begin({ epoch, position }: CheckpointJob): Generator<void, void> {
    const { log, fold } = this.#store;
    if (epoch !== log.epoch) throw stale(epoch, log.epoch);
    if (!Number.isSafeInteger(position) || position < 0) throw refused(position, 'is no position');
    if (position > log.last) throw refused(position, `is behind the last group, ${log.last}`);
    return fold.run(position);
  }

  /** One transaction. True when the checkpoint is done. */
  #work(steps: Generator<void, void>): boolean {
    const store = this.#store;
    const now = this.#now;
    const budget = Math.max(this.#sliceMs - this.#commitMs, this.#sliceMs / WORK_PART_MIN);
    const began = now();
    let done = false;
    let worked = began;
    store.transactSlice(() => {
      store.assertReign();
      do done = steps.next().done === true;
      while (!done && now() - began < budget);
      worked = now();
    });
    this.#commitMs += MEAN_WEIGHT * (now() - worked - this.#commitMs);
    store.log.noteCheckpoint();
    return done;
  }

  #finish(job: CheckpointJob, error?: ReeveError): void {
    this.#steps = undefined;
    this.#jobs.shift();
    job.settle(error);
  }
}
