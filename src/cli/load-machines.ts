/** The machines that a command is about: of a module the user names, or of Reeve itself. */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { findMachines, type FoundMachine } from '../export/find-machines.ts';
import { ReeveError, toErrorData } from '../model/errors.ts';

export interface MachineSource {
  /** Path or `file:` URL of a module; absent: Reeve's own machines. */
  readonly from: string | undefined;
  /** Relative paths start here. */
  readonly directory: string;
  /** Loads Reeve's own machines. */
  readonly own: () => Promise<object>;
}

/** Throws MODULE_INVALID. */
export async function loadMachines(source: MachineSource): Promise<readonly FoundMachine[]> {
  if (source.from === undefined) return findMachines(await source.own());
  const machines = findMachines(await load(source.from, source.directory));
  if (machines.length > 0) return machines;
  throw invalid(source.from, 'the module exports no XState machine');
}

/** The machine with this id, or else under this export name. Throws MACHINE_UNKNOWN. */
export function pickMachine(
  machines: readonly FoundMachine[],
  name: string,
  from: string | undefined,
): FoundMachine {
  const byId = machines.filter(({ machine }) => machine.id === name);
  const picked = byId.length === 1 ? byId[0] : machines.find((found) => found.name === name);
  if (picked !== undefined) return picked;
  const where = from ?? 'Reeve';
  const several = byId.map((found) => found.name);
  const known = machines.map(({ machine }) => machine.id);
  throw new ReeveError(
    'MACHINE_UNKNOWN',
    several.length > 1
      ? `${where} has several machines '${name}': give the name of an export: ${several.join(', ')}`
      : `${where} has no machine '${name}'; it has: ${known.join(', ')}`,
    { machine: name, known: several.length > 1 ? several : known },
  );
}

async function load(from: string, directory: string): Promise<object> {
  const path = from.startsWith('file:') ? fileURLToPath(from) : resolve(directory, from);
  if (!existsSync(path)) throw invalid(from, `there is no file ${path}`);
  try {
    return (await import(pathToFileURL(path).href)) as object;
  } catch (cause) {
    throw invalid(from, `it cannot be loaded: ${reason(cause)}`, cause);
  }
}

function reason(cause: unknown): string {
  // Node's own code; this Node runs no TypeScript by itself.
  if ((cause as { code?: unknown } | null)?.code === 'ERR_UNKNOWN_FILE_EXTENSION') {
    return 'this Node runs no such files; give a built .js, or start it with --import tsx';
  }
  return toErrorData(cause).message.split('\n')[0] ?? '';
}

function invalid(from: string, what: string, cause?: unknown): ReeveError {
  return new ReeveError('MODULE_INVALID', `${from}: ${what}`, { from }, cause);
}
