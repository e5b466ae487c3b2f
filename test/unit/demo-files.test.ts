/** The files of the demo: made once, never removed, the same in every run. */
import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { hashInOnePass, makeFiles } from '../../actors/demo/demo-files.ts';
import { fold } from '../../actors/demo/hash-worker.ts';

let dir = '';
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'reeve-files-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

it('are made once, each with other content, and used again', () => {
  const made = makeFiles(dir, 3, 100);
  expect(made).toMatchObject({ directory: join(dir, 'files-3x100'), count: 3, made: 3 });
  const names = ['file-00000.bin', 'file-00001.bin', 'file-00002.bin'];
  expect(readdirSync(made.directory).sort()).toEqual(names);
  const contents = names.map((name) => readFileSync(join(made.directory, name)).toString('hex'));
  expect(new Set(contents).size).toBe(3);
  expect(contents.every((content) => content.length === 200)).toBe(true);
  expect(makeFiles(dir, 3, 100).made).toBe(0);
});

it('are made anew when their size is wrong, with the same content; nothing else is touched', () => {
  const { directory } = makeFiles(dir, 2, 50);
  const before = hashInOnePass(directory);
  truncateSync(join(directory, 'file-00001.bin'), 7);
  writeFileSync(join(dir, 'files-mine'), 'mine');
  expect(makeFiles(dir, 2, 50).made).toBe(1);
  expect(hashInOnePass(directory)).toEqual(before);
  expect(readFileSync(join(dir, 'files-mine'), 'utf8')).toBe('mine');
});

it('are hashed in one pass, with the digest after each of them', () => {
  const { directory } = makeFiles(dir, 2, 10);
  const [a, b] = ['file-00000.bin', 'file-00001.bin'].map((name) => ({
    name,
    content: readFileSync(join(directory, name)),
  }));
  const first = fold('', a!.name, a!.content);
  expect(hashInOnePass(directory)).toEqual({
    digests: [first, fold(first, b!.name, b!.content)],
    bytes: 20,
  });
});

it('cannot be made where there is no directory: STORE_UNAVAILABLE names the place', () => {
  writeFileSync(join(dir, 'file'), '');
  expect(() => makeFiles(join(dir, 'file'), 1, 1)).toThrow(
    expect.objectContaining({ code: 'STORE_UNAVAILABLE' }),
  );
});
