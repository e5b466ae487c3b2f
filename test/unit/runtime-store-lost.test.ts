/** L1, L8, C95, C98: when the outcome is unknown, or a newer reign decides, nothing acts any more. */
import { assign, fromCallback, setup } from 'xstate';
import { expect, test } from 'vitest';
import { memoryStore } from '../../src/store/memory-store.ts';
import { createRuntime } from '../../src/runtime/index.ts';
import { codeOf, seen, Stand } from '../support/runtime-stand.ts';

const machineOf = (log: string[], stand: Stand) =>
  setup({
    types: {} as { context: { n: number }; events: { type: 'N' } | { type: 'SLOW' } },
    actors: {
      live: fromCallback(() => {
        log.push('live +');
        return () => log.push('live -');
      }),
    },
    actions: {
      act: ({ event }) => void log.push(event.type),
      slow: () =>
        new Promise<void>((resolve) => {
          stand.clock.setTimeout(() => {
            log.push('slow done');
            resolve();
          }, 50);
        }) as never,
    },
  }).createMachine({
    id: 'm',
    version: '1',
    context: { n: 0 },
    invoke: { id: 'l', src: 'live' },
    on: {
      N: { actions: [assign({ n: ({ context }) => context.n + 1 }), 'act'] },
      SLOW: { actions: ['slow', 'act'] },
    },
    after: { 100: { actions: 'act' } },
  });

for (const fate of ['kept', 'lost'] as const) {
  test(`STORE_OUTCOME_UNKNOWN (the group is ${fate}): onFatal once, no effect after it, replay knows`, async () => {
    const stand = new Stand({ latencyMs: 5 });
    const log: string[] = [];
    const machine = machineOf(log, stand);
    const runtime = await stand.start({ machines: [machine] });
    const ref = await stand.run(runtime.spawn(machine, { id: 'p' }));
    await stand.run(ref.sendDurable({ type: 'SLOW' }));
    log.length = 0;
    stand.faults.failNextSync(fate);
    const sent = codeOf(ref.sendDurable({ type: 'N' }));
    await stand.clock.settle();
    const forming = codeOf(ref.sendDurable({ type: 'N' }));
    const spawned = codeOf(runtime.spawn(machine, { id: 'q' }));
    expect(await stand.run(Promise.all([sent, forming, spawned]))).toEqual([
      'STORE_OUTCOME_UNKNOWN',
      'STORE_OUTCOME_UNKNOWN',
      'STORE_OUTCOME_UNKNOWN',
    ]);
    await stand.clock.advance(60_000);
    // The slow effect had begun: JavaScript cannot stop it. Nothing else acted, and none came after.
    expect(log).toEqual(['live -', 'slow done']);
    expect(stand.fatal).toMatchObject([{ code: 'STORE_OUTCOME_UNKNOWN' }]);
    expect(await codeOf(ref.sendDurable({ type: 'N' }))).toBe('STORE_CLOSED');
    expect(() => ref.send({ type: 'N' })).toThrow(/STORE_CLOSED/);
    expect(await codeOf(runtime.spawn(machine, { id: 'r' }))).toBe('STORE_CLOSED');
    expect(await codeOf(runtime.cancel('p'))).toBe('STORE_CLOSED');
    // What was durable can still be read.
    expect(seen(runtime, 'p').context).toEqual({ n: 0 });
    await stand.close(runtime);
    const next = await stand.start({ machines: [machine] });
    await stand.clock.advance(200);
    expect(seen(next, 'p').context).toEqual({ n: fate === 'kept' ? 1 : 0 });
    expect(log.filter((what) => what === 'N')).toHaveLength(fate === 'kept' ? 1 : 0);
  });
}

test('L8, C95: a second runtime on the disk takes over; the first is told once and does nothing more', async () => {
  const stand = new Stand();
  const log: string[] = [];
  const machine = machineOf(log, stand);
  const first = await stand.start({ machines: [machine] });
  const ref = await stand.run(first.spawn(machine, { id: 'p' }));
  const fatal: unknown[] = [];
  const second = await stand.run(
    createRuntime({
      machines: [machine],
      store: memoryStore({ disk: stand.disk }),
      clock: stand.clock,
      log: { info() {}, warn() {}, error() {} },
      onFatal: (error) => fatal.push(error),
    }),
  );
  log.length = 0;
  expect(await codeOf(stand.run(ref.sendDurable({ type: 'N' })))).toBe('STALE_EPOCH');
  await stand.clock.advance(1_000);
  expect(stand.fatal).toMatchObject([{ code: 'STALE_EPOCH' }]);
  expect(fatal).toEqual([]);
  // Only the second one's timer fired.
  expect(log).toEqual(['live -', 'xstate.after.100.m']);
  expect(seen(second, 'p').context).toEqual({ n: 0 });
  await stand.run(second.get('p')!.sendDurable({ type: 'N' }));
  expect(seen(second, 'p').context).toEqual({ n: 1 });
});

test('a start whose first commit has an unknown outcome rejects and leaves nothing running', async () => {
  const stand = new Stand();
  const log: string[] = [];
  const machine = machineOf(log, stand);
  const first = await stand.start({ machines: [machine] });
  await stand.run(first.spawn(machine, { id: 'p' }));
  stand.crash();
  log.length = 0;
  const two = setup({}).createMachine({ id: 'm', version: '2' });
  const migrate = { 1: () => ({ state: {}, context: {} }) };
  stand.faults.failNextSync('lost');
  const started = stand.start({ machines: [{ machine: two, migrate }] });
  expect(await codeOf(started)).toBe('STORE_OUTCOME_UNKNOWN');
  expect(stand.fatal).toHaveLength(1);
  await stand.clock.advance(600_000);
  expect(stand.clock.pending).toBe(0);
  expect(log).toEqual([]);
});

test('a cancel that waits for the end is answered when the runtime ends first', async () => {
  const stand = new Stand();
  const kid = setup({}).createMachine({ id: 'kid', version: '1' });
  const parent = setup({ actors: { kid } }).createMachine({
    id: 'parent',
    version: '1',
    invoke: { id: 'kid', src: 'kid' },
  });
  const runtime = await stand.start({ machines: [parent], limits: { groupRecordsMax: 1 } });
  await stand.run(runtime.spawn(parent, { id: 'p' }));
  stand.faults.failNextSync('kept');
  expect(await codeOf(stand.run(runtime.cancel('p')))).toBe('STORE_OUTCOME_UNKNOWN');
});

test('C45: damage that is found while starting is an error of the start, with its position', async () => {
  const stand = new Stand();
  const machine = machineOf([], stand);
  const first = await stand.start({ machines: [machine] });
  await stand.run(first.spawn(machine, { id: 'p' }));
  stand.crash();
  stand.disk.flipBit(1, 2_000);
  await expect(stand.start({ machines: [machine] })).rejects.toMatchObject({
    code: 'STORE_DAMAGED',
    details: { position: 1 },
  });
});
