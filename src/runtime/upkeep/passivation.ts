/** Sends idle procedures out of memory: they become bytes until their next event. */
import type { Clock, TimerHandle } from '../../world/clock.ts';
import type { EffectRunner } from '../acting/effect-runner.ts';
import type { Population } from '../population/population.ts';

export interface PassivationNeeds {
  readonly clock: Clock;
  readonly population: Population;
  readonly effects: EffectRunner;
  /** Steps that wait to be published still hold their procedures. */
  readonly publisher: { readonly backlog: number };
  readonly limits: { readonly passivateAfterMs: number };
}

export class Passivation {
  readonly #needs: PassivationNeeds;
  #timer: TimerHandle | undefined;
  #stopped = false;

  constructor(needs: PassivationNeeds) {
    this.#needs = needs;
  }

  /** Looks again after a while, and as long as somebody is in memory: an idle runtime sleeps. */
  wake(): void {
    if (this.#timer !== undefined || this.#stopped) return;
    const { clock, limits, population } = this.#needs;
    this.#timer = clock.setTimeout(() => {
      this.#timer = undefined;
      this.sweep();
      if (population.liveCount > 0) this.wake();
    }, limits.passivateAfterMs);
  }

  stop(): void {
    this.#stopped = true;
    if (this.#timer !== undefined) this.#needs.clock.clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** Passivates what has been idle for `passivateAfterMs`; returns how many. */
  sweep(): number {
    const { clock, population, effects, limits, publisher } = this.#needs;
    if (publisher.backlog > 0) return 0;
    return population.passivate(
      clock.monotonic() - limits.passivateAfterMs,
      (procedure) =>
        procedure.locals === undefined &&
        procedure.settled === undefined &&
        !effects.busy(procedure),
    );
  }
}
