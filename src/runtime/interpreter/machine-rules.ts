/**
 * What a machine must be like to become durable, checked when it is registered.
 *
 * A machine copied from XState's documentation runs as it is: parts without a name (inline actions,
 * inline or unnamed invokes) are known by their position, and the fingerprint guards positions
 * against a changed machine. With `strict: true` positions are refused.
 */
import type { AnyActorLogic, AnyStateMachine } from 'xstate';
import { ReeveError } from '../../model/errors.ts';
import { ActionNames } from './inline-actions.ts';
import { inspected, type InspectedNode } from './internals.ts';
import type { RegistryOptions } from './registry-options.ts';

export interface RuleFindings {
  readonly positionalInvokes: boolean;
}

/** The machine's version: `config.version` as an integer; 1 when it has none. */
export function versionOf(machine: AnyStateMachine, key: string): number {
  const given: unknown = machine.version;
  if (given === undefined) return 1;
  const version = typeof given === 'string' && /^\d{1,9}$/.test(given) ? Number(given) : given;
  if (!Number.isSafeInteger(version) || (version as number) < 1) {
    throw new ReeveError(
      'MACHINE_INVALID',
      `machine '${key}' has version '${String(given)}'; a version is a whole number from 1`,
      { machine: key, version: String(given) },
    );
  }
  return version as number;
}

/** Throws MACHINE_INVALID, ACTOR_UNKNOWN or TABLE_UNKNOWN, naming machine and state. */
export function checkMachine(
  machine: AnyStateMachine,
  key: string,
  sources: ReadonlyMap<string, AnyActorLogic>,
  options: RegistryOptions,
): RuleFindings {
  // eslint-disable-next-line no-control-regex -- control characters are what it looks for
  if (!/^[^\u0000-\u001f\u007f]{1,200}$/u.test(key)) {
    const rule = 'a machine id has 1 to 200 characters, none of them control';
    throw new ReeveError('MACHINE_INVALID', rule, { key });
  }
  let positionalInvokes = false;
  for (const node of inspected(machine).idMap.values()) {
    positionalInvokes = checkInvokes(node, key, sources, options.strict) || positionalInvokes;
    checkTables(node, key, options);
  }
  if (options.strict) checkStrict(machine, key);
  return { positionalInvokes };
}

function checkInvokes(
  node: InspectedNode,
  key: string,
  sources: ReadonlyMap<string, AnyActorLogic>,
  strict: boolean,
): boolean {
  const configs = [node.config.invoke ?? []].flat() as { id?: string; src: unknown }[];
  let positional = false;
  node.invoke.forEach((invoke, index) => {
    if (!sources.has(invoke.src)) {
      throw new ReeveError(
        'ACTOR_UNKNOWN',
        `machine '${key}' invokes '${invoke.src}' in ${node.id}, which nobody provides; ` +
          'declare it in setup({ actors }) or bind it in createRuntime({ actors })',
        { machine: key, state: node.id, src: invoke.src },
      );
    }
    const unnamed = configs[index]?.id === undefined || typeof configs[index]?.src !== 'string';
    if (unnamed && strict) {
      refuse(key, `the invoke of '${invoke.src}' in ${node.id} needs an id and a string src`);
    }
    positional ||= unnamed;
  });
  return positional;
}

function checkStrict(machine: AnyStateMachine, key: string): void {
  const [first] = new ActionNames(machine).positions;
  if (first !== undefined) refuse(key, `the action at ${first} needs a name`);
  if ((machine.version as unknown) === undefined) refuse(key, 'it needs a version');
  if (machine.config.id === undefined) refuse(key, 'it needs an id');
}

/** Table actions named in the machine must exist; a misspelt one must not be silent. */
function checkTables(node: InspectedNode, key: string, options: RegistryOptions): void {
  const actions = [...node.entry, ...node.exit];
  for (const transitions of node.transitions.values()) {
    for (const transition of transitions) actions.push(...transition.actions);
  }
  for (const transition of node.always ?? []) actions.push(...transition.actions);
  for (const action of actions) {
    const type = typeof action === 'string' ? action : (action as { type?: unknown }).type;
    if (typeof type !== 'string' || !type.startsWith('table.')) continue;
    const [, table = '', name = ''] = type.split('.');
    if (options.tables.get(table)?.has(name)) continue;
    throw new ReeveError(
      'TABLE_UNKNOWN',
      `machine '${key}' uses '${type}' in ${node.id}; no such table action was given`,
      { machine: key, state: node.id, action: type },
    );
  }
}

function refuse(key: string, why: string): never {
  throw new ReeveError('MACHINE_INVALID', `machine '${key}': ${why}`, { machine: key });
}
