/**
 * The store: a log of commit groups and a table of latest states.
 *
 * A group (see `src/codec/group.ts`) is a list of records decided together; it becomes durable
 * whole or not at all. Records are absolute (`put key value`, `delete key`), so that the latest
 * state is the fold of the log, and a checkpoint is that fold, made by the store itself away from
 * the coordinator's thread.
 *
 * Obligations every implementation shares (test/contract/store.ts):
 *  - `append` resolves only when the group would survive the loss of power.
 *  - Positions have no gaps. Appending the same bytes at the same position again is fine; other
 *    bytes there, a gap, and bytes that are no whole group are refused with STORE_REFUSED, and
 *    nothing of them is written.
 *  - After `acquire`, every append under an older epoch is refused with STALE_EPOCH.
 *  - STORE_FULL means proven rolled back; any other failed append is STORE_OUTCOME_UNKNOWN, after
 *    which the instance refuses everything.
 *  - A damaged record is refused by its position (STORE_DAMAGED; a state by its key), not skipped.
 *  - States and groups are read one after the other before the first checkpoint of a reign. While
 *    one of them is being read, a checkpoint waits; between the two nothing holds it back.
 *  - After `close` every call is refused with STORE_CLOSED; a checkpoint that runs is cut off with
 *    it, and what it has done stays.
 */
import type { Json } from '../model/json.ts';

export interface Reign {
  /** Grows by one with each `acquire`, durably. First reign: 1. */
  readonly epoch: number;
  /** Random; tells two claimants of one epoch apart. */
  readonly reign: string;
  /** Position of the last durable group; 0 when there is none. */
  readonly position: number;
  /** Position up to which groups are folded into the state table. */
  readonly checkpointed: number;
}

export interface HistoryPage {
  /** Procedure number. */
  readonly procedure: number;
  /** Continue behind this cursor; absent for the first page. */
  readonly after?: string;
  /** Most entries of the page, 1 to 1,000. */
  readonly limit: number;
}

export interface HistoryEntries {
  readonly entries: readonly Json[];
  /** Cursor of the next page; absent when this was the last one. */
  readonly next?: string;
}

export interface Store {
  acquire(): Promise<Reign>;
  /**
   * Appends one encoded group. Takes ownership of `group`, also when it is refused: its buffer may
   * be transferred to another thread and is empty then. Who may have to try again encodes again.
   */
  append(epoch: number, group: Uint8Array): Promise<void>;
  /** Latest states as of the checkpoint: batches of framed PUT records. */
  states(): AsyncIterable<Uint8Array>;
  /** The groups behind the checkpoint, in order: whole encoded groups, gapless. */
  groups(): AsyncIterable<Uint8Array>;
  /**
   * Folds the groups up to `position` into the state and history tables and then removes them from
   * the log, in slices between appends. Calling it again, or after a crash, continues.
   */
  checkpoint(epoch: number, position: number): Promise<void>;
  history(page: HistoryPage): Promise<HistoryEntries>;
  /** Flushes nothing (appends are durable already), releases the lock. */
  close(): Promise<void>;
}
