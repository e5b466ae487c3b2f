/**
 * The contract: the runtime shows the same transcript as plain `createActor` for every behaviour of
 * the table. What differs on purpose has a test of its own in differences.test.ts.
 */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { behaviours } from './actor-behaviours.ts';
import { createActorDriver, perform } from './actor-driver.ts';
import { runtimeDriver } from './actor-runtime-driver.ts';

beforeEach(() => {
  vi.spyOn(console, 'warn').mockImplementation(() => {});
});

afterEach(() => {
  vi.restoreAllMocks();
});

for (const behaviour of behaviours) {
  test(behaviour.name, async () => {
    const transcript = await perform(runtimeDriver, behaviour);
    expect(transcript).toEqual(await perform(createActorDriver, behaviour));
  });
}
