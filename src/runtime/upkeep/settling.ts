/**
 * Settled effects leave their rows with the next step of their procedure. A procedure that falls
 * idle gets a commit of its own after a while.
 */
import type { Clock, TimerHandle } from '../../world/clock.ts';
import type { Procedure } from '../population/procedure.ts';

export class Settling {
  readonly #clock: Clock;
  readonly #delayMs: number;
  readonly #flush: (procedure: number) => void;
  readonly #dirty = new Map<Procedure, number>();
  #timer: TimerHandle | undefined;

  constructor(clock: Clock, delayMs: number, flush: (procedure: number) => void) {
    this.#clock = clock;
    this.#delayMs = delayMs;
    this.#flush = flush;
  }

  add(procedure: Procedure): void {
    this.#dirty.set(procedure, this.#clock.monotonic());
    this.#timer ??= this.#arm();
  }

  /** Asks for the commits now; for a runtime that closes. */
  flushAll(): void {
    for (const procedure of this.#dirty.keys()) {
      if (procedure.settled !== undefined) this.#flush(procedure.number);
    }
    this.#dirty.clear();
  }

  stop(): void {
    if (this.#timer !== undefined) this.#clock.clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #arm(): TimerHandle {
    return this.#clock.setTimeout(() => {
      this.#timer = undefined;
      const before = this.#clock.monotonic() - this.#delayMs;
      for (const [procedure, since] of this.#dirty) {
        // A procedure at work drops its settled effects with its next step.
        if (procedure.settled !== undefined && since > before) continue;
        this.#dirty.delete(procedure);
        if (procedure.settled !== undefined) this.#flush(procedure.number);
      }
      if (this.#dirty.size > 0) this.#timer = this.#arm();
    }, this.#delayMs);
  }
}
