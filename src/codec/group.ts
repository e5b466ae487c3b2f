/**
 * Bytes of a commit group. One encoding for every store; the CRC lets damage be found by position.
 *
 * group  = header records
 * header = magic u32 "RVG1" | records u32 | position f64 | epoch f64 | body bytes u32 | crc32 u32
 *          (crc over the 28 bytes before it; all numbers little endian)
 * record = length u32 | crc32 u32 | body        (length and crc are of the body)
 * body   = kind u8 | key length u16 | key utf-8 | value utf-8 (JSON text)
 */
import { crc32 } from 'node:zlib';
import { ReeveError } from '../model/errors.ts';

/** What a record says. The numbers are on disk: never reuse one. */
export const RecordKind = {
  /** The latest value of a key. */
  put: 1,
  /** The key is gone. */
  delete: 2,
  /** History of a procedure: key = its number in decimal, value = a JSON array of entries. */
  history: 3,
  /** The history of a procedure is no longer kept: key = its number in decimal. */
  forget: 4,
} as const;
export type RecordKind = (typeof RecordKind)[keyof typeof RecordKind];

export interface StoreRecord {
  readonly kind: RecordKind;
  readonly key: string;
  readonly value: string;
}

export interface GroupHeader {
  readonly position: number;
  readonly epoch: number;
  readonly records: number;
}

const MAGIC = 0x31475652;
export const GROUP_HEADER_BYTES = 32;
/** Length and CRC in front of each record's body. */
export const RECORD_HEADER_BYTES = 8;
/** Kind and key length in front of each record's key. */
export const BODY_HEADER_BYTES = 3;
const UTF8_BYTES_PER_CHAR_MAX = 3;

/**
 * Collects records and encodes each once. Grows its buffer by doubling; `finish` hands the bytes
 * over and the encoder must not be used again.
 */
export class GroupEncoder {
  #buffer: Buffer;
  #length = GROUP_HEADER_BYTES;
  #records = 0;

  constructor(bytesExpected = 64 * 1024) {
    this.#buffer = Buffer.allocUnsafeSlow(Math.max(bytesExpected, GROUP_HEADER_BYTES));
  }

  /** Bytes so far, header included. */
  get bytes(): number {
    return this.#length;
  }

  get records(): number {
    return this.#records;
  }

  /** Adds a record; returns the bytes it takes. */
  add(kind: RecordKind, key: string, value: string): number {
    const before = this.#length;
    const worst =
      RECORD_HEADER_BYTES +
      BODY_HEADER_BYTES +
      (key.length + value.length) * UTF8_BYTES_PER_CHAR_MAX;
    this.#reserve(worst);
    const buffer = this.#buffer;
    const body = before + RECORD_HEADER_BYTES;
    buffer[body] = kind;
    let at = body + BODY_HEADER_BYTES;
    const keyBytes = buffer.write(key, at, 'utf8');
    if (keyBytes > 0xffff) throw new RangeError('a record key is at most 65,535 bytes');
    buffer.writeUInt16LE(keyBytes, body + 1);
    at += keyBytes;
    at += buffer.write(value, at, 'utf8');
    buffer.writeUInt32LE(at - body, before);
    buffer.writeUInt32LE(crc32(buffer.subarray(body, at)), before + 4);
    this.#length = at;
    this.#records++;
    return at - before;
  }

  finish(position: number, epoch: number): Uint8Array {
    const buffer = this.#buffer;
    buffer.writeUInt32LE(MAGIC, 0);
    buffer.writeUInt32LE(this.#records, 4);
    buffer.writeDoubleLE(position, 8);
    buffer.writeDoubleLE(epoch, 16);
    buffer.writeUInt32LE(this.#length - GROUP_HEADER_BYTES, 24);
    buffer.writeUInt32LE(crc32(buffer.subarray(0, 28)), 28);
    return buffer.subarray(0, this.#length);
  }

  #reserve(more: number): void {
    const needed = this.#length + more;
    if (needed <= this.#buffer.length) return;
    const grown = Buffer.allocUnsafeSlow(Math.max(needed, this.#buffer.length * 2));
    this.#buffer.copy(grown, 0, 0, this.#length);
    this.#buffer = grown;
  }
}

/** Reads and checks a group's header. Throws STORE_DAMAGED. */
export function readGroupHeader(group: Uint8Array): GroupHeader {
  const view = asBuffer(group);
  if (view.length < GROUP_HEADER_BYTES || view.readUInt32LE(0) !== MAGIC) {
    throw new ReeveError('STORE_DAMAGED', 'not a commit group', {});
  }
  if (crc32(view.subarray(0, 28)) !== view.readUInt32LE(28)) {
    throw new ReeveError('STORE_DAMAGED', 'the header of a commit group is damaged', {});
  }
  const header = {
    position: view.readDoubleLE(8),
    epoch: view.readDoubleLE(16),
    records: view.readUInt32LE(4),
  };
  if (view.readUInt32LE(24) !== view.length - GROUP_HEADER_BYTES) {
    throw damaged(header.position, 0, 'has the wrong length');
  }
  return header;
}

/** Position of the group that begins with these bytes, which may be too few; 0: none does. */
export function peekPosition(bytes: Uint8Array): number {
  const view = asBuffer(bytes);
  if (view.length < GROUP_HEADER_BYTES || view.readUInt32LE(0) !== MAGIC) return 0;
  if (crc32(view.subarray(0, 28)) !== view.readUInt32LE(28)) return 0;
  return view.readDoubleLE(8);
}

/** All records of a group, each checked. Throws STORE_DAMAGED with position and record index. */
export function* readGroup(group: Uint8Array): Generator<StoreRecord> {
  const header = readGroupHeader(group);
  let count = 0;
  for (const record of readRecords(group.subarray(GROUP_HEADER_BYTES), header.position)) {
    count++;
    yield record;
  }
  if (count !== header.records) throw damaged(header.position, count, 'lacks records');
}

/** Records of a batch without a group header (checkpointed states), each checked. */
export function* readRecords(batch: Uint8Array, position: number): Generator<StoreRecord> {
  const view = asBuffer(batch);
  let at = 0;
  for (let index = 0; at < view.length; index++) {
    if (at + RECORD_HEADER_BYTES > view.length) throw damaged(position, index, 'is cut short');
    const length = view.readUInt32LE(at);
    const body = at + RECORD_HEADER_BYTES;
    const end = body + length;
    if (length < BODY_HEADER_BYTES || end > view.length) {
      throw damaged(position, index, 'is cut short');
    }
    if (crc32(view.subarray(body, end)) !== view.readUInt32LE(at + 4)) {
      throw damaged(position, index, 'does not match its checksum');
    }
    const key = body + BODY_HEADER_BYTES;
    const value = key + view.readUInt16LE(body + 1);
    if (value > end) throw damaged(position, index, 'has a key longer than itself');
    yield {
      kind: view[body] as RecordKind,
      key: view.toString('utf8', key, value),
      value: view.toString('utf8', value, end),
    };
    at = end;
  }
}

function damaged(position: number, record: number, how: string): ReeveError {
  return new ReeveError('STORE_DAMAGED', `record ${record} at position ${position} ${how}`, {
    position,
    record,
  });
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes)
    ? bytes
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
