/** The contract on machines nobody wrote: random ones, under random events and times. */
import fc from 'fast-check';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type Behaviour, createActorDriver, perform } from './actor-driver.ts';
import { restartingDriver, runtimeDriver } from './actor-runtime-driver.ts';
import { EVENTS, machineOf, machinePlan } from './machines-random.ts';

beforeEach(() => {
  vi.spyOn(console, 'warn').mockImplementation(() => {});
});

afterEach(() => {
  vi.restoreAllMocks();
});

const OPTIONS = {
  numRuns: Number(process.env['N'] ?? 100),
  ...(process.env['SEED'] ? { seed: Number(process.env['SEED']) } : {}),
};
const steps = fc.array(fc.oneof(fc.constantFrom(...EVENTS), fc.constantFrom(1000, 2000, 5000)), {
  minLength: 1,
  maxLength: 12,
});

const behaviour: fc.Arbitrary<Behaviour> = fc.tuple(machinePlan, steps).map(([plan, script]) => ({
  name: 'random',
  machine: (stage) => machineOf(plan, stage),
  async run(actor) {
    for (const step of script) {
      if (typeof step === 'number') await actor.advance(step);
      else await actor.send(step);
    }
  },
}));

test('a random machine shows the same transcript under the runtime as under createActor', async () => {
  await fc.assert(
    fc.asyncProperty(behaviour, async (random) => {
      const expected = await perform(createActorDriver, random);
      expect(await perform(runtimeDriver, random)).toEqual(expected);
    }),
    OPTIONS,
  );
});

test('L2 and calls the same actions and ends the same with a restart before each step', async () => {
  await fc.assert(
    fc.asyncProperty(behaviour, async (random) => {
      const expected = await perform(createActorDriver, random);
      const { actions, reads } = await perform(restartingDriver, random);
      expect(actions).toEqual(expected.actions);
      expect(reads).toEqual(expected.reads);
    }),
    OPTIONS,
  );
});
