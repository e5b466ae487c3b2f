/**
 * The loop: takes envelopes, plans them into the forming group, and keeps at most one group in the
 * store (L1). While a group is being written the next one forms; when it is durable, what it
 * decided is published. When the store refuses it, both are discarded and planned again.
 *
 * I1  No step is published before its group is durable.
 * I2  Groups are published in the order of their positions.
 * I3  After a refusal every head, table and queue is as the last durable group left it, except for
 *     callers who were told that nothing happened.
 * I4  After an error whose outcome is unknown nothing acts any more.
 */
import { hasCode, ReeveError } from '../model/errors.ts';
import type { Store } from '../store/port.ts';
import type { Clock, TimerHandle } from '../world/clock.ts';
import { CommitGroup, type Sealed } from './planning/commit-group.ts';
import type { Counters } from './records/counters.ts';
import type { Envelope, Waiter } from './planning/envelope.ts';
import type { MailQueue } from './planning/mail-queue.ts';
import type { Procedure } from './population/procedure.ts';
import type { ProcedureRow } from './records/row.ts';
import type { Stepper } from './planning/stepper.ts';

export interface ExecutorLimits {
  readonly groupRecordsMax: number;
  readonly groupBytesMax: number;
  readonly checkpointBytes: number;
}

export interface ExecutorNeeds {
  readonly clock: Clock;
  readonly store: Store;
  readonly epoch: number;
  /** Position of the last durable group. */
  readonly position: number;
  readonly queue: MailQueue;
  readonly stepper: Stepper;
  readonly counters: Counters;
  readonly limits: ExecutorLimits;
  now(): number;
  /** The group's steps are durable. */
  publish(group: CommitGroup, sealed: readonly Sealed[]): void;
  /** Heads go back: whatever follows them must follow. */
  follow(procedure: Procedure, before: ProcedureRow): void;
  /** A procedure whose creation was discarded. */
  uncreate(procedure: Procedure): void;
  /** Called after each turn of the loop. */
  turned(): void;
  fatal(error: unknown): void;
  report(error: unknown): void;
}

/** Longest turn of the loop before others get the thread. */
const TURN_MS = 3;
const TURN_CHECK_EVERY = 16;
const STALL_MS = 250;
const STALL_MS_MAX = 5_000;

export class Executor {
  readonly #needs: ExecutorNeeds;
  #forming: CommitGroup;
  #inFlight: CommitGroup | undefined;
  #serial = 1;
  #position: number;
  #logged = 0;
  #checkpointing = false;
  #scheduled = false;
  #halted = false;
  #finishing = false;
  readonly #written: (() => void)[] = [];
  #stallMs = 0;
  #stall: TimerHandle | undefined;
  #stalledBy: unknown;
  readonly #quiet: (() => void)[] = [];
  /** Callers who wait for more than one commit; rejected when nothing can come any more. */
  readonly waiting = new Set<Pick<Waiter, 'reject'>>();

  constructor(needs: ExecutorNeeds) {
    this.#needs = needs;
    this.#position = needs.position;
    this.#forming = new CommitGroup(this.#serial);
  }

  /** Position of the last durable group. */
  get position(): number {
    return this.#position;
  }

  get halted(): boolean {
    return this.#halted;
  }

  /** The error because of which the store refuses commits at present. */
  get stalledBy(): unknown {
    return this.#stall === undefined ? undefined : this.#stalledBy;
  }

  post(envelope: Envelope): void {
    if (this.#halted) {
      envelope.waiter?.reject(new ReeveError('STORE_CLOSED', 'the runtime has ended', {}));
      return;
    }
    if (this.#stall !== undefined && envelope.waiter !== undefined) {
      envelope.waiter.reject(this.#stalledBy);
      return;
    }
    this.#needs.queue.push(envelope);
    this.#schedule();
  }

  /** There is something in the queue that was not posted here. */
  wake(): void {
    this.#schedule();
  }

  /**
   * Resolves when what was posted before has been planned and, unless the store refuses commits at
   * present, is durable. Rejects when the runtime has stopped for good.
   */
  async mark(procedure: number): Promise<void> {
    try {
      await new Promise<void>((resolve, reject) => {
        this.post({ kind: 'upkeep', what: 'mark', to: procedure, waiter: { resolve, reject } });
      });
    } catch (error) {
      if (this.#halted) throw error;
    }
  }

  /** Resolves when nothing waits, forms or is being written. */
  quiet(): Promise<void> {
    return new Promise((resolve) => {
      this.#quiet.push(resolve);
      this.#schedule();
    });
  }

  /** Plans and writes nothing more; resolves when the group on its way to the disk is published. */
  finish(): Promise<void> {
    this.#finishing = true;
    return new Promise((resolve) => {
      if (this.#inFlight === undefined) resolve();
      else this.#written.push(resolve);
    });
  }

  /** Stops for good: nothing is planned, written or published any more. */
  halt(): void {
    this.#halted = true;
    if (this.#stall !== undefined) this.#needs.clock.clearTimeout(this.#stall);
    this.#stall = undefined;
    for (const resolve of this.#quiet.splice(0)) resolve();
    this.#tellWritten();
  }

  #tellWritten(): void {
    for (const resolve of this.#written.splice(0)) resolve();
  }

  /** Rejects whoever waits for something that will not become durable here. */
  rejectAll(error: unknown): void {
    const { queue } = this.#needs;
    for (const envelope of queue.sift(() => false)) envelope.waiter?.reject(error);
    for (const group of [this.#inFlight, this.#forming]) {
      for (const waiter of group?.waiters ?? []) waiter.reject(error);
    }
    for (const waiter of this.waiting) waiter.reject(error);
    this.waiting.clear();
  }

  #schedule(): void {
    if (this.#scheduled || this.#halted || this.#stall !== undefined) return;
    this.#scheduled = true;
    this.#needs.clock.setImmediate(() => {
      this.#scheduled = false;
      this.#turn();
    });
  }

  #turn(): void {
    if (this.#halted || this.#finishing || this.#stall !== undefined) return;
    const { queue, stepper, clock } = this.#needs;
    const end = clock.monotonic() + TURN_MS;
    let taken = 0;
    while (!this.#full) {
      const envelope = queue.shift();
      if (envelope === undefined) break;
      try {
        stepper.take(envelope, this.#forming);
      } catch (error) {
        // A defect of Reeve itself: acting on would risk what is on disk.
        this.#needs.fatal(error);
        return;
      }
      taken++;
      if (taken % TURN_CHECK_EVERY === 0 && clock.monotonic() > end) break;
    }
    if (this.#inFlight === undefined && !this.#forming.isEmpty) this.#write();
    if (queue.length > 0 && !this.#full) this.#schedule();
    this.#needs.turned();
    this.#tellQuiet();
  }

  get #full(): boolean {
    const { groupRecordsMax, groupBytesMax } = this.#needs.limits;
    const { records, bytes } = this.#forming;
    return records >= groupRecordsMax || bytes >= groupBytesMax;
  }

  #write(): void {
    const { store, epoch, counters } = this.#needs;
    const group = this.#forming;
    this.#forming = new CommitGroup(++this.#serial);
    this.#inFlight = group;
    const sealed = group.seal();
    let bytes: Uint8Array;
    try {
      bytes = group.encode(this.#position + 1, epoch, counters.record(this.#needs.now()));
    } catch (error) {
      // A defect: what cannot be encoded can never become durable.
      this.#needs.fatal(error);
      return;
    }
    const { length } = bytes;
    store.append(epoch, bytes).then(
      () => {
        this.#durable(group, sealed, length);
      },
      (error: unknown) => {
        this.#refused(error);
      },
    );
  }

  #durable(group: CommitGroup, sealed: readonly Sealed[], bytes: number): void {
    if (this.#halted) return;
    this.#inFlight = undefined;
    this.#position++;
    this.#stallMs = 0;
    // The next group goes first: the disk works while this one is published.
    if (!this.#forming.isEmpty && !this.#finishing) this.#write();
    this.#needs.publish(group, sealed);
    this.#tellWritten();
    this.#checkpoint(bytes);
    if (this.#needs.queue.length > 0) this.#schedule();
    this.#tellQuiet();
  }

  #refused(error: unknown): void {
    if (this.#halted) return;
    if (!hasCode(error, 'STORE_FULL')) {
      this.#needs.fatal(error);
      return;
    }
    this.#discard(error);
    this.#tellWritten();
    this.#stallMs = Math.min(STALL_MS_MAX, this.#stallMs === 0 ? STALL_MS : this.#stallMs * 2);
    this.#stalledBy = error;
    this.#needs.report(error);
    this.#stall = this.#needs.clock.setTimeout(() => {
      this.#stall = undefined;
      this.#schedule();
    }, this.#stallMs);
    this.#needs.turned();
    // Nothing is being written: whoever waits for that need not wait for the disk.
    for (const resolve of this.#quiet.splice(0)) resolve();
  }

  /** Takes back the group in the store and the forming one; their mail will be planned again. */
  #discard(error: unknown): void {
    const { queue } = this.#needs;
    const groups = [this.#inFlight, this.#forming].filter((group) => group !== undefined);
    this.#inFlight = undefined;
    this.#forming = new CommitGroup(++this.#serial);
    const void_ = new Set(groups.map(({ serial }) => serial));
    for (const group of [...groups].reverse()) {
      group.undo((procedure, before) => {
        this.#needs.follow(procedure, before);
      });
      for (const procedure of group.created) this.#needs.uncreate(procedure);
    }
    const again = groups
      .flatMap(({ consumed }) => consumed)
      .filter(({ origin, waiter }) => waiter === undefined && !(origin && void_.has(origin)));
    for (const envelope of queue.sift((own) => !(own.origin && void_.has(own.origin)))) {
      envelope.waiter?.reject(error);
    }
    queue.unshift(again);
    for (const waiter of groups.flatMap(({ waiters }) => waiters)) waiter.reject(error);
  }

  #checkpoint(bytes: number): void {
    this.#logged += bytes;
    if (this.#checkpointing || this.#logged < this.#needs.limits.checkpointBytes) return;
    this.#checkpointing = true;
    this.#logged = 0;
    const { store, epoch } = this.#needs;
    store.checkpoint(epoch, this.#position).then(
      () => {
        this.#checkpointing = false;
      },
      (error: unknown) => {
        this.#checkpointing = false;
        // The log still holds everything; the next checkpoint goes on where this one stopped.
        if (!this.#halted) this.#needs.report(error);
      },
    );
  }

  #tellQuiet(): void {
    const { queue } = this.#needs;
    if (this.#quiet.length === 0 || queue.length > 0 || this.#inFlight !== undefined) return;
    if (!this.#forming.isEmpty) return;
    for (const resolve of this.#quiet.splice(0)) resolve();
  }
}
