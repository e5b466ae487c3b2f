/** What the runtime tells its operator, in the shape of pino's methods. */
import { destination, pino } from 'pino';

export interface RuntimeLog {
  info(facts: object, message: string): void;
  warn(facts: object, message: string): void;
  error(facts: object, message: string): void;
}

/** JSON lines on standard error, from `warn` up. */
export function standardLog(): RuntimeLog {
  return pino({ name: 'reeve', level: 'warn' }, destination({ fd: 2, sync: true }));
}

/** What XState's `log()` does without a logger of its own. */
export function standardLogger(...values: unknown[]): void {
  // eslint-disable-next-line no-console -- it is what the machine asks for
  console.log(...values);
}

/** A log that cannot hurt whoever writes to it: a sink that throws loses a line, nothing else. */
export function guardedLog(log: RuntimeLog): RuntimeLog {
  const guarded =
    (level: keyof RuntimeLog) =>
    (facts: object, message: string): void => {
      try {
        log[level](facts, message);
      } catch {
        // There is nowhere left to tell it.
      }
    };
  return { info: guarded('info'), warn: guarded('warn'), error: guarded('error') };
}
