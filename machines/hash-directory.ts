/**
 * Hashes the files of a directory in batches, so that what is done stays done.
 *
 *     hashing --batch done--> folding --files left--> hashing
 *                                └─────none left-----> done
 *
 * hashing  a task hashes the next batch, behind the last file that is on record
 * folding  the batch is on record; is there more?
 * done     the digest covers every file; final
 *
 * I1  A batch enters the digest in the commit that moves `last`: once, and in order.
 * I2  A batch that fails ends the job with the task's error; the batches before it stay on record.
 */
import { assign, setup } from 'xstate';
import { declareTask } from '../src/model/declare-task.ts';

type Job = { directory: string; batch: number };
type Total = { digest: string; files: number; bytes: number };
type Hashed = Total & { last: string; left: number };

export const hashBatch = declareTask<Job & Hashed, Hashed>('hash-batch');

export const hashDirectory = setup({
  types: {} as { input: Job; context: Job & Hashed; output: Total },
  actors: { hashBatch },
  guards: { isComplete: ({ context }) => context.left === 0 },
}).createMachine({
  id: 'hash-directory',
  version: '1',
  context: ({ input }) => ({ ...input, digest: '', last: '', files: 0, bytes: 0, left: -1 }),
  initial: 'hashing',
  states: {
    hashing: {
      invoke: {
        id: 'batch',
        src: 'hashBatch',
        input: ({ context }) => context,
        onDone: { target: 'folding', actions: assign(({ event }) => event.output) },
      },
    },
    folding: { always: [{ guard: 'isComplete', target: 'done' }, { target: 'hashing' }] },
    done: { type: 'final' },
  },
  output: ({ context: { digest, files, bytes } }) => ({ digest, files, bytes }),
});
