/** What the client of the SQLite store and its two threads say to each other. */
import type { MessagePort } from 'node:worker_threads';
import type { Fault } from './sqlite-errors.ts';
import type { Chunk } from './sqlite-load.ts';
import type { SqliteSettings } from './sqlite-options.ts';
import type { HistoryRequest } from './history-page.ts';

/** `workerData` of both threads. */
export interface StoreThreadData {
  readonly settings: SqliteSettings;
}

export type StreamKind = 'states' | 'groups';

/** To the writing thread. A bare `Uint8Array` is a group to append. */
export type WriterRequest =
  | Uint8Array
  | { readonly op: 'acquire'; readonly id: number }
  | {
      readonly op: 'checkpoint';
      readonly id: number;
      readonly epoch: number;
      readonly position: number;
    }
  /** The next chunk of a stream; the first one opens it. */
  | {
      readonly op: 'next';
      readonly id: number;
      readonly stream: number;
      readonly kind: StreamKind;
    }
  | { readonly op: 'end'; readonly stream: number }
  /** The line to the second thread. */
  | { readonly op: 'side'; readonly port: MessagePort }
  | { readonly op: 'close'; readonly id: number };

/** To the second thread. */
export type SideRequest =
  | { readonly op: 'open'; readonly id: number; readonly port: MessagePort }
  | { readonly op: 'history'; readonly id: number; readonly request: HistoryRequest }
  | { readonly op: 'close'; readonly id: number };

/** A page: `entries` is the JSON text of an array. */
export interface HistoryText {
  readonly entries: string;
  readonly next?: string;
}

export interface ReignData {
  readonly epoch: number;
  readonly reign: string;
  readonly position: number;
  readonly checkpointed: number;
}

export type AnswerValue = ReignData | Chunk | HistoryText | undefined;

/**
 * From either thread. A bare number acknowledges the oldest append: its position. `append` refuses
 * it. `fatal` ends the store: its outcome is unknown.
 */
export type Answer =
  | number
  | { readonly append: Fault }
  | { readonly id: number; readonly value: AnswerValue }
  | { readonly id: number; readonly fault: Fault }
  | { readonly fatal: Fault };

/** On the line between the threads: the writer asks, the second thread answers the same way. */
export type SideSignal =
  { readonly wal: 'move' } | { readonly wal: 'moved' } | { readonly fatal: Fault };
