/** Real pools for tests, closed together. */
import { promises as fs } from 'node:fs';
import type { Json } from '../../src/model/json.ts';
import type { TaskOutcome, TaskRunner } from '../../src/model/task.ts';
import { fromPool } from '../../src/threads/pool.ts';
import type { PoolOptions } from '../../src/threads/pool-options.ts';
import { systemClock } from '../../src/world/clock.ts';
import { submission, TaskRecorder } from './task-recorder.ts';

export const WORKER = new URL('./task-worker.ts', import.meta.url);

export class TaskPools {
  readonly #runners: TaskRunner[] = [];
  #attempts = 0;

  /** A pool whose function is any of the worker's: input `{ run, input }`. */
  open(options: PoolOptions = {}, url: URL = WORKER, room?: () => void): TaskRunner {
    const binding = fromPool(url, { export: 'any', ...options });
    const needs = { clock: systemClock(), ledger: 'ledger-1' };
    const runner = binding.open(room === undefined ? needs : { ...needs, room });
    this.#runners.push(runner);
    return runner;
  }

  /** Submits a new attempt of the worker's function `run`. */
  submit(runner: TaskRunner, run: string, input: Json = null): Submitted {
    const task = submission(++this.#attempts, { run, input });
    const heard = new TaskRecorder();
    runner.submit(task, heard);
    return { task, heard };
  }

  async outcome(runner: TaskRunner, run: string, input: Json = null): Promise<TaskOutcome> {
    return this.submit(runner, run, input).heard.outcome();
  }

  async close(): Promise<void> {
    await Promise.all(this.#runners.splice(0).map((runner) => runner.close()));
  }
}

export interface Submitted {
  readonly task: ReturnType<typeof submission>;
  readonly heard: TaskRecorder;
}

export function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Threads of this process in the kernel's count, with libuv's own ones started beforehand. */
export async function threadCount(): Promise<number> {
  await Promise.all(Array.from({ length: 16 }, () => fs.stat('/')));
  return (await fs.readdir('/proc/self/task')).length;
}
