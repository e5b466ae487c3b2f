/** A small file system of its own, for tests that fill it. */
import { spawnSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmSync, rmdirSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export class SmallDisk {
  readonly root: string;

  private constructor(root: string) {
    this.root = root;
  }

  /** Mounts a tmpfs; undefined where that is not allowed. */
  static mount(bytes: number): SmallDisk | undefined {
    const root = mkdtempSync(join(tmpdir(), 'reeve-disk-'));
    const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${bytes}`, 'tmpfs', root]);
    if (mounted.status === 0) return new SmallDisk(root);
    rmdirSync(root);
    return undefined;
  }

  /** Takes all space but `left` bytes. */
  fill(left: number): void {
    const file = openSync(join(this.root, 'ballast'), 'a', 0o600);
    const block = Buffer.alloc(64 * 1024, 1);
    try {
      for (;;) if (writeSync(file, block) < block.length) break;
    } catch (error) {
      if ((error as { code?: string }).code !== 'ENOSPC') throw error;
    } finally {
      closeSync(file);
    }
    if (left > 0) this.give(left);
  }

  /** Gives back `bytes` of the ballast, or all of it. */
  give(bytes?: number): void {
    if (bytes === undefined) rmSync(join(this.root, 'ballast'));
    else spawnSync('truncate', ['-s', `-${bytes}`, join(this.root, 'ballast')]);
  }

  unmount(): void {
    spawnSync('umount', [this.root]);
    rmdirSync(this.root);
  }
}
