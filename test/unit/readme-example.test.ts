/** What the README shows is what the tree holds. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { snippetsOf } from '../support/docs-snippets.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const snippets = snippetsOf('README.md', readFileSync(`${ROOT}README.md`, 'utf8'));

/** Where a user imports from, who has the package, and where the tree does. */
const IMPORTS = [
  [/'(?:\.\.\/)+src\/[\w/-]+\.ts'/g, "'reeve'"],
  [/'(?:\.\.\/)+machines\/hash-directory\.ts'/g, "'./hash-directory.ts'"],
] as const;

it.each([
  ['hash-directory.ts', 'machines/hash-directory.ts'],
  ['hash-worker.ts', 'actors/demo/hash-worker.ts'],
])('its %s is %s, but for the header and where it imports from', (file, path) => {
  const source = readFileSync(ROOT + path, 'utf8').replace(/^\/\*\*[\s\S]*?\*\/\n/, '');
  const shown = snippets.find((snippet) => snippet.file === file)?.code;
  const expected = IMPORTS.reduce((text, [from, to]) => text.replace(from, to), source);
  expect(shown).toBe(expected);
});
