/**
 * The counterpart of `fromPool` for tests on virtual time: the same runner over threads that are
 * message actors, so that every run is the same and no real thread is started. Faults are planned
 * per run or made on demand.
 */
import { ReeveError } from '../model/errors.ts';
import type { Json } from '../model/json.ts';
import type { AttemptId, TaskBinding, TaskRunner, TaskRunnerNeeds } from '../model/task.ts';
import { AttemptRunner } from '../threads/attempt-runner.ts';
import type { Execution, ExecutionEvents, ThreadHost, ThreadJob } from '../threads/thread-host.ts';
import type { Clock } from '../world/clock.ts';
import type { FaultPlan, VirtualTask } from './virtual-task.ts';
import { VirtualThread } from './virtual-thread.ts';

/** Times are in virtual ms; those of `fromPool` mean the same here. */
export interface VirtualPoolOptions {
  /** By the name given to `declareTask`. */
  readonly tasks: Readonly<Record<string, VirtualTask>>;
  /** Where the threads live. Default: the clock of the runner. */
  readonly clock?: Clock;
  readonly fault?: FaultPlan;
  /** Default: 2. */
  readonly threads?: number;
  readonly queueMax?: number;
  readonly deadlineMs?: number;
  readonly graceMs?: number;
  readonly noProgressMs?: number;
  /** From the moment a thread is given an attempt until it takes it up. Default: 0. */
  readonly bootMs?: number;
  /** From the order to end a thread to its seen end. Default: 1. */
  readonly exitMs?: number;
}

/** A binding, and what a test may do to its threads and see of them, over all their lives. */
export interface VirtualPool extends TaskBinding {
  /**
   * Each time the code of an attempt began, in order, in every life: the evidence of how often
   * something ran.
   */
  readonly begun: readonly AttemptId[];
  /** Attempts that have a thread now. */
  readonly running: readonly AttemptId[];
  /** The thread of this attempt dies without a word. False: it has none. */
  die(attempt: AttemptId): boolean;
  /**
   * The process dies: all threads do and say no more, and nobody hears of them. What is opened then
   * is a new ledger, which knows no attempt.
   */
  crash(): void;
}

const QUEUE_MAX = 10_000;
const GRACE_MS = 1_000;
const START_MS = 30_000;
const CLOSE_MS = 10_000;
const KNOWN_MAX_BEYOND_QUEUE = 100_000;

/** Throws OPTION_INVALID for an unknown option. */
export function virtualPool(options: VirtualPoolOptions): VirtualPool {
  for (const option of Object.keys(options)) {
    if (OPTIONS.has(option)) continue;
    throw new ReeveError('OPTION_INVALID', `${option}: no option of virtualPool`, { option });
  }
  return new MessageActorPool(options);
}

const OPTIONS: ReadonlySet<string> = new Set<keyof VirtualPoolOptions>([
  'tasks',
  'clock',
  'fault',
  'threads',
  'queueMax',
  'deadlineMs',
  'graceMs',
  'noProgressMs',
  'bootMs',
  'exitMs',
]);

class MessageActorPool implements VirtualPool {
  readonly kind = 'task-binding';
  readonly #record: RunRecord = { begun: [], runs: new Map() };
  readonly #options: VirtualPoolOptions;
  readonly #hosts = new Set<VirtualHost>();

  constructor(options: VirtualPoolOptions) {
    this.#options = options;
  }

  get begun(): readonly AttemptId[] {
    return this.#record.begun;
  }

  get running(): readonly AttemptId[] {
    return [...this.#hosts].flatMap((host) => host.running);
  }

  open(needs: TaskRunnerNeeds): TaskRunner {
    const options = this.#options;
    const { threads = 2, queueMax = QUEUE_MAX, graceMs = GRACE_MS } = options;
    const host = new VirtualHost(options, options.clock ?? needs.clock, this.#record);
    this.#hosts.add(host);
    return new AttemptRunner(needs, host, {
      threads,
      queueMax,
      knownMax: queueMax + threads + KNOWN_MAX_BEYOND_QUEUE,
      deadlineMs: options.deadlineMs ?? null,
      graceMs,
      noProgressMs: options.noProgressMs ?? null,
      startMs: START_MS,
      closeMs: CLOSE_MS,
    });
  }

  die(attempt: AttemptId): boolean {
    return [...this.#hosts].some((host) => host.die(attempt));
  }

  crash(): void {
    for (const host of this.#hosts) host.cut();
    this.#hosts.clear();
  }
}

/** What outlives a life: what the world has seen. */
interface RunRecord {
  readonly begun: AttemptId[];
  /** How often a thread was given the attempt. */
  readonly runs: Map<AttemptId, number>;
}

/** The threads of one runner. */
class VirtualHost implements ThreadHost {
  readonly #options: VirtualPoolOptions;
  readonly #clock: Clock;
  readonly #record: RunRecord;
  readonly #threads = new Map<AttemptId, VirtualThread>();
  #cut = false;

  constructor(options: VirtualPoolOptions, clock: Clock, record: RunRecord) {
    this.#options = options;
    this.#clock = clock;
    this.#record = record;
  }

  get alive(): number {
    return this.#threads.size;
  }

  get running(): AttemptId[] {
    return [...this.#threads.keys()];
  }

  start(job: ThreadJob, events: ExecutionEvents): Execution {
    const { tasks, fault, deadlineMs, bootMs = 0, exitMs = 1 } = this.#options;
    const { attempt, task } = job;
    const run = (this.#record.runs.get(attempt) ?? 0) + 1;
    this.#record.runs.set(attempt, run);
    const submission = { attempt, task, input: JSON.parse(job.input) as Json };
    const thread = new VirtualThread(job, events, {
      clock: this.#clock,
      task: Object.hasOwn(tasks, task) ? tasks[task] : undefined,
      fault: fault?.(submission, run),
      deadlineMs: deadlineMs ?? null,
      bootMs,
      exitMs,
      isCut: () => this.#cut,
      begins: () => {
        this.#record.begun.push(attempt);
      },
      released: (ended) => {
        if (this.#threads.get(attempt) === ended) this.#threads.delete(attempt);
      },
    });
    this.#threads.set(attempt, thread);
    return thread;
  }

  die(attempt: AttemptId): boolean {
    const thread = this.#threads.get(attempt);
    thread?.die(0);
    return thread !== undefined;
  }

  cut(): void {
    this.#cut = true;
    this.#threads.clear();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}
