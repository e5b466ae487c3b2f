/** M10-M14, M17: what cannot go on is set aside with its reason; nothing of it is lost, others run. */
import { assign, fromPromise, sendTo, setup, type AnyActorRef, type AnyStateMachine } from 'xstate';
import { expect, test } from 'vitest';
import type { Runtime } from '../../src/runtime/index.ts';
import { codeOf, seen, Stand } from '../support/runtime-stand.ts';

/** Keeps what it hears; `BAD` breaks a rule as long as `broken` says so. */
const keeper = (broken = true, version = '1', id = 'keeper') =>
  setup({
    types: {} as {
      context: { got: number[]; bad: unknown };
      events: { type: 'N'; n: number } | { type: 'BAD' } | { type: 'ON' };
    },
  }).createMachine({
    id,
    version,
    initial: 'a',
    context: { got: [], bad: null },
    states: {
      a: { on: { ON: 'b' } },
      b: { after: { 1000: 'c' } },
      c: {},
    },
    on: {
      N: { actions: assign({ got: ({ context, event }) => [...context.got, event.n] }) },
      BAD: {
        actions: assign({
          got: ({ context }) => [...context.got, 0],
          bad: () => (broken ? new Set([1]) : 'good'),
        }),
      },
    },
  });

const statusOf = (runtime: Runtime, id: string) =>
  runtime.list().procedures.find((facts) => facts.id === id)?.status;
const reasonOf = (runtime: Runtime, id: string) => {
  const repair = runtime.explain(id).waitingFor.find((wait) => wait.for === 'repair');
  return (repair as { error: { code?: string; message: string } } | undefined)?.error;
};

/** Two procedures; the record of the first is edited between two lives. */
async function tampered(
  edit: (row: Record<string, unknown>) => unknown,
  machines: AnyStateMachine[] = [keeper()],
): Promise<{ stand: Stand; runtime: Runtime }> {
  const stand = new Stand();
  const first = await stand.start({ machines: [keeper()] });
  await stand.run(first.spawn('keeper', { id: 'p' }));
  await stand.run(first.spawn('keeper', { id: 'other' }));
  stand.crash();
  await stand.tamper(1, edit);
  const runtime = await stand.start({ machines });
  await stand.clock.settle();
  return { stand, runtime };
}

const unfit: [string, (row: Record<string, unknown>) => unknown, string][] = [
  ['a state the machine does not have', (row) => ({ ...row, state: 'gone' }), 'ROW_UNFIT'],
  ["a state called 'constructor'", (row) => ({ ...row, state: 'constructor' }), 'ROW_UNFIT'],
  ['a state that is an array', (row) => ({ ...row, state: [] }), 'ROW_UNFIT'],
  ['a state that is null', (row) => ({ ...row, state: null }), 'ROW_UNFIT'],
  ['no state', ({ state: _state, ...row }) => row, 'ROW_UNFIT'],
  ['a nested state in a flat machine', (row) => ({ ...row, state: { a: 'x' } }), 'ROW_UNFIT'],
  ['a machine nobody gave', (row) => ({ ...row, machine: 'gone' }), 'MACHINE_UNKNOWN'],
  ["a machine called '__proto__'", (row) => ({ ...row, machine: '__proto__' }), 'MACHINE_UNKNOWN'],
  ['a version below 1', (row) => ({ ...row, version: 0 }), 'ROW_UNFIT'],
  ['a newer version', (row) => ({ ...row, version: 99 }), 'VERSION_UNKNOWN'],
  ['an unknown status', (row) => ({ ...row, status: 'running' }), 'ROW_UNFIT'],
  ['timers that are no list', (row) => ({ ...row, timers: 'soon' }), 'ROW_UNFIT'],
  ['a timer without a due time', (row) => ({ ...row, timers: [{ id: 't' }] }), 'ROW_UNFIT'],
  ['effects that are no list', (row) => ({ ...row, effects: { length: 1 } }), 'ROW_UNFIT'],
  ['a step number that is text', (row) => ({ ...row, seq: '7' }), 'ROW_UNFIT'],
  ['the number of another procedure', (row) => ({ ...row, number: 2 }), 'ROW_UNFIT'],
  ['no id', ({ id: _id, ...row }) => row, 'ROW_UNFIT'],
  ['nothing but null', () => null, 'ROW_UNFIT'],
  ['a list', () => [], 'ROW_UNFIT'],
  ['text that is no JSON', () => '{"number":1,', 'ROW_UNFIT'],
  [
    'a key that changes a prototype',
    (row) => JSON.stringify(row).replace('"got":[]', '"got":[],"__proto__":{"admin":true}'),
    'ROW_UNFIT',
  ],
  ...['constructor', '__proto__', 'toString'].map(
    (src): [string, (row: Record<string, unknown>) => unknown, string] => [
      `M12: a child whose src is '${src}'`,
      (row) => ({ ...row, children: [{ id: 'c', src, kind: 'procedure', arming: 1, number: 99 }] }),
      'ROW_UNFIT',
    ],
  ),
  [
    "a child called '__proto__'",
    (row) => ({ ...row, children: [{ id: '__proto__', src: 'x', kind: 'local', arming: 1 }] }),
    'ROW_UNFIT',
  ],
];

test.each(unfit)(
  'M13, M14: a record with %s is set aside; the others run',
  async (_, edit, code) => {
    const { stand, runtime } = await tampered(edit);
    const { procedures } = runtime.list();
    expect(procedures).toHaveLength(2);
    const set = procedures.find(({ number }) => number === 1);
    await stand.run(runtime.get('other')!.sendDurable({ type: 'N', n: 1 }));
    expect(seen(runtime, 'other').context).toMatchObject({ got: [1] });
    // Whoever looks at it sees that it is set aside, and why.
    runtime.get(set!.id)?.send({ type: 'N', n: 7 });
    await stand.clock.settle();
    expect(statusOf(runtime, set!.id)).toBe('quarantined');
    expect(reasonOf(runtime, set!.id)?.code).toBe(code);
    expect(() => runtime.get(set!.id)!.getSnapshot()).toThrow();
    expect(({} as { admin?: unknown }).admin).toBeUndefined();
    // An operator can end it.
    await stand.run(runtime.cancel(set!.id));
    expect(statusOf(runtime, set!.id)).toBe('stopped');
    expect(stand.fatal).toEqual([]);
  },
);

test('a timer that is due for a record that no longer fits sets it aside with the true reason', async () => {
  const stand = new Stand();
  const first = await stand.start({ machines: [keeper()] });
  const ref = await stand.run(first.spawn('keeper', { id: 'p' }));
  await stand.run(ref.sendDurable({ type: 'ON' }));
  stand.crash();
  const changed = setup({}).createMachine({
    id: 'keeper',
    version: '1',
    initial: 'a',
    states: { a: {}, c: {} },
  });
  const second = await stand.start({ machines: [changed] });
  await stand.clock.advance(1_000);
  expect(statusOf(second, 'p')).toBe('quarantined');
  expect(reasonOf(second, 'p')?.code).toBe('ROW_UNFIT');
  stand.crash();
  // The state is back: it goes on by itself, and the timer it missed fires.
  const third = await stand.start({ machines: [keeper()] });
  await stand.clock.advance(0);
  expect(seen(third, 'p')).toMatchObject({ status: 'active', value: 'c' });
});

test('looking at a record that does not fit does not hide the reason from the step that follows', async () => {
  const stand = new Stand();
  const first = await stand.start({ machines: [keeper()] });
  await stand.run(first.spawn('keeper', { id: 'p' }));
  stand.crash();
  await stand.tamper(1, (row) => ({ ...row, state: 'gone' }));
  const second = await stand.start({ machines: [keeper()] });
  expect(() => second.get('p')!.getSnapshot()).toThrow(/ROW_UNFIT/);
  second.explain('p');
  second.get('p')!.send({ type: 'N', n: 1 });
  await stand.clock.settle();
  expect(reasonOf(second, 'p')?.code).toBe('ROW_UNFIT');
});

test('L15: mail for a quarantined procedure is kept in order and delivered after the repair', async () => {
  const stand = new Stand();
  const first = await stand.start({ machines: [keeper()] });
  const ref = await stand.run(first.spawn('keeper', { id: 'p' }));
  for (const n of [1, 2]) ref.send({ type: 'N', n });
  ref.send({ type: 'BAD' });
  for (const n of [3, 4]) ref.send({ type: 'N', n });
  await stand.clock.settle();
  expect(statusOf(first, 'p')).toBe('quarantined');
  expect(reasonOf(first, 'p')?.code).toBe('VALUE_NOT_JSON');
  expect(seen(first, 'p').context).toEqual({ got: [1, 2], bad: null });
  ref.send({ type: 'N', n: 5 });
  expect(await codeOf(stand.run(ref.sendDurable({ type: 'N', n: 6 })))).toBe('QUARANTINED');
  await stand.clock.settle();
  // Without a repair, the next try ends where the first did, and loses nothing.
  await stand.run(first.retry('p'));
  await stand.clock.settle();
  expect(statusOf(first, 'p')).toBe('quarantined');
  stand.crash();
  const second = await stand.start({ machines: [keeper(false)] });
  await stand.run(second.retry('p'));
  await stand.clock.settle();
  expect(seen(second, 'p').context).toEqual({ got: [1, 2, 0, 3, 4, 5], bad: 'good' });
  expect(second.deadLetters()).toEqual([]);
  stand.crash();
  const third = await stand.start({ machines: [keeper(false)] });
  expect(seen(third, 'p').context).toEqual({ got: [1, 2, 0, 3, 4, 5], bad: 'good' });
});

test('L15: the order holds when the mail that broke the rule was on record already', async () => {
  const stand = new Stand({ latencyMs: 5 });
  const limits = { groupRecordsMax: 1 };
  const sender = setup({
    types: {} as { input: { to: unknown }; context: { to: unknown } },
  }).createMachine({
    id: 'sender',
    version: '1',
    context: ({ input }) => input,
    entry: [
      sendTo(({ context }) => context.to as AnyActorRef, { type: 'N', n: 1 }),
      sendTo(({ context }) => context.to as AnyActorRef, { type: 'BAD' }),
      sendTo(({ context }) => context.to as AnyActorRef, { type: 'N', n: 2 }),
      sendTo(({ context }) => context.to as AnyActorRef, { type: 'N', n: 3 }),
    ],
  });
  const first = await stand.start({ machines: [keeper(), sender], limits });
  const to = await stand.run(first.spawn('keeper', { id: 'p' }));
  await stand.run(first.spawn(sender, { id: 's', input: { to } }));
  await stand.clock.advance(100);
  expect(statusOf(first, 'p')).toBe('quarantined');
  stand.crash();
  const second = await stand.start({ machines: [keeper(false), sender], limits });
  await stand.run(second.retry('p'));
  await stand.clock.advance(100);
  expect(seen(second, 'p').context).toEqual({ got: [1, 0, 2, 3], bad: 'good' });
});

test('L12: retry of what is not repaired is refused, not passed over in silence', async () => {
  const { stand, runtime } = await tampered((row) => ({ ...row, machine: 'gone' }));
  expect(await codeOf(stand.run(runtime.retry('p')))).toBe('QUARANTINED');
  expect(reasonOf(runtime, 'p')?.code).toBe('MACHINE_UNKNOWN');
});

test('M10: a child whose actor is gone sets its parent aside, and it goes on when the actor is back', async () => {
  const machine = setup({
    types: {} as { context: { done: unknown } },
    actors: { work: fromPromise(async () => 'ok') },
  }).createMachine({
    id: 'm',
    version: '1',
    initial: 'wait',
    context: { done: null },
    states: {
      wait: { on: { GO: 'on' } },
      on: {
        invoke: {
          id: 'w',
          src: 'work',
          onDone: { target: 'over', actions: assign({ done: ({ event }) => event.output }) },
        },
      },
      over: {},
    },
  });
  const without = setup({
    actors: { job: fromPromise(async () => 'ok') },
  }).createMachine({
    id: 'm',
    version: '1',
    initial: 'wait',
    states: { wait: {}, on: { invoke: { id: 'w', src: 'job' } }, over: {} },
  });
  const never = machine.provide({
    actors: { work: fromPromise(() => new Promise<string>(() => undefined)) },
  });
  const stand = new Stand();
  const first = await stand.start({ machines: [never] });
  const ref = await stand.run(first.spawn(never, { id: 'p' }));
  await stand.run(ref.sendDurable({ type: 'GO' } as never));
  stand.crash();
  const second = await stand.start({ machines: [without] });
  await stand.clock.settle();
  expect(statusOf(second, 'p')).toBe('quarantined');
  expect(reasonOf(second, 'p')?.message).toContain("'work'");
  stand.crash();
  const third = await stand.start({ machines: [machine] });
  await stand.clock.settle();
  expect(seen(third, 'p')).toMatchObject({ value: 'over', context: { done: 'ok' } });
});

test('two records with one id: one of them is set aside, none is lost', async () => {
  const { runtime } = await tampered((row) => ({ ...row, id: 'other' }));
  const { procedures } = runtime.list();
  expect(procedures.map(({ status }) => status).sort()).toEqual(['active', 'quarantined']);
  expect(new Set(procedures.map(({ id }) => id)).size).toBe(2);
});
