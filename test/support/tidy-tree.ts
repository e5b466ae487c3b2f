/**
 * A tree of text files, as the rules of `test/tidy.test.ts` see it. Each rule takes a tree and
 * returns what breaks it, one line each, so that it can be tried on a tree made up for it.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path/posix';
import ts from 'typescript';

/** Text by path from the root. */
export type Tree = ReadonlyMap<string, string>;

/** Paths and lines of what breaks a rule; empty when the tree keeps it. */
export type Breaches = readonly string[];

/** What is published: the three rooms that become dist. */
export const ROOMS = ['src', 'machines', 'actors'] as const;

export function treeOf(files: Readonly<Record<string, string>>): Tree {
  return new Map(Object.entries(files));
}

/** Every text file below `root` that `.gitignore` does not name. */
export function readTree(root: string): Tree {
  const ignored = readFileSync(join(root, '.gitignore'), 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map(patternOf);
  const tree = new Map<string, string>();
  const walk = (folder: string): void => {
    for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
      const path = join(folder, entry.name);
      if (entry.name === '.git' || ignored.some((pattern) => pattern.test(entry.name))) continue;
      if (entry.isDirectory()) walk(path);
      else if (entry.isFile()) addText(tree, path, readFileSync(join(root, path), 'utf8'));
    }
  };
  walk('');
  return tree;
}

function patternOf(line: string): RegExp {
  const name = line.replace(/\/$/, '').replaceAll('.', '\\.').replaceAll('*', '.*');
  return new RegExp(`^${name}$`);
}

function addText(tree: Map<string, string>, path: string, text: string): void {
  if (!text.includes('\0')) tree.set(path, text);
}

/** True for a TypeScript file that is published. */
export function isSource(path: string): boolean {
  return path.endsWith('.ts') && ROOMS.some((room) => path.startsWith(`${room}/`));
}

/** True for a file somebody wrote to be run: sources, tests, scripts. */
export function isCode(path: string): boolean {
  return /\.(?:ts|js|mjs|cjs|sh)$/.test(path) || path === '.ci/run';
}

const parsedFiles = new Map<string, ts.SourceFile>();

/** The syntax tree of a file; the same one for the same text. */
export function parse(path: string, text: string): ts.SourceFile {
  const known = parsedFiles.get(path);
  if (known?.text === text) return known;
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.ES2023, true);
  parsedFiles.set(path, file);
  return file;
}

/** Calls `visit` for every node of a file. */
export function eachNode(file: ts.SourceFile, visit: (node: ts.Node) => void): void {
  const walk = (node: ts.Node): void => {
    visit(node);
    ts.forEachChild(node, walk);
  };
  walk(file);
}

/** Line of a node, from 1. */
export function lineOf(node: ts.Node): number {
  const file = node.getSourceFile();
  return file.getLineAndCharacterOfPosition(node.getStart(file)).line + 1;
}

export interface Import {
  readonly line: number;
  readonly specifier: string;
  /** Path in the tree for a relative specifier, as written; the specifier of a package. */
  readonly target: string;
  readonly isLocal: boolean;
  /** Erased when compiled; an `import { type T }` is not, it still loads the module. */
  readonly isType: boolean;
}

/** Every import and re-export of a file: static, dynamic, of values and of types. */
export function importsOf(path: string, text: string): readonly Import[] {
  const imports: Import[] = [];
  const add = (node: ts.Node, specifier: ts.Node | undefined, isType: boolean): void => {
    if (specifier === undefined || !ts.isStringLiteralLike(specifier)) return;
    const isLocal = specifier.text.startsWith('.');
    const target = isLocal ? join(dirname(path), specifier.text) : specifier.text;
    imports.push({ line: lineOf(node), specifier: specifier.text, target, isLocal, isType });
  };
  eachNode(parse(path, text), (node) => {
    if (ts.isImportDeclaration(node)) {
      add(
        node,
        node.moduleSpecifier,
        node.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword,
      );
    } else if (ts.isExportDeclaration(node)) {
      add(node, node.moduleSpecifier, node.isTypeOnly);
    } else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
      add(node, node.arguments[0], false);
    } else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) {
      add(node, node.argument.literal, true);
    }
  });
  return imports;
}

/** Name of a file without folder and extension. */
export function stemOf(path: string): string {
  return basename(path).replace(/\.[^.]+$/, '');
}
