/** Options of the SQLite store: names, units, defaults and limits. */
import { isAbsolute, resolve } from 'node:path';
import { ReeveError } from '../model/errors.ts';

export interface SqliteStoreOptions {
  /**
   * Directory of the store, on a local file system (locks are not trusted over NFS). Created with
   * mode 0700 when absent; a relative path is taken from the working directory. Required.
   */
  readonly dir: string;
  /**
   * Ms: a checkpoint holds the store's thread about this long at a time; appends go between.
   * Default 2, 1 to 100.
   */
  readonly sliceMs?: number;
  /**
   * Bytes of write-ahead log at which its pages begin to move into the database file. Default
   * 4 MiB, 1 MiB to 1 GiB. The file grows to about four times this, under full load to eight
   * times, and further only while another process keeps a read transaction open.
   */
  readonly walBytes?: number;
  /** Bytes of page cache of the writing connection. Default 32 MiB, 2 MiB to 16 GiB. */
  readonly cacheBytes?: number;
  /**
   * Bytes of a chunk in which states and groups are read; about three are in memory at once.
   * Default 512 KiB, 64 KiB to 64 MiB.
   */
  readonly chunkBytes?: number;
  /**
   * Ms to wait for a lock another process holds on the database file (a tool that writes to it).
   * Default 5,000, 0 to 60,000. When it runs out in an append, the outcome is
   * STORE_OUTCOME_UNKNOWN.
   */
  readonly busyTimeoutMs?: number;
}

export type SqliteSettings = Required<SqliteStoreOptions>;

interface Limits {
  readonly standard: number;
  readonly min: number;
  readonly max: number;
}

const KIB = 1024;
const MIB = 1024 * KIB;
const GIB = 1024 * MIB;

/** The numbers of `SqliteStoreOptions`: default and limits, in the unit of the option's name. */
export const SQLITE_LIMITS = {
  sliceMs: { standard: 2, min: 1, max: 100 },
  walBytes: { standard: 4 * MIB, min: MIB, max: GIB },
  cacheBytes: { standard: 32 * MIB, min: 2 * MIB, max: 16 * GIB },
  chunkBytes: { standard: 512 * KIB, min: 64 * KIB, max: 64 * MIB },
  busyTimeoutMs: { standard: 5_000, min: 0, max: 60_000 },
} as const satisfies Record<Exclude<keyof SqliteStoreOptions, 'dir'>, Limits>;

/** Checks the options and fills in the defaults. Throws OPTION_INVALID. */
export function sqliteSettings(options: SqliteStoreOptions): SqliteSettings {
  if (typeof options !== 'object' || options === null) {
    throw invalid('options', 'must be an object', options);
  }
  for (const key of Object.keys(options)) {
    if (key !== 'dir' && !Object.hasOwn(SQLITE_LIMITS, key)) {
      throw invalid(key, 'is not an option of the SQLite store', undefined);
    }
  }
  const { dir } = options;
  if (typeof dir !== 'string' || dir === '' || dir.includes('\0')) {
    throw invalid('dir', 'must be the path of a directory', dir);
  }
  return {
    dir: isAbsolute(dir) ? dir : resolve(dir),
    sliceMs: number(options, 'sliceMs'),
    walBytes: number(options, 'walBytes'),
    cacheBytes: number(options, 'cacheBytes'),
    chunkBytes: number(options, 'chunkBytes'),
    busyTimeoutMs: number(options, 'busyTimeoutMs'),
  };
}

function number(options: SqliteStoreOptions, name: keyof typeof SQLITE_LIMITS): number {
  const { standard, min, max } = SQLITE_LIMITS[name];
  const value: unknown = options[name];
  if (value === undefined) return standard;
  if (typeof value !== 'number' || !Number.isInteger(value) || value < min || value > max) {
    throw invalid(name, `must be a whole number between ${min} and ${max}`, value);
  }
  return value;
}

function invalid(option: string, rule: string, found: unknown): ReeveError {
  const tail = found === undefined ? '' : `, not ${describe(found)}`;
  return new ReeveError('OPTION_INVALID', `${option} ${rule}${tail}`, { option });
}

function describe(found: unknown): string {
  return typeof found === 'object' ? Object.prototype.toString.call(found) : String(found);
}
