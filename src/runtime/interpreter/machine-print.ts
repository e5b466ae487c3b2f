/**
 * A fingerprint of a machine's structure: states, transitions, names of actions, guards and actors.
 *
 * It does not see the code of functions. It is compared where the runtime has to rely on positions
 * (inline actions, invokes without an id): a machine that changed under the same version must not
 * be trusted to mean the same thing by "the second entry action".
 */
import { createHash } from 'node:crypto';
import type { AnyStateMachine } from 'xstate';

export function machinePrint(machine: AnyStateMachine): string {
  const text = JSON.stringify(machine.definition, (_key, value: unknown) =>
    typeof value === 'function' ? nameOfFunction(value as { type?: unknown; name: string }) : value,
  );
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

function nameOfFunction(value: { type?: unknown; name: string }): string {
  return typeof value.type === 'string' ? value.type : value.name;
}
