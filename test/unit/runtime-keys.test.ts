/** L15: a durable send with a key counts once, and a key stands for nothing that did not happen. */
import { assign, setup } from 'xstate';
import { expect, test } from 'vitest';
import { codeOf, seen, Stand } from '../support/runtime-stand.ts';

/** Adds up; `BAD` takes what JSON cannot carry; `END` ends it. */
const sum = setup({
  types: {} as {
    context: { sum: number; bad: unknown };
    events: { type: 'ADD'; n: number } | { type: 'BAD' } | { type: 'END' };
  },
}).createMachine({
  id: 'sum',
  version: '1',
  initial: 'on',
  context: { sum: 0, bad: null },
  states: {
    on: {
      on: {
        ADD: { actions: assign({ sum: ({ context, event }) => context.sum + event.n }) },
        BAD: { actions: assign({ bad: () => new Map() }) },
        END: 'over',
      },
    },
    over: { type: 'final' },
  },
});

const total = (runtime: Parameters<typeof seen>[0]) =>
  (seen(runtime, 's').context as { sum: number }).sum;

test('the same key again changes nothing and resolves like the first, after a restart too', async () => {
  const stand = new Stand();
  const first = await stand.start({ machines: [sum] });
  const ref = await stand.run(first.spawn(sum, { id: 's' }));
  const twice = Promise.all([
    ref.sendDurable({ type: 'ADD', n: 1 }, { key: 'k' }),
    ref.sendDurable({ type: 'ADD', n: 1 }, { key: 'k' }),
  ]);
  await stand.run(twice);
  expect(total(first)).toBe(1);
  stand.crash();
  const second = await stand.start({ machines: [sum] });
  const again = second.get<typeof sum>('s')!;
  await stand.run(again.sendDurable({ type: 'ADD', n: 1 }, { key: 'k' }));
  expect(total(second)).toBe(1);
  await stand.run(again.sendDurable({ type: 'ADD', n: 1 }, { key: 'other' }));
  expect(total(second)).toBe(2);
});

test('a second send whose first is still on its way to the disk waits for that commit', async () => {
  const stand = new Stand({ latencyMs: 20 });
  const runtime = await stand.start({ machines: [sum] });
  const ref = await stand.run(runtime.spawn(sum, { id: 's' }));
  const first = ref.sendDurable({ type: 'ADD', n: 1 }, { key: 'k' });
  await stand.clock.advance(5);
  const second = ref.sendDurable({ type: 'ADD', n: 1 }, { key: 'k' });
  await stand.clock.advance(14);
  expect(await stand.settles(second)).toBe(false);
  await stand.run(Promise.all([first, second]));
  expect(total(runtime)).toBe(1);
});

test('a key is of one procedure: the same key for another one counts', async () => {
  const stand = new Stand();
  const runtime = await stand.start({ machines: [sum] });
  const a = await stand.run(runtime.spawn(sum, { id: 's' }));
  const b = await stand.run(runtime.spawn(sum, { id: 't' }));
  await stand.run(a.sendDurable({ type: 'ADD', n: 1 }, { key: 'k' }));
  await stand.run(b.sendDurable({ type: 'ADD', n: 1 }, { key: 'k' }));
  expect(seen(runtime, 't').context).toMatchObject({ sum: 1 });
});

test('L11: beyond idempotencyKeysMax the oldest key leaves, in the same order after a restart', async () => {
  const stand = new Stand();
  const options = { machines: [sum], limits: { idempotencyKeysMax: 3 } };
  let runtime = await stand.start(options);
  await stand.run(runtime.spawn(sum, { id: 's' }));
  const add = async (key: string): Promise<number> => {
    await stand.run(runtime.get<typeof sum>('s')!.sendDurable({ type: 'ADD', n: 1 }, { key }));
    return total(runtime);
  };
  // In the order of the alphabet, c would be the youngest.
  for (const key of ['c', 'a', 'b']) await add(key);
  stand.crash();
  runtime = await stand.start(options);
  expect(await add('d')).toBe(4);
  expect([await add('a'), await add('b'), await add('d')]).toEqual([4, 4, 4]);
  expect(await add('c')).toBe(5);
});

test('L5: a key whose event was refused, because the procedure had ended, is not taken for done', async () => {
  const stand = new Stand();
  const runtime = await stand.start({ machines: [sum] });
  const ref = await stand.run(runtime.spawn(sum, { id: 's' }));
  await stand.run(ref.sendDurable({ type: 'ADD', n: 1 }, { key: 'before' }));
  await stand.run(ref.sendDurable({ type: 'END' }));
  const send = (key: string) => codeOf(stand.run(ref.sendDurable({ type: 'ADD', n: 1 }, { key })));
  expect([await send('k'), await send('k')]).toEqual(['PROCEDURE_ENDED', 'PROCEDURE_ENDED']);
  expect(await send('before')).toBeUndefined();
});

test('L5: a key whose event broke a rule is not taken for done: after the repair it counts', async () => {
  const stand = new Stand();
  const first = await stand.start({ machines: [sum] });
  const ref = await stand.run(first.spawn(sum, { id: 's' }));
  const bad = () => codeOf(stand.run(ref.sendDurable({ type: 'BAD' }, { key: 'k' })));
  expect(await bad()).toBe('VALUE_NOT_JSON');
  expect(await bad()).toBe('QUARANTINED');
  stand.crash();
  const good = sum.provide({});
  const second = await stand.start({ machines: [good] });
  await stand.run(second.retry('s'));
  const again = second.get<typeof sum>('s')!;
  await stand.run(again.sendDurable({ type: 'ADD', n: 5 }, { key: 'k' }));
  expect(total(second)).toBe(5);
});

test('L1: a key whose commit the disk refused is free again; an older one it had pushed out is back', async () => {
  const stand = new Stand();
  const options = { machines: [sum], limits: { idempotencyKeysMax: 2 } };
  const runtime = await stand.start(options);
  const ref = await stand.run(runtime.spawn(sum, { id: 's' }));
  const add = (key: string) => codeOf(stand.run(ref.sendDurable({ type: 'ADD', n: 1 }, { key })));
  await add('a');
  await add('b');
  stand.faults.fill(1);
  expect(await add('c')).toBe('STORE_FULL');
  await stand.clock.advance(1_000);
  expect(await add('a')).toBeUndefined();
  expect(await add('b')).toBeUndefined();
  expect(total(runtime)).toBe(2);
  expect(await add('c')).toBeUndefined();
  expect(total(runtime)).toBe(3);
});

test('L11: a key is 1 to 200 well-formed characters; anything else is refused and nothing is sent', async () => {
  const stand = new Stand();
  const runtime = await stand.start({ machines: [sum] });
  const ref = await stand.run(runtime.spawn(sum, { id: 's' }));
  const send = (key: unknown) =>
    codeOf(stand.run(ref.sendDurable({ type: 'ADD', n: 1 }, { key: key as string })));
  for (const key of ['', 'x'.repeat(201), 'x'.repeat(70_000), '\ud800', 7, null]) {
    expect(await send(key)).toBe('OPTION_INVALID');
  }
  expect(await send('x'.repeat(200))).toBeUndefined();
  expect(total(runtime)).toBe(1);
  expect(stand.fatal).toEqual([]);
});

test('C70: purging a procedure takes its keys with it', async () => {
  const stand = new Stand();
  const first = await stand.start({ machines: [sum] });
  const ref = await stand.run(first.spawn(sum, { id: 's' }));
  await stand.run(ref.sendDurable({ type: 'ADD', n: 1 }, { key: 'k' }));
  await stand.run(ref.sendDurable({ type: 'END' }));
  await stand.run(first.purge('s'));
  stand.crash();
  const second = await stand.start({ machines: [sum] });
  const again = await stand.run(second.spawn(sum, { id: 's' }));
  await stand.run(again.sendDurable({ type: 'ADD', n: 1 }, { key: 'k' }));
  expect(total(second)).toBe(1);
});
