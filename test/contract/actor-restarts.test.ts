/**
 * L2: the same behaviours with the runtime ended and started anew before every step of the script.
 * Actions are called as often and with the same arguments, and the end is the same. Behaviours that
 * hold something of one process are left out; the table says what.
 */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { behaviours } from './actor-behaviours.ts';
import { createActorDriver, perform } from './actor-driver.ts';
import { restartingDriver } from './actor-runtime-driver.ts';

beforeEach(() => {
  vi.spyOn(console, 'warn').mockImplementation(() => {});
});

afterEach(() => {
  vi.restoreAllMocks();
});

for (const behaviour of behaviours.filter(({ inOneProcess }) => inOneProcess === undefined)) {
  test(behaviour.name, async () => {
    const { actions, reads, logs } = await perform(restartingDriver, behaviour);
    const expected = await perform(createActorDriver, behaviour);
    expect({ actions, reads, logs }).toEqual({
      actions: expected.actions,
      reads: expected.reads,
      logs: expected.logs,
    });
  });
}
