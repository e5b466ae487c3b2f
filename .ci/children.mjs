/**
 * Child processes of the npm scripts: their exit codes and signals become ours, and signals sent to
 * us reach them.
 */
import { spawn } from 'node:child_process';
import { constants } from 'node:os';

/** Why a script cannot do what was asked, in one sentence for the user. */
export class Refusal extends Error {}

const running = new Set();
/** The first signal that asked us to end, if one did. */
const asked = { signal: null };

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => {
    asked.signal ??= signal;
    // A terminal sends Ctrl-C and a hang-up to the whole group; a second one would mean "at once".
    if (signal !== 'SIGTERM' && process.stdin.isTTY) return;
    for (const child of running) child.kill(signal);
  });
}

/**
 * Runs a command and resolves with how it ended: `{ code, signal, output }`. `quiet` keeps what it
 * writes for `output` instead of showing it. Throws Refusal when it cannot be started.
 */
export function run(command, args, { quiet = false, env = process.env, started } = {}) {
  if (asked.signal !== null) return Promise.resolve(interrupted());
  return new Promise((resolve, reject) => {
    const stdio = quiet ? ['ignore', 'pipe', 'pipe'] : 'inherit';
    const child = spawn(command, args, { stdio, env });
    const output = [];
    child.stdout?.on('data', (chunk) => output.push(chunk));
    child.stderr?.on('data', (chunk) => output.push(chunk));
    child.on('spawn', () => started?.(child.pid));
    running.add(child);
    child.on('error', (error) => {
      running.delete(child);
      reject(new Refusal(`${command} cannot be started: ${error.message}.`));
    });
    child.on('close', (code, signal) => {
      running.delete(child);
      resolve({ code, signal, output: Buffer.concat(output).toString() });
    });
  });
}

/** How a step ends that a signal interrupted, or kept from being begun; null without a signal. */
export function interrupted() {
  return asked.signal === null ? null : { code: null, signal: asked.signal, output: '' };
}

/** Ends this process as a child ended: with its exit code, or by its signal. */
export function endAs({ code, signal }) {
  process.exitCode = code ?? 128 + (constants.signals[signal] ?? 0);
  if (signal === null) return;
  process.removeAllListeners(signal);
  // Where the signal cannot end us (first process of a container), the exit code says the same.
  process.kill(process.pid, signal);
}
