/** What the published entries reach: nothing is dead, and no native code is on the main thread. */
import ts from 'typescript';
import { eachNode, importsOf, isSource, parse, stemOf, type Import } from './tidy-tree.ts';
import type { Breaches, Tree } from './tidy-tree.ts';

/** Packages with native code. A thread that holds one cannot be terminated safely. */
const NATIVE = new Set(['better-sqlite3']);

/** Every published file is an entry of the package, a thread's first file, or imported by one. */
export function deadFiles(tree: Tree): Breaches {
  const entries = entriesOf(tree);
  const reached = new Set<string>();
  for (const entry of entries) follow(tree, entry, reached, () => true);
  for (let before = -1; before < reached.size;) {
    before = reached.size;
    for (const worker of workersOf(tree, reached)) follow(tree, worker, reached, () => true);
  }
  return [
    ...entries.filter((path) => !tree.has(path)).map((path) => `${path} is an entry but no file`),
    ...[...tree.keys()]
      .filter((path) => isSource(path) && !reached.has(path))
      .map((path) => `${path} is reached from no entry of package.json`),
  ];
}

/** The thread of whoever imports the package loads no native code; only Reeve's own threads do. */
export function nativeOnMainThread(tree: Tree): Breaches {
  const reached = new Set<string>();
  const loads = (found: Import): boolean => !found.isType;
  for (const entry of entriesOf(tree)) follow(tree, entry, reached, loads);
  return [...reached].flatMap((path) =>
    importsOf(path, tree.get(path) ?? '')
      .filter((found) => loads(found) && NATIVE.has(found.specifier))
      .map((found) => `${path}:${found.line} loads ${found.specifier} on the main thread`),
  );
}

interface PackageFile {
  readonly exports?: Readonly<Record<string, string | { readonly default?: string }>>;
  readonly bin?: Readonly<Record<string, string>>;
}

/** Sources behind `exports` and `bin`. */
function entriesOf(tree: Tree): readonly string[] {
  const { exports = {}, bin = {} } = JSON.parse(tree.get('package.json') ?? '{}') as PackageFile;
  const files = Object.values(exports).map((to) => (typeof to === 'string' ? to : to.default));
  return [...files, ...Object.values(bin)]
    .map((file) => /^(?:\.\/)?dist\/(.*)\.js$/.exec(file ?? '')?.[1])
    .filter((stem) => stem !== undefined)
    .map((stem) => `${stem}.ts`);
}

function follow(
  tree: Tree,
  path: string,
  reached: Set<string>,
  takes: (found: Import) => boolean,
): void {
  const text = tree.get(path);
  if (text === undefined || reached.has(path)) return;
  reached.add(path);
  for (const found of importsOf(path, text)) {
    if (found.isLocal && takes(found)) follow(tree, found.target, reached, takes);
  }
}

/**
 * First files of threads: `worker.ts` and `x-worker.ts` beside a reached file that names them in a
 * string, as `new URL('./x-worker' + extension, import.meta.url)` does.
 */
function workersOf(tree: Tree, reached: ReadonlySet<string>): readonly string[] {
  const named = new Set<string>();
  for (const path of reached) {
    const folder = path.slice(0, path.lastIndexOf('/') + 1);
    eachNode(parse(path, tree.get(path) ?? ''), (node) => {
      if (!isText(node)) return;
      named.add(folder + node.text.replace(/^\.\//, '').replace(/\.[jt]s$/, ''));
    });
  }
  return [...tree.keys()].filter(
    (path) => /(?:^|-)worker$/.test(stemOf(path)) && named.has(path.replace(/\.ts$/, '')),
  );
}

function isText(node: ts.Node): node is ts.StringLiteralLike | ts.TemplateHead {
  return ts.isStringLiteralLike(node) || ts.isTemplateHead(node);
}
