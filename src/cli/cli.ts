/**
 * The command line. Loads nothing that a command does not need: `--help` starts no thread and loads
 * no machine; what the commands act on is given from outside.
 */
import { Command, CommanderError } from 'commander';
import { ReeveError, toErrorData } from '../model/errors.ts';
import type { CliNeeds } from './cli-needs.ts';
import { addDemoCommand } from './demo-command.ts';
import { CLI_EXIT_CODES, exitCodeOf } from './exit-codes.ts';
import { addMachineCommand } from './machine-command.ts';

const HELP = `
Exit codes: 0 done, 1 failed, 2 wrong usage; docs/errors.md has those of a runtime.

Examples:
  reeve demo
  reeve machine list
  reeve machine export hash-directory --format mermaid`;

/**
 * Runs one command line, without the two words before it, and resolves with the exit code. Errors
 * are told in one line and never thrown, unless they are defects.
 */
export async function runCli(args: readonly string[], needs: CliNeeds): Promise<number> {
  let code: number = CLI_EXIT_CODES.done;
  const program = cli(needs, (given) => {
    code = given;
  });
  try {
    await program.parseAsync(args, { from: 'user' });
    return code;
  } catch (error) {
    return failed(error, needs);
  }
}

function cli(needs: CliNeeds, exit: (code: number) => void): Command {
  const program = new Command('reeve')
    .description('Durable XState actors: long procedures that are never lost or doubled')
    .version(needs.version)
    .addHelpText('after', HELP)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => {
        needs.print(text.trimEnd());
      },
      // Commander's own words become the message of an error with a code.
      writeErr: () => undefined,
    });
  addDemoCommand(program, needs, exit);
  addMachineCommand(program, needs);
  return program;
}

function failed(error: unknown, needs: CliNeeds): number {
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return CLI_EXIT_CODES.done;
    const usage = new ReeveError('USAGE_INVALID', usageOf(error));
    needs.warn(`reeve: ${usage.message}`);
    return CLI_EXIT_CODES.usage;
  }
  if (toErrorData(error).code === undefined) throw error;
  needs.warn(`reeve: ${toErrorData(error).message}`);
  return exitCodeOf(error);
}

function usageOf({ code, message }: CommanderError): string {
  // A command without its subcommand shows its help, which goes to standard error.
  if (code === 'commander.help') return 'a command is missing; see --help';
  return message.replace(/^error: /, '').replaceAll('\n', ' ');
}
