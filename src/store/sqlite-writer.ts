/**
 * The writing thread of the SQLite store, apart from its port: appends as they come, checkpoint
 * slices and streams in between. Everything it holds is closed by the message `close`.
 */
import type { MessagePort } from 'node:worker_threads';
import { ReeveError } from '../model/errors.ts';
import { Checkpointer } from './sqlite-checkpoint.ts';
import { outcomeUnknown, readFault, toFault } from './sqlite-errors.ts';
import { GroupReader, StateReader } from './sqlite-load.ts';
import type { ChunkReader } from './sqlite-load.ts';
import type { Answer, AnswerValue, SideSignal, WriterRequest } from './sqlite-messages.ts';
import { OpenStore } from './sqlite-open.ts';
import type { SqliteSettings } from './sqlite-options.ts';
import { WalKeeper } from './sqlite-wal.ts';

/** What the thread's program gives to the writer. */
export interface WriterWorld {
  readonly post: (answer: Answer, transfer?: readonly ArrayBuffer[]) => void;
  /** Ms of a clock that never goes back. */
  readonly now: () => number;
  /** ISO time of now. */
  readonly isoTime: () => string;
  readonly newReign: () => string;
  /** Runs `run` after the messages that have arrived. */
  readonly later: (run: () => void) => void;
}

/** A store that is open, with everything that works on it. */
interface Engine {
  readonly store: OpenStore;
  readonly checkpointer: Checkpointer;
  readonly keeper: WalKeeper;
}

type Numbered<Op> = Extract<WriterRequest, { op: Op }>;

export class StoreWriter {
  readonly #settings: SqliteSettings;
  readonly #world: WriterWorld;
  readonly #streams = new Map<number, ChunkReader>();
  #engine: Engine | undefined;
  #side: MessagePort | undefined;
  #failed: ReeveError | undefined;
  #sliceDue = false;

  constructor(settings: SqliteSettings, world: WriterWorld) {
    this.#settings = settings;
    this.#world = world;
  }

  receive(request: WriterRequest): void {
    if (request instanceof Uint8Array) return this.#append(request);
    switch (request.op) {
      case 'acquire':
        return this.#answer(request.id, () => this.#acquire());
      case 'checkpoint':
        return this.#checkpoint(request);
      case 'next':
        return this.#next(request);
      case 'end':
        return this.#endStream(request.stream);
      case 'side':
        return this.#attachSide(request.port);
      case 'close':
        return this.#answer(request.id, () => this.#close());
    }
  }

  #append(group: Uint8Array): void {
    let position;
    try {
      position = this.#running().store.log.append(group);
    } catch (error) {
      return this.#refuseAppend(error);
    }
    this.#world.post(position);
    this.#afterCommit();
  }

  #refuseAppend(error: unknown): void {
    const { store } = this.#engine ?? {};
    const fault =
      error instanceof ReeveError
        ? error
        : (store?.commitFault(error, 'an append') ?? outcomeUnknown('an append', error));
    if (fault.code === 'STORE_OUTCOME_UNKNOWN') this.#fail(fault);
    this.#world.post({ append: toFault(fault) });
  }

  #acquire(): AnswerValue {
    if (this.#failed !== undefined) throw this.#failed;
    const engine = this.#engine;
    if (engine === undefined) return this.#openEngine();
    // A new reign of the same process: what the old one has begun is its own affair no more.
    const { epoch } = engine.store.log;
    engine.checkpointer.abort(
      new ReeveError('STALE_EPOCH', `epoch ${epoch} is not the current one`, { epoch }),
    );
    try {
      return engine.store.beginReign(this.#world.newReign());
    } catch (error) {
      if (error instanceof ReeveError && error.code === 'STORE_OUTCOME_UNKNOWN') this.#fail(error);
      throw error;
    }
  }

  #openEngine(): AnswerValue {
    const { sliceMs, walBytes } = this.#settings;
    const store = new OpenStore(this.#settings, this.#world.isoTime());
    try {
      const reign = store.beginReign(this.#world.newReign());
      const keeper = new WalKeeper(store.db, walBytes, () => this.#signalSide());
      const checkpointer = new Checkpointer(store, sliceMs, this.#world.now);
      this.#engine = { store, checkpointer, keeper };
      return reign;
    } catch (error) {
      store.close();
      throw error;
    }
  }

  #checkpoint({ id, epoch, position }: Numbered<'checkpoint'>): void {
    try {
      this.#running().checkpointer.add({
        epoch,
        position,
        settle: (error) => {
          if (error === undefined) this.#world.post({ id, value: undefined });
          else this.#world.post({ id, fault: toFault(error) });
        },
      });
      this.#planSlice();
    } catch (error) {
      this.#postFault(id, error);
    }
  }

  #planSlice(): void {
    if (this.#sliceDue) return;
    this.#sliceDue = true;
    this.#world.later(() => {
      this.#sliceDue = false;
      this.#slice();
    });
  }

  #slice(): void {
    const engine = this.#engine;
    // Streams read without a transaction; a checkpoint would move rows from under them.
    if (engine === undefined || this.#streams.size > 0 || !engine.checkpointer.busy) return;
    // The answer of the second thread plans the next slice.
    if (engine.keeper.crowded) return;
    try {
      engine.checkpointer.slice();
    } catch (error) {
      return this.#fail(error as ReeveError);
    }
    this.#afterCommit();
    if (engine.checkpointer.busy) this.#planSlice();
  }

  #next({ id, stream, kind }: Numbered<'next'>): void {
    try {
      const { store } = this.#running();
      const { chunkBytes } = this.#settings;
      let reader = this.#streams.get(stream);
      if (reader === undefined) {
        reader =
          kind === 'states'
            ? new StateReader(store.db, chunkBytes)
            : new GroupReader(store.log, chunkBytes);
        this.#streams.set(stream, reader);
      }
      const value = reader.next();
      if (value === undefined) this.#endStream(stream);
      this.#world.post({ id, value }, value === undefined ? [] : [value.bytes.buffer]);
    } catch (error) {
      this.#endStream(stream);
      this.#postFault(id, error);
    }
  }

  #endStream(stream: number): void {
    if (this.#streams.delete(stream)) this.#planSlice();
  }

  #attachSide(port: MessagePort): void {
    this.#side = port;
    port.on('message', (signal: SideSignal) => {
      if ('fatal' in signal) {
        const { code, message, details } = signal.fatal;
        return this.#fail(new ReeveError(code, message, details));
      }
      this.#guarded(() => this.#engine?.keeper.moved());
      this.#planSlice();
    });
  }

  #signalSide(): void {
    const signal: SideSignal = { wal: 'move' };
    this.#side?.postMessage(signal);
  }

  #afterCommit(): void {
    this.#guarded(() => this.#engine?.keeper.committed());
  }

  /** Work on the write-ahead log: a lack of space there can wait, anything else cannot. */
  #guarded(work: () => void): void {
    if (this.#failed !== undefined) return;
    try {
      work();
    } catch (error) {
      const fault = this.#engine?.store.commitFault(error, 'moving the write-ahead log');
      if (fault !== undefined && fault.code !== 'STORE_FULL') this.#fail(fault);
    }
  }

  #close(): AnswerValue {
    const engine = this.#engine;
    this.#streams.clear();
    if (engine !== undefined) {
      engine.checkpointer.abort(new ReeveError('STORE_CLOSED', 'the store was closed'));
      this.#engine = undefined;
      engine.store.close(this.#failed === undefined);
    }
    this.#side?.close();
    return undefined;
  }

  /** The store's outcome is unknown: from here on everything is refused with this error. */
  #fail(error: ReeveError): void {
    if (this.#failed !== undefined) return;
    this.#failed = error;
    this.#streams.clear();
    this.#world.post({ fatal: toFault(error) });
    this.#engine?.checkpointer.abort(error);
  }

  #running(): Engine {
    if (this.#failed !== undefined) throw this.#failed;
    const engine = this.#engine;
    if (engine !== undefined) return engine;
    throw new ReeveError('STALE_EPOCH', 'the store is not acquired');
  }

  #answer(id: number, work: () => AnswerValue): void {
    try {
      this.#world.post({ id, value: work() });
    } catch (error) {
      this.#postFault(id, error);
    }
  }

  #postFault(id: number, error: unknown): void {
    this.#world.post({ id, fault: toFault(readFault(error, this.#settings.dir)) });
  }
}
