/** `reeve machine`: shows machines to people and to other tools. */
import type { Command } from 'commander';
import { ReeveError } from '../model/errors.ts';
import type { CliNeeds } from './cli-needs.ts';
import type { FoundMachine } from '../export/find-machines.ts';

type Format = 'json' | 'mermaid' | 'xstate';

interface FromOption {
  readonly from?: string;
}

const FORMATS = 'json, mermaid, xstate';

const EXPORT_HELP = `
Formats:
  mermaid  a state diagram (stateDiagram-v2) for Markdown pages and editors
  xstate   the machine's config as JSON, as Stately's tools import it
  json     every state and transition by id, whatever shorthand the machine was written in

NAME is the machine's id or the name under which the module exports it.

Examples:
  reeve machine export hash-directory --format mermaid
  reeve machine export order --format xstate --from ./my-machines.js > order.json`;

const LIST_HELP = `
Examples:
  reeve machine list
  reeve machine list --from ./my-machines.js`;

/** Adds the command; what it prints goes to `needs.print`. */
export function addMachineCommand(program: Command, needs: CliNeeds): void {
  const machine = program.command('machine').description('show machines');
  machine
    .command('list')
    .description('list the machines of a module')
    .option('--from <module>', "module with machines (default: Reeve's own)")
    .addHelpText('after', LIST_HELP)
    .action(async ({ from }: FromOption) => {
      for (const found of await machinesOf(from, needs)) needs.print(listLine(found));
    });
  machine
    .command('export')
    .argument('<name>', 'id of the machine, or name of its export')
    .description('write one machine in a format other tools read')
    .option('--format <format>', `one of ${FORMATS}`, 'mermaid')
    .option('--from <module>', "module with machines (default: Reeve's own)")
    .addHelpText('after', EXPORT_HELP)
    .action(async (name: string, { format, from }: FromOption & { readonly format: string }) => {
      const asked = formatOf(format);
      const { pickMachine } = await import('./load-machines.ts');
      const { machine: picked } = pickMachine(await machinesOf(from, needs), name, from);
      needs.print(await written(picked, asked));
    });
}

async function machinesOf(
  from: string | undefined,
  { directory, ownMachines: own }: CliNeeds,
): Promise<readonly FoundMachine[]> {
  const { loadMachines } = await import('./load-machines.ts');
  return loadMachines({ from, directory, own });
}

async function written(machine: FoundMachine['machine'], format: Format): Promise<string> {
  if (format === 'mermaid') {
    const { toMermaid } = await import('../export/mermaid.ts');
    return toMermaid(machine).trimEnd();
  }
  if (format === 'xstate') {
    const { toStatelyConfig } = await import('../export/stately-config.ts');
    return JSON.stringify(toStatelyConfig(machine), null, 2);
  }
  const { toDefinition } = await import('../export/machine-definition.ts');
  return JSON.stringify(toDefinition(machine), null, 2);
}

function formatOf(format: string): Format {
  if (format === 'json' || format === 'mermaid' || format === 'xstate') return format;
  throw new ReeveError('USAGE_INVALID', `there is no format '${format}'; give one of ${FORMATS}`);
}

function listLine({ name, machine }: FoundMachine): string {
  const { version } = machine;
  const states = Object.keys(machine.states).length;
  return [
    machine.id,
    ...(version === undefined ? [] : [`version ${version}`]),
    `${states} ${states === 1 ? 'state' : 'states'}`,
    `export ${name}`,
  ].join('  ');
}
