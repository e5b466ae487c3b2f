/** The files of the demo, and a second opinion on their digest. */
import { createCipheriv, createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ReeveError, toErrorData } from '../../src/index.ts';
import { fold } from './hash-worker.ts';

export interface DemoFiles {
  readonly directory: string;
  readonly count: number;
  /** How many were not there, or had another size. */
  readonly made: number;
}

/** What one pass over the files gives. */
export interface OnePass {
  /** Digest after each file, in the order of the names. */
  readonly digests: readonly string[];
  readonly bytes: number;
}

/**
 * Makes sure that a directory below `dir` holds `count` files of `bytes` bytes; nothing is ever
 * removed. Throws STORE_UNAVAILABLE.
 */
export function makeFiles(dir: string, count: number, bytes: number): DemoFiles {
  const directory = join(dir, `files-${count}x${bytes}`);
  let made = 0;
  try {
    mkdirSync(directory, { recursive: true });
    for (let i = 0; i < count; i++) {
      const name = `file-${String(i).padStart(5, '0')}.bin`;
      if (makeFile(directory, name, bytes)) made++;
    }
  } catch (cause) {
    throw unusable(directory, cause);
  }
  return { directory, count, made };
}

/** Reads the files in one go, in this process, without a batch or a record. */
export function hashInOnePass(directory: string): OnePass {
  const digests: string[] = [];
  let bytes = 0;
  for (const name of readdirSync(directory).sort()) {
    const content = readFileSync(join(directory, name));
    digests.push(fold(digests.at(-1) ?? '', name, content));
    bytes += content.length;
  }
  return { digests, bytes };
}

function makeFile(directory: string, name: string, bytes: number): boolean {
  const path = join(directory, name);
  if (statSync(path, { throwIfNoEntry: false })?.size === bytes) return false;
  // Renamed into place, outside of what is hashed: a demo that was cut off leaves no half file.
  const draft = `${directory}.${name}`;
  writeFileSync(draft, contentOf(name, bytes));
  renameSync(draft, path);
  return true;
}

/** Bytes that look random, differ from file to file and are the same in every run. */
function contentOf(name: string, bytes: number): Buffer {
  const key = createHash('sha256').update(name).digest();
  return createCipheriv('aes-256-ctr', key, Buffer.alloc(16)).update(Buffer.alloc(bytes));
}

function unusable(path: string, cause: unknown): ReeveError {
  const { message } = toErrorData(cause);
  return new ReeveError('STORE_UNAVAILABLE', `the demo cannot use ${path}: ${message}`, {}, cause);
}
