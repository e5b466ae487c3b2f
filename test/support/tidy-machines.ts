/** A machine's file begins with its picture. */
import ts from 'typescript';
import { eachNode, parse } from './tidy-tree.ts';
import type { Breaches, Tree } from './tidy-tree.ts';

const ARROW = /-+>|─+>|→|▶/;

/** The header of each file in `machines/` draws its states, each by its name. */
export function machinePictures(tree: Tree): Breaches {
  return [...tree].flatMap(([path, text]) => {
    if (!/^machines\/.*\.ts$/.test(path)) return [];
    const header = /^\/\*\*[\s\S]*?\*\//.exec(text)?.[0];
    if (header === undefined) return [`${path} does not begin with a comment`];
    const states = statesOf(parse(path, text));
    const missing = states.filter((name) => !holdsWord(header, name));
    return [
      ...(states.length > 0 && !ARROW.test(header) ? [`${path} has no arrow in its header`] : []),
      ...missing.map((name) => `${path} does not draw its state '${name}'`),
    ];
  });
}

/** Keys of every `states: { ... }` in a file. */
function statesOf(file: ts.SourceFile): readonly string[] {
  const names = new Set<string>();
  eachNode(file, (node) => {
    if (!ts.isPropertyAssignment(node) || node.name.getText() !== 'states') return;
    if (!ts.isObjectLiteralExpression(node.initializer)) return;
    for (const { name } of node.initializer.properties) {
      if (name !== undefined && 'text' in name) names.add(name.text);
    }
  });
  return [...names];
}

function holdsWord(text: string, word: string): boolean {
  const letters = word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  return new RegExp(`(?<![\\w-])${letters}(?![\\w-])`).test(text);
}
