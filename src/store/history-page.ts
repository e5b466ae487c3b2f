/** One page of a procedure's history, cut the same way by every store. */
import { ReeveError } from '../model/errors.ts';
import { parseJson } from '../model/json.ts';
import type { Json } from '../model/json.ts';
import type { HistoryEntries, HistoryPage } from './port.ts';

/** Place of one entry: the record's group, its index there, the entry's index in the record. */
export interface HistoryMark {
  readonly position: number;
  readonly ordinal: number;
  readonly index: number;
}

export interface HistoryRequest {
  readonly procedure: number;
  readonly limit: number;
  /** The last entry the caller has; the page begins behind it. */
  readonly after: HistoryMark;
}

/** A HISTORY record: `entries` is the JSON text of an array. */
export interface HistoryRecord {
  readonly position: number;
  readonly ordinal: number;
  readonly entries: string;
}

export const HISTORY_LIMIT_MAX = 1000;
/** A page ends behind the entry with which it passes this many characters of JSON. */
const PAGE_CHARACTERS_MAX = 4 * 1024 * 1024;
/** In front of every record, also of one whose place was damaged. */
const START: HistoryMark = { position: Number.MIN_SAFE_INTEGER, ordinal: 0, index: -1 };
const CURSOR = /^(\d{1,16})\.(\d{1,10})\.(\d{1,10})$/;

/** Checks a page request. Throws OPTION_INVALID. */
export function parseHistoryPage(page: HistoryPage): HistoryRequest {
  const { procedure, limit, after } = page;
  if (!Number.isSafeInteger(procedure) || procedure < 0) {
    throw invalid('procedure', 'must be a whole number', procedure);
  }
  if (!Number.isInteger(limit) || limit < 1 || limit > HISTORY_LIMIT_MAX) {
    throw invalid('limit', `must be between 1 and ${HISTORY_LIMIT_MAX}`, limit);
  }
  return { procedure, limit, after: after === undefined ? START : parseCursor(after) };
}

/**
 * Cuts a page out of `records`, which begin at the record of `request.after` and are in order.
 * Takes one entry more than it returns, to know whether there is a next page.
 */
export function cutHistoryPage(
  records: Iterable<HistoryRecord>,
  request: HistoryRequest,
): HistoryEntries {
  const entries: Json[] = [];
  let characters = 0;
  let last = request.after;
  for (const record of records) {
    const { position, ordinal } = record;
    const part = parseEntries(record, request.procedure);
    const charactersEach = record.entries.length / Math.max(part.length, 1);
    for (let index = firstIndex(record, request.after); index < part.length; index++) {
      if (entries.length === request.limit || characters > PAGE_CHARACTERS_MAX) {
        return { entries, next: `${last.position}.${last.ordinal}.${last.index}` };
      }
      entries.push(part[index] as Json);
      characters += charactersEach;
      last = { position, ordinal, index };
    }
  }
  return { entries };
}

function firstIndex(record: HistoryRecord, after: HistoryMark): number {
  const same = record.position === after.position && record.ordinal === after.ordinal;
  return same ? after.index + 1 : 0;
}

function parseEntries(record: HistoryRecord, procedure: number): readonly Json[] {
  const { position, ordinal } = record;
  let entries: Json | undefined;
  try {
    entries = parseJson(record.entries, 'history');
  } catch (cause) {
    throw unreadable(procedure, position, ordinal, cause);
  }
  if (!Array.isArray(entries)) throw unreadable(procedure, position, ordinal);
  return entries as readonly Json[];
}

function unreadable(
  procedure: number,
  position: number,
  record: number,
  cause?: unknown,
): ReeveError {
  return new ReeveError(
    'STORE_DAMAGED',
    `the history of procedure ${procedure} at position ${position} is not a JSON array`,
    { procedure, position, record },
    cause,
  );
}

function parseCursor(cursor: string): HistoryMark {
  const match = CURSOR.exec(cursor);
  if (match === null) throw invalid('after', 'must be the cursor of a page', cursor);
  const [position = 0, ordinal = 0, index = 0] = match.slice(1).map(Number);
  return { position, ordinal, index };
}

function invalid(option: string, rule: string, found: unknown): ReeveError {
  return new ReeveError('OPTION_INVALID', `${option} ${rule}, not ${String(found)}`, { option });
}
