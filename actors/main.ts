#!/usr/bin/env node
/**
 * The program `reeve`: what the process is and has, handed to the command line. Whatever a command
 * needs beyond that is loaded when it runs.
 */
import { createRequire } from 'node:module';
import { constants } from 'node:os';
import { fileURLToPath } from 'node:url';
import { inspect } from 'node:util';
import { runCli } from '../src/cli/cli.ts';
import type { DemoOptions } from '../src/cli/cli-needs.ts';
import { toErrorData } from '../src/model/errors.ts';
import { systemClock } from '../src/world/clock.ts';
import { EXIT_CODES } from '../src/world/process-exit.ts';
import { systemRandom } from '../src/world/random.ts';
import type { JobMessage, JobOrder } from './demo/job-messages.ts';

type StopSignal = 'SIGINT' | 'SIGTERM' | 'SIGHUP';

const PROGRAM = fileURLToPath(import.meta.url);
/** Exit code when nobody reads what is printed, as of a program that SIGPIPE ended. */
const UNREAD = 128 + constants.signals.SIGPIPE;
const [command, ...rest] = process.argv.slice(2);

// A reader that has gone (`| head`) ends us as it ends other programs, without a word.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(UNREAD);
  throw error;
});

if (command === 'demo-job' && process.send !== undefined) void runDemoJob();
else void main();

async function main(): Promise<void> {
  try {
    const code = await runCli(command === undefined ? [] : [command, ...rest], {
      version: version(),
      directory: process.cwd(),
      print: (text) => process.stdout.write(`${text}\n`),
      warn: (text) => process.stderr.write(`${text}\n`),
      ownMachines: () => import('../machines/index.ts'),
      demo,
    });
    end(code);
  } catch (error) {
    // A defect: what it is, is in the stack.
    process.stderr.write(`${inspect(error)}\n`);
    end(EXIT_CODES.defect);
  }
}

async function demo(options: DemoOptions): Promise<number> {
  const asked = stopSignals();
  const { runDemo } = await import('./demo/demo.ts');
  try {
    const ok = await runDemo(options, {
      program: PROGRAM,
      directory: process.cwd(),
      clock: systemClock(),
      random: systemRandom,
      print: (text) => process.stdout.write(`${text}\n`),
      signal: asked.signal,
    });
    return ok ? 0 : 1;
  } catch (error) {
    if (!asked.signal.aborted) throw error;
    process.stderr.write('reeve: the demo was asked to end\n');
    return 128 + constants.signals[asked.signal.reason as StopSignal];
  }
}

/** One life of the demo's job; its order comes as a message. */
async function runDemoJob(): Promise<void> {
  const asked = stopSignals();
  // Whoever started it is gone: nobody hears what it reports.
  process.on('disconnect', () => asked.abort('SIGHUP' satisfies StopSignal));
  const report = (message: JobMessage): void => {
    if (process.connected) process.send?.(message);
  };
  const order = await new Promise<JobOrder>((resolve) => process.once('message', resolve));
  try {
    const { runJob } = await import('./demo/job.ts');
    await runJob(order, { clock: systemClock(), report, signal: asked.signal });
    process.exitCode = asked.signal.aborted ? 1 : 0;
  } catch (error) {
    report({ kind: 'failed', error: toErrorData(error) });
    process.exitCode = 1;
  }
  if (process.connected) process.disconnect();
}

/** Aborts with the name of the first signal that asks this process to end. */
function stopSignals(): AbortController {
  const controller = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => controller.abort(signal));
  }
  return controller;
}

/** Ends the process when what it wrote is out, whatever a user's module has left running. */
function end(code: number): void {
  process.stdout.write('', (unread) => {
    process.stderr.write('', () => process.exit(unread ? UNREAD : code));
  });
}

function version(): string {
  const { version } = createRequire(import.meta.url)('reeve/package.json') as { version: string };
  return version;
}
