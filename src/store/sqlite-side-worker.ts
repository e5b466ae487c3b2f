/**
 * Program of the second thread: reads history over a read-only connection, and moves pages of the
 * write-ahead log into the database file when the writing thread asks for it.
 */
import Database from 'better-sqlite3';
import type { MessagePort } from 'node:worker_threads';
import { parentPort, workerData } from 'node:worker_threads';
import { outcomeUnknown, readFault, saysFull, toFault } from './sqlite-errors.ts';
import { storePaths } from './sqlite-files.ts';
import { HistoryReader } from './sqlite-history.ts';
import type {
  Answer,
  AnswerValue,
  SideRequest,
  SideSignal,
  StoreThreadData,
} from './sqlite-messages.ts';

if (parentPort === null) throw new Error('sqlite-side-worker runs in a worker thread');
const port = parentPort;
const { settings } = workerData as StoreThreadData;

/** Page cache of each connection here, KiB: history is read once, moved pages are not kept. */
const CACHE_KIB = 2048;

class SideThread {
  readonly #path = storePaths(settings.dir).database;
  readonly #readonly: Database.Database;
  readonly #mover: Database.Database;
  readonly #history: HistoryReader;
  readonly #writer: MessagePort;

  constructor(writer: MessagePort) {
    const timeout = settings.busyTimeoutMs;
    this.#readonly = new Database(this.#path, { readonly: true, fileMustExist: true, timeout });
    this.#readonly.pragma(`cache_size = -${CACHE_KIB}`);
    this.#mover = new Database(this.#path, { fileMustExist: true, timeout });
    this.#mover.pragma('synchronous = FULL');
    this.#mover.pragma('wal_autocheckpoint = 0');
    this.#mover.pragma(`cache_size = -${CACHE_KIB}`);
    this.#history = new HistoryReader(this.#readonly);
    this.#writer = writer;
    writer.on('message', () => {
      this.#moveWal();
    });
  }

  page(request: Extract<SideRequest, { op: 'history' }>['request']): AnswerValue {
    const { entries, next } = this.#history.page(request);
    return { entries: JSON.stringify(entries), ...(next === undefined ? {} : { next }) };
  }

  close(): void {
    this.#writer.close();
    this.#readonly.close();
    this.#mover.close();
  }

  #moveWal(): void {
    let signal: SideSignal = { wal: 'moved' };
    try {
      this.#mover.pragma('wal_checkpoint(PASSIVE)');
    } catch (error) {
      // Without space the pages stay where they are, safe, until there is some.
      if (!saysFull(error, settings.dir)) {
        signal = { fatal: toFault(outcomeUnknown('moving the write-ahead log', error)) };
      }
    }
    this.#writer.postMessage(signal);
  }
}

class SideProgram {
  #side: SideThread | undefined;

  perform(request: SideRequest): AnswerValue {
    switch (request.op) {
      case 'open':
        this.#side = new SideThread(request.port);
        return undefined;
      case 'history':
        if (this.#side === undefined) throw new Error('history asked for before the store is open');
        return this.#side.page(request.request);
      case 'close':
        this.#side?.close();
        return undefined;
    }
  }
}

const program = new SideProgram();

port.on('message', (request: SideRequest) => {
  let answer: Answer;
  try {
    answer = { id: request.id, value: program.perform(request) };
  } catch (error) {
    answer = { id: request.id, fault: toFault(readFault(error, settings.dir)) };
  }
  port.postMessage(answer);
  // Nothing is open any more: without its port the thread ends by itself.
  if (request.op === 'close') port.close();
});
