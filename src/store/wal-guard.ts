/**
 * Looks at a write-ahead log before SQLite does.
 *
 * SQLite takes the first frame whose checksum fails for the end of its log and silently drops
 * everything behind it: right for a torn tail, a silent loss of acknowledged commits when a bit
 * has flipped. The guard tells the two apart. Every commit of the store is synced before the next
 * one is written (`synchronous=FULL`, no cache spill), so a frame that was chained onto a commit
 * proves that this commit had been synced. Such a proof behind a broken frame is damage; anything
 * else is a tail that was never acknowledged. The limit of this: damage in the very last commit of
 * a log cannot be told from a torn write.
 *
 * Format: https://www.sqlite.org/fileformat2.html#walformat
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { endianness } from 'node:os';
import { GROUP_HEADER_BYTES, peekPosition } from '../codec/group.ts';
import { codeOf } from './sqlite-errors.ts';

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
  #page1: Buffer | undefined;
  #header1: Buffer | undefined;
  #position = 0;

  constructor(fd: number, header: Buffer) {
    this.#fd = fd;
    this.#header = header;
    this.#pageBytes = header.readUInt32BE(8);
    this.#swap = ((header.readUInt32BE(0) & 1) === 1) !== (endianness() === 'BE');
  }

  run(): WalReport {
    const pageBytes = this.#pageBytes;
    const sane = pageBytes >= 512 && pageBytes <= 65_536 && (pageBytes & (pageBytes - 1)) === 0;
    // A header nobody can read a page size from: its frames cannot be found. 4,096 is ours.
    const frameBytes = FRAME_HEADER_BYTES + (sane ? pageBytes : 4096);
    const headerBroken = !sane || !this.#headerIsWhole();
    if (headerBroken) this.#firstBroken = 0;
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
    this.#s0 = 0;
    this.#s1 = 0;
    this.#sum(header, 0, 24);
    return this.#s0 === header.readUInt32BE(24) && this.#s1 === header.readUInt32BE(28);
  }

  /** Walks all frames; true when one behind the first broken frame proves a lost commit. */
  #scan(frameBytes: number, headerBroken: boolean): boolean {
    const size = fstatSync(this.#fd).size;
    const total = Math.max(0, Math.floor((size - HEADER_BYTES) / frameBytes));
    const perRead = Math.max(1, Math.floor(READ_BYTES / frameBytes));
    let afterCommit = false;
    let salts = headerBroken ? undefined : this.#header.subarray(16, 24);
    for (let first = 0; first < total; first += perRead) {
      const count = Math.min(perRead, total - first);
      const bytes = readAt(this.#fd, HEADER_BYTES + first * frameBytes, count * frameBytes);
      for (let i = 0; i < count; i++) {
        const frame = bytes.subarray(i * frameBytes, (i + 1) * frameBytes);
        salts ??= Buffer.from(frame.subarray(8, 16));
        const chained = this.#chains(frame, salts);
        if (!chained && this.#firstBroken < 0) this.#firstBroken = first + i;
        if (this.#firstBroken < 0) this.#accept(frame);
        else if (chained && afterCommit) return true;
        afterCommit = frame.subarray(8, 16).equals(salts) && frame.readUInt32BE(4) !== 0;
      }
    }
    return false;
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

  #accept(frame: Buffer): void {
    this.#frames++;
    const page = frame.subarray(FRAME_HEADER_BYTES);
    if (frame.readUInt32BE(0) === 1) this.#page1 = Buffer.from(page);
    this.#position = Math.max(this.#position, lastPosition(page));
    if (frame.readUInt32BE(4) === 0) return;
    this.#committed = this.#frames;
    this.#header1 = this.#page1?.subarray(0, DATABASE_HEADER_BYTES);
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
