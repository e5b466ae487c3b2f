/** The second interpreter: Reeve's runtime on a store in memory. */
import type { AnyMachineSnapshot, AnyStateMachine } from 'xstate';
import { createRuntime } from '../../src/runtime/index.ts';
import { MemoryDisk } from '../../src/store/memory-disk.ts';
import { memoryStore } from '../../src/store/memory-store.ts';
import type { VirtualClock } from '../../src/world/virtual-clock.ts';
import { type Driver, Handle, type Stage, type Subject } from './actor-driver.ts';

/** So many times everything may fall silent before a promise that is still open counts as stuck. */
const ROUNDS_MAX = 20;
/** Longer than a closing runtime waits for effects. */
const CLOSE_MS = 60_000;

export const runtimeDriver: Driver = {
  name: 'runtime',
  async start(machine, stage, { id = 'subject', input, inspect, companions = [] }) {
    const runtime = await startRuntime(stage, {
      machines: [machine, ...companions],
      ...(inspect ? { inspect } : {}),
    });
    const ref = await spawnWatched(stage, runtime, machine, { id, input });
    const close = (): Promise<void> => closeRuntime(stage.clock, runtime);
    return new Handle({ ref, close }, stage);
  },
};

/** The runtime again, ended and started anew on the same disk before every step of the script. */
export const restartingDriver: Driver = {
  name: 'runtime with a restart before each step',
  async start(machine, stage, { id = 'subject', input, companions = [] }) {
    const { clock, notes } = stage;
    const disk = new MemoryDisk();
    const open = (): Promise<Runtime> =>
      startRuntime(stage, { machines: [machine, ...companions], store: memoryStore({ disk }) });
    let runtime = await open();
    let ref = await spawnWatched(stage, runtime, machine, { id, input });
    const subject: Subject = {
      get ref() {
        return ref;
      },
      async interrupt() {
        await driven(clock, runtime.close());
        runtime = await open();
        const found = runtime.get(id);
        if (found === undefined) throw new Error('the procedure is gone after a restart');
        ref = found;
        notes.watch(ref);
        await clock.settle();
      },
      close: () => closeRuntime(clock, runtime),
    };
    return new Handle(subject, stage);
  },
};

/** What an operator would be told is no part of a transcript. */
const SILENT = { info() {}, warn() {}, error() {} };

type Options = Parameters<typeof createRuntime>[0];
export type Runtime = Awaited<ReturnType<typeof createRuntime>>;

/** A runtime on the stage's clock, by default on a new store in memory. */
export function startRuntime(
  { clock, notes }: Stage,
  options: Pick<Options, 'machines'> & Partial<Options>,
): Promise<Runtime> {
  const logger = (...values: unknown[]): void => notes.log(...values);
  return driven(
    clock,
    createRuntime({ store: memoryStore(), clock, logger, log: SILENT, ...options }),
  );
}

/** Spawns and watches from the first snapshot on, as an observer before `start` would. */
export function spawnWatched(
  { clock, notes }: Stage,
  runtime: Runtime,
  machine: AnyStateMachine,
  options: { readonly id: string; readonly input?: unknown },
) {
  const spawned = runtime.spawn(machine, options).then((ref) => {
    // A subscriber hears what comes after it; the state it starts from is there to be read.
    const snapshot = ref.getSnapshot() as AnyMachineSnapshot;
    if (snapshot.status !== 'error') notes.snapshot(snapshot);
    notes.watch(ref);
    return ref;
  });
  return driven(clock, spawned);
}

/** Closes the runtime; time passes, because running effects are given some. */
export async function closeRuntime(clock: VirtualClock, runtime: Runtime): Promise<void> {
  const closed = runtime.close();
  await clock.advance(CLOSE_MS);
  await driven(clock, closed);
}

/** Lets the clock's immediates run until `promise` is settled; no time passes. */
export async function driven<T>(clock: VirtualClock, promise: Promise<T>): Promise<T> {
  let open = true;
  const closed = (): void => void (open = false);
  promise.then(closed, closed);
  for (let round = 0; round < ROUNDS_MAX && open; round++) await clock.settle();
  if (open) throw new Error('the promise stays open although nothing is left to run');
  return promise;
}
