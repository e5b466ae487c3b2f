/** Who may import whom: `docs/architecture.md` says why. Types count as much as values. */
import ts from 'typescript';
import { eachNode, importsOf, isSource, lineOf, parse, type Import } from './tidy-tree.ts';
import type { Breaches, Tree } from './tidy-tree.ts';

/** What the files of a place may import of the published rooms; the longest place wins. */
const MAY: Readonly<Record<string, { any: readonly string[]; types?: readonly string[] }>> = {
  'src/world': { any: ['src/world', 'src/model'] },
  'src/model': { any: ['src/model'], types: ['src/world/clock.ts'] },
  'src/codec': { any: ['src/codec', 'src/model'] },
  'src/store': { any: ['src/store', 'src/codec', 'src/model', 'src/world'] },
  'src/threads': { any: ['src/threads', 'src/model', 'src/world'] },
  'src/runtime': {
    any: ['src/runtime', 'src/codec', 'src/model', 'src/world'],
    types: ['src/store/port.ts'],
  },
  'src/export': { any: ['src/export', 'src/model'] },
  'src/cli': {
    any: ['src/cli', 'src/export', 'src/runtime', 'src/codec', 'src/model', 'src/world'],
  },
  'src/testing': {
    any: [
      ...['src/testing', 'src/runtime', 'src/store', 'src/threads', 'src/codec', 'src/model'],
      'src/world',
    ],
  },
  'src/index.ts': {
    any: ['src/runtime', 'src/store', 'src/threads', 'src/export', 'src/model', 'src/world'],
  },
  machines: { any: ['machines', 'src/model'] },
  actors: { any: ['actors', 'machines', 'src'] },
};

/** Packages that only some places know; a package that is not listed is free. */
const KNOWN_ONLY_TO: Readonly<Record<string, readonly string[]>> = {
  piscina: ['src/threads'],
  comlink: ['src/threads'],
  'node:worker_threads': ['src/threads', 'src/store'],
  'better-sqlite3': ['src/store'],
};

/** Each import goes to a place that the importer may know. */
export function importDirections(tree: Tree): Breaches {
  return eachImport(tree, (path, found) => {
    if (!found.isLocal) return mayUsePackage(path, found.specifier);
    if (!isSource(found.target)) return `leaves the published rooms`;
    if (!tree.has(found.target)) return `is no file`;
    const place = longestPlace(path);
    const may = place === undefined ? undefined : MAY[place];
    if (may === undefined) return `is imported by a place that has no rule`;
    if (may.any.some((room) => isIn(found.target, room))) return undefined;
    if (!may.types?.includes(found.target)) return `is not for ${place}`;
    return found.isType ? undefined : `is for ${place} by \`import type\` only`;
  });
}

function mayUsePackage(path: string, specifier: string): string | undefined {
  if (isIn(path, 'machines') && specifier !== 'xstate') return 'machines know only xstate';
  const name = Object.keys(KNOWN_ONLY_TO).find((known) => isIn(specifier, known));
  const places = name === undefined ? undefined : KNOWN_ONLY_TO[name];
  if (places === undefined || places.some((place) => isIn(path, place))) return undefined;
  return `is for ${places.join(' and ')} only`;
}

/** No file imports itself by any road. */
export function importCycles(tree: Tree): Breaches {
  const state = new Map<string, 'open' | 'done'>();
  const road: string[] = [];
  const breaches: string[] = [];
  const visit = (path: string): void => {
    const text = tree.get(path);
    if (text === undefined || state.get(path) === 'done') return;
    if (state.get(path) === 'open') {
      breaches.push([...road.slice(road.indexOf(path)), path].join(' -> '));
      return;
    }
    state.set(path, 'open');
    road.push(path);
    for (const found of importsOf(path, text)) if (found.isLocal) visit(found.target);
    road.pop();
    state.set(path, 'done');
  };
  for (const path of tree.keys()) if (isSource(path)) visit(path);
  return breaches;
}

/** Members that begin with one underscore are XState's own; only `src/runtime` touches them. */
export function foreignInternals(tree: Tree): Breaches {
  const breaches: string[] = [];
  for (const [path, text] of tree) {
    if (!isSource(path) || isIn(path, 'src/runtime')) continue;
    eachNode(parse(path, text), (node) => {
      const name = memberName(node);
      if (name !== undefined && /^_[a-zA-Z]/.test(name)) {
        breaches.push(`${path}:${lineOf(node)} touches .${name}`);
      }
    });
  }
  return breaches;
}

function memberName(node: ts.Node): string | undefined {
  if (ts.isPropertyAccessExpression(node)) return node.name.text;
  if (ts.isElementAccessExpression(node) && ts.isStringLiteralLike(node.argumentExpression)) {
    return node.argumentExpression.text;
  }
  if (ts.isBindingElement(node) && ts.isObjectBindingPattern(node.parent)) {
    const key = node.propertyName ?? (node.dotDotDotToken ? undefined : node.name);
    return key !== undefined && ts.isIdentifier(key) ? key.text : undefined;
  }
  return undefined;
}

function eachImport(
  tree: Tree,
  check: (path: string, found: Import) => string | undefined,
): Breaches {
  const breaches: string[] = [];
  for (const [path, text] of tree) {
    if (!isSource(path)) continue;
    for (const found of importsOf(path, text)) {
      const wrong = check(path, found);
      if (wrong !== undefined) breaches.push(`${path}:${found.line} '${found.specifier}' ${wrong}`);
    }
  }
  return breaches;
}

function longestPlace(path: string): string | undefined {
  return Object.keys(MAY)
    .filter((place) => isIn(path, place))
    .sort((a, b) => b.length - a.length)[0];
}

function isIn(path: string, place: string): boolean {
  return path === place || path.startsWith(`${place}/`);
}
