/**
 * `hash-worker.ts` for the demo: it rests after each file, so that a batch takes long enough to be
 * seen, and killed, at work.
 */
import { setTimeout as rest } from 'node:timers/promises';
import type { TaskContext } from '../../src/index.ts';
import { hashBatch } from './hash-worker.ts';

const REST_MS = 5;

type Input = Parameters<typeof hashBatch>[0];
type Output = Awaited<ReturnType<typeof hashBatch>>;

export async function hashBatchAtEase(input: Input, context: TaskContext): Promise<Output> {
  let hashed: Output = input;
  for (let file = 0; file < input.batch && hashed.left !== 0; file++) {
    hashed = await hashBatch({ ...input, ...hashed, batch: 1 }, context);
    await rest(REST_MS, undefined, { signal: context.signal });
  }
  const { digest, last, files, bytes, left } = hashed;
  return { digest, last, files, bytes, left };
}
