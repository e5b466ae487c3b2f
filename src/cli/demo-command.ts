/** `reeve demo`: reads its options; the demo itself is given from outside. */
import type { Command } from 'commander';
import { ReeveError } from '../model/errors.ts';
import type { CliNeeds, DemoOptions } from './cli-needs.ts';

const FILES = { standard: 480, min: 60, max: 10_000 };
const BYTES = { standard: 131_072, min: 1, max: 16_777_216 };

const HELP = `
It makes files, starts a process that hashes them batch by batch, kills that process with SIGKILL
in the middle of a batch and starts it again. Then it compares the result with a pass of its own
over the files, and reads the history for batches that are missing or were applied twice.

Files are kept in DIR and used again by the next run with the same numbers. The store in DIR keeps
the history of all runs; each run is a procedure of its own.

Exit codes: 0 all is right, 1 it is not or could not be run, 2 wrong usage.

Examples:
  reeve demo
  reeve demo --dir /tmp/reeve --files 1000 --bytes 65536 --json`;

/** Adds the command; its exit code is what `needs.demo` resolves with. */
export function addDemoCommand(
  program: Command,
  needs: CliNeeds,
  exit: (code: number) => void,
): void {
  program
    .command('demo')
    .description('kill a job in the middle, start it again, and check what came of it')
    .option('--dir <directory>', 'where the files and the store go', './reeve-data/demo')
    .option('--files <number>', 'how many files', whole('--files', FILES), FILES.standard)
    .option('--bytes <number>', 'size of each file', whole('--bytes', BYTES), BYTES.standard)
    .option('--quiet', 'print the verdict only', false)
    .option('--json', 'print the findings as one JSON object on the last line', false)
    .addHelpText('after', HELP)
    .action(async (options: DemoOptions) => {
      exit(await needs.demo(options));
    });
}

function whole(option: string, { min, max }: typeof FILES): (text: string) => number {
  return (text) => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : NaN;
    if (value >= min && value <= max) return value;
    throw new ReeveError(
      'USAGE_INVALID',
      `${option} takes a whole number from ${min} to ${max}, not '${text}'`,
    );
  };
}
