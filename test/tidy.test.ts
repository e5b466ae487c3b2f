/** The rules of the house, kept by the tree; each one is shown to find what it is for. */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { ERRORS } from '../src/model/errors.ts';
import { OPTIONS } from '../src/model/options.ts';
import { SQLITE_LIMITS } from '../src/store/sqlite-options.ts';
import { parsePoolOptions } from '../src/threads/pool-options.ts';
import { foreignInternals, importCycles, importDirections } from './support/tidy-imports.ts';
import { lockHoles } from './support/tidy-lock.ts';
import { machinePictures } from './support/tidy-machines.ts';
import { deadFiles, nativeOnMainThread } from './support/tidy-reach.ts';
import { fileLengths, fileNames, functionLengths, lineLengths } from './support/tidy-sizes.ts';
import * as tables from './support/tidy-tables.ts';
import { readTree, treeOf, type Breaches, type Tree } from './support/tidy-tree.ts';
import { downloadAddresses, openPromises, wordsOfOrigin } from './support/tidy-words.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const ERROR_PAGE = 'docs/errors.md';
const OPTION_PAGE = 'docs/options.md';
const REMEDY = 'UPDATE=1 npx vitest run test/tidy.test.ts writes pages and names anew';
const NAME_LIST = 'test/history/names.txt';

const errorRows = tables.errorRows(ERRORS);
const limitRows = tables.limitRows(OPTIONS);
const names = tables.lastingNames({ error: ERRORS, option: OPTIONS });
if (process.env['UPDATE'] === '1') update();
const house = readTree(ROOT);

/** The tree keeps the rule, and the rule finds each of the bad trees. */
function rule(
  check: (tree: Tree) => Breaches,
  bad: readonly Readonly<Record<string, string>>[],
  remedy?: string,
) {
  test('the tree keeps it', () => {
    expect(check(house), remedy).toEqual([]);
  });
  test.each(bad.map((files) => [JSON.stringify(files).slice(0, 70), files] as const))(
    'it is broken by %s',
    (_, files) => {
      expect(check(treeOf(files))).not.toEqual([]);
    },
  );
}

const lines = (count: number): string => 'x;\n'.repeat(count);

describe('imports go one way (machines -> src/model, actors -> src, no edge to another)', () => {
  rule(importDirections, [
    { 'src/model/a.ts': "import '../store/b.ts';", 'src/store/b.ts': '' },
    { 'src/store/a.ts': "import type { B } from '../threads/b.ts';", 'src/threads/b.ts': '' },
    { 'src/cli/a.ts': "export * from '../store/b.ts';", 'src/store/b.ts': '' },
    { 'src/runtime/a.ts': "import '../store/sqlite-store.ts';", 'src/store/sqlite-store.ts': '' },
    { 'src/runtime/a.ts': "import { type S } from '../store/port.ts';", 'src/store/port.ts': '' },
    { 'src/model/a.ts': "type C = import('../world/random.ts').C;", 'src/world/random.ts': '' },
    { 'src/index.ts': "import '../actors/main.ts';", 'actors/main.ts': '' },
    { 'src/testing/a.ts': "await import('../../machines/m.ts');", 'machines/m.ts': '' },
    { 'machines/m.ts': "import '../src/runtime/a.ts';", 'src/runtime/a.ts': '' },
    { 'machines/m.ts': "import 'node:fs';" },
    { 'src/other/a.ts': "import '../model/b.ts';", 'src/model/b.ts': '' },
    { 'src/model/a.ts': "import './gone.ts';" },
    { 'src/model/a.ts': "import '../../test/b.ts';", 'test/b.ts': '' },
    { 'src/runtime/a.ts': "import 'piscina';" },
    { 'actors/a.ts': "import type * as t from 'node:worker_threads';" },
    { 'src/threads/a.ts': "import 'better-sqlite3';" },
  ]);
});

describe('no file imports itself by any road, types included', () => {
  rule(importCycles, [
    { 'src/model/a.ts': "import './a.ts';" },
    { 'src/model/a.ts': "import './b.ts';", 'src/model/b.ts': "import type { A } from './a.ts';" },
  ]);
});

describe('the internals of XState are touched in src/runtime only', () => {
  rule(foreignInternals, [
    { 'src/testing/a.ts': 'actor._relay(event);' },
    { 'src/threads/a.ts': "actor['_parent'];" },
    { 'actors/a.ts': 'const { _bookId: book } = system;' },
  ]);
});

describe('files have 400 lines at most', () => {
  rule(fileLengths, [{ 'src/a.ts': lines(401) }, { '.ci/run': lines(401) }]);
});

describe('lines of sources have 100 columns at most', () => {
  rule(lineLengths, [{ 'src/a.ts': `// ${'x'.repeat(98)}` }]);
});

describe('functions have 70 lines at most', () => {
  rule(functionLengths, [
    { 'src/a.ts': `function f() {\n${lines(69)}}` },
    { 'src/a.ts': `class A {\n  get f() {\n${lines(69)}}}` },
    { 'test/a.test.ts': `describe('a', () => { test('b', () => {\n${lines(69)}}); });` },
  ]);
  test('what holds tests may be longer', () => {
    const suite = `test('b', () => {});\n${lines(100)}`;
    const tree = treeOf({
      'a.ts': `describe.each([1])('a', () => {\n${suite}});`,
      'b.ts': `export function suite() {\n${suite}}`,
    });
    expect(functionLengths(tree)).toEqual([]);
  });
});

describe('file names say what is inside, in kebab-case', () => {
  rule(
    fileNames,
    ['utils', 'store-util', 'test-helpers', 'common', 'misc', 'shared', 'types', 'constants']
      .map((stem) => `src/model/${stem}.ts`)
      .concat('src/helper/a.ts', 'src/model/CommitGroup.ts', 'src/model/commit_group.ts')
      .map((path) => ({ [path]: '' })),
  );
});

describe('every published file is reached from an entry', () => {
  const manifest = { 'package.json': '{"exports": {".": {"default": "./dist/src/index.js"}}}' };
  const worker = { 'src/index.ts': "start('a-worker');", 'src/a-worker.ts': '' };
  rule(deadFiles, [
    manifest,
    { ...manifest, 'src/index.ts': '', 'src/model/a.ts': '' },
    { ...manifest, 'src/index.ts': '', 'src/a.ts': "import './b.ts';", 'src/b.ts': '' },
    { ...manifest, ...worker, 'src/index.ts': '' },
  ]);
  test('a worker named in a string of a reached neighbour is reached', () => {
    expect(deadFiles(treeOf({ ...manifest, ...worker }))).toEqual([]);
  });
});

describe('no native code is loaded on the main thread', () => {
  const manifest = { 'package.json': '{"bin": {"reeve": "dist/actors/main.js"}}' };
  rule(nativeOnMainThread, [
    {
      ...manifest,
      'actors/main.ts': "await import('./a.ts');",
      'actors/a.ts': "import { type Database } from 'better-sqlite3';",
    },
  ]);
});

describe('the table of errors and docs/errors.md are equal', () => {
  const check = (tree: Tree): Breaches =>
    tables.tableDiffers(tree, ERROR_PAGE, '## Codes', errorRows);
  rule(check, changesOf(ERROR_PAGE, '## Codes', errorRows), REMEDY);
});

describe('the table of limits and docs/options.md are equal', () => {
  const heading = '## Limits of the runtime';
  const check = (tree: Tree): Breaches =>
    tables.tableDiffers(tree, OPTION_PAGE, heading, limitRows);
  rule(check, changesOf(OPTION_PAGE, heading, limitRows), REMEDY);
});

describe('the options of sqliteStore and fromPool and docs/options.md are equal', () => {
  test.each([
    ['## sqliteStore', sqliteBounds()],
    ['## fromPool', poolBounds()],
  ])('%s', (heading, bounds) => {
    const rows = tables.boundRows(bounds);
    expect(tables.tableDiffers(house, OPTION_PAGE, heading, rows, [0, 1, 2, 3])).toEqual([]);
    for (const bad of changesOf(OPTION_PAGE, heading, rows)) {
      expect(tables.tableDiffers(treeOf(bad), OPTION_PAGE, heading, rows)).not.toEqual([]);
    }
  });
});

describe('names that are stored or matched on only grow', () => {
  const check = (tree: Tree): Breaches => tables.namesDiffer(tree, NAME_LIST, names);
  const gone = [...names, 'error WAS_HERE'];
  const unlisted = names.slice(1);
  rule(
    check,
    [gone, unlisted].map((list) => ({ [NAME_LIST]: list.join('\n') })),
    REMEDY,
  );
});

describe('nothing is put off in the code', () => {
  rule(openPromises, [{ 'src/a.ts': '// TO' + 'DO' }, { 'docs/a.md': 'FIX' + 'ME: later' }]);
});

describe('no file tells who wrote it, where or with what', () => {
  rule(
    wordsOfOrigin,
    ['a ses' + 'sion', 'Agen' + 'ts', 'clau' + 'de', '/work/' + 'main/src'].map((text) => ({
      'docs/a.md': text,
    })),
  );
});

describe('no file holds the address of a registry or of a package', () => {
  rule(downloadAddresses, [
    { 'docs/a.md': 'https://registry.' + 'npmjs.org/' },
    { '.npmrc': 'registry=https://example.org/' },
    { 'package-lock.json': '{ "resol' + 'ved": "https://example.org/a.tgz" }' },
  ]);
});

describe('the lock file has no holes', () => {
  const locked = { 'node_modules/a': { optionalDependencies: { b: '1' } } };
  const lockOf = (packages: object) => ({ 'package-lock.json': JSON.stringify({ packages }) });
  rule(lockHoles, [
    lockOf({ '': { devDependencies: { a: '1' } } }),
    lockOf(locked),
    lockOf({ ...locked, 'node_modules/c/node_modules/b': {} }),
  ]);
  test('a package of its own below counts', () => {
    expect(lockHoles(treeOf(lockOf({ ...locked, 'node_modules/a/node_modules/b': {} })))).toEqual(
      [],
    );
  });
});

describe('the header of a machine draws each of its states', () => {
  const machine =
    'setup({}).createMachine({ states: { idle: {}, "at work": { states: { x: {} } } } });';
  rule(machinePictures, [
    { 'machines/a.ts': machine },
    { 'machines/a.ts': `/** idle -> at work */\n${machine}` },
    { 'machines/a.ts': `/** idle, at work, x */\n${machine}` },
    { 'machines/a.ts': `/** idle-again -> at work -> x */\n${machine}` },
  ]);
  test('a drawn machine keeps it', () => {
    const tree = treeOf({ 'machines/a.ts': `/** idle -> at work (x) */\n${machine}` });
    expect(machinePictures(tree)).toEqual([]);
  });
});

function sqliteBounds(): Record<string, tables.Bounds> {
  const rows = Object.entries(SQLITE_LIMITS);
  return Object.fromEntries(
    rows.map(([name, { standard, min, max }]) => [name, { default: standard, min, max }]),
  );
}

/** Defaults as they are taken, bounds as the refusals tell them. */
function poolBounds(): Record<string, tables.Bounds> {
  const { module, exportName, resourceLimits, ...numbers } = parsePoolOptions('file:///a.js', {});
  expect([module, exportName, resourceLimits]).toEqual(['file:///a.js', 'default', undefined]);
  const bounds = Object.entries(numbers).map(([name, standard]) => {
    let told: string[] = [];
    try {
      parsePoolOptions('file:///a.js', { [name]: -1 });
    } catch (error) {
      told = /from (\d+) to (\d+)/.exec(String(error))?.slice(1) ?? [];
    }
    return [name, { default: standard, min: Number(told[0]), max: Number(told[1]) }] as const;
  });
  return Object.fromEntries(bounds);
}

/** Pages that differ from `rows` in each way: no table, a row less, one more, one changed. */
function changesOf(page: string, heading: string, rows: readonly tables.Row[]) {
  const [first = [], ...rest] = rows;
  const changed = first.map((cell, i) => (i === 1 ? `${cell}.` : cell));
  const empty = `${heading}\n\n${'| a '.repeat(first.length)}|\n${'|---'.repeat(first.length)}|\n`;
  return [
    { [page]: '# Nothing here\n' },
    ...[rest, [...rows, ['`x`']], [changed, ...rest], [...rest, first]].map((bad) => ({
      [page]: tables.withTable(empty, heading, bad),
    })),
  ];
}

/** Writes what the tables say into the pages, and new names at the end of the list. */
function update(): void {
  const edit = (path: string, change: (text: string) => string): void =>
    writeFileSync(ROOT + path, change(readFileSync(ROOT + path, 'utf8')));
  edit(ERROR_PAGE, (text) => tables.withTable(text, '## Codes', errorRows));
  edit(OPTION_PAGE, (text) => tables.withTable(text, '## Limits of the runtime', limitRows));
  edit(NAME_LIST, (text) => {
    const kept = text.split('\n');
    const added = names.filter((name) => !kept.includes(name));
    return text + added.map((name) => `${name}\n`).join('');
  });
}
