/**
 * The job of the demo: a process of its own, because it is going to be killed.
 *
 * Nothing here knows whether it is the first life of the job: the same calls begin it and go on
 * with it. Only what it reports differs, because the record it finds does.
 */
import { waitFor } from 'xstate';
import { hashDirectory } from '../../machines/index.ts';
import {
  createRuntime,
  fromPool,
  sqliteStore,
  type Clock,
  type DurableActorRef,
  type Runtime,
} from '../../src/index.ts';
import type { JobMessage, JobOrder } from './job-messages.ts';

const LOOK_MS = 20;

export interface JobNeeds {
  readonly clock: Clock;
  readonly report: (message: JobMessage) => void;
  /** Aborts when the process is asked to end. */
  readonly signal: AbortSignal;
}

/** The runtime of the demo, over a store in `dir`. Throws the STORE_ codes. */
export function openRuntime(dir: string): Promise<Runtime> {
  const extension = import.meta.url.endsWith('.ts') ? '.ts' : '.js';
  const worker = new URL('./paced-worker' + extension, import.meta.url);
  return createRuntime({
    machines: [hashDirectory],
    store: sqliteStore({ dir }),
    actors: { hashBatch: fromPool(worker, { export: 'hashBatchAtEase' }) },
  });
}

/** Begins the job, or goes on with it; resolves when it has ended or was asked to stop. */
export async function runJob(order: JobOrder, needs: JobNeeds): Promise<void> {
  const { store, id, directory, batch } = order;
  const runtime = await openRuntime(store);
  try {
    await cancelOthers(runtime, id);
    const job = await runtime.spawn(hashDirectory, { id, input: { directory, batch } });
    const watch = new Watch(runtime, id, job, needs);
    watch.ready();
    const ended = waitFor(job, ({ status }) => status !== 'active', { signal: needs.signal });
    await ended.catch(ignore).finally(() => watch.stop());
    if (!needs.signal.aborted) needs.report({ kind: 'ended', status: job.getSnapshot().status });
  } finally {
    await runtime.close();
  }
}

/** An earlier demo that was cut off left its job on record; this store is for one at a time. */
async function cancelOthers(runtime: Runtime, id: string): Promise<void> {
  const { procedures } = runtime.list({ machine: hashDirectory.id, status: 'active' });
  await Promise.all(procedures.filter((job) => job.id !== id).map((job) => runtime.cancel(job.id)));
}

/** Reports what is on record, and from time to time how far the running attempt is. */
class Watch {
  readonly #runtime: Runtime;
  readonly #id: string;
  readonly #job: DurableActorRef<typeof hashDirectory>;
  readonly #needs: JobNeeds;
  readonly #subscription: { unsubscribe(): void };
  #progress: unknown;
  #timer: unknown;

  constructor(
    runtime: Runtime,
    id: string,
    job: DurableActorRef<typeof hashDirectory>,
    needs: JobNeeds,
  ) {
    this.#runtime = runtime;
    this.#id = id;
    this.#job = job;
    this.#needs = needs;
    this.#subscription = job.subscribe({
      next: ({ context: { files } }) => {
        const attempt = this.#task()?.attempt;
        needs.report({ kind: 'committed', files, ...(attempt === undefined ? {} : { attempt }) });
      },
      error: ignore,
    });
    this.#look();
  }

  ready(): void {
    const { files } = this.#job.getSnapshot().context;
    this.#needs.report({ kind: 'ready', files, attempt: this.#task()?.attempt ?? '' });
  }

  stop(): void {
    this.#subscription.unsubscribe();
    this.#needs.clock.clearTimeout(this.#timer);
  }

  #look(): void {
    const progress = this.#task()?.progress;
    if (typeof progress === 'number' && progress !== this.#progress) {
      this.#progress = progress;
      this.#needs.report({ kind: 'progress', files: progress });
    }
    this.#timer = this.#needs.clock.setTimeout(() => {
      this.#look();
    }, LOOK_MS);
  }

  #task() {
    return this.#runtime.explain(this.#id).waitingFor.find((wait) => wait.for === 'task');
  }
}

function ignore(): void {
  // The end is read from the snapshot.
}
