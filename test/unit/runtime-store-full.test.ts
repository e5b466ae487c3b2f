/** L1, L11: a full disk is a typed error, never half a step; it heals by itself and loses nothing. */
import { assign, sendTo, setup, spawnChild, type AnyActorRef } from 'xstate';
import { expect, test, vi } from 'vitest';
import { defineTable } from '../../src/model/table.ts';
import { codeOf, seen, Stand } from '../support/runtime-stand.ts';

const acted: string[] = [];

const kid = setup({ types: {} as { context: object } }).createMachine({
  id: 'kid',
  version: '1',
  context: {},
});

const machine = setup({
  types: {} as {
    context: { got: number[] };
    events:
      | { type: 'N'; n: number }
      | { type: 'KID' }
      | { type: 'ROW'; key: string }
      | { type: 'LATER' }
      | { type: 'END' };
  },
  actors: { kid },
  actions: {
    act: ({ event }) => void acted.push(JSON.stringify(event)),
    'table.rows.put': (_: unknown, _params: { key: string }): void => undefined,
  },
}).createMachine({
  id: 'm',
  version: '1',
  initial: 'on',
  context: { got: [] },
  states: {
    on: {
      on: {
        N: {
          actions: [assign({ got: ({ context, event }) => [...context.got, event.n] }), 'act'],
        },
        KID: { actions: [spawnChild('kid', { id: 'kid' }), 'act'] },
        ROW: { actions: [{ type: 'table.rows.put', params: ({ event }) => event }, 'act'] },
        LATER: 'waiting',
        END: 'over',
      },
    },
    waiting: { after: { 50: { target: 'on', actions: 'act' } }, on: { N: undefined } },
    over: { type: 'final' },
  },
});

const rows = defineTable({
  put: (table, { key }: { key: string }) => ({ changes: { [key]: table.size } }),
});

async function fresh(latencyMs = 0, limits = {}) {
  acted.length = 0;
  const stand = new Stand({ latencyMs });
  const options = { machines: [machine, kid], tables: { rows }, limits };
  const runtime = await stand.start(options);
  const ref = await stand.run(runtime.spawn(machine, { id: 'p' }));
  return { stand, runtime, ref, options };
}

test('a durable send is refused with STORE_FULL; nothing changed, nothing acted, and it can be sent again', async () => {
  const { stand, runtime, ref } = await fresh();
  stand.faults.fill();
  expect(await codeOf(stand.run(ref.sendDurable({ type: 'N', n: 1 })))).toBe('STORE_FULL');
  expect(runtime.state().storeError).toContain('STORE_FULL');
  expect(runtime.explain('p').waitingFor[0]).toMatchObject({ for: 'store' });
  // While it is known to be full, the answer comes at once.
  expect(await stand.settles(codeOf(ref.sendDurable({ type: 'N', n: 2 })))).toBe(true);
  await stand.clock.advance(60_000);
  expect(seen(runtime, 'p').context).toEqual({ got: [] });
  expect(acted).toEqual([]);
  stand.faults.free();
  await stand.clock.advance(5_000);
  await stand.run(ref.sendDurable({ type: 'N', n: 3 }));
  expect(seen(runtime, 'p').context).toEqual({ got: [3] });
  expect(acted).toEqual(['{"type":"N","n":3}']);
  expect(runtime.state().storeError).toBeUndefined();
  expect(stand.fatal).toEqual([]);
});

test('a spawn is refused and the procedure is not there; its children and their rows are not either', async () => {
  const { stand, runtime, options } = await fresh();
  stand.faults.fill(1);
  expect(await codeOf(stand.run(runtime.spawn(machine, { id: 'q' })))).toBe('STORE_FULL');
  expect(runtime.get('q')).toBeUndefined();
  expect(runtime.state().procedures).toBe(1);
  await stand.clock.advance(5_000);
  await stand.run(runtime.spawn(machine, { id: 'q' }));
  stand.crash();
  const next = await stand.start(options);
  expect(
    next
      .list()
      .procedures.map(({ id }) => id)
      .sort(),
  ).toEqual(['p', 'q']);
});

test('a step that starts a child and changes a table is taken back whole', async () => {
  const { stand, runtime, ref } = await fresh();
  await stand.run(ref.sendDurable({ type: 'ROW', key: 'a' }));
  stand.faults.fill();
  const sent = [
    codeOf(ref.sendDurable({ type: 'KID' })),
    codeOf(ref.sendDurable({ type: 'ROW', key: 'b' })),
    codeOf(ref.sendDurable({ type: 'ROW', key: 'a' })),
  ];
  expect(await stand.run(Promise.all(sent))).toEqual(['STORE_FULL', 'STORE_FULL', 'STORE_FULL']);
  expect(runtime.get('p/kid')).toBeUndefined();
  expect(runtime.table('rows').get('b')).toBeUndefined();
  expect(runtime.table('rows').get('a')).toBe(0);
  expect(Object.keys(runtime.get('p')!.getSnapshot().children)).toEqual([]);
  stand.faults.free();
  await stand.clock.advance(5_000);
  await stand.run(ref.sendDurable({ type: 'ROW', key: 'b' }));
  await stand.run(ref.sendDurable({ type: 'KID' }));
  expect(runtime.table('rows').get('b')).toBe(1);
  expect(runtime.get('p/kid')?.getSnapshot().status).toBe('active');
});

test('events sent without waiting are kept and applied in order once there is space', async () => {
  const { stand, runtime, ref } = await fresh(4, { groupRecordsMax: 4 });
  for (const n of [1, 2, 3]) ref.send({ type: 'N', n });
  await stand.clock.advance(2);
  // One group is in the store, one forms, more wait: the second and what follows is refused.
  stand.faults.fill();
  for (const n of [4, 5, 6]) ref.send({ type: 'N', n });
  await stand.clock.advance(10_000);
  for (const n of [7, 8]) ref.send({ type: 'N', n });
  await stand.clock.advance(10_000);
  stand.faults.free();
  await stand.clock.advance(10_000);
  expect(seen(runtime, 'p').context).toEqual({ got: [1, 2, 3, 4, 5, 6, 7, 8] });
  expect(acted).toHaveLength(8);
});

test('the group that formed behind a refused one goes with it: both are planned again, in order', async () => {
  const { stand, runtime, ref, options } = await fresh(10);
  stand.faults.fill(1);
  ref.send({ type: 'N', n: 1 });
  const first = codeOf(ref.sendDurable({ type: 'N', n: 2 }));
  await stand.clock.settle();
  const forming = codeOf(ref.sendDurable({ type: 'N', n: 3 }));
  ref.send({ type: 'N', n: 4 });
  expect(await stand.run(Promise.all([first, forming]))).toEqual(['STORE_FULL', 'STORE_FULL']);
  expect(seen(runtime, 'p').context).toEqual({ got: [] });
  await stand.clock.advance(5_000);
  expect(seen(runtime, 'p').context).toEqual({ got: [1, 4] });
  stand.crash();
  const next = await stand.start(options);
  expect(seen(next, 'p').context).toEqual({ got: [1, 4] });
  expect(acted).toEqual(['{"type":"N","n":1}', '{"type":"N","n":4}']);
});

test('a timer that is due while the disk is full fires once, when there is space', async () => {
  const { stand, runtime, ref } = await fresh();
  await stand.run(ref.sendDurable({ type: 'LATER' }));
  stand.faults.fill();
  await stand.clock.advance(30_000);
  expect(seen(runtime, 'p').value).toBe('waiting');
  expect(acted).toEqual([]);
  stand.faults.free();
  await stand.clock.advance(5_000);
  expect(seen(runtime, 'p').value).toBe('on');
  expect(acted).toHaveLength(1);
  expect(runtime.state().staleEvents.timer).toBe(0);
});

test('L5: a refusal that rested on a step which the disk refused is no last word', async () => {
  const { stand, runtime, ref } = await fresh(10);
  stand.faults.fill(1);
  ref.send({ type: 'END' });
  const late = codeOf(ref.sendDurable({ type: 'N', n: 1 }));
  const conflict = codeOf(runtime.spawn(machine, { id: 'q' }));
  const other = codeOf(runtime.spawn(kid, { id: 'q' }));
  expect(await stand.run(Promise.all([late, conflict, other]))).toEqual([
    'PROCEDURE_ENDED',
    'STORE_FULL',
    'ID_CONFLICT',
  ]);
  await stand.clock.advance(5_000);
  // Who was refused is not served behind his back: no event is applied, no procedure made.
  expect(seen(runtime, 'p')).toMatchObject({ status: 'done', context: { got: [] } });
  expect(runtime.get('q')).toBeUndefined();
  expect(runtime.deadLetters()).toEqual([]);
});

test('mail in a ring goes round without loss or doubling while the disk is full now and then', async () => {
  const ring = setup({
    types: {} as {
      context: { next: unknown; seen: number[] };
      events: { type: 'JOIN'; next: unknown } | { type: 'HOP'; hop: number };
    },
  }).createMachine({
    id: 'ring',
    version: '1',
    context: { next: null, seen: [] },
    on: {
      JOIN: { actions: assign({ next: ({ event }) => event.next }) },
      HOP: {
        guard: ({ event }) => event.hop < 60,
        actions: [
          assign({ seen: ({ context, event }) => [...context.seen, event.hop] }),
          sendTo(
            ({ context }) => context.next as AnyActorRef,
            ({ event }) => ({ type: 'HOP', hop: event.hop + 1 }),
          ),
        ],
      },
    },
  });
  const stand = new Stand({ latencyMs: 2 });
  const runtime = await stand.start({ machines: [ring], limits: { groupRecordsMax: 2 } });
  const ids = ['a', 'b', 'c'];
  const refs = await Promise.all(ids.map((id) => stand.run(runtime.spawn(ring, { id }))));
  for (const [n, ref] of refs.entries()) {
    await stand.run(ref.sendDurable({ type: 'JOIN', next: refs[(n + 1) % 3] }));
  }
  refs[0]!.send({ type: 'HOP', hop: 0 });
  for (let round = 0; round < 12; round++) {
    await stand.clock.advance(7);
    stand.faults.fill((round % 3) + 1);
    await stand.clock.advance(20_000);
  }
  const hops = ids.flatMap((id) => (seen(runtime, id).context as { seen: number[] }).seen);
  expect(hops.sort((a, b) => a - b)).toEqual(Array.from({ length: 60 }, (_, n) => n));
});

test('C96: a disk that is full while the runtime starts delays it, and nothing acts before the space is back', async () => {
  const { stand, ref, options } = await fresh();
  await stand.run(ref.sendDurable({ type: 'LATER' }));
  ref.send({ type: 'END' });
  stand.crash();
  await stand.clock.advance(1_000);
  stand.faults.fill();
  const next = await stand.start(options);
  await stand.clock.advance(30_000);
  expect(seen(next, 'p').value).toBe('waiting');
  expect(acted).toEqual([]);
  stand.faults.free();
  await stand.clock.advance(5_000);
  expect(seen(next, 'p').value).toBe('on');
  expect(acted).toHaveLength(1);
});

test('L12: close on a full disk ends within its limit and loses nothing that was on record', async () => {
  const { stand, runtime, ref, options } = await fresh(1);
  await stand.run(ref.sendDurable({ type: 'N', n: 1 }));
  stand.faults.fill();
  const lost = codeOf(ref.sendDurable({ type: 'N', n: 2 }));
  ref.send({ type: 'N', n: 3 });
  const begin = stand.clock.monotonic();
  await stand.close(runtime);
  expect(stand.clock.monotonic() - begin).toBeLessThanOrEqual(15_000);
  expect(['STORE_FULL', 'STORE_CLOSED']).toContain(await lost);
  stand.faults.free();
  const next = await stand.start(options);
  expect(seen(next, 'p').context).toEqual({ got: [1] });
});

test('a timer whose cancelling the disk refused still fires, although its entry was tidied away', async () => {
  const flip = setup({ types: {} as { events: { type: 'ON' } | { type: 'OFF' } } }).createMachine({
    id: 'flip',
    version: '1',
    initial: 'off',
    states: {
      off: { on: { ON: 'on' } },
      on: { after: { 10_000: 'late' }, on: { OFF: 'off' } },
      late: {},
    },
  });
  const stand = new Stand();
  const { runtime, engine } = await stand.open({ machines: [flip] });
  const kept = await stand.run(runtime.spawn(flip, { id: 'kept' }));
  const busy = await stand.run(runtime.spawn(flip, { id: 'busy' }));
  await stand.run(kept.sendDurable({ type: 'ON' }));
  for (let n = 0; n < 4_090; n++) {
    busy.send({ type: 'ON' });
    busy.send({ type: 'OFF' });
  }
  await stand.clock.settle();
  const drops = vi.spyOn(engine.timers, 'drop');
  stand.faults.fill(1);
  const off = codeOf(kept.sendDurable({ type: 'OFF' }));
  for (let n = 0; n < 10; n++) {
    busy.send({ type: 'ON' });
    busy.send({ type: 'OFF' });
  }
  expect(await stand.run(off)).toBe('STORE_FULL');
  expect(drops).toHaveBeenCalled();
  await stand.clock.advance(20_000);
  expect(seen(runtime, 'kept').value).toBe('late');
});

test('dead letters that a refused commit pushed out are back, in their order', async () => {
  const { stand, runtime, ref } = await fresh(0, { deadLettersMax: 3 });
  await stand.run(ref.sendDurable({ type: 'END' }));
  for (const n of [1, 2, 3]) ref.send({ type: 'N', n });
  await stand.clock.settle();
  const numbers = () => runtime.deadLetters().map(({ event }) => (event as { n: number }).n);
  expect(numbers()).toEqual([1, 2, 3]);
  stand.faults.fill();
  for (const n of [4, 5]) ref.send({ type: 'N', n });
  await stand.clock.advance(100);
  expect(numbers()).toEqual([1, 2, 3]);
  stand.faults.free();
  await stand.clock.advance(5_000);
  expect(numbers()).toEqual([3, 4, 5]);
});
