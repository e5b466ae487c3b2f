/**
 * Looks at a write-ahead log before SQLite does.
 *
 * SQLite takes the first frame whose checksum fails for the end of its log and silently drops
 * everything behind it: right for a torn tail, a silent loss of acknowledged commits when a bit
 * has flipped. The guard tells the two apart by what it finds behind the break.
 *
 * Appends are synced one by one; slices of a checkpoint are not synced, and are told by the page of
 * the table `meta`, which each of them writes and no append does. So there are two proofs that
 * something in front of a frame had been synced, and that a break there is damage:
 *  - the frame is chained onto a whole transaction that was an append;
 *  - the frame holds a group that is not the next one after the last intact append, so that the
 *    next one had been acknowledged.
 * Anything else is a tail that was never acknowledged. The limit of this: damage in the last append
 * of a log cannot be told from a torn write, and in the last but one only by the second proof.
 *
 * Format: https://www.sqlite.org/fileformat2.html#walformat
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { endianness } from 'node:os';
import { GROUP_HEADER_BYTES, peekPosition } from '../codec/group.ts';
import { codeOf } from './sqlite-errors.ts';
import { META_ROOT_PAGE, PAGE_BYTES } from './sqlite-schema.ts';

export interface WalReport {
  /** Frames that SQLite will accept. */
  readonly frames: number;
  /** The first 100 bytes of the database as of the last commit in the log, if it holds them. */
  readonly header?: Buffer;
  readonly damage?: WalDamage;
}

export interface WalDamage {
  /** Offset of the broken frame (or of the log's header) in the file. */
  readonly offset: number;
  /** First group that may be lost; absent when no group stands in front of the damage. */
  readonly position?: number;
}

const HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
const MAGIC = 0x377f0682;
const DATABASE_HEADER_BYTES = 100;
const READ_BYTES = 4 * 1024 * 1024;
const GROUP_MAGIC = Buffer.from('RVG1', 'latin1');

/**
 * Checks the log at `path`. An absent or empty log is fine.
 *
 * Opens and closes the file: call it only while no connection of this process has the database
 * open, because closing a file drops the locks this process has on it.
 */
export function inspectWal(path: string): WalReport {
  let fd;
  try {
    fd = openSync(path, 'r');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return { frames: 0 };
    throw error;
  }
  try {
    const header = readAt(fd, 0, HEADER_BYTES);
    if (header.length < HEADER_BYTES) return { frames: 0 };
    return new WalScan(fd, header).run();
  } finally {
    closeSync(fd);
  }
}

/** The transaction that is being walked through. */
interface Transaction {
  /** Its frames, and the commit in front of it, are as they were written. */
  intact: boolean;
  /** It wrote the table `meta`, as an append never does. */
  meta: boolean;
  /** Highest position of a group on its pages. */
  position: number;
}

class WalScan {
  readonly #fd: number;
  readonly #header: Buffer;
  readonly #pageBytes: number;
  /** Whether checksums read the bytes in the other order than this machine does. */
  readonly #swap: boolean;
  #s0 = 0;
  #s1 = 0;
  #frames = 0;
  #committed = 0;
  #firstBroken = -1;
  #transaction: Transaction = { intact: true, meta: false, position: 0 };
  /** The last transaction was an append, and is whole. */
  #appended = false;
  /** Position of the last append in front of the break. */
  #position = 0;
  #page1: Buffer | undefined;
  #header1: Buffer | undefined;

  constructor(fd: number, header: Buffer) {
    this.#fd = fd;
    this.#header = header;
    this.#pageBytes = header.readUInt32BE(8);
    this.#swap = ((header.readUInt32BE(0) & 1) === 1) !== (endianness() === 'BE');
  }

  run(): WalReport {
    const pageBytes = this.#pageBytes;
    const sane = pageBytes >= 512 && pageBytes <= 65_536 && (pageBytes & (pageBytes - 1)) === 0;
    // Without a readable size of pages the frames are looked for at the size of ours.
    const frameBytes = FRAME_HEADER_BYTES + (sane ? pageBytes : PAGE_BYTES);
    const headerBroken = !sane || !this.#headerIsWhole();
    if (headerBroken) this.#break(0);
    const proof = this.#scan(frameBytes, headerBroken);
    const header = this.#header1 === undefined ? {} : { header: this.#header1 };
    if (!proof) return { frames: this.#committed, ...header };
    const offset = headerBroken ? 0 : HEADER_BYTES + this.#firstBroken * frameBytes;
    const position = this.#position === 0 ? {} : { position: this.#position + 1 };
    return { frames: this.#committed, ...header, damage: { offset, ...position } };
  }

  #headerIsWhole(): boolean {
    const header = this.#header;
    if ((header.readUInt32BE(0) & ~1) >>> 0 !== MAGIC) return false;
    this.#sum(header, 0, 24);
    return this.#s0 === header.readUInt32BE(24) && this.#s1 === header.readUInt32BE(28);
  }

  /** Walks all frames; true when one behind the first broken frame proves damage. */
  #scan(frameBytes: number, headerBroken: boolean): boolean {
    const size = fstatSync(this.#fd).size;
    const total = Math.max(0, Math.floor((size - HEADER_BYTES) / frameBytes));
    const perRead = Math.max(1, Math.floor(READ_BYTES / frameBytes));
    let salts = headerBroken ? undefined : this.#header.subarray(16, 24);
    for (let first = 0; first < total; first += perRead) {
      const count = Math.min(perRead, total - first);
      const bytes = readAt(this.#fd, HEADER_BYTES + first * frameBytes, count * frameBytes);
      for (let i = 0; i < count; i++) {
        const frame = bytes.subarray(i * frameBytes, (i + 1) * frameBytes);
        salts ??= Buffer.from(frame.subarray(8, 16));
        if (!this.#chains(frame, salts)) this.#break(first + i);
        else if (this.#take(frame)) return true;
      }
    }
    return false;
  }

  #break(frame: number): void {
    if (this.#firstBroken < 0) this.#firstBroken = frame;
    this.#appended = false;
    this.#transaction = { intact: false, meta: false, position: 0 };
  }

  /** Takes in a frame that continues the one before it; true when it proves damage. */
  #take(frame: Buffer): boolean {
    const behindBreak = this.#firstBroken >= 0;
    if (behindBreak && this.#appended) return true;
    const page = frame.subarray(FRAME_HEADER_BYTES);
    const transaction = this.#transaction;
    transaction.position = Math.max(transaction.position, lastPosition(page));
    transaction.meta ||= frame.readUInt32BE(0) === META_ROOT_PAGE;
    if (behindBreak && this.#position > 0 && transaction.position > this.#position + 1) return true;
    if (!behindBreak) {
      this.#frames++;
      if (frame.readUInt32BE(0) === 1) this.#page1 = Buffer.from(page);
    }
    if (frame.readUInt32BE(4) !== 0) this.#commit(behindBreak);
    return false;
  }

  #commit(behindBreak: boolean): void {
    const { intact, meta, position } = this.#transaction;
    this.#transaction = { intact: true, meta: false, position: 0 };
    this.#appended = intact && !meta && position > 0;
    if (behindBreak) return;
    if (this.#appended) this.#position = position;
    this.#committed = this.#frames;
    this.#header1 = this.#page1?.subarray(0, DATABASE_HEADER_BYTES);
  }

  /**
   * Whether the frame continues the one before it. Leaves the frame's own checksum behind, so that
   * the next frame is judged by what stands in the file.
   */
  #chains(frame: Buffer, salts: Buffer): boolean {
    this.#sum(frame, 0, 8);
    this.#sum(frame, FRAME_HEADER_BYTES, frame.length - FRAME_HEADER_BYTES);
    const s0 = frame.readUInt32BE(16);
    const s1 = frame.readUInt32BE(20);
    const same = this.#s0 === s0 && this.#s1 === s1;
    this.#s0 = s0;
    this.#s1 = s1;
    return same && frame.subarray(8, 16).equals(salts);
  }

  #sum(bytes: Buffer, at: number, length: number): void {
    let s0 = this.#s0 | 0;
    let s1 = this.#s1 | 0;
    const end = at + length;
    if (this.#swap) {
      for (let i = at; i < end; i += 8) {
        s0 = (s0 + bytes.readUInt32BE(i) + s1) | 0;
        s1 = (s1 + bytes.readUInt32BE(i + 4) + s0) | 0;
      }
    } else {
      const words = new Int32Array(bytes.buffer, bytes.byteOffset + at, length >> 2);
      for (let i = 0; i < words.length; i += 2) {
        s0 = (s0 + (words[i] ?? 0) + s1) | 0;
        s1 = (s1 + (words[i + 1] ?? 0) + s0) | 0;
      }
    }
    this.#s0 = s0 >>> 0;
    this.#s1 = s1 >>> 0;
  }
}

/** Highest position of a commit group that begins in this page; 0 when none does. */
function lastPosition(page: Buffer): number {
  let last = 0;
  for (let at = page.indexOf(GROUP_MAGIC); at >= 0; at = page.indexOf(GROUP_MAGIC, at + 4)) {
    last = Math.max(last, peekPosition(page.subarray(at, at + GROUP_HEADER_BYTES)));
  }
  return last;
}

function readAt(fd: number, offset: number, length: number): Buffer {
  // Aligned to 8 bytes, as the checksums read whole words.
  const bytes = Buffer.from(new ArrayBuffer(length));
  let at = 0;
  while (at < length) {
    const read = readSync(fd, bytes, at, length - at, offset + at);
    if (read === 0) return bytes.subarray(0, at);
    at += read;
  }
  return bytes;
}
