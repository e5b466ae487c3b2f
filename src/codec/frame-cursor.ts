/**
 * Walks over framed records without decoding them: offsets and numbers only, no strings, no
 * objects per record. The stores use it where they check or move records they need not understand;
 * `readRecords` is for who wants keys and values.
 */
import { crc32 } from 'node:zlib';
import { ReeveError } from '../model/errors.ts';
import {
  BODY_HEADER_BYTES,
  GROUP_HEADER_BYTES,
  RECORD_HEADER_BYTES,
  RecordKind,
  readGroupHeader,
} from './group.ts';

const KIND_MAX = Math.max(...Object.values(RecordKind));

/**
 * One position in a run of frames. After `next()` returned true the fields describe the current
 * record; each record's checksum has been verified by then.
 */
export class FrameCursor {
  readonly bytes: Buffer;
  readonly #position: number;
  /** Records there must be; -1 when that is not known. */
  readonly #records: number;
  #at: number;
  /** Index of the current record in its run; -1 before the first `next()`. */
  index = -1;
  kind = 0;
  /** CRC-32 of the body; it covers kind, key and value. */
  crc = 0;
  /** Offsets in `bytes`: body, key, value, and the end of the value. */
  body = 0;
  key = 0;
  value = 0;
  end = 0;

  /**
   * @param at offset of the first frame
   * @param position log position, for the errors
   * @param records how many there must be, where that is known
   */
  constructor(bytes: Buffer, at: number, position: number, records = -1) {
    this.bytes = bytes;
    this.#at = at;
    this.#position = position;
    this.#records = records;
  }

  /**
   * A cursor over the records of the group that was found at `position` of the log. Checks the
   * header, and with the last `next()` the number of records. Throws STORE_DAMAGED with
   * `position`, which is where the group was found, not what its bytes claim.
   */
  static ofGroup(group: Buffer, position: number, epoch?: number): FrameCursor {
    let header;
    try {
      header = readGroupHeader(group);
    } catch (cause) {
      throw damaged(position, `the group at position ${position} is damaged`, cause);
    }
    if (header.position !== position || (epoch !== undefined && header.epoch !== epoch)) {
      throw damaged(position, `position ${position} holds another group`);
    }
    return new FrameCursor(group, GROUP_HEADER_BYTES, position, header.records);
  }

  /** Moves to the next record; false at the end. Throws STORE_DAMAGED with position and record. */
  next(): boolean {
    const { bytes } = this;
    const at = this.#at;
    if (at === bytes.length) {
      if (this.#records < 0 || this.index + 1 === this.#records) return false;
      throw damaged(this.#position, `the group at position ${this.#position} lacks records`);
    }
    this.index++;
    const body = at + RECORD_HEADER_BYTES;
    if (body > bytes.length) throw this.#damaged('is cut short');
    const length = bytes.readUInt32LE(at);
    const end = body + length;
    if (length < BODY_HEADER_BYTES || end > bytes.length) throw this.#damaged('is cut short');
    const crc = bytes.readUInt32LE(at + 4);
    if (crc32(bytes.subarray(body, end)) !== crc) {
      throw this.#damaged('does not match its checksum');
    }
    const kind = bytes[body] ?? 0;
    if (kind === 0 || kind > KIND_MAX) throw this.#damaged('is of an unknown kind');
    const key = body + BODY_HEADER_BYTES;
    const value = key + bytes.readUInt16LE(body + 1);
    if (value > end) throw this.#damaged('has a key longer than itself');
    this.kind = kind;
    this.crc = crc;
    this.body = body;
    this.key = key;
    this.value = value;
    this.end = end;
    this.#at = end;
    return true;
  }

  keyText(): string {
    return this.bytes.toString('utf8', this.key, this.value);
  }

  /** The value's bytes: a view, not a copy. */
  valueBytes(): Buffer {
    return this.bytes.subarray(this.value, this.end);
  }

  /** The current record as a frame (length, CRC, body): a view, not a copy. */
  frameBytes(): Buffer {
    return this.bytes.subarray(this.body - RECORD_HEADER_BYTES, this.end);
  }

  #damaged(how: string): ReeveError {
    return new ReeveError(
      'STORE_DAMAGED',
      `record ${this.index} at position ${this.#position} ${how}`,
      { position: this.#position, record: this.index },
    );
  }
}

/** Checks a group whole: header, place in the log, every record. Throws STORE_DAMAGED. */
export function checkGroup(group: Buffer, position: number, epoch?: number): void {
  const cursor = FrameCursor.ofGroup(group, position, epoch);
  while (cursor.next());
}

function damaged(position: number, text: string, cause?: unknown): ReeveError {
  return new ReeveError('STORE_DAMAGED', text, { position }, cause);
}

/** CRC-32 that a record of this kind, key and value carries; the one of its frame. */
export function recordChecksum(kind: RecordKind, key: string, value: Uint8Array): number {
  const keyBytes = Buffer.from(key, 'utf8');
  const head = Buffer.allocUnsafe(BODY_HEADER_BYTES + keyBytes.length);
  head[0] = kind;
  head.writeUInt16LE(keyBytes.length, 1);
  keyBytes.copy(head, BODY_HEADER_BYTES);
  return crc32(value, crc32(head));
}
