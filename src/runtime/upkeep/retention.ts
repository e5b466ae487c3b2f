/** Finished trees leave after `retentionMs`, or by hand; their history leaves with them. */
import type { Clock, TimerHandle } from '../../world/clock.ts';
import type { Directory } from '../population/directory.ts';
import type { DurableTime } from '../records/durable-time.ts';
import type { EffectRunner } from '../acting/effect-runner.ts';
import type { Envelope } from '../planning/envelope.ts';
import type { Population } from '../population/population.ts';
import { isTerminal, type ProcedureRow } from '../records/row.ts';

export interface RetentionNeeds {
  readonly clock: Clock;
  readonly time: DurableTime;
  readonly directory: Directory;
  readonly population: Population;
  readonly effects: EffectRunner;
  readonly limits: { readonly retentionMs: number | null };
  readonly executor: { post(envelope: Envelope): void };
}

/** Longest wait between two looks, ms. */
const LOOK_MS_MAX = 60_000;

export class Retention {
  readonly #needs: RetentionNeeds;
  /** Ended roots in order of their end. */
  #ended: { readonly number: number; readonly at: number }[] = [];
  #timer: TimerHandle | undefined;

  constructor(needs: RetentionNeeds) {
    this.#needs = needs;
  }

  ended({ parent, number, at }: ProcedureRow): void {
    if (this.#needs.limits.retentionMs === null || parent !== undefined) return;
    this.#ended.push({ number, at });
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

  /**
   * Numbers of a tree, children first; undefined while a part of it has not ended, has an effect
   * that is not settled, or hangs under a parent that lives and may still look at it.
   */
  endedTree(root: number): readonly number[] | undefined {
    const { directory, population, effects } = this.#needs;
    const numbers: number[] = [];
    const hasEnded = (slot: number): boolean => {
      const status = directory.statusOf(slot);
      return status !== undefined && isTerminal(status);
    };
    const visit = (slot: number): boolean => {
      const number = directory.numberOf(slot);
      const procedure = population.peek(number);
      if (!hasEnded(slot) || (procedure !== undefined && effects.busy(procedure))) return false;
      for (const child of directory.childrenOf(slot)) if (!visit(child)) return false;
      numbers.push(number);
      return true;
    };
    const slot = directory.slotOfNumber(root);
    if (slot === undefined) return undefined;
    const parent = directory.parentOf(slot);
    return (parent === -1 || hasEnded(parent)) && visit(slot) ? numbers : undefined;
  }

  #look(retentionMs: number): void {
    const { time, directory, executor } = this.#needs;
    const before = time.now() - retentionMs;
    const due = this.#ended.filter(({ at }) => at <= before);
    if (due.length === 0) return;
    const kept = this.#ended.filter(({ at }) => at > before);
    for (const root of due) {
      const tree = this.endedTree(root.number);
      for (const to of tree ?? []) executor.post({ kind: 'purge', to });
      // Its effects are still under way: it is looked at again.
      const stays = tree === undefined && directory.slotOfNumber(root.number) !== undefined;
      if (stays) kept.push(root);
    }
    this.#ended = kept;
  }
}
