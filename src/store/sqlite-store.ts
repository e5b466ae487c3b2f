/**
 * The embedded store: SQLite in threads of its own. This side knows no SQLite; it hands groups
 * over, and resolves promises as acknowledgements come back in order.
 */
import { MessageChannel } from 'node:worker_threads';
import { readGroupHeader } from '../codec/group.ts';
import { ReeveError } from '../model/errors.ts';
import type { Json } from '../model/json.ts';
import { parseJson } from '../model/json.ts';
import { parseHistoryPage } from './history-page.ts';
import type { HistoryEntries, HistoryPage, Reign, Store } from './port.ts';
import type { Chunk } from './sqlite-load.ts';
import type { HistoryText, ReignData, StreamKind } from './sqlite-messages.ts';
import { sqliteSettings } from './sqlite-options.ts';
import type { SqliteSettings, SqliteStoreOptions } from './sqlite-options.ts';
import { outcomeUnknown } from './sqlite-errors.ts';
import { StoreThread } from './sqlite-thread.ts';

export type { SqliteStoreOptions } from './sqlite-options.ts';

/**
 * A store in the directory `options.dir`. Nothing is opened before `acquire`; the process stays
 * alive until `close`.
 *
 * `acquire` throws STORE_LOCKED while another process, or another store of this one, holds the
 * directory; STORE_FOREIGN, STORE_TOO_NEW and STORE_DAMAGED leave it as it was. After any of them
 * `acquire` may be tried again.
 *
 * Do not open the store's files in the same process (`fs.copyFile` included): closing a file drops
 * the locks a process has on it. Back up with `sqlite3 reeve.db ".backup FILE"`.
 *
 * @throws OPTION_INVALID for an option that is unknown or outside its limits
 */
export function sqliteStore(options: SqliteStoreOptions): Store {
  return new SqliteStore(sqliteSettings(options));
}

interface PendingAppend {
  readonly resolve: () => void;
  readonly reject: (error: ReeveError) => void;
}

class SqliteStore implements Store {
  readonly #settings: SqliteSettings;
  /** Appends in the store's thread, oldest first. */
  readonly #appends: PendingAppend[] = [];
  #writer: StoreThread | undefined;
  #side: StoreThread | undefined;
  #streams = 0;
  #failed: ReeveError | undefined;
  #closing: Promise<void> | undefined;

  constructor(settings: SqliteSettings) {
    this.#settings = settings;
  }

  async acquire(): Promise<Reign> {
    this.#assertUsable();
    const writer = (this.#writer ??= this.#startThread('sqlite-worker'));
    let reign;
    try {
      reign = (await writer.ask((id) => ({ op: 'acquire', id }))) as ReignData;
    } catch (error) {
      await this.#abandon(writer);
      throw error;
    }
    if (this.#side === undefined && this.#closing === undefined) this.#startSide(writer);
    return reign;
  }

  append(epoch: number, group: Uint8Array): Promise<void> {
    const writer = this.#writer;
    const refusal = this.#refusal() ?? refusalOf(epoch, group);
    if (refusal !== undefined) return Promise.reject(refusal);
    if (writer === undefined) return Promise.reject(notAcquired());
    return new Promise((resolve, reject) => {
      this.#appends.push({ resolve, reject });
      hand(writer, group);
    });
  }

  states(): AsyncIterable<Uint8Array> {
    return this.#stream('states');
  }

  groups(): AsyncIterable<Uint8Array> {
    return this.#stream('groups');
  }

  async checkpoint(epoch: number, position: number): Promise<void> {
    this.#assertUsable();
    const writer = this.#writer;
    if (writer === undefined) throw notAcquired();
    await writer.ask((id) => ({ op: 'checkpoint', id, epoch, position }));
  }

  async history(page: HistoryPage): Promise<HistoryEntries> {
    this.#assertUsable();
    const request = parseHistoryPage(page);
    if (this.#side === undefined) throw notAcquired();
    const answer = await this.#side.ask((id) => ({ op: 'history', id, request }));
    const { entries, next } = answer as HistoryText;
    const parsed = parseJson(entries, 'history') as readonly Json[];
    return { entries: parsed, ...(next === undefined ? {} : { next }) };
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async *#stream(kind: StreamKind): AsyncGenerator<Uint8Array> {
    this.#assertUsable();
    const writer = this.#writer;
    if (writer === undefined) throw notAcquired();
    const stream = ++this.#streams;
    const next = (): Promise<Chunk | undefined> => {
      const chunk = writer.ask((id) => ({ op: 'next', id, stream, kind }));
      // It may fail before anybody waits for it; who waits later still hears of it.
      chunk.catch(ignore);
      return chunk as Promise<Chunk | undefined>;
    };
    let coming = next();
    try {
      for (;;) {
        const chunk = await coming;
        this.#assertUsable();
        if (chunk === undefined) return;
        // One chunk ahead, no more: memory stays flat however slow the reader is.
        coming = next();
        let start = 0;
        for (const end of chunk.ends) {
          yield chunk.bytes.subarray(start, end);
          start = end;
        }
      }
    } finally {
      writer.post({ op: 'end', stream });
    }
  }

  async #close(): Promise<void> {
    // The second thread first: the last connection to close empties the write-ahead log.
    try {
      await this.#side?.close();
    } finally {
      await this.#writer?.close();
    }
  }

  /** A store that could not be opened leaves no thread behind that keeps the process alive. */
  async #abandon(writer: StoreThread): Promise<void> {
    if (this.#side !== undefined || this.#writer !== writer || this.#closing !== undefined) return;
    this.#writer = undefined;
    await writer.close();
  }

  #startThread(program: 'sqlite-worker' | 'sqlite-side-worker'): StoreThread {
    return new StoreThread(
      program,
      { settings: this.#settings },
      {
        appended: () => this.#appends.shift()?.resolve(),
        appendRefused: (error) => this.#appends.shift()?.reject(error),
        failed: (error) => {
          this.#fail(error);
        },
      },
    );
  }

  #startSide(writer: StoreThread): void {
    const side = this.#startThread('sqlite-side-worker');
    this.#side = side;
    const { port1, port2 } = new MessageChannel();
    writer.post({ op: 'side', port: port1 }, [port1]);
    side
      .ask((id) => ({ op: 'open', id, port: port2 }), [port2])
      .catch((error: unknown) => {
        // Without it the write-ahead log would grow for ever.
        this.#fail(outcomeUnknown('the second thread could not open the store', error));
      });
  }

  #fail(error: ReeveError): void {
    this.#failed ??= error;
    for (const append of this.#appends.splice(0)) append.reject(this.#failed);
    // One thread may be waiting for the other that is gone; who asked must not wait for both.
    if (this.#closing !== undefined) return;
    this.#writer?.refuse(this.#failed);
    this.#side?.refuse(this.#failed);
  }

  #refusal(): ReeveError | undefined {
    if (this.#closing !== undefined) return new ReeveError('STORE_CLOSED', 'the store was closed');
    return this.#failed;
  }

  #assertUsable(): void {
    const refusal = this.#refusal();
    if (refusal !== undefined) throw refusal;
  }
}

/** Gives the group's bytes away: moved where they are a buffer's beginning, else copied. */
function hand(writer: StoreThread, group: Uint8Array): void {
  if (group.byteOffset === 0 && group.buffer instanceof ArrayBuffer) {
    try {
      // Not a Buffer's own class: the bytes travel, the wrapper is made anew on the other side.
      writer.post(new Uint8Array(group.buffer, 0, group.length), [group.buffer]);
      return;
    } catch (error) {
      // Node keeps its pool of small buffers from being moved.
      if ((error as { name?: unknown }).name !== 'DataCloneError') throw error;
    }
  }
  const copy = new Uint8Array(group);
  writer.post(copy, [copy.buffer]);
}

function refusalOf(epoch: number, group: Uint8Array): ReeveError | undefined {
  try {
    const header = readGroupHeader(group);
    if (header.epoch === epoch) return undefined;
    return new ReeveError('STORE_REFUSED', `the group is of epoch ${header.epoch}, not ${epoch}`, {
      position: header.position,
    });
  } catch (cause) {
    return new ReeveError('STORE_REFUSED', 'the bytes are not a commit group', {}, cause);
  }
}

function notAcquired(): ReeveError {
  return new ReeveError('STALE_EPOCH', 'the store is not acquired');
}

function ignore(): void {}
