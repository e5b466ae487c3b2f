/**
 * One job on a real thread, from Piscina's promise, the job's own port and the thread's exit to one
 * ending.
 *
 * X1 A report on the port ends the job. It was posted before the promise settles, so what the
 *    promise or the exit finds unread on the port is read first.
 * X2 The promise says only that the thread is free. Without a report before it, the job is lost.
 * X3 A rejected promise says that the thread is going, not that it has gone: its exit is awaited.
 * X4 No `started` on the port of a job whose thread has exited: its code never began.
 * X5 A thread that breaks the protocol is terminated; the job is lost when its exit is seen.
 */
import { MessageChannel, type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import type { ErrorData } from '../model/errors.ts';
import { codedError, describeCause } from './describe-thrown.ts';
import {
  isReceipt,
  protocolError,
  readThreadMessage,
  STOP_FLAG,
  type TaskOrder,
  WIRE_VERSION,
} from './task-wire.ts';
import type { Ending, Execution, ExecutionEvents, StopReason, ThreadJob } from './thread-host.ts';
import type { ThreadOwner, WatchedThread } from './watched-thread.ts';

/** What an execution needs of its pool. */
export interface ExecutionNeeds {
  readonly module: string;
  readonly exportName: string;
  readonly deadlineMs: number | null;
  /** Gives the order to a thread, now or later; `assigned` tells to which. */
  run(order: TaskOrder, execution: ThreadExecution): Promise<unknown>;
  /** Takes an order back that no thread has been given. Its promise settles no more. */
  withdraw(execution: ThreadExecution): void;
  /** The execution is over; nothing of it is needed any more. */
  released(execution: ThreadExecution): void;
}

export class ThreadExecution implements Execution, ThreadOwner {
  readonly #job: ThreadJob;
  readonly #events: ExecutionEvents;
  readonly #needs: ExecutionNeeds;
  readonly #port: MessagePort;
  readonly #flag = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  #thread: WatchedThread | undefined;
  /** What makes the thread's word worth nothing. */
  #doubt: ErrorData | undefined;
  /** Why no thread took the job up. */
  #stranded: ErrorData | undefined;
  #began = false;
  #portClosed = false;
  #killed = false;
  #ended = false;
  #released = false;

  constructor(job: ThreadJob, events: ExecutionEvents, needs: ExecutionNeeds) {
    this.#job = job;
    this.#events = events;
    this.#needs = needs;
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    port1.on('message', (message) => {
      this.#hear(message);
    });
    port1.on('messageerror', () => {
      this.#breach(protocolError('a message that cannot be read'));
    });
    // Only the thread's end closes the other side. That it is over is told by its exit.
    port1.on('close', () => {
      this.#portClosed = true;
    });
    const order: TaskOrder = {
      v: WIRE_VERSION,
      attempt: job.attempt,
      module: needs.module,
      exportName: needs.exportName,
      input: job.input,
      deadlineMs: needs.deadlineMs,
      flag: this.#flag,
      port: port2,
    };
    needs.run(order, this).then(
      (value) => {
        this.#returned(value);
      },
      (error: unknown) => {
        void this.#rejected(describeCause(error));
      },
    );
  }

  /** The pool has chosen the thread. */
  assigned(thread: WatchedThread): void {
    this.#thread = thread;
    thread.giveTo(this);
  }

  ask(reason: StopReason): void {
    if (this.#released) return;
    Atomics.store(this.#flag, 0, STOP_FLAG[reason]);
    this.#port.postMessage(null);
  }

  kill(): void {
    if (this.#killed || this.#released) return;
    const hadEnded = this.#ended;
    this.#drain();
    if (this.#ended !== hadEnded) return;
    this.#killed = true;
    if (this.#thread !== undefined) this.#thread.terminate();
    else this.#conclude();
  }

  /** No thread is left that could be given the job. */
  strand(cause: ErrorData): void {
    if (this.#thread !== undefined || this.#released) return;
    this.#stranded = cause;
    this.#conclude();
  }

  threadEnded(): void {
    const thread = this.#thread;
    if (this.#released) {
      if (thread?.endedSuddenly === true) {
        this.#events.late({ kind: 'lost', error: thread.cause });
      }
      return;
    }
    this.#conclude();
    if (!this.#began) thread?.blameFormerOwner();
  }

  #hear(message: unknown): void {
    const heard = readThreadMessage(message, this.#job.attempt);
    switch (heard.kind) {
      case 'started':
        if (this.#began) return;
        this.#began = true;
        this.#events.started();
        return;
      case 'progress':
        if (!this.#ended) this.#events.progress(heard.progress);
        return;
      case 'report':
        if (this.#ended) this.#events.late(heard.ending);
        else if (this.#doubt === undefined) this.#end(heard.ending);
        return;
      case 'breach':
        this.#breach(heard.error);
    }
  }

  #breach(error: ErrorData): void {
    if (this.#ended) {
      this.#events.late({ kind: 'lost', error });
      return;
    }
    this.#doubt ??= error;
    this.kill();
  }

  #returned(value: unknown): void {
    this.#drain();
    if (!this.#ended) {
      this.#breach(protocolError('the thread returned without a report'));
      return;
    }
    if (!isReceipt(value, this.#job.attempt)) {
      this.#breach(protocolError('the thread returned something else than its receipt'));
    }
    this.#release();
  }

  async #rejected(error: ErrorData): Promise<void> {
    this.#drain();
    const thread = this.#thread;
    if (thread === undefined) {
      this.strand(error);
      return;
    }
    // The pool keeps the thread: its entry itself has thrown, which it never does.
    if (thread.isUsable) this.#breach(protocolError(`the thread's entry threw: ${error.message}`));
    await thread.whenExited();
    this.#conclude();
  }

  /** Nothing runs the job any more, and nothing will. */
  #conclude(): void {
    this.#drain();
    if (this.#released) return;
    const error = this.#doubt ?? this.#cause();
    if (this.#ended) this.#events.late({ kind: 'lost', error });
    else if (this.#began || this.#doubt !== undefined) this.#end({ kind: 'lost', error });
    else this.#end({ kind: 'not-started', error: notStarted(error) });
    this.#release();
  }

  #cause(): ErrorData {
    if (this.#thread !== undefined) return this.#thread.cause;
    return this.#stranded ?? codedError('TASK_WORKER_EXITED', 'no thread was there in time');
  }

  /**
   * Reads what is waiting on the port. A port that has closed has nothing left, and must not be
   * read: in Node 20 that is a segmentation fault of the whole process.
   */
  #drain(): void {
    if (this.#released || this.#portClosed) return;
    for (
      let read = receiveMessageOnPort(this.#port) as { message: unknown } | undefined;
      read !== undefined;
      read = receiveMessageOnPort(this.#port) as { message: unknown } | undefined
    ) {
      this.#hear(read.message);
    }
  }

  #end(ending: Ending): void {
    this.#ended = true;
    this.#events.ended(ending);
  }

  #release(): void {
    this.#released = true;
    if (this.#thread === undefined) this.#needs.withdraw(this);
    this.#port.close();
    this.#needs.released(this);
    this.#events.released();
  }
}

function notStarted(cause: ErrorData): ErrorData {
  return codedError('TASK_NOT_STARTED', `no thread took the task up: ${cause.message}`, { cause });
}
