/**
 * The files of a store and who may have them: identity of the database file, the lock, the note
 * that names its owner.
 *
 * One rule explains the order of things here: on POSIX, closing *any* descriptor of a file drops
 * all locks this process holds on it. So a file that SQLite of this process may have open is never
 * opened and closed beside it.
 */
import Database from 'better-sqlite3';
import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { ReeveError } from '../model/errors.ts';
import { codeOf, readFault, saysBusy, saysDamaged } from './sqlite-errors.ts';
import { APPLICATION_ID, FORMAT_VERSION, createSchema } from './sqlite-schema.ts';
import { inspectWal } from './wal-guard.ts';

/** What `owner.json` holds. It names the owner of the lock; it is not the lock. */
export interface StoreOwner {
  readonly pid: number;
  readonly host: string;
  /** ISO time at which the store was opened. */
  readonly since: string;
}

export interface StorePaths {
  readonly dir: string;
  readonly database: string;
  readonly wal: string;
  readonly lock: string;
  readonly owner: string;
}

const MODE_DIRECTORY = 0o700;
const MODE_FILE = 0o600;
const HEADER_BYTES = 100;
const HEADER_MAGIC = Buffer.from('SQLite format 3\0', 'latin1');
const OFFSET_USER_VERSION = 60;
const OFFSET_APPLICATION_ID = 68;
/** A new owner writes its note right after it has the lock. */
const OWNER_TRIES = 10;
const OWNER_WAIT_MS = 20;

export function storePaths(dir: string): StorePaths {
  const database = join(dir, 'reeve.db');
  return {
    dir,
    database,
    wal: `${database}-wal`,
    lock: join(dir, 'LOCK'),
    owner: join(dir, 'owner.json'),
  };
}

/**
 * Takes the store's lock and sees to it that the database file is there and ours. The database is
 * not opened yet. A refused file, and its directory, are left byte for byte as they were.
 *
 * @param since ISO time of now, for the note that names the owner
 * @returns the connection that holds the lock; closing it releases the lock
 * @throws STORE_FOREIGN, STORE_TOO_NEW, STORE_LOCKED, STORE_DAMAGED, STORE_UNAVAILABLE, STORE_FULL
 */
export function claimFiles(paths: StorePaths, since: string): Database.Database {
  try {
    // Where there is no lock file nobody holds the store, and a foreign directory gets none.
    const early = existsSync(paths.lock) ? undefined : openHeader(paths.database);
    if (early !== undefined) refuseStrangers(early, paths.database);
    makeDirectory(paths.dir);
    const lock = takeLock(paths);
    try {
      // Only now: had the lock been held by this process, closing would have cost it its locks.
      if (early !== undefined) closeSync(early.fd);
      examine(paths);
      writeOwner(paths, since);
      return lock;
    } catch (error) {
      lock.close();
      throw error;
    }
  } catch (error) {
    throw readFault(error, paths.dir, { path: paths.dir });
  }
}

/** Writes who holds the store, for the error another process gets. */
function writeOwner(paths: StorePaths, since: string): void {
  const owner: StoreOwner = { pid: process.pid, host: hostname(), since };
  const fresh = `${paths.owner}.new`;
  writeFileSync(fresh, `${JSON.stringify(owner)}\n`, { mode: MODE_FILE });
  renameSync(fresh, paths.owner);
}

/** Removes the note before the lock is released. */
export function removeOwner(paths: StorePaths): void {
  rmSync(paths.owner, { force: true });
}

/** Throws STORE_FOREIGN or STORE_TOO_NEW unless the first bytes of a database are ours. */
export function assertOurs(header: Buffer, path: string): void {
  if (header.length < HEADER_BYTES || !header.subarray(0, 16).equals(HEADER_MAGIC)) {
    throw new ReeveError('STORE_FOREIGN', `${path} is not a SQLite database`, { path });
  }
  const applicationId = header.readUInt32BE(OFFSET_APPLICATION_ID);
  if (applicationId !== APPLICATION_ID) {
    throw new ReeveError('STORE_FOREIGN', `${path} belongs to another application`, {
      path,
      applicationId,
    });
  }
  const version = header.readUInt32BE(OFFSET_USER_VERSION);
  if (version > FORMAT_VERSION) {
    throw new ReeveError(
      'STORE_TOO_NEW',
      `${path} has format ${version}; this version of Reeve reads formats up to ${FORMAT_VERSION}`,
      { path, version, known: FORMAT_VERSION },
    );
  }
}

interface OpenHeader {
  readonly fd: number;
  readonly bytes: Buffer;
}

/** The first bytes of the database; undefined when there is no file. The caller closes `fd`. */
function openHeader(path: string): OpenHeader | undefined {
  let fd;
  try {
    fd = openSync(path, 'r');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
  const bytes = Buffer.alloc(HEADER_BYTES);
  return { fd, bytes: bytes.subarray(0, readSync(fd, bytes, 0, HEADER_BYTES, 0)) };
}

function refuseStrangers(header: OpenHeader, path: string): void {
  if (header.bytes.length === 0) return;
  try {
    assertOurs(header.bytes, path);
  } catch (error) {
    closeSync(header.fd);
    throw error;
  }
}

/** Under the lock: the database is ours, or is made; its write-ahead log is not damaged. */
function examine(paths: StorePaths): void {
  const header = openHeader(paths.database);
  if (header !== undefined) closeSync(header.fd);
  if (header === undefined || header.bytes.length === 0) return create(paths);
  assertOurs(header.bytes, paths.database);
  const report = inspectWal(paths.wal);
  if (report.damage !== undefined) {
    const { position } = report.damage;
    const from = position === undefined ? '' : `; groups from position ${position} on may be lost`;
    throw new ReeveError(
      'STORE_DAMAGED',
      `${paths.wal} is damaged at byte ${report.damage.offset}, before its end${from}`,
      { path: paths.wal, ...report.damage },
    );
  }
  if (report.header !== undefined) assertOurs(report.header, paths.database);
}

/** A new database is made beside its place and renamed, so that a crash leaves none or a whole. */
function create(paths: StorePaths): void {
  if (sizeOf(paths.wal) > 0) {
    throw new ReeveError('STORE_DAMAGED', `${paths.database} is gone, its log is still there`, {
      path: paths.database,
    });
  }
  const fresh = `${paths.database}.new`;
  for (const suffix of ['', '-wal', '-shm', '-journal']) rmSync(fresh + suffix, { force: true });
  closeSync(openSync(fresh, 'wx', MODE_FILE));
  const db = new Database(fresh);
  try {
    db.pragma('synchronous = FULL');
    createSchema(db);
  } finally {
    db.close();
  }
  renameSync(fresh, paths.database);
  syncDirectory(paths.dir);
}

function makeDirectory(dir: string): void {
  const made = mkdirSync(dir, { recursive: true, mode: MODE_DIRECTORY });
  if (made !== undefined) syncDirectory(dirname(made));
}

function syncDirectory(dir: string): void {
  const fd = openSync(dir, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/**
 * A transaction that never ends on a database that is never written: the lock of its process, gone
 * with the process however it ends.
 */
function takeLock(paths: StorePaths): Database.Database {
  const size = sizeOf(paths.lock);
  if (size > 0) throw notALock(paths.lock);
  const lock = new Database(paths.lock, { timeout: 0 });
  try {
    // No journal file: the transaction has nothing to roll back.
    lock.pragma('journal_mode = MEMORY');
    lock.exec('BEGIN EXCLUSIVE');
    if (size < 0) chmodSync(paths.lock, MODE_FILE);
    return lock;
  } catch (error) {
    lock.close();
    if (saysBusy(error)) throw lockedBy(paths);
    throw saysDamaged(error) ? notALock(paths.lock) : error;
  }
}

function notALock(path: string): ReeveError {
  return new ReeveError('STORE_FOREIGN', `${path} is not a lock file of Reeve`, { path });
}

/** Bytes of a file; -1 when there is none. */
function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? -1;
}

function lockedBy(paths: StorePaths): ReeveError {
  const owner = currentOwner(paths.owner);
  if (owner === undefined) {
    return new ReeveError('STORE_LOCKED', `${paths.dir} is held by another process`, {
      path: paths.dir,
    });
  }
  const { pid, host, since } = owner;
  const who = isHere(owner) && pid === process.pid ? 'this process' : `process ${pid}`;
  return new ReeveError(
    'STORE_LOCKED',
    `${paths.dir} is held by ${who} (pid ${pid}) on ${host} since ${since}`,
    { path: paths.dir, ...owner },
  );
}

/** The note, read again for a moment while it still names a process that is gone. */
function currentOwner(path: string): StoreOwner | undefined {
  let owner = readOwner(path);
  for (let tries = 0; tries < OWNER_TRIES; tries++) {
    if (owner !== undefined && !(isHere(owner) && isGone(owner.pid))) return owner;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, OWNER_WAIT_MS);
    owner = readOwner(path);
  }
  return owner;
}

function readOwner(path: string): StoreOwner | undefined {
  try {
    const { pid, host, since } = JSON.parse(readFileSync(path, 'utf8')) as StoreOwner;
    if (!Number.isSafeInteger(pid) || pid <= 0 || typeof host !== 'string') return undefined;
    return { pid, host, since: String(since) };
  } catch {
    return undefined;
  }
}

function isHere(owner: StoreOwner): boolean {
  return owner.host === hostname();
}

function isGone(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return codeOf(error) === 'ESRCH';
  }
}
