/**
 * Envelopes waiting for their step: one first-come queue for all procedures, with a count per
 * receiver, so that a mailbox has a limit (L11).
 */
import type { Envelope } from './envelope.ts';

export class MailQueue {
  #items: Envelope[] = [];
  #head = 0;
  readonly #waiting = new Map<number, number>();

  get length(): number {
    return this.#items.length - this.#head;
  }

  /** Envelopes that wait for `receiver`. */
  waitingFor(receiver: number): number {
    return this.#waiting.get(receiver) ?? 0;
  }

  push(envelope: Envelope): void {
    this.#items.push(envelope);
    this.#count(envelope.to, 1);
  }

  /** Puts envelopes back before all others, in their order. */
  unshift(envelopes: readonly Envelope[]): void {
    this.#items = [...envelopes, ...this.#items.slice(this.#head)];
    this.#head = 0;
    for (const envelope of envelopes) this.#count(envelope.to, 1);
  }

  shift(): Envelope | undefined {
    const envelope = this.#items[this.#head];
    if (envelope === undefined) return undefined;
    this.#head++;
    if (this.#head > 4096 && this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    this.#count(envelope.to, -1);
    return envelope;
  }

  /** Keeps only what `keep` accepts; returns the rest in order. */
  sift(keep: (envelope: Envelope) => boolean): Envelope[] {
    const removed: Envelope[] = [];
    const kept: Envelope[] = [];
    for (const envelope of this.#items.slice(this.#head)) {
      if (keep(envelope)) kept.push(envelope);
      else {
        removed.push(envelope);
        this.#count(envelope.to, -1);
      }
    }
    this.#items = kept;
    this.#head = 0;
    return removed;
  }

  *[Symbol.iterator](): Generator<Envelope> {
    for (let i = this.#head; i < this.#items.length; i++) yield this.#items[i] as Envelope;
  }

  #count(receiver: number, by: number): void {
    const count = (this.#waiting.get(receiver) ?? 0) + by;
    if (count === 0) this.#waiting.delete(receiver);
    else this.#waiting.set(receiver, count);
  }
}
