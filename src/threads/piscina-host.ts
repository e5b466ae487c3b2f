/**
 * Threads by Piscina, one job per thread at a time. Piscina starts, reuses and replaces them; the
 * exit of each is watched here, because its promise settles before the thread has ended.
 *
 * Threads are not parked between jobs (`atomics: 'disabled'`): what a task left behind dies of its
 * own error at once, and not in the middle of the next job.
 */
import { Piscina } from 'piscina';
import type { ResourceLimits, Worker } from 'node:worker_threads';
import { ThreadExecution, type ExecutionNeeds } from './thread-execution.ts';
import type { TaskOrder } from './task-wire.ts';
import type { Execution, ExecutionEvents, ThreadHost, ThreadJob } from './thread-host.ts';
import { WatchedThread } from './watched-thread.ts';

export interface PiscinaHostOptions {
  readonly module: string;
  readonly exportName: string;
  readonly deadlineMs: number | null;
  readonly threads: number;
  readonly idleMs: number;
  readonly resourceLimits?: ResourceLimits;
  /** Module that runs in each thread, and the function in it that takes the orders. */
  readonly entry: { readonly url: string; readonly exportName: string };
  readonly execArgv: readonly string[] | undefined;
}

export class PiscinaHost implements ThreadHost {
  readonly #pool: Piscina;
  readonly #needs: ExecutionNeeds;
  readonly #threads = new Map<Worker, WatchedThread>();
  readonly #executions = new Set<ThreadExecution>();

  constructor(options: PiscinaHostOptions) {
    this.#pool = new Piscina({
      filename: options.entry.url,
      name: options.entry.exportName,
      minThreads: 0,
      maxThreads: options.threads,
      concurrentTasksPerWorker: 1,
      idleTimeout: options.idleMs,
      atomics: 'disabled',
      recordTiming: false,
      ...(options.resourceLimits === undefined ? {} : { resourceLimits: options.resourceLimits }),
      ...(options.execArgv === undefined ? {} : { execArgv: [...options.execArgv] }),
    });
    this.#pool.on('workerCreate', () => {
      this.#watch();
    });
    // A thread that died idle. Its watcher has the error; without a listener it would be thrown.
    this.#pool.on('error', () => {
      this.#watch();
    });
    const { module, exportName, deadlineMs } = options;
    this.#needs = {
      module,
      exportName,
      deadlineMs,
      run: (order, signal) => this.#run(order, signal),
      thread: (threadId) => {
        for (const thread of this.#threads.values()) if (thread.id === threadId) return thread;
        return undefined;
      },
      released: (execution) => {
        this.#executions.delete(execution);
      },
      abort: (controller) => this.#abort(controller),
      departing: () => this.#departing(),
    };
  }

  get alive(): number {
    let alive = 0;
    for (const thread of this.#threads.values()) if (!thread.exited) alive++;
    return alive;
  }

  start(job: ThreadJob, events: ExecutionEvents): Execution {
    const execution = new ThreadExecution(job, events, this.#needs);
    this.#executions.add(execution);
    return execution;
  }

  async close(): Promise<void> {
    await this.#pool.destroy();
    await Promise.all([...this.#threads.values()].map((thread) => thread.whenExited()));
  }

  /** Async, because Piscina throws what a thread's constructor throws. */
  async #run(order: TaskOrder, signal: AbortSignal): Promise<unknown> {
    const promise = this.#pool.run(order, { transferList: [order.port], signal });
    this.#watch();
    return promise;
  }

  /** Watches threads that Piscina has started since the last time; lets go of those that ended. */
  #watch(): void {
    for (const worker of this.#pool.threads) {
      if (this.#threads.has(worker)) continue;
      for (const [old, thread] of this.#threads) if (thread.exited) this.#threads.delete(old);
      const thread = new WatchedThread(worker, () => this.#pool.threads.includes(worker));
      this.#threads.set(worker, thread);
      void thread.whenExited().then(() => {
        this.#strandWaiting(thread);
      });
    }
  }

  /** Piscina starts no thread by itself after one that died while it was starting. */
  #strandWaiting(dead: WatchedThread): void {
    if (this.#pool.threads.length > 0) return;
    for (const execution of this.#executions) execution.strand(dead.cause);
  }

  #abort(controller: AbortController): readonly WatchedThread[] {
    const before = this.#pool.threads;
    controller.abort();
    const after = new Set(this.#pool.threads);
    return this.#watchersOf(before.filter((worker) => !after.has(worker)));
  }

  #departing(): readonly WatchedThread[] {
    const pooled = new Set(this.#pool.threads);
    const gone = [...this.#threads.keys()].filter((worker) => !pooled.has(worker));
    return this.#watchersOf(gone).filter((thread) => !thread.exited);
  }

  #watchersOf(workers: readonly Worker[]): WatchedThread[] {
    return workers.flatMap((worker) => this.#threads.get(worker) ?? []);
  }
}
