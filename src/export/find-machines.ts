/** The machines among the exports of a module. */
import type { AnyStateMachine } from 'xstate';

export interface FoundMachine {
  /** Name of the export. */
  readonly name: string;
  readonly machine: AnyStateMachine;
}

/**
 * Every export that is an XState machine, in the order of their names; each machine once. The
 * exports of a CommonJS module are found under its default export.
 */
export function findMachines(module: object): readonly FoundMachine[] {
  const inner: unknown = (module as { default?: unknown }).default;
  const exports = [...Object.entries(module), ...(isPlain(inner) ? Object.entries(inner) : [])];
  const found = new Map<AnyStateMachine, string>();
  for (const [name, value] of exports) {
    if (isMachine(value) && !found.has(value)) found.set(value, name);
  }
  const machines = [...found].map(([machine, name]) => ({ name, machine }));
  return machines.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** By shape, not by class: the module may have a copy of XState of its own. */
export function isMachine(value: unknown): value is AnyStateMachine {
  if (typeof value !== 'object' || value === null) return false;
  const { config, root, provide } = value as Record<string, unknown>;
  return typeof config === 'object' && typeof root === 'object' && typeof provide === 'function';
}

function isPlain(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !isMachine(value);
}
