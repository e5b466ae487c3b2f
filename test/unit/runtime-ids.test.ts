/** Ids: one id is one procedure; who asks again with equal input gets it, anybody else an error. */
import { setup } from 'xstate';
import { expect, test } from 'vitest';
import { codeOf, seen, Stand } from '../support/runtime-stand.ts';

const machine = setup({
  types: {} as { input: unknown; context: { input: unknown }; events: { type: 'END' } },
}).createMachine({
  id: 'm',
  version: '1',
  initial: 'on',
  context: ({ input }) => ({ input: input ?? null }),
  states: { on: { on: { END: 'over' } }, over: { type: 'final' } },
});
const second = setup({}).createMachine({ id: 'second', version: '1' });

test('an id with equal input gives that procedure, whatever the order of the keys', async () => {
  const stand = new Stand();
  const runtime = await stand.start({ machines: [machine, second] });
  const input = { a: 1, b: { c: [1, { d: 2, e: 3 }] } };
  const first = await stand.run(runtime.spawn(machine, { id: 'x', input }));
  const again = await stand.run(
    runtime.spawn(machine, { id: 'x', input: { b: { c: [1, { e: 3, d: 2 }] }, a: 1 } }),
  );
  expect(again.number).toBe(first.number);
  stand.crash();
  const next = await stand.start({ machines: [machine, second] });
  expect((await stand.run(next.spawn(machine, { id: 'x', input }))).number).toBe(first.number);
});

test('ID_CONFLICT: other input, another order of a list, another machine', async () => {
  const stand = new Stand();
  const runtime = await stand.start({ machines: [machine, second] });
  await stand.run(runtime.spawn(machine, { id: 'x', input: [1, 2] }));
  const spawn = (what: 'm' | 'second', input: unknown) =>
    codeOf(stand.run(runtime.spawn(what, { id: 'x', input: input as never })));
  expect(await spawn('m', [2, 1])).toBe('ID_CONFLICT');
  expect(await spawn('m', undefined)).toBe('ID_CONFLICT');
  expect(await spawn('m', { 0: 1, 1: 2 })).toBe('ID_CONFLICT');
  expect(await spawn('second', [1, 2])).toBe('ID_CONFLICT');
  expect(await spawn('m', [1, 2])).toBeUndefined();
  expect(runtime.state().procedures).toBe(1);
});

test('many spawns of one id at a time make one procedure; those with other input are refused', async () => {
  const stand = new Stand({ latencyMs: 5 });
  const runtime = await stand.start({ machines: [machine] });
  const spawns = Array.from({ length: 20 }, (_, n) =>
    codeOf(runtime.spawn(machine, { id: 'x', input: n % 4 === 3 ? 'other' : 'same' })),
  );
  const codes = await stand.run(Promise.all(spawns));
  expect(codes.filter((code) => code === undefined)).toHaveLength(15);
  expect(codes.filter((code) => code === 'ID_CONFLICT')).toHaveLength(5);
  expect(runtime.list().procedures).toHaveLength(1);
});

test('a procedure that is not on the disk yet is not there for anybody', async () => {
  const stand = new Stand({ latencyMs: 20 });
  const runtime = await stand.start({ machines: [machine] });
  const spawned = runtime.spawn(machine, { id: 'x' });
  await stand.clock.advance(10);
  expect(runtime.get('x')).toBeUndefined();
  expect(runtime.list().procedures).toEqual([]);
  expect(() => runtime.explain('x')).toThrow(/PROCEDURE_UNKNOWN/);
  expect(await codeOf(runtime.cancel('x'))).toBe('PROCEDURE_UNKNOWN');
  await stand.run(spawned);
  expect(runtime.get('x')?.sessionId).toBe('x');
});

test('ID_INVALID: empty, too long, with control characters, not text', async () => {
  const stand = new Stand();
  const runtime = await stand.start({ machines: [machine] });
  for (const id of ['', 'x'.repeat(201), 'a\nb', 'a\u0000', '\u007f', 7, {}]) {
    expect(await codeOf(runtime.spawn(machine, { id: id as string }))).toBe('ID_INVALID');
  }
  expect(await codeOf(stand.run(runtime.spawn(machine, { id: 'ü€𝄞 / ".." %' })))).toBeUndefined();
  stand.crash();
  const next = await stand.start({ machines: [machine] });
  expect(next.get('ü€𝄞 / ".." %')).toBeDefined();
});

test("ids called '__proto__', 'constructor' and 'toString' are ids like others", async () => {
  const stand = new Stand();
  const ids = ['__proto__', 'constructor', 'toString', 'hasOwnProperty'];
  const runtime = await stand.start({ machines: [machine] });
  for (const id of ids) {
    expect(runtime.get(id)).toBeUndefined();
    await stand.run(runtime.spawn(machine, { id }));
  }
  stand.crash();
  const next = await stand.start({ machines: [machine] });
  expect(
    next
      .list()
      .procedures.map(({ id }) => id)
      .sort(),
  ).toEqual([...ids].sort());
});

test('spawning the id of an ended procedure gives it; after a purge, a new one with a new number', async () => {
  const stand = new Stand();
  const runtime = await stand.start({ machines: [machine] });
  const first = await stand.run(runtime.spawn(machine, { id: 'x' }));
  await stand.run(first.sendDurable({ type: 'END' }));
  const again = await stand.run(runtime.spawn(machine, { id: 'x' }));
  expect([again.number, seen(runtime, 'x').status]).toEqual([first.number, 'done']);
  await stand.run(runtime.purge('x'));
  const fresh = await stand.run(runtime.spawn(machine, { id: 'x' }));
  expect(fresh.number).toBeGreaterThan(first.number);
  expect(seen(runtime, 'x').status).toBe('active');
});

test('numbers are never used again, although the procedures with the highest ones are gone', async () => {
  const stand = new Stand();
  const first = await stand.start({ machines: [machine] });
  for (const id of ['a', 'b']) {
    const ref = await stand.run(first.spawn(machine, { id }));
    await stand.run(ref.sendDurable({ type: 'END' }));
    await stand.run(first.purge(id));
  }
  stand.crash();
  const next = await stand.start({ machines: [machine] });
  expect((await stand.run(next.spawn(machine, { id: 'c' }))).number).toBe(3);
});

test('two purges of one procedure at a time remove it once, and nobody else', async () => {
  const stand = new Stand({ latencyMs: 5 });
  const runtime = await stand.start({ machines: [machine] });
  const ref = await stand.run(runtime.spawn(machine, { id: 'x' }));
  await stand.run(ref.sendDurable({ type: 'END' }));
  const purges: Promise<unknown>[] = [codeOf(runtime.purge('x'))];
  await stand.clock.advance(1);
  purges.push(codeOf(runtime.purge('x')));
  await stand.clock.advance(5);
  // The place of the removed one is taken while the second purge is on its way.
  const spawned = runtime.spawn(machine, { id: 'y' });
  await stand.run(Promise.all(purges));
  await stand.run(spawned);
  await stand.run(runtime.spawn(machine, { id: 'z' }));
  expect(
    runtime
      .list()
      .procedures.map(({ id }) => id)
      .sort(),
  ).toEqual(['y', 'z']);
  expect(runtime.get('y')?.number).not.toBe(runtime.get('z')?.number);
  expect([seen(runtime, 'y').status, seen(runtime, 'z').status]).toEqual(['active', 'active']);
  expect(runtime.counts()).toMatchObject([{ status: 'active', count: 2 }]);
});

test('a spawn while its id is being purged ends in an error or in a procedure that exists', async () => {
  const stand = new Stand({ latencyMs: 5 });
  const runtime = await stand.start({ machines: [machine] });
  const ref = await stand.run(runtime.spawn(machine, { id: 'x' }));
  await stand.run(ref.sendDurable({ type: 'END' }));
  const purged = runtime.purge('x');
  const spawned = codeOf(runtime.spawn(machine, { id: 'x' }));
  await stand.run(purged);
  expect(await stand.run(spawned)).toBe('ID_CONFLICT');
  await stand.run(runtime.spawn(machine, { id: 'x' }));
  expect(seen(runtime, 'x').status).toBe('active');
});

test('a child never takes the id of a procedure that is there already', async () => {
  const parent = setup({ actors: { kid: machine } }).createMachine({
    id: 'parent',
    version: '1',
    invoke: { id: 'kid', src: 'kid', input: null },
  });
  const stand = new Stand();
  const runtime = await stand.start({ machines: [machine, parent] });
  for (const id of ['p/kid', 'p/kid~1']) await stand.run(runtime.spawn(machine, { id }));
  await stand.run(runtime.spawn(parent, { id: 'p' }));
  const ids = runtime.list().procedures.map(({ id }) => id);
  expect(new Set(ids).size).toBe(4);
  expect(runtime.list({ parent: 'p' }).procedures).toHaveLength(1);
  stand.crash();
  const next = await stand.start({ machines: [machine, parent] });
  expect(
    next
      .list()
      .procedures.map(({ id }) => id)
      .sort(),
  ).toEqual(ids.sort());
});

test('a spawn without an id never meets one that somebody chose', async () => {
  const stand = new Stand();
  const runtime = await stand.start({ machines: [machine] });
  const chosen = await stand.run(runtime.spawn(machine, { id: 'm-1-1' }));
  const free = await stand.run(runtime.spawn(machine));
  expect(free.number).not.toBe(chosen.number);
  stand.crash();
  const next = await stand.start({ machines: [machine] });
  const more = await stand.run(next.spawn(machine));
  expect(next.list().procedures).toHaveLength(3);
  expect(more.number).toBe(3);
});

test('input that is not JSON is refused and no procedure is made; changing it later changes nothing', async () => {
  const stand = new Stand();
  const runtime = await stand.start({ machines: [machine] });
  for (const input of [new Date(0), 1n, Number.NaN, () => 1, new Map(), { a: new Set() }]) {
    expect(await codeOf(stand.run(runtime.spawn(machine, { id: 'bad', input })))).toBe(
      'VALUE_NOT_JSON',
    );
  }
  expect(runtime.get('bad')).toBeUndefined();
  const input = { list: [1] };
  const spawned = runtime.spawn(machine, { id: 'good', input });
  input.list.push(2);
  await stand.run(spawned);
  expect(seen(runtime, 'good').context).toEqual({ input: { list: [1] } });
});

test('MACHINE_UNKNOWN names what was asked for and what is known', async () => {
  const stand = new Stand();
  const runtime = await stand.start({ machines: [machine] });
  for (const name of ['gone', '__proto__', 'constructor']) {
    await expect(runtime.spawn(name, { id: 'x' })).rejects.toMatchObject({
      code: 'MACHINE_UNKNOWN',
      details: { machine: name, known: expect.arrayContaining(['m']) as unknown },
    });
  }
});
