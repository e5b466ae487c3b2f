/**
 * What an error of SQLite or of the file system means for the store. Only one question matters:
 * is it proven that nothing happened?
 */
import { closeSync, fsyncSync, openSync, unlinkSync, writeSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import type { ErrorCode } from '../model/errors.ts';
import { ReeveError } from '../model/errors.ts';

/** An error on its way from a store thread to the client. */
export interface Fault {
  readonly code: ErrorCode;
  readonly message: string;
  readonly details: Readonly<Record<string, unknown>>;
}

export function toFault(error: ReeveError): Fault {
  const prefix = `${error.code}: `;
  const { code, message, details } = error;
  return {
    code,
    message: message.startsWith(prefix) ? message.slice(prefix.length) : message,
    details,
  };
}

export function fromFault(fault: Fault): ReeveError {
  return new ReeveError(fault.code, fault.message, fault.details);
}

const NO_SPACE: ReadonlySet<string> = new Set(['SQLITE_FULL', 'ENOSPC', 'EDQUOT', 'EFBIG']);
/** SQLite reports a quota, and a full disk in some places, as one of these. */
const MAYBE_NO_SPACE: ReadonlySet<string> = new Set([
  'SQLITE_IOERR_WRITE',
  'SQLITE_IOERR_SHMSIZE',
  'SQLITE_IOERR_SHMMAP',
  'SQLITE_CANTOPEN',
]);
const PROBE_BYTES = 64 * 1024;

/**
 * True when `error` says that there is no space. Where SQLite's code leaves it open (a quota), it
 * is asked of the file system by writing a small file.
 */
export function saysFull(error: unknown, dir: string): boolean {
  return lacksSpace(error) || (MAYBE_NO_SPACE.has(codeOf(error)) && !probeWrites(dir));
}

function lacksSpace(error: unknown): boolean {
  if (NO_SPACE.has(codeOf(error))) return true;
  // Node has no name for an exhausted quota.
  return (error as { errno?: unknown } | null)?.errno === -constants.errno.EDQUOT;
}

/** True when `error` says that the database file does not hang together. */
export function saysDamaged(error: unknown): boolean {
  const code = codeOf(error);
  return code.startsWith('SQLITE_CORRUPT') || code === 'SQLITE_NOTADB';
}

/** True when another connection holds a lock that is needed. */
export function saysBusy(error: unknown): boolean {
  const code = codeOf(error);
  return code.startsWith('SQLITE_BUSY') || code.startsWith('SQLITE_LOCKED');
}

/** `code` of an error of SQLite or Node; the empty string when it has none. */
export function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : '';
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

export function full(what: string, cause: unknown): ReeveError {
  return new ReeveError(
    'STORE_FULL',
    `${what}: no space left on the disk (${codeOf(cause)})`,
    { reason: codeOf(cause) },
    cause,
  );
}

export function outcomeUnknown(what: string, cause: unknown): ReeveError {
  const reason = codeOf(cause);
  return new ReeveError(
    'STORE_OUTCOME_UNKNOWN',
    `${what}: ${reason === '' ? '' : `${reason}: `}${messageOf(cause)}`,
    { reason },
    cause,
  );
}

/**
 * An error met while a store is opened or read: damage, a lock, no space or the file system's own
 * refusal. A `ReeveError` is returned as it is.
 */
export function readFault(error: unknown, what: string, details: object = {}): ReeveError {
  if (error instanceof ReeveError) return error;
  const reason = codeOf(error);
  const text = `${what}: ${reason === '' ? '' : `${reason}: `}${messageOf(error)}`;
  const all = { ...details, reason };
  if (saysDamaged(error)) return new ReeveError('STORE_DAMAGED', text, all, error);
  if (lacksSpace(error)) return full(what, error);
  return new ReeveError('STORE_UNAVAILABLE', text, all, error);
}

/** Whether the file system takes a small file just now; the file does not stay. */
function probeWrites(dir: string): boolean {
  const path = join(dir, '.probe');
  try {
    const fd = openSync(path, 'w', 0o600);
    try {
      if (writeSync(fd, Buffer.alloc(PROBE_BYTES, 1)) < PROBE_BYTES) return false;
      fsyncSync(fd);
      return true;
    } finally {
      closeSync(fd);
      unlinkSync(path);
    }
  } catch (error) {
    return !lacksSpace(error);
  }
}
