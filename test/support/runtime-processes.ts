/** Starts `runtime-program.ts` as a process of its own. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const PROGRAM = new URL('./runtime-program.ts', import.meta.url).pathname;

export interface Program {
  readonly process: ChildProcess;
  /** Lines of standard output so far. */
  readonly lines: readonly string[];
  readonly errors: readonly string[];
  /** Resolves at the first line that begins so; rejects when the process ends without it. */
  line(begin: string): Promise<string>;
  /** Resolves when the process has ended. */
  readonly ended: Promise<{ readonly code: number | null; readonly signal: string | null }>;
}

export function start(dir: string, mode: string, ...args: string[]): Program {
  const child = spawn(process.execPath, ['--import', 'tsx', PROGRAM, dir, mode, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const lines: string[] = [];
  const errors: string[] = [];
  const waiting = new Set<() => void>();
  const tell = (): void => {
    for (const look of waiting) look();
  };
  createInterface({ input: child.stdout }).on('line', (text) => {
    lines.push(text);
    tell();
  });
  createInterface({ input: child.stderr }).on('line', (text) => errors.push(text));
  const ended = once(child, 'close').then(([code, signal]) => {
    tell();
    return { code: code as number | null, signal: signal as string | null };
  });
  const line = (begin: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        const found = lines.find((text) => text.startsWith(begin));
        if (found !== undefined) resolve(found);
        else if (child.exitCode === null && child.signalCode === null) return;
        else reject(new Error(`ended without '${begin}': ${errors.join('\n')}`));
        waiting.delete(look);
      };
      waiting.add(look);
      look();
    });
  return { process: child, lines, errors, line, ended };
}

export async function inDirectory(work: (dir: string) => Promise<void>): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), 'reeve-test-'));
  try {
    await work(dir);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}
