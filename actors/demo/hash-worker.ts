/** The slow half of `machines/hash-directory.ts`: hashes one batch of files, on a pool's thread. */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { InputFrom, OutputFrom } from 'xstate';
import type { hashBatch as task } from '../../machines/hash-directory.ts';
import type { TaskContext } from '../../src/index.ts';

type Input = InputFrom<typeof task>;
type Output = OutputFrom<typeof task>;

/** The digest grows file by file, in the order of the names; see `fold`. */
export async function hashBatch(input: Input, context: TaskContext): Promise<Output> {
  const { directory, batch, last } = input;
  const entries = await readdir(directory, { withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map(({ name }) => name);
  const names = files.filter((name) => name > last).sort();
  const hashed = { digest: input.digest, last, files: input.files, bytes: input.bytes };
  for (const name of names.slice(0, batch)) {
    context.signal.throwIfAborted();
    const content = await readFile(join(directory, name));
    hashed.digest = fold(hashed.digest, name, content);
    hashed.last = name;
    hashed.files += 1;
    hashed.bytes += content.length;
    context.progress(hashed.files);
  }
  return { ...hashed, left: Math.max(0, names.length - batch) };
}

/** The digest of everything up to and with this file. */
export function fold(digest: string, name: string, content: Uint8Array): string {
  const own = createHash('sha256').update(content).digest('hex');
  return createHash('sha256').update(`${digest} ${own} ${name}`).digest('hex');
}
