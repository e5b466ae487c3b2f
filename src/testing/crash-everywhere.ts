/**
 * Runs a scenario once undisturbed, then again for every point at which a process can stop: before
 * and after every commit, every effect and every task, once, and once more while it recovers. Every
 * run must end as the undisturbed one did.
 */
import type { AnyStateMachine } from 'xstate';
import type { Json } from '../model/json.ts';
import { sameJson } from '../model/json.ts';
import type { Limits } from '../model/options.ts';
import type { Table } from '../model/table.ts';
import type { TaskBinding } from '../model/task.ts';
import { createRuntime, type MachineEntry, type Runtime } from '../runtime/index.ts';
import { pointedBinding, withPoints, type EffectRun } from './pointed-machine.ts';
import { VirtualWorld, type Life } from './virtual-world.ts';

export interface CrashScenario {
  /** Machines of the runtime; called for each life, so that a test can change them between two. */
  machines(life: Life): readonly MachineEntry[];
  /** Runners of the declared tasks; fresh ones for each life: threads die with their process. */
  readonly tasks?: (life: Life) => Readonly<Record<string, TaskBinding>>;
  readonly tables?: Readonly<Record<string, Table>>;
  readonly limits?: Partial<Limits>;
  /**
   * What the outside does. Called in every life, so it must be fit to be called again: `spawn` with
   * ids, `sendDurable` with keys. Resolves when everything it started has ended.
   */
  drive(runtime: Runtime): Promise<void>;
  /** What must be equal in all runs; default: id, machine, state, status and data of everything. */
  readonly outcome?: (runtime: Runtime) => Json;
}

export interface CrashOptions {
  /** Also stop the second life at each of its first points, up to this many. Default 12. */
  readonly nestedPointsMax?: number;
  /** Only every n-th point of the first life; default 1. */
  readonly every?: number;
}

export interface CrashReport {
  /** Points of the undisturbed run. */
  readonly points: number;
  readonly runs: number;
  readonly crashes: number;
  /** Effect runs beyond the first of their key, over all runs. */
  readonly effectsRepeated: number;
}

interface Run {
  readonly outcome: Json;
  readonly effects: readonly EffectRun[];
  readonly crashes: number;
  /** Points passed by each life. */
  readonly points: readonly number[];
}

/** Throws an error that names the crash points when a run does not end as the undisturbed one. */
export async function crashEverywhere(
  scenario: CrashScenario,
  options: CrashOptions = {},
): Promise<CrashReport> {
  const { nestedPointsMax = 12, every = 1 } = options;
  const reference = await runOnce(scenario, []);
  const points = reference.points[0] ?? 0;
  const report = { points, runs: 1, crashes: 0, effectsRepeated: 0 };
  const check = async (plan: readonly number[]): Promise<Run> => {
    const run = await runOnce(scenario, plan);
    compare(run, reference, plan);
    report.runs++;
    report.crashes += run.crashes;
    report.effectsRepeated += run.effects.length - new Set(run.effects.map(({ key }) => key)).size;
    return run;
  };
  for (let first = 1; first <= points; first += every) {
    const once = await check([first]);
    const nested = Math.min(nestedPointsMax, once.points[1] ?? 0);
    for (let second = 1; second <= nested; second++) await check([first, second]);
  }
  return report;
}

async function runOnce(scenario: CrashScenario, plan: readonly number[]): Promise<Run> {
  const world = new VirtualWorld();
  const effects: EffectRun[] = [];
  const points: number[] = [];
  for (let crashes = 0; ; crashes++) {
    const at = plan[crashes];
    const life = world.boot(at === undefined ? {} : { at });
    const outcome = await live(world, life, scenario, effects, plan);
    points.push(life.passed.length);
    if (outcome !== undefined) return { outcome, effects, crashes, points };
  }
}

/** One life from its start; undefined when it died. */
async function live(
  world: VirtualWorld,
  life: Life,
  scenario: CrashScenario,
  effects: EffectRun[],
  plan: readonly number[],
): Promise<Json | undefined> {
  let outcome: Json | undefined;
  let failure: unknown;
  const lived = lifeOf(life, scenario, effects).then(
    (end) => {
      outcome = end;
    },
    (error: unknown) => {
      failure = error ?? new Error('the scenario failed');
    },
  );
  while (outcome === undefined && failure === undefined && !life.dead) {
    await world.clock.settle();
    if (outcome !== undefined || failure !== undefined || life.dead) break;
    const { next } = world.clock;
    if (next === undefined) throw new Error(`stuck after crashes at ${JSON.stringify(plan)}`);
    await world.clock.advance(Math.max(0, next - world.clock.now()));
  }
  if (life.dead) return undefined;
  await lived;
  if (failure !== undefined) throw named(failure, plan);
  return outcome;
}

async function lifeOf(life: Life, scenario: CrashScenario, effects: EffectRun[]): Promise<Json> {
  const tasks = Object.entries(scenario.tasks?.(life) ?? {});
  const runtime = await createRuntime({
    machines: scenario.machines(life).map((entry) => observed(entry, life, effects)),
    store: life.store,
    clock: life.clock,
    random: () => 0.5,
    logger: () => undefined,
    log: SILENT,
    actors: Object.fromEntries(tasks.map(([name, own]) => [name, pointedBinding(own, life)])),
    ...(scenario.tables ? { tables: scenario.tables } : {}),
    ...(scenario.limits ? { limits: scenario.limits } : {}),
    onFatal: (error) => {
      throw error;
    },
  });
  await scenario.drive(runtime);
  const outcome = (scenario.outcome ?? everything)(runtime);
  await runtime.close();
  return outcome;
}

const SILENT = { info: () => undefined, warn: () => undefined, error: () => undefined };

function observed(entry: MachineEntry, life: Life, effects: EffectRun[]): MachineEntry {
  if (!('machine' in entry)) return withPoints(entry, life, effects);
  return { ...entry, machine: withPoints(entry.machine as AnyStateMachine, life, effects) };
}

/** Everything a user can see of the end: procedures with their data. */
export function everything(runtime: Runtime): Json {
  const { procedures } = runtime.list();
  const rows = procedures.map(({ id, machine, state, status }) => {
    const persisted = runtime.get(id)?.getPersistedSnapshot() as unknown as Record<string, Json>;
    const { context, output, error } = persisted;
    return { id, machine, state, status, context, output: output ?? null, error: error ?? null };
  });
  return rows.sort((a, b) => (a.id < b.id ? -1 : 1)) as unknown as Json;
}

function compare(run: Run, reference: Run, plan: readonly number[]): void {
  if (!sameJson(run.outcome, reference.outcome)) {
    throw new Error(
      `a crash at ${JSON.stringify(plan)} changed the end:\n` +
        `${JSON.stringify(run.outcome)}\ninstead of\n${JSON.stringify(reference.outcome)}`,
    );
  }
  for (const wish of wishes(reference)) {
    if (!wishes(run).has(wish)) {
      throw new Error(`a crash at ${JSON.stringify(plan)} lost the effect ${wish}`);
    }
  }
  const counts = new Map<string, number>();
  for (const { key } of run.effects) counts.set(key, (counts.get(key) ?? 0) + 1);
  for (const [key, count] of counts) {
    if (count > 1 + run.crashes) {
      throw new Error(
        `${count} runs of effect ${key} are more than ${run.crashes} crashes explain`,
      );
    }
  }
}

/** What was asked of the world, whatever the order of the steps. */
function wishes(run: Run): ReadonlySet<string> {
  return new Set(
    run.effects.map(({ procedure, type, params }) => JSON.stringify([procedure, type, params])),
  );
}

function named(error: unknown, plan: readonly number[]): Error {
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return new Error(`after crashes at ${JSON.stringify(plan)}: ${text}`, { cause: error });
}
