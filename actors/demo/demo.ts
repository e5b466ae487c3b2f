/**
 * The demo: a job that hashes a directory is killed in the middle and started again, and then
 * everything it left is checked by somebody else.
 *
 *     files -> first process -> SIGKILL at a random moment -> second process -> check -> verdict
 *
 * It works on real files, real processes and a real signal; nothing is simulated.
 */
import { resolve } from 'node:path';
import { ReeveError, sqliteStore, type Clock, type Json } from '../../src/index.ts';
import type { DemoOptions } from '../../src/cli/cli-needs.ts';
import { hashInOnePass, makeFiles, type DemoFiles } from './demo-files.ts';
import { openRuntime } from './job.ts';
import type { JobMessage, JobOrder } from './job-messages.ts';
import { JobProcess } from './job-process.ts';
import { grouped, judge, type Check, type Life } from './verdict.ts';

export interface DemoNeeds {
  /** The program that runs the job when it is given the word `demo-job`. */
  readonly program: string;
  readonly directory: string;
  readonly clock: Clock;
  /** In [0, 1); chooses the moment of the kill. */
  readonly random: () => number;
  readonly print: (text: string) => void;
  /** Aborts when the demo is asked to end. */
  readonly signal: AbortSignal;
}

const BATCHES = 20;
/** The kill comes behind a batch in this part of the job, and at most so many ms after it. */
const KILL_FROM = 0.25;
const KILL_TO = 0.6;
const KILL_DELAY_MS_MAX = 120;

/** Runs the demo; true when all is right. Throws what kept it from being run. */
export async function runDemo(options: DemoOptions, needs: DemoNeeds): Promise<boolean> {
  const began = needs.clock.monotonic();
  const say = options.quiet ? () => undefined : needs.print;
  const dir = resolve(needs.directory, options.dir);
  const store = resolve(dir, 'store');
  await assertFree(store);
  const files = makeFiles(dir, options.files, options.bytes);
  const batch = Math.ceil(files.count / BATCHES);
  const id = `demo-${new Date(needs.clock.now()).toISOString()}`;
  const order = { store, id, directory: files.directory, batch };
  introduce(order, files, say);
  const first = await firstLife(order, files, say, needs);
  const second = await secondLife(order, files, first, say, needs);
  const checks = await check(order, files, first, second);
  const seconds = ((needs.clock.monotonic() - began) / 1000).toFixed(1);
  return conclude({ options, order, first, second, checks, seconds }, say, needs);
}

/** Tells now, before anything is made, when the store cannot be had. Throws the STORE_ codes. */
async function assertFree(dir: string): Promise<void> {
  const store = sqliteStore({ dir });
  try {
    await store.acquire();
  } finally {
    await store.close();
  }
}

function introduce(order: JobOrder, files: DemoFiles, say: (text: string) => void): void {
  const left = files.made === 0 ? ', as an earlier run left them' : '';
  say('A job that hashes a directory is killed in the middle and started again.');
  say('');
  say(`  files  ${grouped(files.count)} in ${files.directory}${left}`);
  say(`  store  ${order.store}`);
  say(`  job    ${order.id}: ${batchesOf(files, order)} batches, up to ${order.batch} files each`);
  say('');
}

async function firstLife(
  order: JobOrder,
  files: DemoFiles,
  say: (text: string) => void,
  needs: DemoNeeds,
): Promise<Life> {
  const { clock, random } = needs;
  const part = KILL_FROM + random() * (KILL_TO - KILL_FROM);
  const killAfter = Math.ceil(part * batchesOf(files, order)) * order.batch;
  let armed = false;
  const job = start(order, needs, (message) => {
    if (message.kind === 'ready') say(`process ${job.pid} begins`);
    else sayCommitted(message, order, files, say);
    if (message.kind !== 'committed' || message.files < killAfter || armed) return;
    armed = true;
    clock.setTimeout(() => job.kill('SIGKILL'), Math.floor(random() * KILL_DELAY_MS_MAX));
  });
  const life = await job.ended();
  assertAsked(needs.signal);
  if (life.signal === 'SIGKILL') {
    const done = life.progress - life.committed;
    say(
      `  SIGKILL, with batch ${life.committed / order.batch + 1} under way ` +
        `(attempt ${life.underWay ?? '-'}; ${done} of its files hashed, which counts for nothing)`,
    );
  }
  return life;
}

async function secondLife(
  order: JobOrder,
  files: DemoFiles,
  first: Life,
  say: (text: string) => void,
  needs: DemoNeeds,
): Promise<Life> {
  const job = start(order, needs, (message) => {
    if (message.kind === 'ready') {
      const batch = Math.ceil(message.files / order.batch);
      say(
        `process ${job.pid} continues after batch ${batch} of ${batchesOf(files, order)}; batch ` +
          `${batch + 1} is begun anew as attempt ${message.attempt}, because attempt ` +
          `${first.underWay ?? '-'} has ended with its process`,
      );
    } else sayCommitted(message, order, files, say);
  });
  const life = await job.ended();
  assertAsked(needs.signal);
  say('');
  return life;
}

/** A process for the job; it is asked to end when the demo is. */
function start(
  order: JobOrder,
  { program, signal }: DemoNeeds,
  heard: (message: JobMessage) => void,
): JobProcess {
  const job = new JobProcess(program, order, heard);
  const stop = (): void => job.kill('SIGTERM');
  signal.addEventListener('abort', stop);
  if (signal.aborted) stop();
  return job;
}

function sayCommitted(
  message: JobMessage,
  order: JobOrder,
  files: DemoFiles,
  say: (text: string) => void,
): void {
  if (message.kind !== 'committed') return;
  const batch = Math.ceil(message.files / order.batch);
  say(`  batch ${batch} of ${batchesOf(files, order)} is on record (${message.files} files)`);
}

async function check(
  order: JobOrder,
  files: DemoFiles,
  first: Life,
  second: Life,
): Promise<readonly Check[]> {
  const pass = hashInOnePass(files.directory);
  const runtime = await openRuntime(order.store);
  try {
    const snapshot = runtime.get(order.id)?.getSnapshot();
    const history: Json[] = [];
    for (let after: string | undefined, more = snapshot !== undefined; more;) {
      const page = await runtime.history(order.id, after === undefined ? {} : { after });
      history.push(...page.entries);
      after = page.next;
      more = after !== undefined;
    }
    return judge({
      first,
      second,
      status: snapshot?.status ?? 'unknown',
      output: snapshot?.output as Json | undefined,
      history,
      batch: order.batch,
      files: files.count,
      pass,
    });
  } finally {
    await runtime.close();
  }
}

interface Conclusion {
  readonly options: DemoOptions;
  readonly order: JobOrder;
  readonly first: Life;
  readonly second: Life;
  readonly checks: readonly Check[];
  readonly seconds: string;
}

function conclude(
  { options, order, first, second, checks, seconds }: Conclusion,
  say: (text: string) => void,
  { print }: DemoNeeds,
): boolean {
  const ok = checks.every((one) => one.ok);
  say('Checked by this process, from the files and from the history in the store:');
  for (const one of checks) if (one.ok || !options.quiet) say(`  ${word(one.ok)}  ${one.what}`);
  say('');
  if (options.quiet) for (const one of checks) if (!one.ok) print(`${word(false)}  ${one.what}`);
  print(
    ok
      ? `VERDICT: all is right: nothing lost, nothing done twice (${seconds} s).`
      : `VERDICT: something is wrong; the lines marked NOT OK say what (${seconds} s).`,
  );
  if (options.json) {
    print(JSON.stringify({ ok, procedure: order.id, store: order.store, first, second, checks }));
  }
  return ok;
}

function word(ok: boolean): string {
  return ok ? 'ok    ' : 'NOT OK';
}

function batchesOf(files: DemoFiles, order: JobOrder): number {
  return Math.ceil(files.count / order.batch);
}

function assertAsked(signal: AbortSignal): void {
  if (signal.aborted) throw new ReeveError('CANCELLED', 'the demo was asked to end');
}
