/**
 * A machine's own config as JSON, for tools that import machines: `createMachine(config)` gives the
 * same states and transitions.
 *
 * Actions and guards that are functions become `{ type: name }`. What is computed where JSON would
 * be taken for the value (`context`, `input`, `output`, `params`) is left out.
 */
import type { AnyStateMachine, AnyStateNode } from 'xstate';
import { sourceName } from './machine-definition.ts';
import { literal, namedAction, namedGuard } from './part-names.ts';

type Config = Readonly<Record<string, unknown>>;

/** Keys that are for the compiler. */
const TYPE_ONLY: ReadonlySet<string> = new Set(['types', 'tsTypes']);

/** Parts of a state that hold transitions outside `on` and `after`, by the event's place. */
const TRANSITION_KEYS: ReadonlySet<string> = new Set(['onDone', 'onError', 'onSnapshot', 'always']);

export function toStatelyConfig(machine: AnyStateMachine): Readonly<Record<string, unknown>> {
  return stateConfig(machine.root);
}

function stateConfig(node: AnyStateNode): Record<string, unknown> {
  const config = node.config as unknown as Config;
  const parts = Object.keys(config)
    .filter((key) => !TYPE_ONLY.has(key))
    .map((key) => [key, statePart(node, key, config[key])] as const);
  return Object.fromEntries(parts.filter(([, part]) => part !== undefined));
}

function statePart(node: AnyStateNode, key: string, value: unknown): unknown {
  const place = `inline:${node.id}:${key}`;
  switch (key) {
    case 'states':
      return Object.fromEntries(
        Object.entries(node.states).map(([name, child]) => [name, stateConfig(child)]),
      );
    case 'entry':
    case 'exit':
      return each(value, (action, i) => actionConfig(action, `${place}:${i}`));
    case 'on':
    case 'after':
      return Object.fromEntries(
        Object.entries((value ?? {}) as Config).map(([event, transitions]) => [
          event,
          transitionsConfig(transitions, `${place}:${event}`),
        ]),
      );
    case 'invoke':
      return each(value, (invoke, i) => invokeConfig(node, invoke as Config, i));
    case 'initial':
      return typeof value === 'object' ? transitionConfig(value, `${place}:0`) : value;
    default:
      return TRANSITION_KEYS.has(key) ? transitionsConfig(value, place) : literal(value);
  }
}

function invokeConfig(node: AnyStateNode, invoke: Config, index: number): Config {
  const parts = Object.entries(invoke).map(([key, value]) => {
    if (key === 'src') return [key, sourceName(node, index)] as const;
    if (!TRANSITION_KEYS.has(key)) return [key, literal(value)] as const;
    return [key, transitionsConfig(value, `inline:${node.id}:invoke:${index}:${key}`)] as const;
  });
  return Object.fromEntries(parts.filter(([, part]) => part !== undefined));
}

function transitionsConfig(value: unknown, place: string): unknown {
  // A forbidden event (`EVENT: undefined`) keeps it from the states above, as an empty one does.
  if (value === undefined) return {};
  return each(value, (transition, i) => transitionConfig(transition, `${place}:${i}`));
}

function transitionConfig(transition: unknown, place: string): unknown {
  if (typeof transition === 'string') return transition;
  const parts = Object.entries((transition ?? {}) as Config).map(([key, value]) => {
    if (key === 'guard' && value !== undefined) return [key, guardConfig(value, `${place}:guard`)];
    if (key !== 'actions') return [key, literal(value)];
    return [key, each(value, (action, i) => actionConfig(action, `${place}:${i}`))];
  });
  return Object.fromEntries(parts.filter(([, part]) => part !== undefined));
}

function actionConfig(action: unknown, place: string): unknown {
  return typeof action === 'string' ? action : namedAction(action, place);
}

function guardConfig(guard: unknown, place: string): unknown {
  return typeof guard === 'string' ? guard : namedGuard(guard, place);
}

/** One thing or a list of things, and given back in the same form. */
function each(value: unknown, change: (one: unknown, index: number) => unknown): unknown {
  if (value === undefined) return undefined;
  return Array.isArray(value) ? value.map(change) : change(value, 0);
}
