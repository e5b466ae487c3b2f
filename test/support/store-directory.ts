/** Directories of SQLite stores for tests, and raw damage to the files in them. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { GROUP_HEADER_BYTES, RECORD_HEADER_BYTES, peekPosition } from '../../src/codec/group.ts';
import { sqliteStore } from '../../src/store/sqlite-store.ts';
import type { SqliteStoreOptions } from '../../src/store/sqlite-store.ts';
import type { Store } from '../../src/store/port.ts';

const MAGIC = Buffer.from('RVG1', 'latin1');

/** A directory that remembers the stores opened in it. */
export class StoreDirectory {
  readonly root: string;
  /** The store's own directory; not created yet. */
  readonly dir: string;
  readonly #options: Partial<SqliteStoreOptions>;
  readonly #opened: Store[] = [];

  constructor(options: Partial<SqliteStoreOptions> = {}, parent = tmpdir()) {
    this.root = mkdtempSync(join(parent, 'reeve-store-'));
    this.dir = join(this.root, 'data');
    this.#options = options;
  }

  get database(): string {
    return join(this.dir, 'reeve.db');
  }

  open(): Store {
    const store = sqliteStore({ ...this.#options, dir: this.dir });
    this.#opened.push(store);
    return store;
  }

  /** Closes every store that was opened here; the files stay. */
  async closeAll(): Promise<void> {
    await Promise.all(this.#opened.splice(0).map((store) => store.close()));
  }

  async destroy(): Promise<void> {
    await this.closeAll();
    rmSync(this.root, { recursive: true, force: true });
  }
}

/** Flips one bit of a byte in a file. */
export function flipInFile(path: string, offset: number, bit = 0): void {
  const bytes = readFileSync(path);
  bytes[offset] = (bytes[offset] ?? 0) ^ (1 << bit);
  writeFileSync(path, bytes);
}

/** Offsets in a file at which the group at `position` begins; a log may hold several copies. */
export function findGroup(path: string, position: number): number[] {
  const bytes = readFileSync(path);
  return occurrences(bytes, MAGIC).filter(
    (at) => peekPosition(bytes.subarray(at, at + GROUP_HEADER_BYTES)) === position,
  );
}

/** Flips a bit in the body of the first record of the group at `position`. */
export function damageGroupIn(path: string, position: number): void {
  const found = findGroup(path, position);
  if (found.length === 0) throw new Error(`no group ${position} in ${path}`);
  const body = GROUP_HEADER_BYTES + RECORD_HEADER_BYTES;
  for (const at of found) flipInFile(path, at + body + 9, 3);
}

/** Flips a bit of the byte `into` bytes behind each occurrence of `text`. */
export function damageTextIn(path: string, text: string, into: number): void {
  const found = occurrences(readFileSync(path), Buffer.from(text, 'utf8'));
  if (found.length === 0) throw new Error(`no ${text} in ${path}`);
  for (const at of found) flipInFile(path, at + into, 1);
}

function occurrences(bytes: Buffer, wanted: Buffer): number[] {
  const found: number[] = [];
  for (let at = bytes.indexOf(wanted); at >= 0; at = bytes.indexOf(wanted, at + 1)) found.push(at);
  return found;
}
