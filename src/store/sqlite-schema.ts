/**
 * The database of the SQLite store: its identity, its tables, and the views an operator reads with
 * the `sqlite3` tool. The numbers here are on disk for ever.
 */
import type { Database } from 'better-sqlite3';
import { crc32 } from 'node:zlib';
import { ReeveError } from '../model/errors.ts';

/** `RVS1`: tells a store of Reeve from any other SQLite database. */
export const APPLICATION_ID = 0x52565331;
/** Version of the tables. A higher one in a file was written by a newer Reeve. */
export const FORMAT_VERSION = 1;
export const PAGE_BYTES = 4096;
/** Root page of the table `meta`, the first one made; `wal-guard.ts` tells transactions by it. */
export const META_ROOT_PAGE = 2;

const SCHEMA = `
CREATE TABLE meta(
  name TEXT PRIMARY KEY,
  value NOT NULL,
  crc INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE log(
  position INTEGER PRIMARY KEY,
  epoch INTEGER NOT NULL,
  bytes BLOB NOT NULL
);

CREATE TABLE state(
  key TEXT PRIMARY KEY NOT NULL,
  value TEXT NOT NULL,
  crc INTEGER NOT NULL,
  position INTEGER NOT NULL
);

CREATE TABLE history(
  procedure INTEGER NOT NULL,
  position INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  entries TEXT NOT NULL,
  crc INTEGER NOT NULL,
  PRIMARY KEY(procedure, position, ordinal)
);

CREATE VIEW procedures AS
SELECT CAST(substr(key, 3) AS INTEGER) AS number,
  json_extract(value, '$.id') AS id,
  json_extract(value, '$.machine') AS machine,
  json_extract(value, '$.version') AS version,
  json_extract(value, '$.status') AS status,
  json_extract(value, '$.state') AS state,
  json_extract(value, '$.parent') AS parent,
  json_extract(value, '$.at') AS at,
  position
FROM state WHERE key >= 'p/' AND key < 'p0';

CREATE VIEW history_entries AS
SELECT history.procedure, history.position, history.ordinal, entry.key AS entry, entry.value
FROM history, json_each(history.entries) AS entry;

CREATE VIEW pending_groups AS
SELECT position, epoch, length(bytes) AS bytes FROM log
WHERE position > (SELECT value FROM meta WHERE name = 'checkpointed');
`;

/** Rows of the table `meta`. */
export type MetaName =
  | 'epoch'
  | 'reign'
  /** Groups up to here are folded into `state` and `history`. */
  | 'checkpointed'
  /** A position that had been reached when the store was last closed or checkpointed. */
  | 'reached'
  /** Slices of checkpoints so far: each of them writes this row. */
  | 'slices';

/** Makes the tables of an empty database. Leaves it in WAL mode. */
export function createSchema(db: Database): void {
  db.pragma(`page_size = ${PAGE_BYTES}`);
  db.exec(`BEGIN EXCLUSIVE;${SCHEMA}`);
  db.pragma(`application_id = ${APPLICATION_ID}`);
  db.pragma(`user_version = ${FORMAT_VERSION}`);
  const meta = new MetaTable(db);
  meta.set('epoch', 0);
  meta.set('reign', '');
  meta.set('checkpointed', 0);
  meta.set('reached', 0);
  meta.set('slices', 0);
  db.exec('COMMIT');
  db.pragma('journal_mode = WAL');
}

interface SchemaRow {
  readonly name: string;
  readonly sql: string;
}

/**
 * Throws STORE_DAMAGED when a table or view of ours is not as `createSchema` makes it. What an
 * operator has added does not matter.
 *
 * @param fresh an empty database to compare with
 */
export function assertSchema(db: Database, fresh: Database): void {
  const select = 'SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL';
  fresh.exec(SCHEMA);
  const expected = fresh.prepare<[], SchemaRow>(select).all();
  const found = new Map<string, string>();
  try {
    for (const { name, sql } of db.prepare<[], SchemaRow>(select).all()) found.set(name, sql);
  } catch (cause) {
    throw new ReeveError('STORE_DAMAGED', 'the schema cannot be read', {}, cause);
  }
  for (const { name, sql } of expected) {
    if (found.get(name) === sql) continue;
    throw new ReeveError('STORE_DAMAGED', `the schema of ${name} is damaged`, { name });
  }
}

/** Root page of the table `meta` in this file; `META_ROOT_PAGE` unless a tool has rebuilt it. */
export function metaRootPage(db: Database): number {
  const page: unknown = db
    .prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'meta'")
    .pluck()
    .get();
  return Number(page);
}

/** Reads and writes `meta`; each row carries a checksum of its name and value. */
export class MetaTable {
  readonly #get;
  readonly #set;

  constructor(db: Database) {
    this.#get = db.prepare<[string], { value: unknown; crc: number }>(
      'SELECT value, crc FROM meta WHERE name = ?',
    );
    this.#set = db.prepare(
      `INSERT INTO meta(name, value, crc) VALUES(?, ?, ?)
       ON CONFLICT(name) DO UPDATE SET value = excluded.value, crc = excluded.crc`,
    );
  }

  /** A number that is on record. Throws STORE_DAMAGED with `row`. */
  number(name: MetaName): number {
    const value = this.#read(name);
    if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0) {
      throw damaged(name);
    }
    return value;
  }

  set(name: MetaName, value: number | string): void {
    this.#set.run(name, value, checksum(name, value));
  }

  #read(name: MetaName): unknown {
    const row = this.#get.get(name);
    if (row?.crc !== checksum(name, row?.value)) throw damaged(name);
    return row?.value;
  }
}

/** Checksum of a history row: of its record (see `recordChecksum`) and its place. */
export function historyChecksum(recordCrc: number, position: number, ordinal: number): number {
  return crc32(`${position}.${ordinal}`, recordCrc);
}

function checksum(name: MetaName, value: unknown): number {
  return crc32(`${name}=${String(value)}`);
}

function damaged(row: MetaName): ReeveError {
  return new ReeveError('STORE_DAMAGED', `the row ${row} of the table meta is damaged`, { row });
}
