/** Starts one machine under XState or under the runtime, for tests that expect different things. */
import { afterEach } from 'vitest';
import type { AnyStateMachine } from 'xstate';
import { virtualClock } from '../../src/world/virtual-clock.ts';
import { createActorDriver, type Driver, Handle, type Stage } from './actor-driver.ts';
import {
  closeRuntime,
  driven,
  type Runtime,
  runtimeDriver,
  spawnWatched,
  startRuntime,
} from './actor-runtime-driver.ts';
import { Transcript } from './actor-transcript.ts';

export type Make = (stage: Stage) => AnyStateMachine;

export interface Comparison {
  underXState(machine: Make): Promise<Handle>;
  underRuntime(machine: Make): Promise<Handle>;
  /** As `underRuntime`, with the runtime itself and options for it. */
  withRuntime(
    machine: Make,
    options?: Partial<Parameters<typeof startRuntime>[1]>,
  ): Promise<{ actor: Handle; runtime: Runtime; stage: Stage }>;
}

/** What a test of this file starts is closed after it. */
export function comparison(): Comparison {
  const open: Handle[] = [];
  afterEach(async () => {
    for (const handle of open.splice(0)) await handle.close();
  });
  const under = async (driver: Driver, machine: Make): Promise<Handle> => {
    const stage = newStage();
    const handle = await driver.start(machine(stage), stage, {});
    open.push(handle);
    return handle;
  };
  return {
    underXState: (machine) => under(createActorDriver, machine),
    underRuntime: (machine) => under(runtimeDriver, machine),
    async withRuntime(make, options = {}) {
      const stage = newStage();
      const machine = make(stage);
      const runtime = await startRuntime(stage, { machines: [machine], ...options });
      const ref = await spawnWatched(stage, runtime, machine, { id: 'subject' });
      const close = (): Promise<void> => closeRuntime(stage.clock, runtime);
      const actor = new Handle({ ref, close }, stage);
      open.push(actor);
      return { actor, runtime, stage };
    },
  };
}

function newStage(): Stage {
  return { clock: virtualClock(), notes: new Transcript() };
}

/** The code a promise rejects with; undefined when it resolves. */
export async function codeOf(stage: Stage, promise: Promise<unknown>): Promise<unknown> {
  const outcome = promise.then(
    () => undefined,
    (error: unknown) => (error as { code?: unknown }).code,
  );
  return driven(stage.clock, outcome);
}
