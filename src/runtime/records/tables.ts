/** The rows of all tables, in memory, as planned so far; undone when a group is discarded. */
import BTreeModule from 'sorted-btree';
import type { EventObject } from 'xstate';
import { ReeveError, toErrorData } from '../../model/errors.ts';
import { assertJson, type Json } from '../../model/json.ts';
import type { Table, TableAction, TableCaller, TableRow, TableView } from '../../model/table.ts';

// The package is CommonJS: its class is the module's `default`, which some loaders unwrap.
type Classes = typeof BTreeModule;
const BTree =
  (BTreeModule as Partial<Classes>).default ?? (BTreeModule as unknown as Classes['default']);
type Rows = InstanceType<typeof BTreeModule.default<string, Json>>;

/** Where changes of a step are written down. */
export interface TableJournal {
  /** Called before a table is first changed in a group, with the way back. */
  tableTouched(table: string, undo: () => void): void;
  put(key: string, value: string | null): void;
}

export const TABLE_PREFIX = 't/';
const KEY_BYTES_MAX = 1_024;

export class Tables {
  readonly #tables: ReadonlyMap<string, Table>;
  readonly #rows = new Map<string, Rows>();

  constructor(tables: Readonly<Record<string, Table>>) {
    this.#tables = new Map(Object.entries(tables));
    for (const name of this.#tables.keys()) {
      if (!/^[A-Za-z][A-Za-z0-9_-]{0,63}$/.test(name)) {
        throw new ReeveError('TABLE_UNKNOWN', `'${name}' is no name for a table`, { table: name });
      }
      this.#rows.set(name, new BTree<string, Json>());
    }
  }

  actionNames(): ReadonlyMap<string, ReadonlySet<string>> {
    return new Map(
      [...this.#tables].map(([name, table]) => [name, new Set(Object.keys(table.actions))]),
    );
  }

  /** A row read at start-up. Rows of a table that is no longer given are kept, unseen. */
  load(key: string, row: Json): void {
    const [name, rowKey] = splitKey(key);
    let rows = this.#rows.get(name);
    if (rows === undefined) this.#rows.set(name, (rows = new BTree<string, Json>()));
    rows.set(rowKey, row);
  }

  view(table: string): TableView {
    const rows = this.#rows.get(table);
    if (rows === undefined) {
      throw new ReeveError('TABLE_UNKNOWN', `there is no table '${table}'`, { table });
    }
    return viewOf(rows);
  }

  /** Runs `table.<table>.<action>`; returns its reply. Throws TABLE_UNKNOWN, TABLE_FAILED. */
  run(
    type: string,
    params: Json,
    caller: TableCaller,
    journal: TableJournal,
  ): EventObject | undefined {
    const [, table = '', action = ''] = type.split('.');
    const actions = this.#tables.get(table)?.actions;
    const run =
      actions && Object.hasOwn(actions, action)
        ? (actions[action] as TableAction<Json>)
        : undefined;
    const rows = this.#rows.get(table);
    if (run === undefined || rows === undefined) {
      throw new ReeveError('TABLE_UNKNOWN', `there is no table action '${type}'`, { type });
    }
    try {
      const result = run(viewOf(rows), params, caller);
      this.#change(table, rows, result.changes ?? {}, journal);
      return result.reply;
    } catch (cause) {
      throw new ReeveError(
        'TABLE_FAILED',
        `'${type}' failed: ${toErrorData(cause).message}`,
        { type },
        cause,
      );
    }
  }

  #change(
    table: string,
    rows: Rows,
    changes: Readonly<Record<string, Json | null>>,
    journal: TableJournal,
  ): void {
    const keys = Object.keys(changes);
    if (keys.length === 0) return;
    for (const key of keys) {
      assertKey(key);
      assertJson(changes[key], `row '${key}' of table '${table}'`);
    }
    const before = rows.clone();
    journal.tableTouched(table, () => this.#rows.set(table, before));
    for (const key of keys) {
      const row = changes[key] ?? null;
      if (row === null) rows.delete(key);
      else rows.set(key, row);
      journal.put(`${TABLE_PREFIX}${table}/${key}`, row === null ? null : JSON.stringify(row));
    }
  }
}

/** A key becomes part of a record's key and must come back as it was. */
function assertKey(key: string): void {
  const bytes = Buffer.from(key, 'utf8');
  if (bytes.length > 0 && bytes.length <= KEY_BYTES_MAX && bytes.toString('utf8') === key) return;
  throw new Error(`the key of a row has 1 to ${KEY_BYTES_MAX} bytes of well-formed text`);
}

function splitKey(key: string): [string, string] {
  const at = key.indexOf('/', TABLE_PREFIX.length);
  return [key.slice(TABLE_PREFIX.length, at), key.slice(at + 1)];
}

function viewOf(rows: Rows): TableView {
  return {
    size: rows.size,
    get: (key) => rows.get(key),
    has: (key) => rows.has(key),
    page({ after, prefix = '', limit }) {
      const page: TableRow[] = [];
      const from = after !== null && after !== undefined && after >= prefix ? after : prefix;
      for (const [key, row] of rows.entries(from)) {
        if (page.length >= limit || !key.startsWith(prefix)) break;
        if (key === after) continue;
        page.push({ key, row });
      }
      return page;
    },
  };
}
