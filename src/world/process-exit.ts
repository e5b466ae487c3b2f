/** Ends the process. The one place in `src` that does, for errors after which nothing may act. */

/** Exit codes, after sysexits.h where one fits; documented in docs/errors.md. */
export const EXIT_CODES = {
  /** A defect of Reeve itself. */
  defect: 70,
  /** STORE_OUTCOME_UNKNOWN: what is on disk is not known until it is read again. */
  storeOutcomeUnknown: 74,
  /** STALE_EPOCH: a newer reign decides. */
  staleEpoch: 75,
} as const;

export function exitProcess(code: number): never {
  process.exit(code);
}
