/**
 * Rows of passivated procedures as UTF-8 bytes outside the JavaScript heap.
 *
 * An idle procedure costs its bytes and a few numbers in typed arrays, no object. Bytes live in
 * pages of one megabyte, cut into cells of a multiple of 64 bytes; freed cells are reused by size.
 * Rows too large for a cell get a buffer of their own.
 */
const PAGE_BYTES = 1 << 20;
const CELL_STEP = 64;
const CELL_BYTES_MAX = 8192;
const NOWHERE = -1;

export class ColdRows {
  readonly #pages: Buffer[] = [];
  #pageUsed = PAGE_BYTES;
  readonly #free: number[][] = [];
  readonly #large = new Map<number, Buffer>();
  /** Cell of a slot in units of CELL_STEP over all pages; NOWHERE when the slot is not here. */
  #cells = new Int32Array(1024).fill(NOWHERE);
  #lengths = new Int32Array(1024);
  #count = 0;

  get count(): number {
    return this.#count;
  }

  /** Bytes of all pages and large rows, used or free. */
  get bytes(): number {
    let large = 0;
    for (const buffer of this.#large.values()) large += buffer.length;
    return this.#pages.length * PAGE_BYTES + large;
  }

  has(slot: number): boolean {
    return slot < this.#lengths.length && (this.#lengths[slot] ?? 0) > 0;
  }

  put(slot: number, text: string): void {
    this.delete(slot);
    this.#reserve(slot);
    const length = Buffer.byteLength(text, 'utf8');
    if (length > CELL_BYTES_MAX) {
      this.#large.set(slot, Buffer.from(text, 'utf8'));
    } else {
      const cell = this.#allocate(Math.ceil(length / CELL_STEP));
      const [page, offset] = this.#locate(cell);
      page.write(text, offset, 'utf8');
      this.#cells[slot] = cell;
    }
    this.#lengths[slot] = length;
    this.#count++;
  }

  get(slot: number): string | undefined {
    if (!this.has(slot)) return undefined;
    const length = this.#lengths[slot] ?? 0;
    const large = this.#large.get(slot);
    if (large !== undefined) return large.toString('utf8');
    const [page, offset] = this.#locate(this.#cells[slot] ?? NOWHERE);
    return page.toString('utf8', offset, offset + length);
  }

  delete(slot: number): void {
    if (!this.has(slot)) return;
    const length = this.#lengths[slot] ?? 0;
    if (!this.#large.delete(slot)) {
      const units = Math.ceil(length / CELL_STEP);
      (this.#free[units] ??= []).push(this.#cells[slot] ?? NOWHERE);
      this.#cells[slot] = NOWHERE;
    }
    this.#lengths[slot] = 0;
    this.#count--;
  }

  #allocate(units: number): number {
    const reused = this.#free[units]?.pop();
    if (reused !== undefined) return reused;
    const bytes = units * CELL_STEP;
    if (this.#pageUsed + bytes > PAGE_BYTES) {
      this.#pages.push(Buffer.allocUnsafeSlow(PAGE_BYTES));
      this.#pageUsed = 0;
    }
    const cell = ((this.#pages.length - 1) * PAGE_BYTES + this.#pageUsed) / CELL_STEP;
    this.#pageUsed += bytes;
    return cell;
  }

  #locate(cell: number): [Buffer, number] {
    const at = cell * CELL_STEP;
    const page = this.#pages[Math.floor(at / PAGE_BYTES)];
    if (page === undefined) throw new RangeError(`no page for cell ${cell}`);
    return [page, at % PAGE_BYTES];
  }

  #reserve(slot: number): void {
    if (slot < this.#cells.length) return;
    const size = Math.max(slot + 1, this.#cells.length * 2);
    const cells = new Int32Array(size).fill(NOWHERE);
    cells.set(this.#cells);
    const lengths = new Int32Array(size);
    lengths.set(this.#lengths);
    this.#cells = cells;
    this.#lengths = lengths;
  }
}
