/**
 * L2: the same behaviours with the runtime ended and started anew before every step of the script.
 * Actions are called as often and with the same arguments, and the end is the same. Behaviours that
 * hold something of one process are left out; the table says what.
 */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { MemoryDisk } from '../../src/store/memory-disk.ts';
import { memoryStore } from '../../src/store/memory-store.ts';
import { virtualClock } from '../../src/world/virtual-clock.ts';
import { behaviours } from './actor-behaviours.ts';
import { createActorDriver, perform } from './actor-driver.ts';
import { closeRuntime, driven, restartingDriver, startRuntime } from './actor-runtime-driver.ts';
import { Transcript } from './actor-transcript.ts';
import { heldUp } from './machines-edges.ts';

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

test('L2 effects left unsettled by a crash get their own params, context and event', async () => {
  const expected = new Transcript();
  const whole = { clock: virtualClock(), notes: expected };
  const plain = await createActorDriver.start(
    heldUp(whole, () => false),
    whole,
    {},
  );
  await plain.send('GO');

  const stage = { clock: virtualClock(), notes: new Transcript() };
  const disk = new MemoryDisk();
  const before = heldUp(stage, () => true);
  const first = await startRuntime(stage, {
    machines: [before],
    store: memoryStore({ disk }),
    onFatal: () => {},
  });
  const ref = await driven(stage.clock, first.spawn(before, { id: 'subject' }));
  stage.notes.step++;
  ref.send({ type: 'GO' });
  await stage.clock.settle();
  expect(stage.notes.said()).toEqual([]);

  disk.crash();
  const after = heldUp(stage, () => false);
  const second = await startRuntime(stage, { machines: [after], store: memoryStore({ disk }) });
  await stage.clock.settle();
  expect(second.get('subject')?.getSnapshot()).toMatchObject({ value: 'd' });
  expect(stage.notes.actions).toEqual(expected.actions);
  await closeRuntime(stage.clock, second);
});
