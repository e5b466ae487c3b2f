/**
 * Threads by Piscina, one job per thread at a time. Piscina starts, reuses and replaces them; which
 * thread gets which job is chosen here, and the exit of each thread is watched here, because
 * Piscina's promise settles before the thread has ended.
 *
 * Threads are not parked between jobs (`atomics: 'disabled'`): what a task left behind dies of its
 * own error at once, and not in the middle of the next job.
 */
import { Piscina, queueOptionsSymbol } from 'piscina';
import type { ResourceLimits, Worker } from 'node:worker_threads';
import { OrderQueue } from './order-queue.ts';
import type { TaskOrder } from './task-wire.ts';
import { type ExecutionNeeds, ThreadExecution } from './thread-execution.ts';
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

type LoadBalancer = NonNullable<
  NonNullable<ConstructorParameters<typeof Piscina>[0]>['loadBalancer']
>;

export class PiscinaHost implements ThreadHost {
  readonly #pool: Piscina;
  readonly #needs: ExecutionNeeds;
  readonly #orders = new OrderQueue();
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
      taskQueue: this.#orders,
      loadBalancer: (task, workers) => this.#choose(task, workers),
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
      run: (order, execution) => this.#run(order, execution),
      withdraw: (execution) => {
        this.#orders.withdraw(execution);
      },
      released: (execution) => {
        this.#executions.delete(execution);
      },
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
  async #run(order: TaskOrder, execution: ThreadExecution): Promise<unknown> {
    const marked = { ...order, [queueOptionsSymbol]: execution };
    const promise = this.#pool.run(marked, { transferList: [order.port] });
    this.#watch();
    return promise;
  }

  /** Piscina's load balancer: any thread without a job that is not known to be going. */
  #choose(...[task, workers]: Parameters<LoadBalancer>): ReturnType<LoadBalancer> {
    this.#watch();
    for (const worker of workers) {
      if (worker.currentUsage > 0 || worker.terminating || worker.destroyed) continue;
      const thread = this.#threadOf(worker.id);
      if (thread?.isUsable !== true) continue;
      (task[queueOptionsSymbol] as ThreadExecution).assigned(thread);
      return worker;
    }
    return null;
  }

  #threadOf(threadId: number): WatchedThread | undefined {
    for (const thread of this.#threads.values()) if (thread.id === threadId) return thread;
    return undefined;
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
}
