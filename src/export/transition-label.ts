/** One transition in words: `EVENT [guard] / action, action`. */
import type { AnyStateNode } from 'xstate';
import type { NamedPart } from './part-names.ts';

export interface LabelParts {
  /** XState's type of the event; empty for `always`. */
  readonly event: string;
  readonly delay?: number | string | undefined;
  readonly guard?: NamedPart;
  readonly actions: readonly NamedPart[];
  readonly node?: AnyStateNode;
}

export function transitionLabel({ event, delay, guard, actions, node }: LabelParts): string {
  const condition = guard === undefined ? '' : ` [${guardWords(guard)}]`;
  const acts = actions.length === 0 ? '' : ` / ${actions.map(actionWords).join(', ')}`;
  return `${eventWords(event, delay, node)}${condition}${acts}`;
}

function eventWords(
  event: string,
  delay: number | string | undefined,
  node: AnyStateNode | undefined,
): string {
  if (delay !== undefined)
    return typeof delay === 'number' ? `after ${delay} ms` : `after ${delay}`;
  if (event === '') return 'always';
  if (event === '*') return 'any other event';
  const [, what, of] = /^xstate\.(done|error|snapshot)\.(?:actor|state)?\.?(.*)$/.exec(event) ?? [];
  if (what === undefined) return event;
  const isOwn = of === node?.id || /^\d+\./.test(of ?? '');
  return isOwn ? what : `${what} (${of})`;
}

function guardWords({ type, params }: NamedPart): string {
  const inner = (params as { guards?: readonly NamedPart[] } | undefined)?.guards;
  if (inner !== undefined) return `${type}(${inner.map(guardWords).join(', ')})`;
  return type.startsWith('inline:') ? 'inline' : type;
}

/** XState's own actions by their short names, with the event they send. */
function actionWords({ type, params }: NamedPart): string {
  if (type.startsWith('inline:')) return 'inline';
  if (!type.startsWith('xstate.')) return type;
  const event = (params as { event?: { type?: unknown } } | undefined)?.event?.type;
  const name = type.slice('xstate.'.length);
  return typeof event === 'string' ? `${name} ${event}` : name;
}
