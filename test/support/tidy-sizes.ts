/** How long files, functions and lines may be, and what files may be called. */
import ts from 'typescript';
import { eachNode, isCode, lineOf, parse } from './tidy-tree.ts';
import type { Breaches, Tree } from './tidy-tree.ts';

const FILE_LINES_MAX = 400;
const FUNCTION_LINES_MAX = 70;
const COLUMNS_MAX = 100;

/** Names that say nothing, so that everything gathers there. */
const EMPTY_NAMES = /^(?:common|misc|shared|types?|constants?|.*-?\b(?:utils?|helpers?)\b.*)$/;
const KEBAB = /^[a-z0-9]+(?:-[a-z0-9]+)*(?:\.[a-z0-9]+)*$/;

export function fileLengths(tree: Tree): Breaches {
  return eachCode(tree, (path, lines) =>
    lines.length > FILE_LINES_MAX ? [`${path} has ${lines.length} lines`] : [],
  );
}

/** In tests a sentence or a transcript may stand in one line, as the formatter leaves it. */
export function lineLengths(tree: Tree): Breaches {
  return eachCode(tree, (path, lines) =>
    path.startsWith('test/')
      ? []
      : lines
          .map((line, i) => ({ at: `${path}:${i + 1}`, columns: [...line].length }))
          .filter(({ columns }) => columns > COLUMNS_MAX)
          .map(({ at, columns }) => `${at} has ${columns} columns`),
  );
}

/** What holds tests is no step of anything, a `describe` or a suite; each test counts by itself. */
export function functionLengths(tree: Tree): Breaches {
  return eachCode(tree, (path, lines) => {
    const breaches: string[] = [];
    if (!/\.[a-z]*[jt]s$/.test(path)) return breaches;
    eachNode(parse(path, lines.join('\n')), (node) => {
      if (!ts.isFunctionLike(node) || holdsTests(node)) return;
      const first = lineOf(node);
      const last = node.getSourceFile().getLineAndCharacterOfPosition(node.getEnd()).line + 1;
      const length = last - first + 1;
      if (length > FUNCTION_LINES_MAX) breaches.push(`${path}:${first} has ${length} lines`);
    });
    return breaches;
  });
}

function holdsTests(node: ts.SignatureDeclaration): boolean {
  const body = 'body' in node ? node.body : undefined;
  if (body === undefined || !ts.isBlock(body)) return false;
  return body.statements.some(
    (statement) =>
      ts.isExpressionStatement(statement) &&
      ts.isCallExpression(statement.expression) &&
      /^(?:describe|test|it)\b/.test(statement.expression.expression.getText()),
  );
}

/** Names are kebab-case and say what is inside. */
export function fileNames(tree: Tree): Breaches {
  return [...tree.keys()].filter(isCode).flatMap((path) => {
    const parts = path.split('/').map((part) => part.replace(/^\./, ''));
    const stems = parts.map((part) => part.replace(/\..*$/, ''));
    const wrong = [
      ...parts.filter((part) => !KEBAB.test(part)).map((part) => `'${part}' is not kebab-case`),
      ...stems.filter((stem) => EMPTY_NAMES.test(stem)).map((stem) => `'${stem}' says nothing`),
    ];
    return wrong.map((reason) => `${path}: ${reason}`);
  });
}

function eachCode(
  tree: Tree,
  check: (path: string, lines: readonly string[]) => Breaches,
): Breaches {
  return [...tree]
    .filter(([path]) => isCode(path))
    .flatMap(([path, text]) => check(path, text.replace(/\n$/, '').split('\n')));
}
