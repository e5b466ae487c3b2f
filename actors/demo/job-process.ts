/** One life of the job's process, as the demo sees it from outside. */
import { fork, type ChildProcess } from 'node:child_process';
import type { ErrorData } from '../../src/index.ts';
import type { JobMessage, JobOrder } from './job-messages.ts';
import type { Life } from './verdict.ts';

export class JobProcess {
  readonly pid: number;
  readonly #child: ChildProcess;
  readonly #ended: Promise<Life>;
  readonly #heard = {
    from: 0,
    committed: 0,
    begunWith: '',
    underWay: undefined as string | undefined,
    progress: 0,
  };
  #error: (JobMessage & { kind: 'failed' }) | undefined;

  /** `program` is the file that runs the job when it is given the word `demo-job`. */
  constructor(program: string, order: JobOrder, heard: (message: JobMessage) => void) {
    this.#child = fork(program, ['demo-job'], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    this.pid = this.#child.pid ?? 0;
    this.#child.on('message', (message: JobMessage) => {
      this.#note(message);
      heard(message);
    });
    this.#ended = new Promise((resolve, reject) => {
      this.#child.on('error', reject);
      this.#child.on('close', (code, signal) => {
        if (this.#error !== undefined) reject(errorOf(this.#error));
        else resolve({ pid: this.pid, code, signal, ...this.#heard });
      });
    });
    // Who waits hears of it; nobody may be waiting yet.
    this.#ended.catch(() => undefined);
    this.#child.send(order, () => undefined);
  }

  /** Resolves when the process is gone; rejects with the error the job reported. */
  ended(): Promise<Life> {
    return this.#ended;
  }

  kill(signal: 'SIGKILL' | 'SIGTERM'): void {
    this.#child.kill(signal);
  }

  #note(message: JobMessage): void {
    const heard = this.#heard;
    switch (message.kind) {
      case 'ready':
        heard.from = heard.committed = heard.progress = message.files;
        heard.begunWith = message.attempt;
        heard.underWay = message.attempt;
        break;
      case 'committed':
        heard.committed = heard.progress = message.files;
        heard.underWay = message.attempt;
        break;
      case 'progress':
        heard.progress = Math.max(heard.progress, message.files);
        break;
      case 'failed':
        this.#error = message;
        break;
      case 'ended':
        break;
    }
  }
}

/** The job's own words and code; match on `code`. */
function errorOf({ error }: { readonly error: ErrorData }): Error {
  return Object.assign(new Error(error.message), { code: error.code });
}
