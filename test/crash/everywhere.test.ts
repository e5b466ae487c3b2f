/** L1, L2, L15, L16: whatever the moment at which the process stops, the end is the same. */
import { toPromise } from 'xstate';
import { expect, test } from 'vitest';
import type { Runtime } from '../../src/runtime/index.ts';
import { crashEverywhere } from '../../src/testing/crash-everywhere.ts';
import * as machines from './machines.ts';

const ended = (ref: unknown): Promise<unknown> => toPromise(ref as never);

test('timers: a beat, a delayed raise that is overtaken, a day of rest', async () => {
  const report = await crashEverywhere({
    machines: () => [machines.timers],
    drive: async (runtime) => {
      await ended(await runtime.spawn(machines.timers, { id: 't' }));
    },
  });
  expect(report.points).toBeGreaterThan(20);
  expect(report.crashes).toBeGreaterThan(report.points);
});

test('children: parallel ones, a spawned one, one stopped with its parent', async () => {
  const report = await crashEverywhere({
    machines: () => [machines.family],
    drive: async (runtime) => {
      await ended(await runtime.spawn(machines.family, { id: 'f' }));
    },
  });
  expect(report.points).toBeGreaterThan(20);
});

test('mail: a ring of three passes its token without loss or doubling', async () => {
  const report = await crashEverywhere({
    machines: () => [machines.ring],
    drive: driveRing,
  });
  expect(report.points).toBeGreaterThan(20);
});

async function driveRing(runtime: Runtime): Promise<void> {
  const spawn = (id: string) =>
    runtime.spawn(machines.ring, { id, input: { next: null, rounds: 4 } });
  const [a, b, c] = await Promise.all([spawn('a'), spawn('b'), spawn('c')]);
  const join = (from: typeof a, next: unknown) =>
    from.sendDurable({ type: 'JOIN', next }, { key: 'join' }).catch(() => undefined);
  await Promise.all([join(a, b), join(b, c), join(c, a)]);
  await a.sendDurable({ type: 'TOKEN', hop: 0 }, { key: 'begin' }).catch(() => undefined);
  await Promise.all([ended(a), ended(b), ended(c)]);
}

test('tables: a lock passes from one to the other, its rows with the steps', async () => {
  const report = await crashEverywhere({
    machines: () => [machines.locker],
    tables: { locks: machines.locks },
    drive: async (runtime) => {
      const first = await runtime.spawn(machines.locker, { id: 'one' });
      const second = await runtime.spawn(machines.locker, { id: 'two' });
      await Promise.all([ended(first), ended(second)]);
    },
    outcome: (runtime) => {
      const held = runtime.table('locks').get('r1') ?? null;
      const states = runtime.list().procedures.map(({ id, state }) => [id, state as string]);
      return { held, states };
    },
  });
  expect(report.points).toBeGreaterThan(10);
});

test('a procedure set of 500: every child ends once, failures are counted, one summary', async () => {
  const report = await crashEverywhere(
    {
      machines: () => [machines.crowd, machines.item, machines.filler],
      tables: { items: machines.items },
      limits: { childrenInFlightMax: 50 },
      drive: async (runtime) => {
        await ended(await runtime.spawn(machines.filler, { id: 'fill', input: { count: 500 } }));
        await ended(await runtime.spawn(machines.crowd, { id: 'crowd' }));
      },
      outcome: (runtime) => {
        const counts = runtime.counts().filter(({ machine }) => machine === 'item');
        const byStatus = counts.map(({ status, count }) => [status, count] as const).sort();
        return { byStatus, summary: runtime.get('crowd')?.getSnapshot().output as never };
      },
    },
    { every: 5, nestedPointsMax: 1 },
  );
  expect(report.points).toBeGreaterThan(20);
});
