/** Finished trees leave after `retentionMs`, or by hand; their history leaves with them. */
import type { Clock, TimerHandle } from '../world/clock.ts';
import type { Directory } from './directory.ts';
import type { DurableTime } from './durable-time.ts';
import type { Envelope } from './envelope.ts';
import { isTerminal, type ProcedureRow } from './row.ts';

export interface RetentionNeeds {
  readonly clock: Clock;
  readonly time: DurableTime;
  readonly directory: Directory;
  readonly limits: { readonly retentionMs: number | null };
  readonly executor: { post(envelope: Envelope): void };
}

/** Longest wait between two looks, ms. */
const LOOK_MS_MAX = 60_000;

export class Retention {
  readonly #needs: RetentionNeeds;
  /** Ended roots in order of their end. */
  readonly #ended: { readonly number: number; readonly at: number }[] = [];
  #timer: TimerHandle | undefined;

  constructor(needs: RetentionNeeds) {
    this.#needs = needs;
  }

  ended(row: ProcedureRow): void {
    if (row.parent === undefined) this.#ended.push({ number: row.number, at: row.at });
  }

  start(): void {
    this.#ended.sort((a, b) => a.at - b.at);
    const { retentionMs } = this.#needs.limits;
    if (retentionMs === null) return;
    this.#timer = this.#needs.clock.setTimeout(
      () => {
        this.#look(retentionMs);
        this.start();
      },
      Math.min(LOOK_MS_MAX, Math.max(1, retentionMs)),
    );
  }

  stop(): void {
    if (this.#timer !== undefined) this.#needs.clock.clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** Numbers of a tree, children first; undefined while a part of it has not ended. */
  endedTree(root: number): readonly number[] | undefined {
    const { directory } = this.#needs;
    const numbers: number[] = [];
    const visit = (slot: number): boolean => {
      const status = directory.statusOf(slot);
      if (status === undefined || !isTerminal(status)) return false;
      for (const child of directory.childrenOf(slot)) if (!visit(child)) return false;
      numbers.push(directory.numberOf(slot));
      return true;
    };
    const slot = directory.slotOfNumber(root);
    return slot !== undefined && visit(slot) ? numbers : undefined;
  }

  #look(retentionMs: number): void {
    const before = this.#needs.time.now() - retentionMs;
    while (this.#ended[0] !== undefined && this.#ended[0].at <= before) {
      const { number } = this.#ended[0];
      this.#ended.shift();
      for (const to of this.endedTree(number) ?? []) {
        this.#needs.executor.post({ kind: 'purge', to });
      }
    }
  }
}
