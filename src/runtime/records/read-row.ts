/**
 * Reads the record of a procedure as what it is: bytes that somebody may have changed. What is no
 * record of a procedure becomes one that is set aside with the reason, so that one bad record never
 * keeps the others from running (M13, M14).
 */
import { ReeveError, toErrorData } from '../../model/errors.ts';
import { parseJson } from '../../model/json.ts';
import { STATUSES, type ProcedureRow, type StoredParent } from './row.ts';

type Shape = Readonly<Record<string, 'string' | 'number' | 'object'>>;

const ROW: Shape = {
  id: 'string',
  machine: 'string',
  version: 'number',
  print: 'string',
  root: 'number',
  inputHash: 'string',
  seq: 'number',
  armed: 'number',
  tasked: 'number',
  createdAt: 'number',
  at: 'number',
};

const PARENT: Shape = { number: 'number', child: 'string', arming: 'number' };

const LISTS: Readonly<Record<string, Shape>> = {
  children: { id: 'string', src: 'string', kind: 'string', arming: 'number' },
  tasks: { attempt: 'string', child: 'string', src: 'string', arming: 'number', ledger: 'string' },
  timers: { id: 'string', due: 'number', delay: 'number', event: 'object', arming: 'number' },
  effects: { seq: 'number', index: 'number', type: 'string', event: 'object' },
};

/** No machine has this version, so none is ever given what is left of a damaged record. */
const NO_VERSION = 0;

/**
 * The row in `text`, found under `number`. What is no row, or claims an id that is taken, becomes a
 * damaged one.
 */
export function readRow(
  text: string,
  number: number,
  isTaken: (id: string) => boolean,
): ProcedureRow {
  let value: unknown;
  try {
    value = parseJson(text, 'the record');
    assertRow(value, number);
    if (isTaken(value.id)) throw new Error('another one has its id');
    return value;
  } catch (error) {
    return damagedRow(value, number, isTaken, toErrorData(error).message);
  }
}

/** True for a row that stands for a record that cannot be used. */
export function isDamaged(row: ProcedureRow): boolean {
  return row.version === NO_VERSION;
}

/** What can still be told of the record is kept. */
function damagedRow(
  value: unknown,
  number: number,
  isTaken: (id: string) => boolean,
  why: string,
): ProcedureRow {
  const { id, machine, parent } = (isObject(value) ? value : {}) as Partial<ProcedureRow>;
  const error = new ReeveError('ROW_UNFIT', `the record of procedure ${number}: ${why}`, {});
  const { name, message, code } = error;
  return {
    number,
    id: typeof id === 'string' && id !== '' && !isTaken(id) ? id : `damaged-${number}`,
    machine: typeof machine === 'string' ? machine : '',
    version: NO_VERSION,
    print: '',
    root: number,
    ...(fits(parent, PARENT) ? { parent: parent as StoredParent } : {}),
    inputHash: '',
    status: 'quarantined',
    quarantine: { error: { name, message, code }, was: 'active', unread: true },
    state: null,
    context: null,
    seq: 0,
    armed: 0,
    tasked: 0,
    createdAt: 0,
    at: 0,
  };
}

function assertRow(value: unknown, number: number): asserts value is ProcedureRow {
  if (!isObject(value)) throw new Error('it is no object');
  if ((value['version'] as number) < 1) throw new Error('its version is below 1');
  if (value['number'] !== number) throw new Error('it belongs to another procedure');
  assertShape(value, ROW, 'it');
  if (!STATUSES.includes(value['status'] as never)) throw new Error('its status is unknown');
  if (value['parent'] !== undefined) assertShape(value['parent'], PARENT, 'its parent');
  if (value['quarantine'] !== undefined) {
    assertShape(value['quarantine'], { error: 'object', was: 'string' }, 'its quarantine');
  }
  for (const [list, shape] of Object.entries(LISTS)) {
    const parts = value[list];
    if (parts === undefined) continue;
    if (!Array.isArray(parts)) throw new Error(`its ${list} are no list`);
    for (const part of parts) assertShape(part, shape, `one of its ${list}`);
  }
  for (const { id } of (value as unknown as ProcedureRow).children ?? []) {
    if (id in {}) throw new Error(`a child is called '${id}'`);
  }
}

function assertShape(value: unknown, shape: Shape, what: string): void {
  if (!fits(value, shape)) throw new Error(`${what} lacks a part or holds one of a wrong type`);
}

function fits(value: unknown, shape: Shape): boolean {
  if (!isObject(value)) return false;
  for (const key in shape) {
    const part = Object.hasOwn(value, key) ? value[key] : undefined;
    if (typeof part !== shape[key] || part === null) return false;
  }
  return true;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
