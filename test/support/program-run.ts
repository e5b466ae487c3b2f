/** The program `reeve` as a user runs it: a process of its own, from its sources. */
import { spawn, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const PROGRAM = fileURLToPath(new URL('../../actors/main.ts', import.meta.url));
const DEADLINE_MS = 50_000;

export interface ProgramEnd {
  readonly code: number | null;
  readonly signal: string | null;
  readonly out: string;
  readonly err: string;
}

export interface ProgramRun {
  readonly child: ChildProcess;
  /** Resolves when standard output holds `text`; rejects when the program ends before. */
  printed(text: string): Promise<void>;
  /** What came on standard output so far. */
  out(): string;
  ended(): Promise<ProgramEnd>;
}

export interface ProgramSettings {
  readonly cwd?: string;
  /** Node's own arguments, beside those that let it run TypeScript. */
  readonly nodeArgs?: readonly string[];
}

export function startProgram(
  args: readonly string[],
  { cwd, nodeArgs = [] }: ProgramSettings = {},
): ProgramRun {
  const loader = import.meta.resolve('tsx');
  const child = spawn(process.execPath, ['--import', loader, ...nodeArgs, PROGRAM, ...args], {
    cwd,
    env: { ...process.env, NODE_OPTIONS: '' },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: DEADLINE_MS,
    killSignal: 'SIGKILL',
  });
  let out = '';
  let err = '';
  const waiting = new Set<() => void>();
  child.stdout.on('data', (chunk: Buffer) => {
    out += chunk.toString();
    for (const look of waiting) look();
  });
  child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()));
  const ended = new Promise<ProgramEnd>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => resolve({ code, signal, out, err }));
  });
  return {
    child,
    out: () => out,
    ended: () => ended,
    printed(text) {
      return new Promise((resolve, reject) => {
        const look = (): void => {
          if (out.includes(text)) resolve();
        };
        waiting.add(look);
        look();
        const gone = (): void => reject(new Error(`ended before '${text}':\n${out}\n${err}`));
        ended.then(gone, reject);
      });
    },
  };
}

/** Resolves when the process is gone. It is nobody's child here, so it is asked for. */
export async function processGone(pid: number): Promise<void> {
  while (isAlive(pid)) await new Promise((resolve) => setTimeout(resolve, 20));
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
