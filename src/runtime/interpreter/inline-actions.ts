/**
 * Names for the action functions that a machine holds inline.
 *
 * An effect is a row until it is settled, and a row needs a name by which a later process finds the
 * function again. A named action has one. An inline function gets one from its position
 * (`inline:door.open:entry:0`), which is trusted only while the machine's structure is unchanged
 * (see `machine-print.ts`).
 */
import type { AnyStateMachine } from 'xstate';
import {
  inspected,
  isBuiltinAction,
  type ActionFunction,
  type InspectedNode,
} from './internals.ts';

export class ActionNames {
  readonly #byName = new Map<string, ActionFunction>();
  readonly #inline = new Map<ActionFunction, string>();

  constructor(machine: AnyStateMachine) {
    const { idMap, implementations } = inspected(machine);
    for (const name of Object.keys(implementations.actions)) {
      const action = implementations.actions[name];
      if (typeof action === 'function' && !isBuiltinAction(action)) {
        this.#byName.set(name, action as ActionFunction);
      }
    }
    for (const node of idMap.values()) this.#nameInline(node);
  }

  /** True when some action is known by its position only. */
  get positional(): boolean {
    return this.#inline.size > 0;
  }

  /** Positions of the inline functions. */
  get positions(): readonly string[] {
    return [...this.#inline.values()];
  }

  /** The durable name of a resolved action; undefined when no later process could find it. */
  nameOf(type: string, run: ActionFunction): string | undefined {
    if (this.#byName.get(type) === run) return type;
    return this.#inline.get(run);
  }

  find(name: string): ActionFunction | undefined {
    return this.#byName.get(name);
  }

  #nameInline(node: InspectedNode): void {
    this.#nameAll(`inline:${node.id}:entry`, node.entry);
    this.#nameAll(`inline:${node.id}:exit`, node.exit);
    for (const [event, transitions] of node.transitions) {
      transitions.forEach((transition, index) => {
        this.#nameAll(`inline:${node.id}:on:${event}:${index}`, transition.actions);
      });
    }
    node.always?.forEach((transition, index) => {
      this.#nameAll(`inline:${node.id}:always:${index}`, transition.actions);
    });
    if (node.initial) this.#nameAll(`inline:${node.id}:initial`, node.initial.actions);
  }

  #nameAll(where: string, actions: readonly unknown[]): void {
    actions.forEach((action, index) => {
      if (typeof action !== 'function' || isBuiltinAction(action)) return;
      const run = action as ActionFunction;
      if (this.#inline.has(run)) return;
      const name = `${where}:${index}`;
      this.#inline.set(run, name);
      this.#byName.set(name, run);
    });
  }
}
