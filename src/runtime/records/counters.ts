/** Numbers that are never used again, kept in the `c` record of every group. */
import { PROCEDURE_NUMBER_LIMIT } from '../../model/attempt-id.ts';
import { ReeveError } from '../../model/errors.ts';

export class Counters {
  #procedure = 0;
  #mail = 0;

  nextProcedure(): number {
    if (this.#procedure + 1 >= PROCEDURE_NUMBER_LIMIT) {
      throw new ReeveError('ATTEMPTS_EXHAUSTED', 'all procedure numbers are used', {});
    }
    return ++this.#procedure;
  }

  /** Number for a mail or dead-letter row. */
  nextMail(): number {
    return ++this.#mail;
  }

  record(at: number): string {
    return `{"procedure":${this.#procedure},"mail":${this.#mail},"at":${at}}`;
  }

  load(record: { readonly procedure?: unknown; readonly mail?: unknown }): void {
    this.#procedure = Math.max(this.#procedure, Number(record.procedure ?? 0));
    this.#mail = Math.max(this.#mail, Number(record.mail ?? 0));
  }

  /** A row read at start-up uses these numbers, whatever the record says. */
  seen(procedure: number, mail: number): void {
    this.#procedure = Math.max(this.#procedure, procedure);
    this.#mail = Math.max(this.#mail, mail);
  }
}
