/**
 * A thread of the SQLite store as its client sees it: questions with answers, and an end. It is
 * closed by message and never terminated, because a thread that is torn out of SQLite leaves its
 * locks and memory behind.
 */
import { Worker } from 'node:worker_threads';
import type { Transferable } from 'node:worker_threads';
import type { ReeveError } from '../model/errors.ts';
import { fromFault, messageOf } from './sqlite-errors.ts';
import type { Fault } from './sqlite-errors.ts';
import type {
  Answer,
  AnswerValue,
  SideRequest,
  StoreThreadData,
  WriterRequest,
} from './sqlite-messages.ts';

/** Built, the programs are `.js` beside this module; else they are the `.ts` they are. */
const RUNS_FROM_SOURCE = import.meta.url.endsWith('.ts');

export interface ThreadListener {
  /** The oldest append is acknowledged. */
  readonly appended: () => void;
  /** The oldest append is refused. */
  readonly appendRefused: (error: ReeveError) => void;
  /** The store's outcome is unknown: said by the thread, or its end came unasked. */
  readonly failed: (error: ReeveError) => void;
}

interface Waiting {
  readonly resolve: (value: AnswerValue) => void;
  readonly reject: (error: ReeveError) => void;
}

export type StoreProgram = 'sqlite-worker' | 'sqlite-side-worker';

export class StoreThread {
  readonly #worker: Worker;
  readonly #listener: ThreadListener;
  readonly #waiting = new Map<number, Waiting>();
  readonly #ended: Promise<void>;
  #lastId = 0;
  #closing = false;
  #cause: unknown;
  #gone: ReeveError | undefined;

  constructor(program: StoreProgram, data: StoreThreadData, listener: ThreadListener) {
    this.#listener = listener;
    this.#worker = startWorker(program, data);
    this.#worker.on('message', (answer: Answer) => {
      this.#receive(answer);
    });
    this.#worker.on('messageerror', (error) => (this.#cause = error));
    this.#worker.on('error', (error) => (this.#cause = error));
    this.#ended = new Promise((resolve) => {
      this.#worker.on('exit', (code) => {
        this.#end(program, code);
        resolve();
      });
    });
  }

  post(request: WriterRequest | SideRequest, transfer: readonly Transferable[] = []): void {
    this.#worker.postMessage(request, transfer);
  }

  /** Asks and waits for the answer. `make` gets the number the answer will carry. */
  ask(
    make: (id: number) => WriterRequest | SideRequest,
    transfer: readonly Transferable[] = [],
  ): Promise<AnswerValue> {
    if (this.#gone !== undefined) return Promise.reject(this.#gone);
    return new Promise((resolve, reject) => {
      const id = ++this.#lastId;
      this.#waiting.set(id, { resolve, reject });
      this.post(make(id), transfer);
    });
  }

  /** Refuses what has been asked and not answered; answers that still come are dropped. */
  refuse(error: ReeveError): void {
    for (const waiting of this.#waiting.values()) waiting.reject(error);
    this.#waiting.clear();
  }

  /** Asks the thread to close what it holds, and waits for its end. */
  async close(): Promise<void> {
    this.#closing = true;
    if (this.#gone !== undefined) return;
    try {
      await this.ask((id) => ({ op: 'close', id }));
    } finally {
      await this.#ended;
    }
  }

  #receive(answer: Answer): void {
    if (typeof answer === 'number') return this.#listener.appended();
    if ('append' in answer) return this.#listener.appendRefused(fromFault(answer.append));
    if ('fatal' in answer) return this.#listener.failed(fromFault(answer.fatal));
    const waiting = this.#waiting.get(answer.id);
    this.#waiting.delete(answer.id);
    if ('fault' in answer) waiting?.reject(fromFault(answer.fault));
    else waiting?.resolve(answer.value);
  }

  #end(program: StoreProgram, code: number): void {
    const why = this.#cause === undefined ? `code ${code}` : messageOf(this.#cause);
    const fault: Fault = {
      code: 'STORE_OUTCOME_UNKNOWN',
      message: `the store's thread ${program} ended unexpectedly: ${why}`,
      details: { program, exitCode: code },
    };
    const error = fromFault(fault);
    this.#gone = error;
    if (!this.#closing || this.#waiting.size > 0) this.#listener.failed(error);
    this.refuse(error);
  }
}

function startWorker(program: StoreProgram, data: StoreThreadData): Worker {
  const url = new URL(`./${program}${RUNS_FROM_SOURCE ? '.ts' : '.js'}`, import.meta.url);
  const options = { name: program, workerData: data };
  if (!RUNS_FROM_SOURCE || 'typescript' in process.features) return new Worker(url, options);
  // Loaders do not reach into threads on Node 20: the thread has to ask for its own.
  const loader = JSON.stringify(import.meta.resolve('tsx/esm/api'));
  const preload = encodeURIComponent(`import{register}from${loader};register()`);
  return new Worker(url, { ...options, execArgv: ['--import', `data:text/javascript,${preload}`] });
}
