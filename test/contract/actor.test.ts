/** The table itself, held against XState: each behaviour is what plain `createActor` shows. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { behaviours } from './actor-behaviours.ts';
import { createActorDriver, perform } from './actor-driver.ts';

beforeEach(() => {
  // XState's development build warns of every event for a stopped actor; some scripts send those.
  vi.spyOn(console, 'warn').mockImplementation(() => {});
});

afterEach(() => {
  vi.restoreAllMocks();
});

for (const behaviour of behaviours) {
  test(behaviour.name, async () => {
    const first = await perform(createActorDriver, behaviour);
    expect(first).toEqual(await perform(createActorDriver, behaviour));
  });
}

test('no two behaviours have the same name', () => {
  expect(new Set(behaviours.map(({ name }) => name)).size).toBe(behaviours.length);
});
