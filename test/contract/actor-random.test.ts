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

/** Fixed, so that the tests cannot flicker; another seed is another walk through the same space. */
const SEED = 20240101;
/** Between two events, so that what they arm is not due at one moment. */
const PAUSE_MS = 1;

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
      await actor.advance(PAUSE_MS);
    }
  },
}));

test('a random machine shows the same transcript as under createActor', async () => {
  await fc.assert(
    fc.asyncProperty(behaviour, async (random) => {
      const expected = await perform(createActorDriver, random);
      expect(await perform(runtimeDriver, random)).toEqual(expected);
    }),
    { seed: SEED, numRuns: 100 },
  );
});

test('L2 a random machine calls the same actions and ends the same over restarts', async () => {
  await fc.assert(
    fc.asyncProperty(behaviour, async (random) => {
      const expected = await perform(createActorDriver, random);
      const { actions, reads } = await perform(restartingDriver, random);
      expect(actions).toEqual(expected.actions);
      expect(reads).toEqual(expected.reads);
    }),
    { seed: SEED, numRuns: 50 },
  );
});
