/**
 * The orders that Piscina holds because no thread is ready. A queue of our own, so that an order
 * can be taken back without a word: Piscina's own way is an AbortSignal, which kills the thread of
 * a running task without telling which one it was, and rejects promises that nobody may hold.
 */
import { queueOptionsSymbol, type TaskQueue } from 'piscina';

type PoolTask = Parameters<TaskQueue['push']>[0];

export class OrderQueue implements TaskQueue {
  readonly #tasks: PoolTask[] = [];

  get size(): number {
    return this.#tasks.length;
  }

  shift(): PoolTask | null {
    return this.#tasks.shift() ?? null;
  }

  push(task: PoolTask): void {
    this.#tasks.push(task);
  }

  unshift(task: PoolTask): void {
    this.#tasks.unshift(task);
  }

  remove(task: PoolTask): void {
    const index = this.#tasks.indexOf(task);
    if (index >= 0) this.#tasks.splice(index, 1);
  }

  /** Takes back what was pushed with this mark. */
  withdraw(mark: object): void {
    const task = this.#tasks.find((waiting) => waiting[queueOptionsSymbol] === mark);
    if (task !== undefined) this.remove(task);
  }
}
