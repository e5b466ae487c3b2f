/** What the demo and the process that does its job say to each other. */
import type { ErrorData } from '../../src/index.ts';

/** The demo's one message: what to do. The same for each life of the process. */
export interface JobOrder {
  /** Directory of the store. */
  readonly store: string;
  /** Id of the procedure. */
  readonly id: string;
  /** Directory whose files are hashed. */
  readonly directory: string;
  /** Files of one batch. */
  readonly batch: number;
}

export type JobMessage =
  /** The procedure is on record. `files` of them are in its digest; more than 0: it goes on. */
  | { readonly kind: 'ready'; readonly files: number; readonly attempt: string }
  /** A batch is on record, and `attempt` does the next one; absent after the last. */
  | { readonly kind: 'committed'; readonly files: number; readonly attempt?: string }
  /** The running attempt has hashed up to `files`; nothing of that is on record. */
  | { readonly kind: 'progress'; readonly files: number }
  | { readonly kind: 'ended'; readonly status: string }
  | { readonly kind: 'failed'; readonly error: ErrorData };
