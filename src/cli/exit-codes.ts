/** Exit codes of the command line. A runtime that may not go on has more: see docs/errors.md. */
import { hasCode, type ErrorCode } from '../model/errors.ts';

export const CLI_EXIT_CODES = {
  /** Done as asked. */
  done: 0,
  /** It was tried and did not succeed; for the demo: the verdict is against Reeve. */
  failed: 1,
  /** The command line, or the module it names, asks for what does not exist; nothing was done. */
  usage: 2,
} as const;

const USAGE_CODES: readonly ErrorCode[] = [
  'USAGE_INVALID',
  'MODULE_INVALID',
  'MACHINE_UNKNOWN',
  'OPTION_INVALID',
];

/** The exit code for an error that ended a command. */
export function exitCodeOf(error: unknown): number {
  return USAGE_CODES.some((code) => hasCode(error, code))
    ? CLI_EXIT_CODES.usage
    : CLI_EXIT_CODES.failed;
}
