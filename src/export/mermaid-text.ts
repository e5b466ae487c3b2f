/** Names and labels in a form that Mermaid reads as they are meant. */
import type { AnyStateNode } from 'xstate';

/** Words of Mermaid's language, and names that its renderer trips over. */
const RESERVED: ReadonlySet<string> = new Set([
  'as',
  'class',
  'classdef',
  'click',
  'constructor',
  'default',
  'direction',
  'end',
  'hide',
  'note',
  'root',
  'scale',
  'state',
  'style',
]);

/** Anything but letters, digits and harmless signs becomes a character code. */
export function mermaidText(text: string): string {
  return text
    .replace(/\s+/g, ' ')
    .trim()
    .replace(/[^\p{L}\p{N} _.,()/[\]+*=!?'·|&-]/gu, (sign) => `#${sign.codePointAt(0)};`);
}

/** One identifier per state: its key where that is unique, else its path. */
export class MermaidIds {
  readonly #ids = new Map<AnyStateNode, string>();
  readonly #taken = new Set<string>();

  constructor(root: AnyStateNode) {
    const nodes = [...below(root)];
    const times = new Map<string, number>();
    for (const { key } of nodes) times.set(key, (times.get(key) ?? 0) + 1);
    for (const node of nodes) {
      const path = times.get(node.key) === 1 ? [node.key] : node.path;
      this.#ids.set(node, this.#take(path.join('_')));
    }
  }

  of(node: AnyStateNode): string {
    return this.#ids.get(node) ?? '';
  }

  /** An identifier for a box that is no state of the machine; the same for the same kind. */
  extra(node: AnyStateNode, kind: string): string {
    return `${this.of(node)}__${kind}`;
  }

  #take(name: string): string {
    const word = name.replace(/\W+/g, '_').replace(/^_+|_+$/g, '');
    const base = word === '' || RESERVED.has(word.toLowerCase()) ? `state_${word}` : word;
    let id = base;
    for (let n = 2; this.#taken.has(id); n++) id = `${base}_${n}`;
    this.#taken.add(id);
    return id;
  }
}

function* below(node: AnyStateNode): Generator<AnyStateNode> {
  yield node;
  for (const child of Object.values(node.states)) yield* below(child);
}
