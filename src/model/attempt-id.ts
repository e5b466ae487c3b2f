/** Identity of an attempt (L3): procedure number * 2^20 + the procedure's durable task counter. */
import { ReeveError } from './errors.ts';
import type { AttemptId } from './task.ts';

/** Procedure numbers are below this, so that an attempt id fits a signed 64-bit integer. */
export const PROCEDURE_NUMBER_LIMIT = 2 ** 43;
const TASK_COUNTER_LIMIT = 2 ** 20;

/** @param counter 1 for the procedure's first attempt. Throws ATTEMPTS_EXHAUSTED at 2^20. */
export function attemptId(procedureNumber: number, counter: number): AttemptId {
  if (counter >= TASK_COUNTER_LIMIT || procedureNumber >= PROCEDURE_NUMBER_LIMIT) {
    throw new ReeveError(
      'ATTEMPTS_EXHAUSTED',
      `procedure ${procedureNumber} has used up its ${TASK_COUNTER_LIMIT} attempts`,
      { procedureNumber, counter },
    );
  }
  return String(
    BigInt(procedureNumber) * BigInt(TASK_COUNTER_LIMIT) + BigInt(counter),
  ) as AttemptId;
}

/** The procedure an attempt belongs to. */
export function procedureOfAttempt(attempt: string): number {
  return Number(BigInt(attempt) / BigInt(TASK_COUNTER_LIMIT));
}
