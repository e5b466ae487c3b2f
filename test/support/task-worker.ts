/** Worker functions for the tests of pools: one for each way in which a task can end. */
import { spawnSync } from 'node:child_process';
import { appendFileSync, mkdirSync, promises as fs, writeFileSync } from 'node:fs';
import { threadId } from 'node:worker_threads';
import type { Json } from '../../src/model/json.ts';
import type { TaskContext, TaskFunction } from '../../src/threads/task-context.ts';
import * as self from './task-worker.ts';

/** Any function of this module by name, so that one pool can be made to meet all of them. */
export function any(
  { run, input = null }: { run: string; input?: Json },
  context: TaskContext,
): unknown {
  return (self as unknown as Record<string, TaskFunction<Json, unknown>>)[run]?.(input, context);
}

export function echo(input: Json): Json {
  return { echo: input };
}

export async function facts(_input: Json, context: TaskContext): Promise<Json> {
  await Promise.resolve();
  return { threadId, attempt: context.attempt, deadline: context.deadline };
}

export function nothing(): void {
  // Returns nothing.
}

export function throwNull(): never {
  // eslint-disable-next-line @typescript-eslint/only-throw-error -- M01
  throw null;
}

export function throwUndefined(): never {
  // eslint-disable-next-line @typescript-eslint/only-throw-error -- M02
  throw undefined;
}

export function throwObject(): never {
  // eslint-disable-next-line @typescript-eslint/only-throw-error -- M02
  throw {};
}

export function throwText(): never {
  // eslint-disable-next-line @typescript-eslint/only-throw-error -- M02
  throw 'disk on fire';
}

export function rejectNull(): Promise<never> {
  // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- M01
  return Promise.reject(null);
}

export function throwTrap(): never {
  // eslint-disable-next-line @typescript-eslint/only-throw-error -- what cannot even be read
  throw new Proxy(
    {},
    {
      get() {
        throw new Error('no');
      },
    },
  );
}

export function throwCoded(): never {
  throw Object.assign(new Error('cannot remove', { cause: new TypeError('deep') }), {
    code: 'REGION_BUSY',
    details: { region: 7 },
  });
}

export async function readMissing(): Promise<never> {
  await fs.readFile('/no/such/file');
  throw new Error('not reached');
}

export function abortByItself(): never {
  throw Object.assign(new Error('my own time-out'), { name: 'AbortError' });
}

export function returnFunction(): unknown {
  return { run: () => 1 };
}

export function returnDate(): unknown {
  return { at: new Date() };
}

export function returnBigInt(): unknown {
  return 1n;
}

export function returnCircular(): unknown {
  const circle: Record<string, unknown> = {};
  circle.self = circle;
  return circle;
}

export function returnTrap(): unknown {
  return Object.defineProperty({}, 'trap', {
    enumerable: true,
    get() {
      throw new Error('read me not');
    },
  });
}

export function returnMuch(): string {
  return 'x'.repeat(1024 * 1024);
}

export async function exit(code: number): Promise<never> {
  await Promise.resolve();
  process.exit(code);
}

export function exitAtOnce(): never {
  process.exit(0);
}

export async function exitAfterProgress(code: number, context: TaskContext): Promise<never> {
  context.progress({ step: 'last words' });
  await Promise.resolve();
  process.exit(code);
}

export function eatMemory(): number {
  const kept: number[][] = [];
  for (;;) kept.push(new Array<number>(10_000).fill(kept.length));
}

export async function uncaught(): Promise<void> {
  setTimeout(() => {
    throw Object.assign(new Error('nobody catches this'), { code: 'LOST' });
  }, 5);
  await new Promise(() => undefined);
}

export function unhandled(): Promise<void> {
  void Promise.reject(new Error('nobody awaits this'));
  return new Promise(() => undefined);
}

export function throwLater(delayMs: number): string {
  setTimeout(() => {
    throw new Error('after the answer');
  }, delayMs);
  return 'answered';
}

/** Answers, is busy for so long with something else, and dies of it. */
export function throwAfterBlocking(ms: number): string {
  setImmediate(() => {
    spinFor(ms);
    throw new Error('after the answer');
  });
  return 'answered';
}

export function spinLater(delayMs: number): string {
  setTimeout(() => {
    for (;;);
  }, delayMs);
  return 'answered';
}

export function exitLater(delayMs: number): string {
  setTimeout(() => process.exit(1), delayMs);
  return 'answered';
}

export function spin(): never {
  for (;;);
}

export function spinFor(ms: number): string {
  const end = performance.now() + ms;
  while (performance.now() < end);
  return 'spun';
}

/** Spins for ever; `file` shows that it lives. */
export function spinAndWrite(file: string): never {
  for (;;) {
    appendFileSync(file, '.');
    const end = performance.now() + 2;
    while (performance.now() < end);
  }
}

export function spinUntilCancelled(_input: Json, context: TaskContext): never {
  while (!context.cancelled());
  context.signal.throwIfAborted();
  throw new Error('not reached');
}

export function finishDespiteCancel(_input: Json, context: TaskContext): string {
  context.progress('looking');
  while (!context.cancelled());
  return 'done all the same';
}

export function failDespiteCancel(_input: Json, context: TaskContext): never {
  context.progress('looking');
  while (!context.cancelled());
  throw Object.assign(new Error('the disk is gone'), { code: 'EIO' });
}

export function exitOnCancel(_input: Json, context: TaskContext): never {
  context.progress('looking');
  while (!context.cancelled());
  process.exit(0);
}

export function waitForSignal(_input: Json, { signal, progress }: TaskContext): Promise<never> {
  progress('waiting');
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => {
      reject(signal.reason as Error);
    });
  });
}

/** Waits with an API of Node's that takes the signal and throws an AbortError of its own. */
export async function waitByNode(_input: Json, { signal }: TaskContext): Promise<void> {
  const { setTimeout: delay } = await import('node:timers/promises');
  await delay(1_000_000, undefined, { signal });
}

export function hang(): Promise<never> {
  return new Promise(() => undefined);
}

/** A call of the system in which a thread cannot be terminated. */
export function hangInSystem(seconds: number, context: TaskContext): void {
  context.progress('hanging');
  spawnSync('sleep', [String(seconds)]);
}

/** Handles batches and cleans up at the end of the one in hand: C104. */
export function batches(file: string, context: TaskContext): number {
  for (let batch = 1; ; batch++) {
    appendFileSync(file, `begin ${batch}\n`);
    const end = performance.now() + 3;
    while (performance.now() < end);
    appendFileSync(file, `end ${batch}\n`);
    if (batch === 3) context.progress({ batch });
    if (!context.cancelled()) continue;
    appendFileSync(file, 'cleaned\n');
    throw context.signal.reason as Error;
  }
}

export function progressFlood(count: number, context: TaskContext): number {
  for (let i = 1; i <= count; i++) context.progress({ i });
  return count;
}

export async function progressSlowly(delays: readonly number[], ctx: TaskContext): Promise<string> {
  for (const [step, ms] of delays.entries()) {
    await new Promise((resolve) => setTimeout(resolve, ms));
    ctx.progress({ step });
  }
  return 'shown';
}

export function progressBadly(kind: string, context: TaskContext): Json {
  const bad: unknown = kind === 'large' ? 'x'.repeat(70_000) : { at: new Date() };
  try {
    context.progress(bad as Json);
    return 'accepted';
  } catch (error) {
    return (error as { code: string }).code;
  }
}

/** Removes files with many calls in flight, and never looks at the flag: M03. */
export async function removeTree(directory: string, context: TaskContext): Promise<void> {
  const files = await fs.readdir(directory);
  context.progress({ files: files.length });
  for (let i = 0; i < files.length; i += 16) {
    const batch = files.slice(i, i + 16);
    await Promise.all(batch.map((file) => fs.unlink(`${directory}/${file}`)));
  }
}

export function makeTree({ directory, files }: { directory: string; files: number }): number {
  mkdirSync(directory, { recursive: true });
  for (let i = 0; i < files; i++) writeFileSync(`${directory}/${i}`, '');
  return files;
}

/** Ends this thread's process: M05. */
export function crash(): void {
  process.kill(process.pid, 'SIGSEGV');
  spinFor(10_000);
}

// eslint-disable-next-line no-restricted-exports -- the export that a pool takes by default
export { echo as default };
