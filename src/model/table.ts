/**
 * Tables: durable facts that procedures share, changed only by table actions.
 *
 * A table action is a total, pure function of the table and its parameters. It runs while the step
 * that asks for it is planned; its changes and its reply belong to the same commit as the step, so
 * that nobody ever sees one without the other. A machine asks with a named action,
 * `{ type: 'table.<table>.<action>', params }`, and gets the reply as an event.
 */
import type { EventObject } from 'xstate';
import type { Json } from './json.ts';

export interface TableRow {
  readonly key: string;
  readonly row: Json;
}

export interface TableView {
  readonly size: number;
  get(key: string): Json | undefined;
  has(key: string): boolean;
  /** Rows in key order behind `after` whose key begins with `prefix`; at most `limit`. */
  page(query: {
    readonly after?: string | null;
    readonly prefix?: string;
    readonly limit: number;
  }): readonly TableRow[];
}

export interface TableCaller {
  /** Id of the procedure whose step asks. */
  readonly procedure: string;
  /** Number of the root of its tree. */
  readonly root: number;
  readonly machine: string;
}

export interface TableResult {
  /** New rows by key; null removes the row. */
  readonly changes?: Readonly<Record<string, Json | null>>;
  /** Mail to the caller in the same commit. */
  readonly reply?: EventObject;
}

// `params` is what the machine passes: JSON, typed by the author of the table.
export type TableAction<Params = never> = (
  table: TableView,
  params: Params,
  caller: TableCaller,
) => TableResult;

export interface Table {
  readonly actions: Readonly<Record<string, TableAction>>;
}

/** Declares a table. The name under which it is given to `createRuntime({ tables })` is durable. */
export function defineTable<const Actions extends Readonly<Record<string, TableAction>>>(
  actions: Actions,
): { readonly actions: Actions } {
  return { actions };
}
