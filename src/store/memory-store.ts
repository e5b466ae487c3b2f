/**
 * The store for tests and simulation: the whole contract of `port.ts` on a disk in memory, with
 * faults on demand. Deterministic: time passes only through the injected clock.
 */
import { checkGroup } from '../codec/frame-cursor.ts';
import { readGroupHeader } from '../codec/group.ts';
import type { GroupHeader } from '../codec/group.ts';
import { ReeveError } from '../model/errors.ts';
import type { Clock } from '../world/clock.ts';
import { cutHistoryPage, parseHistoryPage } from './history-page.ts';
import { MemoryDisk } from './memory-disk.ts';
import type { HistoryEntries, HistoryPage, Reign, Store } from './port.ts';
import { memoryFaults } from './memory-faults.ts';
import type { MemoryFaults } from './memory-faults.ts';

export interface MemoryStoreOptions {
  /** What the store writes to; default: a new disk. Several stores may follow each other on one. */
  readonly disk?: MemoryDisk;
  /** Needed when `latencyMs` is set. */
  readonly clock?: Clock;
  /** Ms from `append` to its sync, and of each checkpoint step. Default 0: within the call. */
  readonly latencyMs?: number;
  /** Failures on demand; default: none. */
  readonly faults?: MemoryFaults;
}

/** Bytes of a batch of `states()`. */
const BATCH_BYTES = 256 * 1024;

/**
 * A store in memory. A second store on the same disk takes over with its `acquire`: the first is
 * then refused with STALE_EPOCH.
 */
export function memoryStore(options: MemoryStoreOptions = {}): Store {
  const { disk = new MemoryDisk(), clock, latencyMs = 0, faults = memoryFaults() } = options;
  if (!(latencyMs >= 0)) throw optionInvalid('latencyMs', 'must not be negative');
  if (latencyMs > 0 && clock === undefined) throw optionInvalid('clock', 'goes with latencyMs');
  return new MemoryStore(disk, faults, pauseOf(clock, latencyMs));
}

/** Resolves after the latency; undefined when there is none. */
type Pause = (() => Promise<void>) | undefined;

class MemoryStore implements Store {
  readonly #disk: MemoryDisk;
  readonly #faults: MemoryFaults;
  readonly #pause: Pause;
  readonly #crashes: number;
  /** Ends when the append asked for last has ended. */
  #tail: Promise<void> = Promise.resolve();
  #checkpoints: Promise<void> = Promise.resolve();
  #streams = 0;
  #streamEnded: (() => void)[] = [];
  #epoch = 0;
  #failed: ReeveError | undefined;
  #closed = false;

  constructor(disk: MemoryDisk, faults: MemoryFaults, pause: Pause) {
    this.#disk = disk;
    this.#faults = faults;
    this.#pause = pause;
    this.#crashes = disk.crashes;
  }

  async acquire(): Promise<Reign> {
    this.#assertUsable();
    const disk = this.#disk;
    this.#epoch = disk.claim();
    const { epoch, position, checkpointed } = disk;
    return { epoch, reign: `memory-${epoch}`, position, checkpointed };
  }

  append(epoch: number, group: Uint8Array): Promise<void> {
    const refusal = this.#refusal();
    if (refusal !== undefined) return Promise.reject(refusal);
    // A copy: the caller may not touch the group any more, but here it would go unnoticed.
    const bytes = Buffer.from(group);
    const pause = this.#pause;
    if (pause === undefined) return this.#appendNow(epoch, bytes);
    const done = this.#tail.then(() => this.#appendSlowly(epoch, bytes, pause));
    this.#tail = done.catch(ignore);
    return done;
  }

  async *states(): AsyncGenerator<Uint8Array> {
    this.#openStream();
    try {
      let batch: Buffer[] = [];
      let bytes = 0;
      for (const frame of this.#disk.readStates()) {
        batch.push(frame);
        bytes += frame.length;
        if (bytes < BATCH_BYTES) continue;
        yield Buffer.concat(batch);
        this.#assertUsable();
        batch = [];
        bytes = 0;
      }
      if (batch.length > 0) yield Buffer.concat(batch);
    } finally {
      this.#closeStream();
    }
  }

  async *groups(): AsyncGenerator<Uint8Array> {
    this.#openStream();
    try {
      const { checkpointed, position: last } = this.#disk;
      for (let position = checkpointed + 1; position <= last; position++) {
        yield Buffer.from(this.#disk.readGroup(position));
        this.#assertUsable();
      }
    } finally {
      this.#closeStream();
    }
  }

  checkpoint(epoch: number, position: number): Promise<void> {
    const refusal = this.#refusal();
    if (refusal !== undefined) return Promise.reject(refusal);
    const done = this.#checkpoints.then(() => this.#fold(epoch, position));
    this.#checkpoints = done.catch(ignore);
    return done;
  }

  async history(page: HistoryPage): Promise<HistoryEntries> {
    this.#assertUsable();
    const request = parseHistoryPage(page);
    const { procedure, after } = request;
    const records = [...this.#disk.readHistory(procedure, after.position)];
    return cutHistoryPage(
      records.filter((r) => r.position > after.position || r.ordinal >= after.ordinal),
      request,
    );
  }

  async close(): Promise<void> {
    this.#closed = true;
    if (this.#crashes === this.#disk.crashes) await this.#tail;
  }

  async #appendNow(epoch: number, bytes: Buffer): Promise<void> {
    if (this.#admit(epoch, bytes) === 'there') return;
    this.#disk.write(bytes);
    this.#sync();
  }

  async #appendSlowly(epoch: number, bytes: Buffer, pause: () => Promise<void>): Promise<void> {
    if (this.#admit(epoch, bytes) === 'there') return pause();
    this.#disk.write(bytes);
    await pause();
    if (this.#crashes !== this.#disk.crashes) return never();
    if (epoch !== this.#disk.epoch) {
      this.#disk.drop();
      throw stale(epoch, this.#disk.epoch);
    }
    this.#sync();
  }

  /** Whether the group may be written; `there`: the same bytes are at that position already. */
  #admit(epoch: number, bytes: Buffer): 'next' | 'there' {
    if (this.#failed !== undefined) throw this.#failed;
    const header = headerOf(bytes);
    if (epoch !== this.#epoch || epoch !== this.#disk.epoch) throw stale(epoch, this.#disk.epoch);
    const { position } = header;
    if (header.epoch !== epoch) throw refused(position, 'is of another epoch');
    const last = this.#disk.position;
    if (position > last + 1) throw refused(position, `leaves a gap behind ${last}`);
    if (position <= last) {
      if (this.#disk.group(position)?.equals(bytes) === true) return 'there';
      throw refused(position, 'is taken');
    }
    assertWhole(bytes, position);
    if (this.#faults.takeFull()) throw full();
    return 'next';
  }

  #sync(): void {
    const fate = this.#faults.takeUnknown();
    if (fate === 'lost') this.#disk.drop();
    else this.#disk.sync();
    if (fate === undefined) return;
    this.#failed = new ReeveError('STORE_OUTCOME_UNKNOWN', 'the sync of a group failed');
    throw this.#failed;
  }

  async #fold(epoch: number, position: number): Promise<void> {
    const disk = this.#disk;
    for (;;) {
      this.#assertUsable();
      if (epoch !== this.#epoch || epoch !== disk.epoch) throw stale(epoch, disk.epoch);
      if (!Number.isSafeInteger(position) || position > disk.position) {
        throw refused(position, `is behind the last group ${disk.position}`);
      }
      if (this.#faults.full) throw full();
      if (disk.checkpointed >= position) return;
      if (this.#streams > 0) {
        await new Promise<void>((resolve) => this.#streamEnded.push(resolve));
        continue;
      }
      disk.foldNext();
      await this.#pause?.();
      if (this.#crashes !== disk.crashes) return never();
    }
  }

  #openStream(): void {
    this.#assertUsable();
    this.#streams++;
  }

  #closeStream(): void {
    this.#streams--;
    if (this.#streams > 0) return;
    const waiting = this.#streamEnded;
    this.#streamEnded = [];
    for (const resolve of waiting) resolve();
  }

  #assertUsable(): void {
    const refusal = this.#refusal();
    if (refusal !== undefined) throw refusal;
  }

  #refusal(): ReeveError | undefined {
    if (this.#closed) return new ReeveError('STORE_CLOSED', 'the store was closed');
    if (this.#failed === undefined && this.#crashes !== this.#disk.crashes) {
      this.#failed = new ReeveError('STORE_OUTCOME_UNKNOWN', 'the disk crashed under this store');
    }
    return this.#failed;
  }
}

function pauseOf(clock: Clock | undefined, latencyMs: number): Pause {
  if (clock === undefined || latencyMs === 0) return undefined;
  return () =>
    new Promise((resolve) => {
      clock.setTimeout(resolve, latencyMs);
    });
}

function headerOf(bytes: Buffer): GroupHeader {
  try {
    return readGroupHeader(bytes);
  } catch (cause) {
    throw new ReeveError('STORE_REFUSED', 'the bytes are not a commit group', {}, cause);
  }
}

function assertWhole(bytes: Buffer, position: number): void {
  try {
    checkGroup(bytes, position);
  } catch (cause) {
    throw new ReeveError('STORE_REFUSED', 'the group is damaged', { position }, cause);
  }
}

/** What a process that is gone hears: nothing. */
function never(): Promise<never> {
  return new Promise(() => {});
}

function ignore(): void {}

function stale(epoch: number, current: number): ReeveError {
  return new ReeveError('STALE_EPOCH', `epoch ${epoch} is not the current one, ${current}`, {
    epoch,
    current,
  });
}

function refused(position: number, why: string): ReeveError {
  return new ReeveError('STORE_REFUSED', `position ${position} ${why}`, { position });
}

function full(): ReeveError {
  return new ReeveError('STORE_FULL', 'the disk is full');
}

function optionInvalid(option: string, rule: string): ReeveError {
  return new ReeveError('OPTION_INVALID', `${option} ${rule}`, { option });
}
