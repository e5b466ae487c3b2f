/**
 * A machine as XState understood it: every state with its id, every transition with its source and
 * its targets by id, whatever shorthand it was written in. For programs that read machines.
 */
import type { AnyStateMachine, AnyStateNode } from 'xstate';
import { isMachine } from './find-machines.ts';
import { literal, namedAction, namedGuard, type NamedPart } from './part-names.ts';

export interface MachineDefinition extends StateDefinition {
  readonly version?: string;
}

export interface StateDefinition {
  readonly id: string;
  readonly key: string;
  readonly type: 'atomic' | 'compound' | 'parallel' | 'final' | 'history';
  /** `history` states only. */
  readonly history?: 'shallow' | 'deep';
  /** Id of the state that is entered first. */
  readonly initial?: string;
  readonly description?: string;
  readonly tags?: readonly string[];
  readonly meta?: unknown;
  readonly entry?: readonly NamedPart[];
  readonly exit?: readonly NamedPart[];
  readonly invoke?: readonly InvokeDefinition[];
  readonly transitions?: readonly TransitionDefinition[];
  /** The output of a final state, when it is a value and not computed. */
  readonly output?: unknown;
  readonly states?: Readonly<Record<string, StateDefinition>>;
}

export interface InvokeDefinition {
  readonly id: string;
  readonly src: string;
  readonly systemId?: string;
}

export interface TransitionDefinition {
  /** Type of the event; empty for a transition that is taken by itself (`always`). */
  readonly event: string;
  /** Delay of an `after` in ms, or its name. */
  readonly delay?: number | string;
  readonly guard?: NamedPart;
  readonly actions?: readonly NamedPart[];
  /** Ids of states; absent when no state is left. */
  readonly target?: readonly string[];
  readonly reenter?: true;
  readonly description?: string;
}

/** XState's transitions have more than its public types show. */
export interface NodeTransition {
  readonly eventType: string;
  readonly delay?: number | string;
  readonly guard?: unknown;
  readonly actions: readonly unknown[];
  readonly target?: readonly AnyStateNode[] | undefined;
  readonly reenter?: boolean;
  readonly description?: string;
}

export function toDefinition(machine: AnyStateMachine): MachineDefinition {
  const { version } = machine;
  const root = stateDefinition(machine.root);
  return version === undefined ? root : { ...root, version };
}

function stateDefinition(node: AnyStateNode): StateDefinition {
  const { id, key, type, description, tags, output } = node;
  const states = Object.entries(node.states).map(
    ([name, child]) => [name, stateDefinition(child)] as const,
  );
  return present({
    id,
    key,
    type,
    history: node.history === false ? undefined : node.history,
    initial: type === 'compound' ? initialOf(node)?.id : undefined,
    description,
    tags: filled(tags),
    meta: literal(node.meta),
    entry: filled(ownActions(node, 'entry')),
    exit: filled(ownActions(node, 'exit')),
    invoke: filled(invokesOf(node)),
    transitions: filled(
      transitionsOf(node).map((transition) => transitionDefinition(node, transition)),
    ),
    output: literal(output),
    states: states.length === 0 ? undefined : Object.fromEntries(states),
  });
}

/** What the machine's author wrote, without the actions by which XState runs an `after`. */
export function ownActions(node: AnyStateNode, when: 'entry' | 'exit'): readonly NamedPart[] {
  return [node.config[when] ?? []]
    .flat()
    .map((action, i) => namedAction(action, `inline:${node.id}:${when}:${i}`));
}

export function invokesOf(node: AnyStateNode): readonly InvokeDefinition[] {
  return node.invoke.map(({ id, systemId }, i) =>
    present({ id, src: sourceName(node, i), systemId }),
  );
}

/** What an invoke runs, by name: that of the machine, or a place, where logic stands inline. */
export function sourceName(node: AnyStateNode, index: number): string {
  const { src } = [node.config.invoke ?? []].flat()[index] as { src?: unknown };
  if (typeof src === 'string') return src;
  return isMachine(src) ? src.id : `inline:${node.id}:invoke:${index}`;
}

export function initialOf(node: AnyStateNode): AnyStateNode | undefined {
  return (node.initial as unknown as NodeTransition).target?.[0];
}

/** All transitions of a state, `always` last, those of the states above and below not included. */
export function transitionsOf(node: AnyStateNode): readonly NodeTransition[] {
  const listed = [...node.transitions.values()].flat() as unknown as NodeTransition[];
  return [...listed, ...((node.always ?? []) as unknown as NodeTransition[])];
}

export function transitionParts(
  node: AnyStateNode,
  transition: NodeTransition,
): { readonly guard?: NamedPart; readonly actions: readonly NamedPart[] } {
  const { eventType, guard, actions } = transition;
  const place = `inline:${node.id}:${eventType === '' ? 'always' : `on:${eventType}`}`;
  const index = transitionsOf(node)
    .filter((other) => other.eventType === eventType)
    .indexOf(transition);
  return present({
    guard: guard === undefined ? undefined : namedGuard(guard, `${place}:${index}:guard`),
    actions: actions.map((action, i) => namedAction(action, `${place}:${index}:${i}`)),
  });
}

function transitionDefinition(
  node: AnyStateNode,
  transition: NodeTransition,
): TransitionDefinition {
  const { eventType, delay, target, reenter, description } = transition;
  const { guard, actions } = transitionParts(node, transition);
  return present({
    event: eventType,
    delay,
    guard,
    actions: filled(actions),
    target: target?.map(({ id }) => id),
    reenter: reenter ? (true as const) : undefined,
    description,
  });
}

function filled<T>(list: readonly T[]): readonly T[] | undefined {
  return list.length === 0 ? undefined : list;
}

type Present<T> = { [Key in keyof T]: Exclude<T[Key], undefined> };

/** Without the properties that are undefined. */
function present<T extends object>(parts: T): Present<T> {
  const entries = Object.entries(parts).filter(([, part]) => part !== undefined);
  return Object.fromEntries(entries) as Present<T>;
}
