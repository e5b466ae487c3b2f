/**
 * What a task threw, as plain data that may become part of a record: bounded, and JSON throughout.
 * Keeps what structured clone drops: `code`, the system's own fields, `details` and the cause.
 */
import { type ErrorCode, type ErrorData, toErrorData } from '../model/errors.ts';
import { assertJson, type Json } from '../model/json.ts';

const TEXT_LENGTH_MAX = 8 * 1024;
const DETAILS_LENGTH_MAX = 16 * 1024;
const CAUSES_MAX = 3;
/** Fields of Node's system errors that say what failed where. */
const SYSTEM_FIELDS = ['errno', 'syscall', 'path', 'dest'] as const;

/** Never throws, whatever was thrown: null, a string, a proxy that throws. */
export function describeThrown(thrown: unknown): ErrorData {
  return describe(thrown, CAUSES_MAX);
}

/** As a part of another error: without its stack, which differs between runs and machines. */
export function describeCause(thrown: unknown): ErrorData {
  const { stack: _stack, ...cause } = describeThrown(thrown);
  return cause;
}

/** An error of the table as data. */
export function codedError(
  code: ErrorCode,
  message: string,
  details: Readonly<Record<string, Json | ErrorData>> = {},
): ErrorData {
  return { name: 'ReeveError', message: `${code}: ${message}`, code, details };
}

/** Error data that came over a thread's edge, rebuilt from the keys it may have; else undefined. */
export function readErrorData(value: unknown): ErrorData | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { name, message, code, stack, details } = value as Partial<Record<string, unknown>>;
  if (typeof name !== 'string' || typeof message !== 'string') return undefined;
  return {
    name: cut(name),
    message: cut(message),
    ...(typeof code === 'string' ? { code: cut(code) } : {}),
    ...(typeof stack === 'string' ? { stack: cut(stack) } : {}),
    ...(isCarried(details) ? { details } : {}),
  };
}

function describe(thrown: unknown, causesLeft: number): ErrorData {
  try {
    const data = toErrorData(thrown);
    const details =
      typeof thrown === 'object' && thrown !== null ? detailsOf(thrown, causesLeft) : {};
    const shown = { ...data, ...(Object.keys(details).length > 0 ? { details } : {}) };
    return readErrorData(shown) ?? UNDESCRIBED;
  } catch {
    return UNDESCRIBED;
  }
}

const UNDESCRIBED: ErrorData = { name: 'Error', message: 'thrown: a value that cannot be read' };

/** As many parts as fit, the most telling ones first. */
function detailsOf(thrown: object, causesLeft: number): Record<string, unknown> {
  const error = thrown as Partial<Record<string, unknown>>;
  const system = SYSTEM_FIELDS.flatMap((field): [string, unknown][] => {
    const value = error[field];
    return typeof value === 'string' || typeof value === 'number' ? [[field, value]] : [];
  });
  const parts: Record<string, unknown>[] = [Object.fromEntries(system)];
  if (error.cause !== undefined && causesLeft > 0) {
    const { stack: _stack, ...cause } = describe(error.cause, causesLeft - 1);
    parts.push({ cause });
  }
  if (isCarried(error.details)) parts.push(error.details);
  return parts.reduce((details, part) => {
    const more = { ...part, ...details };
    return isCarried(more) ? more : details;
  }, {});
}

function isCarried(details: unknown): details is Record<string, Json> {
  if (typeof details !== 'object' || details === null || Array.isArray(details)) return false;
  try {
    assertJson(details, 'details');
    return JSON.stringify(details).length <= DETAILS_LENGTH_MAX;
  } catch {
    return false;
  }
}

function cut(text: string): string {
  return text.length <= TEXT_LENGTH_MAX ? text : `${text.slice(0, TEXT_LENGTH_MAX)}…`;
}
