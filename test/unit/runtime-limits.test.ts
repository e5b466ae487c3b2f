/** L11: at each limit there is a typed error or a word; nothing is lost, nothing crashes. */
import { assign, enqueueActions, raise, setup, spawnChild, type AnyActorRef } from 'xstate';
import { expect, test } from 'vitest';
import { readGroup } from '../../src/codec/group.ts';
import { declareTask } from '../../src/model/declare-task.ts';
import type { Limits } from '../../src/model/options.ts';
import { defineTable } from '../../src/model/table.ts';
import type { Runtime } from '../../src/runtime/index.ts';
import { handRunner } from '../support/runtime-tasks.ts';
import { codeOf, seen, Stand } from '../support/runtime-stand.ts';

const kid = setup({}).createMachine({ id: 'kid', version: '1' });

const machine = setup({
  types: {} as {
    context: { got: number[]; text: string };
    events:
      | { type: 'N'; n: number }
      | { type: 'TEXT'; length: number }
      | { type: 'KIDS'; from: number; count: number }
      | { type: 'TIMERS'; from: number; count: number }
      | { type: 'SEND'; to: unknown; count: number }
      | { type: 'NEVER' }
      | { type: 'LOOP' };
  },
  actors: { kid },
}).createMachine({
  id: 'm',
  version: '1',
  initial: 'on',
  context: { got: [], text: '' },
  states: {
    on: { on: { LOOP: 'ping' } },
    ping: { always: 'pong' },
    pong: { always: 'ping' },
  },
  on: {
    N: { actions: assign({ got: ({ context, event }) => [...context.got, event.n] }) },
    TEXT: { actions: assign({ text: ({ event }) => 'x'.repeat(event.length) }) },
    KIDS: {
      actions: enqueueActions(({ enqueue, event }) => {
        for (let n = 0; n < event.count; n++) {
          enqueue(spawnChild('kid', { id: `k${event.from + n}` }));
        }
      }),
    },
    TIMERS: {
      actions: enqueueActions(({ enqueue, event }) => {
        for (let n = 0; n < event.count; n++) {
          enqueue(raise({ type: 'NEVER' }, { delay: 1_000_000, id: `t${event.from + n}` }));
        }
      }),
    },
    SEND: {
      actions: enqueueActions(({ enqueue, event }) => {
        for (let n = 0; n < event.count; n++) {
          enqueue.sendTo(event.to as AnyActorRef, { type: 'N', n });
        }
      }),
    },
  },
});

async function fresh(limits: Partial<Limits>, latencyMs = 0) {
  const stand = new Stand({ latencyMs });
  const options = { machines: [machine], limits };
  const runtime = await stand.start(options);
  const ref = await stand.run(runtime.spawn(machine, { id: 'p' }));
  return { stand, runtime, ref, options };
}

const isSetAside = (runtime: Runtime, id: string, code: string): void => {
  expect(runtime.list().procedures.find((own) => own.id === id)?.status).toBe('quarantined');
  expect(runtime.explain(id).waitingFor[0]).toMatchObject({ for: 'repair', error: { code } });
};

test('mailboxMax: an outside send throws MAILBOX_FULL; those before it arrive', async () => {
  const { stand, runtime, ref } = await fresh({ mailboxMax: 3 });
  const other = await stand.run(runtime.spawn(machine, { id: 'q' }));
  for (const n of [1, 2, 3]) ref.send({ type: 'N', n });
  expect(() => ref.send({ type: 'N', n: 4 })).toThrow(/MAILBOX_FULL/);
  expect(await codeOf(ref.sendDurable({ type: 'N', n: 5 }))).toBe('MAILBOX_FULL');
  other.send({ type: 'N', n: 9 });
  await stand.clock.settle();
  expect(seen(runtime, 'p').context).toMatchObject({ got: [1, 2, 3] });
  expect(seen(runtime, 'q').context).toMatchObject({ got: [9] });
  await stand.run(ref.sendDurable({ type: 'N', n: 6 }));
  expect(runtime.deadLetters()).toEqual([]);
});

test('mailboxMax: mail between procedures beyond it becomes dead letters, which are listed', async () => {
  const { stand, runtime, ref } = await fresh({ mailboxMax: 3 });
  const other = await stand.run(runtime.spawn(machine, { id: 'q' }));
  await stand.run(ref.sendDurable({ type: 'SEND', to: other, count: 5 }));
  await stand.clock.settle();
  expect(seen(runtime, 'q').context).toMatchObject({ got: [0, 1, 2] });
  expect(runtime.deadLetters()).toMatchObject([
    { to: 'q', from: 'p', reason: 'mailbox-full', event: { n: 3 } },
    { to: 'q', from: 'p', reason: 'mailbox-full', event: { n: 4 } },
  ]);
});

test('queueMax: new procedures are refused with QUEUE_FULL, running ones go on', async () => {
  const { stand, runtime, ref } = await fresh({ queueMax: 4 });
  for (const n of [1, 2, 3, 4, 5]) ref.send({ type: 'N', n });
  expect(await codeOf(runtime.spawn(machine, { id: 'q' }))).toBe('QUEUE_FULL');
  await stand.clock.settle();
  expect(seen(runtime, 'p').context).toMatchObject({ got: [1, 2, 3, 4, 5] });
  await stand.run(runtime.spawn(machine, { id: 'q' }));
});

test('groupRecordsMax and groupBytesMax: what does not fit goes into the next group', async () => {
  for (const limits of [{ groupRecordsMax: 6 }, { groupBytesMax: 1_024 }]) {
    const { stand, runtime } = await fresh(limits, 2);
    const spawns = Array.from({ length: 30 }, (_, n) => runtime.spawn(machine, { id: `s${n}` }));
    await stand.run(Promise.all(spawns));
    const sizes: { records: number; bytes: number }[] = [];
    for (let position = 1; position <= stand.disk.position; position++) {
      const group = stand.disk.readGroup(position);
      sizes.push({ records: [...readGroup(group)].length, bytes: group.length });
    }
    expect(sizes.length).toBeGreaterThan(8);
    // A step is never split: a group ends with the one that reaches the limit.
    for (const { records, bytes } of sizes) {
      expect('groupRecordsMax' in limits ? records : bytes / 256).toBeLessThanOrEqual(8);
    }
    expect(runtime.list().procedures).toHaveLength(31);
  }
});

test('recordBytesMax: the step is refused with RECORD_TOO_LARGE and has not happened', async () => {
  const { stand, runtime, ref } = await fresh({ recordBytesMax: 2_000 });
  await stand.run(ref.sendDurable({ type: 'TEXT', length: 1_000 }));
  const sent = codeOf(stand.run(ref.sendDurable({ type: 'TEXT', length: 3_000 })));
  expect(await sent).toBe('RECORD_TOO_LARGE');
  isSetAside(runtime, 'p', 'RECORD_TOO_LARGE');
  expect((seen(runtime, 'p').context as { text: string }).text).toHaveLength(1_000);
});

test('recordBytesMax: a spawn whose first record is too large makes nothing', async () => {
  const stand = new Stand();
  const large = setup({}).createMachine({
    id: 'large',
    version: '1',
    context: { text: 'ü'.repeat(1_500) },
  });
  const runtime = await stand.start({ machines: [large], limits: { recordBytesMax: 2_000 } });
  expect(await codeOf(stand.run(runtime.spawn(large, { id: 'l' })))).toBe('RECORD_TOO_LARGE');
  expect(runtime.get('l')).toBeUndefined();
});

test('childrenMax: one more child sets the parent aside; no child of the step was made', async () => {
  const { stand, runtime, ref } = await fresh({ childrenMax: 3 });
  await stand.run(ref.sendDurable({ type: 'KIDS', from: 0, count: 2 }));
  const sent = codeOf(stand.run(ref.sendDurable({ type: 'KIDS', from: 2, count: 2 })));
  expect(await sent).toBe('CHILDREN_LIMIT');
  isSetAside(runtime, 'p', 'CHILDREN_LIMIT');
  expect(runtime.list({ parent: 'p' }).procedures.map(({ id }) => id)).toEqual(['p/k0', 'p/k1']);
});

test('timersMax: one more timer sets the procedure aside; those of the step are not armed', async () => {
  const { stand, runtime, ref } = await fresh({ timersMax: 3 });
  await stand.run(ref.sendDurable({ type: 'TIMERS', from: 0, count: 3 }));
  const sent = codeOf(stand.run(ref.sendDurable({ type: 'TIMERS', from: 3, count: 1 })));
  expect(await sent).toBe('TIMERS_LIMIT');
  isSetAside(runtime, 'p', 'TIMERS_LIMIT');
  const timers = runtime.explain('p').waitingFor.filter((wait) => wait.for === 'timer');
  expect(timers).toHaveLength(3);
});

test('a delay that is no finite number sets the procedure aside with TIMER_INVALID', async () => {
  const odd = setup({
    types: {} as { events: { type: 'GO' } },
    delays: { odd: () => Number.NaN },
  }).createMachine({
    id: 'odd',
    version: '1',
    initial: 'a',
    states: { a: { on: { GO: 'b' } }, b: { after: { odd: 'a' } } },
  });
  const stand = new Stand();
  const runtime = await stand.start({ machines: [odd] });
  const ref = await stand.run(runtime.spawn(odd, { id: 'o' }));
  expect(await codeOf(stand.run(ref.sendDurable({ type: 'GO' })))).toBe('TIMER_INVALID');
  isSetAside(runtime, 'o', 'TIMER_INVALID');
});

test('maxIterations: a step without end ends its machine in error, as XState does', async () => {
  const { stand, runtime, ref } = await fresh({ maxIterations: 50 });
  await stand.run(ref.sendDurable({ type: 'LOOP' }));
  expect(seen(runtime, 'p').status).toBe('error');
  expect(String((runtime.get('p')!.getSnapshot().error as Error).message)).toMatch(/50|loop/i);
});

test('DEPTH_LIMIT: a machine that starts itself is stopped at 64 levels, visibly', async () => {
  const self = setup({}).createMachine({
    id: 'self',
    version: '1',
    invoke: { id: 's', src: 'me' } as never,
  });
  const stand = new Stand();
  const runtime = await stand.start({ machines: [self], actors: { me: self } });
  await stand.run(runtime.spawn(self, { id: 's' }));
  await stand.clock.settle();
  const { procedures } = runtime.list();
  expect(procedures).toHaveLength(65);
  const quarantined = procedures.filter(({ status }) => status === 'quarantined');
  expect(quarantined).toHaveLength(1);
  expect(runtime.explain(quarantined[0]!.id).words).toContain('DEPTH_LIMIT');
  await stand.run(runtime.cancel('s'));
  expect(runtime.counts()).toMatchObject([{ status: 'stopped' }, { status: 'stopped' }]);
});

test('checkpointBytes: the log is folded as it grows, and a start reads the same from it', async () => {
  const { stand, runtime, ref, options } = await fresh({ checkpointBytes: 2_048 });
  for (let n = 0; n < 60; n++) await stand.run(ref.sendDurable({ type: 'N', n }));
  expect(stand.disk.checkpointed).toBeGreaterThan(30);
  expect(stand.disk.groups).toBeLessThan(30);
  const before = seen(runtime, 'p');
  stand.crash();
  const next = await stand.start(options);
  expect(seen(next, 'p')).toEqual(before);
  expect((await stand.run(next.history('p', { limit: 1_000 }))).entries).toHaveLength(61);
});

test('settleDelayMs: a settled effect of an idle procedure leaves its record in a commit of its own', async () => {
  const acting = setup({ actions: { act: () => undefined } }).createMachine({
    id: 'acting',
    version: '1',
    entry: 'act',
  });
  const stand = new Stand();
  const runtime = await stand.start({ machines: [acting], limits: { settleDelayMs: 5_000 } });
  await stand.run(runtime.spawn(acting, { id: 'a' }));
  const { position } = runtime.state();
  await stand.clock.advance(4_999);
  expect(runtime.state().position).toBe(position);
  await stand.clock.advance(5_001);
  expect(runtime.state().position).toBe(position + 1);
  const row = JSON.parse((await stand.records()).get('p/1') ?? '') as { effects?: unknown };
  expect(row.effects).toBeUndefined();
});

test('deadLettersMax also bounds the late reports that are kept', async () => {
  const work = declareTask<null, null>('work');
  const working = setup({ actors: { work } }).createMachine({
    id: 'working',
    version: '1',
    invoke: { id: 'w', src: 'work', input: null },
  });
  const stand = new Stand();
  const runner = handRunner();
  const limits = { deadLettersMax: 2 };
  const runtime = await stand.start({ machines: [working], actors: { work: runner }, limits });
  await stand.run(runtime.spawn(working, { id: 'w' }));
  const { attempt } = runner.submitted[0]!;
  for (let n = 0; n < 5; n++) runner.late(attempt, { status: 'cancelled' });
  expect(runtime.state().lateReports).toBe(2);
});

test('a table row with a key that no record can have fails its action, not the runtime', async () => {
  const rows = defineTable({
    put: (_table, { key }: { key: string }) => ({ changes: { [key]: 1 } }),
  });
  const putting = setup({
    types: {} as { events: { type: 'PUT'; length: number } },
    actions: { 'table.rows.put': (_: unknown, _params: { key: string }): void => undefined },
  }).createMachine({
    id: 'putting',
    version: '1',
    on: {
      PUT: {
        actions: {
          type: 'table.rows.put',
          params: ({ event }) => ({ key: event.length < 0 ? '\ud800' : 'k'.repeat(event.length) }),
        },
      },
    },
  });
  const stand = new Stand();
  const runtime = await stand.start({ machines: [putting], tables: { rows } });
  const put = async (id: string, length: number) => {
    const ref = await stand.run(runtime.spawn(putting, { id }));
    return codeOf(stand.run(ref.sendDurable({ type: 'PUT', length })));
  };
  expect(await put('long', 70_000)).toBe('TABLE_FAILED');
  expect(await put('odd', -1)).toBe('TABLE_FAILED');
  expect(await put('empty', 0)).toBe('TABLE_FAILED');
  expect(await put('good', 1_000)).toBeUndefined();
  expect(runtime.table('rows').size).toBe(1);
  expect(stand.fatal).toEqual([]);
});

test('an option that is unknown or out of bounds is refused before anything is opened', async () => {
  const stand = new Stand();
  const start = (options: object) => codeOf(stand.start({ machines: [machine], ...options }));
  expect(await start({ limits: { mailboxMax: 0 } })).toBe('OPTION_INVALID');
  expect(await start({ limits: { mailBoxMax: 10 } })).toBe('OPTION_INVALID');
  expect(await start({ machnes: [] })).toBe('OPTION_INVALID');
  expect(stand.disk.epoch).toBe(0);
});
