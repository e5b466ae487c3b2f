/** Table changes of one step, kept apart until the whole step is known to be good. */
import type { TableJournal } from '../records/tables.ts';

export class StepJournal implements TableJournal {
  readonly #undo: { readonly table: string; readonly run: () => void }[] = [];
  readonly #puts = new Map<string, string | null>();

  tableTouched(table: string, run: () => void): void {
    this.#undo.push({ table, run });
  }

  put(key: string, value: string | null): void {
    this.#puts.set(key, value);
  }

  undo(): void {
    for (const { run } of this.#undo.reverse()) run();
  }

  moveTo(group: TableJournal): void {
    for (const { table, run } of this.#undo) group.tableTouched(table, run);
    for (const [key, value] of this.#puts) group.put(key, value);
  }
}
