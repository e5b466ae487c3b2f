/** A child process that says lines, for tests that kill it. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';

export class TalkingChild {
  readonly lines: string[] = [];
  readonly pid: number;
  readonly #child: ChildProcess;
  readonly #ended: Promise<void>;
  #heard: (() => void)[] = [];
  #isOver = false;

  constructor(command: string, args: readonly string[]) {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    this.#child = child;
    this.pid = child.pid ?? 0;
    for (const stream of [child.stdout, child.stderr]) {
      createInterface({ input: stream }).on('line', (line) => {
        this.lines.push(line);
        this.#wake();
      });
    }
    this.#ended = new Promise((resolve) => {
      child.on('close', () => {
        this.#isOver = true;
        this.#wake();
        resolve();
      });
    });
  }

  /** The first line that begins with `start`. */
  async line(start: string): Promise<string> {
    for (;;) {
      const found = this.lines.find((line) => line.startsWith(start));
      if (found !== undefined) return found;
      if (this.#isOver) throw new Error(`no line "${start}" in:\n${this.lines.join('\n')}`);
      await new Promise<void>((resolve) => this.#heard.push(resolve));
    }
  }

  /** The number at the end of the last line that begins with `word`; 0 when there is none. */
  last(word: string): number {
    return Number(this.lines.findLast((line) => line.startsWith(`${word} `))?.split(' ')[1] ?? 0);
  }

  /** Ends the process as a power cut would, and waits until it is gone and all is read. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#ended;
  }

  /** Waits for the process to end by itself. */
  ended(): Promise<void> {
    return this.#ended;
  }

  #wake(): void {
    const heard = this.#heard;
    this.#heard = [];
    for (const resolve of heard) resolve();
  }
}
