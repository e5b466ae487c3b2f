/** One thread of a pool from its birth until its exit has been seen. */
import type { Worker } from 'node:worker_threads';
import type { ErrorData } from '../model/errors.ts';
import { codedError, describeCause } from './describe-thrown.ts';

/** Who wants to know that the thread has ended: a job that was given to it. */
export interface ThreadOwner {
  threadEnded(): void;
}

export class WatchedThread {
  readonly id: number;
  readonly #worker: Worker;
  readonly #isPooled: () => boolean;
  readonly #waiting: (() => void)[] = [];
  #error: ErrorData | undefined;
  #exitCode: number | undefined;
  #sudden = false;
  #told = false;
  #owner: ThreadOwner | undefined;
  #formerOwner: ThreadOwner | undefined;

  /** @param isPooled whether the pool still counts on the thread */
  constructor(worker: Worker, isPooled: () => boolean) {
    this.#worker = worker;
    this.#isPooled = isPooled;
    this.id = worker.threadId;
    worker.on('error', (error) => {
      this.#error = describeCause(error);
    });
    // Before the pool's own listener, which forgets the thread and so hides who ended it.
    worker.prependListener('exit', (code) => {
      this.#sudden = !this.#told && (isPooled() || this.#error !== undefined);
      this.#exitCode = code;
    });
    worker.on('exit', () => {
      for (const run of this.#waiting.splice(0)) run();
      this.#owner?.threadEnded();
    });
  }

  get exited(): boolean {
    return this.#exitCode !== undefined;
  }

  /** True when it ended by its own doing, not because the pool or `terminate` ended it. */
  get endedSuddenly(): boolean {
    return this.#sudden;
  }

  /** True when nothing is known that keeps it from taking up a job. */
  get isUsable(): boolean {
    return !this.exited && !this.#told && this.#error === undefined && this.#isPooled();
  }

  /** Resolves once the exit has been seen. */
  whenExited(): Promise<void> {
    if (this.exited) return Promise.resolve();
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
    });
  }

  /** The thread's job from now on. The one before may still hear that the thread died of it. */
  giveTo(owner: ThreadOwner): void {
    this.#formerOwner = this.#owner;
    this.#owner = owner;
  }

  /** The owner had no part in the thread's end: whatever the job before left behind did it. */
  blameFormerOwner(): void {
    this.#formerOwner?.threadEnded();
    this.#formerOwner = undefined;
  }

  terminate(): void {
    // The pool lets idle threads not keep the process alive; this one's exit has to be seen.
    this.#told = true;
    this.#worker.ref();
    void this.#worker.terminate();
  }

  /** Why it ended, as far as is known. */
  get cause(): ErrorData {
    const error = this.#error;
    const exitCode = this.#exitCode ?? null;
    if (error?.code === 'ERR_WORKER_OUT_OF_MEMORY') {
      return codedError('TASK_WORKER_OUT_OF_MEMORY', error.message, { exitCode });
    }
    const how =
      error === undefined ? `exited with code ${exitCode}` : `died of an error: ${error.message}`;
    return codedError('TASK_WORKER_EXITED', `the worker thread ${how}`, {
      exitCode,
      ...(error === undefined ? {} : { cause: error }),
    });
  }
}
