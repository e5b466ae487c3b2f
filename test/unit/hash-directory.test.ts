/** The example: its machine in plain XState, its worker function on real files. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createActor, fromPromise, toPromise, type InputFrom, type OutputFrom } from 'xstate';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { fold, hashBatch } from '../../actors/demo/hash-worker.ts';
import { hashBatchAtEase } from '../../actors/demo/paced-worker.ts';
import { hashDirectory, type hashBatch as task } from '../../machines/index.ts';
import type { Json } from '../../src/model/json.ts';
import type { TaskContext } from '../../src/threads/task-context.ts';

type Input = InputFrom<typeof task>;
type Output = OutputFrom<typeof task>;

/** The machine with a stand-in for its task. */
function underXState(run: (input: Input) => Output) {
  const hashBatch = fromPromise<Output, Input>(async ({ input }) => Promise.resolve(run(input)));
  const input = { directory: '/d', batch: 2 };
  return createActor(hashDirectory.provide({ actors: { hashBatch } }), { input });
}

describe('hash-directory, in plain XState', () => {
  it('I1 hashes batch after batch, each behind the last file on record, to the end', async () => {
    const asked: string[] = [];
    const actor = underXState(({ last, digest, files, batch }) => {
      asked.push(last);
      const end = Math.min(5, files + batch);
      return { digest: `${digest}+`, last: `f${end}`, files: end, bytes: end * 10, left: 5 - end };
    });
    actor.start();
    expect(await toPromise(actor)).toEqual({ digest: '+++', files: 5, bytes: 50 });
    expect(asked).toEqual(['', 'f2', 'f4']);
    expect(actor.getSnapshot().value).toBe('done');
  });

  it('ends at once over an empty directory', async () => {
    const actor = underXState(() => ({ digest: '', last: '', files: 0, bytes: 0, left: 0 }));
    actor.start();
    expect(await toPromise(actor)).toEqual({ digest: '', files: 0, bytes: 0 });
  });

  it("I2 ends in the task's error; what was hashed before stays in the context", async () => {
    const actor = underXState(({ files }) => {
      if (files > 0) throw new Error('no such directory');
      return { digest: 'd', last: 'f2', files: 2, bytes: 20, left: 3 };
    });
    actor.subscribe({ error: () => undefined });
    actor.start();
    await expect(toPromise(actor)).rejects.toThrow('no such directory');
    expect(actor.getSnapshot()).toMatchObject({ status: 'error', context: { files: 2 } });
  });
});

describe('the worker function', () => {
  const files = ['a', 'b', 'c', 'd', 'e'].map((name) => [name, `content of ${name}`] as const);
  const nothing = { digest: '', last: '', files: 0, bytes: 0, left: -1 };
  let directory = '';

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'reeve-hash-'));
    mkdirSync(join(directory, 'bb'));
    for (const [name, content] of files) writeFileSync(join(directory, name), content);
  });
  afterEach(() => {
    rmSync(directory, { recursive: true });
  });

  function context(signal = new AbortController().signal): TaskContext & { shown: Json[] } {
    const shown: Json[] = [];
    const progress = (value: Json): void => void shown.push(value);
    return { attempt: '1', signal, cancelled: () => false, progress, deadline: null, shown };
  }

  async function inBatches(batch: number, run = hashBatch): Promise<Output> {
    let hashed: Output = nothing;
    while (hashed.left !== 0) hashed = await run({ directory, batch, ...hashed }, context());
    return hashed;
  }

  it('gives one digest, whatever the batches are; directories do not count', async () => {
    const digest = files.reduce((so, [name, content]) => fold(so, name, Buffer.from(content)), '');
    const whole = { digest, last: 'e', files: 5, bytes: 60, left: 0 };
    for (const batch of [1, 2, 3, 5, 100]) expect(await inBatches(batch)).toEqual(whole);
    expect(await inBatches(2, hashBatchAtEase)).toEqual(whole);
  });

  it('hashes no more than a batch, and shows how far it is', async () => {
    const heard = context();
    const hashed = await hashBatch({ directory, batch: 2, ...nothing }, heard);
    expect(hashed).toMatchObject({ last: 'b', files: 2, bytes: 24, left: 3 });
    expect(heard.shown).toEqual([1, 2]);
  });

  it('tells files, contents and their order apart', async () => {
    const { digest } = await inBatches(5);
    writeFileSync(join(directory, 'c'), 'content of C');
    expect((await inBatches(5)).digest).not.toBe(digest);
    expect(fold(fold('', 'a', Buffer.of(1)), 'b', Buffer.of(2))).not.toBe(
      fold(fold('', 'b', Buffer.of(1)), 'a', Buffer.of(2)),
    );
  });

  it.each([
    ['hash-worker', hashBatch],
    ['paced-worker', hashBatchAtEase],
  ])('of %s stops when it is asked to', async (_, run) => {
    const input = { directory, batch: 2, ...nothing };
    await expect(run(input, context(AbortSignal.abort(new Error('stop'))))).rejects.toThrow('stop');
  });
});
