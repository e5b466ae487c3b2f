/**
 * A machine as a Mermaid state diagram (`stateDiagram-v2`).
 *
 * Mermaid cannot draw everything that a state chart can say; what it cannot is drawn so that it
 * still reads right:
 *  - a transition of a state that has states to one of these starts at a box "any of it";
 *  - a transition to a state around its source ends at a box "it, anew";
 *  - transitions that leave no state are lines in their state's box, like `entry` and `exit`.
 */
import type { AnyStateMachine, AnyStateNode } from 'xstate';
import {
  initialOf,
  invokesOf,
  ownActions,
  transitionParts,
  transitionsOf,
  type NodeTransition,
} from './machine-definition.ts';
import { MermaidIds, mermaidText } from './mermaid-text.ts';
import { transitionLabel } from './transition-label.ts';

interface Edge {
  readonly from: string;
  readonly to: string;
  readonly label: string;
}

/** The diagram as text, with a line break at its end. */
export function toMermaid(machine: AnyStateMachine): string {
  return new Diagram(machine).text();
}

class Diagram {
  readonly #machine: AnyStateMachine;
  readonly #ids: MermaidIds;
  /** Boxes and edges that belong inside a state's own block. */
  readonly #boxes = new Map<AnyStateNode, Map<string, string>>();
  readonly #edges = new Map<AnyStateNode, Edge[]>();
  /** Edges between states of different blocks: behind all blocks, so that they move no state. */
  readonly #crossing: Edge[] = [];

  constructor(machine: AnyStateMachine) {
    this.#machine = machine;
    this.#ids = new MermaidIds(machine.root);
    this.#collect(machine.root);
  }

  text(): string {
    const { root, version } = this.#machine;
    const title = [root.id, ...(version === undefined ? [] : [`version ${version}`])].join(', ');
    const framed = root.type !== 'compound' || detailsOf(root).length > 0;
    const lines = framed
      ? [`[*] --> ${this.#ids.of(root)}`, ...this.#state(root)]
      : this.#inside(root);
    const edges = this.#crossing.map(edgeLine);
    const body = [...lines, ...edges].map((line) => `  ${line}\n`).join('');
    return `---\ntitle: ${JSON.stringify(title)}\n---\nstateDiagram-v2\n${body}`;
  }

  #state(node: AnyStateNode): readonly string[] {
    const id = this.#ids.of(node);
    const details = detailsOf(node);
    if (Object.keys(node.states).length === 0) {
      return [nameOf(node), ...details].map((line) => `${id} : ${mermaidText(line)}`);
    }
    const label = mermaidText([nameOf(node), ...details].join(' · '));
    return [`state "${label}" as ${id} {`, ...this.#inside(node).map((line) => `  ${line}`), '}'];
  }

  #inside(node: AnyStateNode): readonly string[] {
    const children = Object.values(node.states);
    const boxes = [...(this.#boxes.get(node) ?? [])].map(([id, label]) => `${id} : ${label}`);
    const edges = (this.#edges.get(node) ?? []).map(edgeLine);
    if (node.type === 'parallel') {
      const regions = children.map((child) => this.#state(child));
      if (boxes.length + edges.length > 0) regions.push([...boxes, ...edges]);
      return regions.flatMap((region, i) => (i === 0 ? region : ['--', ...region]));
    }
    const initial = initialOf(node);
    return [
      ...(initial === undefined ? [] : [`[*] --> ${this.#ids.of(initial)}`]),
      ...children.flatMap((child) => this.#state(child)),
      ...boxes,
      ...edges,
      ...children.filter(isFinal).map((child) => `${this.#ids.of(child)} --> [*]`),
    ];
  }

  #collect(node: AnyStateNode): void {
    for (const transition of transitionsOf(node)) this.#transition(node, transition);
    const fallback = node.type === 'history' ? this.#fallbackOf(node) : undefined;
    if (fallback !== undefined) this.#edge(node, fallback, 'when never entered before');
    for (const child of Object.values(node.states)) this.#collect(child);
  }

  #transition(node: AnyStateNode, transition: NodeTransition): void {
    const label = labelOf(node, transition);
    for (const target of transition.target ?? []) this.#edge(node, target, label);
  }

  #edge(source: AnyStateNode, target: AnyStateNode, label: string): void {
    if (isAround(source, target)) this.#outOfAny(source, target, label);
    else if (isAround(target, source)) this.#anew(source, target, label);
    else this.#add(source.parent, target.parent, this.#ids.of(source), this.#ids.of(target), label);
  }

  /** The source holds the target, or is it and has states of its own. */
  #outOfAny(source: AnyStateNode, target: AnyStateNode, label: string): void {
    if (source === target && Object.keys(source.states).length === 0) {
      this.#add(source.parent, source.parent, this.#ids.of(source), this.#ids.of(source), label);
      return;
    }
    const any = this.#box(source, 'any', source.parent ? `any of ${nameOf(source)}` : 'any state');
    const to = source === target ? this.#again(source) : this.#ids.of(target);
    this.#add(source, source === target ? source : target.parent, any, to, label);
  }

  #anew(source: AnyStateNode, target: AnyStateNode, label: string): void {
    this.#add(source.parent, target, this.#ids.of(source), this.#again(target), label);
  }

  #again(node: AnyStateNode): string {
    return this.#box(node, 'again', `${nameOf(node)}, anew`);
  }

  #box(owner: AnyStateNode, kind: string, label: string): string {
    const boxes = this.#boxes.get(owner) ?? new Map<string, string>();
    this.#boxes.set(owner, boxes);
    const id = this.#ids.extra(owner, kind);
    boxes.set(id, mermaidText(label));
    return id;
  }

  #add(
    fromBlock: AnyStateNode | undefined,
    toBlock: AnyStateNode | undefined,
    from: string,
    to: string,
    label: string,
  ): void {
    const edge = { from, to, label };
    // Regions of a parallel state are blocks of their own.
    if (fromBlock === undefined || fromBlock !== toBlock || fromBlock.type === 'parallel') {
      this.#crossing.push(edge);
      return;
    }
    const edges = this.#edges.get(fromBlock) ?? [];
    this.#edges.set(fromBlock, edges);
    edges.push(edge);
  }

  /** Where a history state leads that has nothing to remember. */
  #fallbackOf(node: AnyStateNode): AnyStateNode | undefined {
    const { target } = node.config as { target?: unknown };
    if (typeof target !== 'string') return undefined;
    if (target.startsWith('#')) return this.#machine.getStateNodeById(target.slice(1));
    return target
      .split('.')
      .reduce<AnyStateNode | undefined>((at, key) => at?.states[key], node.parent);
  }
}

/** Lines of a state's box beside its name. */
function detailsOf(node: AnyStateNode): readonly string[] {
  return [
    ...actionLine('entry', node),
    ...invokesOf(node).map(({ id, src }) =>
      src.startsWith('inline:') ? 'invoke (inline)' : `invoke ${src}${idNote(id, src)}`,
    ),
    ...transitionsOf(node)
      .filter(({ target }) => target === undefined)
      .map((transition) => labelOf(node, transition) + ignoredNote(transition)),
    ...actionLine('exit', node),
  ];
}

function actionLine(when: 'entry' | 'exit', node: AnyStateNode): readonly string[] {
  const actions = ownActions(node, when);
  return actions.length === 0 ? [] : [transitionLabel({ event: when, actions })];
}

/** A transition that does nothing keeps its event from the states above. */
function ignoredNote({ actions }: NodeTransition): string {
  return actions.length === 0 ? ' (ignored)' : '';
}

/** An id that its author gave. */
function idNote(id: string, src: string): string {
  return /^\d+\./.test(id) || id === src ? '' : ` as ${id}`;
}

function labelOf(node: AnyStateNode, transition: NodeTransition): string {
  const { eventType: event, delay } = transition;
  return transitionLabel({ event, delay, ...transitionParts(node, transition), node });
}

function nameOf(node: AnyStateNode): string {
  const { key, type, history } = node;
  // A box without a word would be no line of the diagram.
  const name = key.trim() === '' ? `'${key}'` : key;
  if (type !== 'history') return name;
  return `${name} (history${history === 'deep' ? ', deep' : ''})`;
}

function isFinal({ type }: AnyStateNode): boolean {
  return type === 'final';
}

/** True when `outer` is `inner` or holds it. */
function isAround(outer: AnyStateNode, inner: AnyStateNode): boolean {
  for (let at: AnyStateNode | undefined = inner; at !== undefined; at = at.parent) {
    if (at === outer) return true;
  }
  return false;
}

function edgeLine({ from, to, label }: Edge): string {
  return `${from} --> ${to} : ${mermaidText(label)}`;
}
