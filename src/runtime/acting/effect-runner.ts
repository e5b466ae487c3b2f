/**
 * Runs the effects of durable steps: in order within a procedure, at least once, each until it is
 * settled (L2). An effect that throws is tried again; when its tries are used up the machine hears
 * `effect.failed`. A throwing effect never ends its machine.
 */
import type { EventObject } from 'xstate';
import { toErrorData } from '../../model/errors.ts';
import type { Json } from '../../model/json.ts';
import type { Clock, TimerHandle } from '../../world/clock.ts';
import type { LiveEffect } from '../planning/commit-group.ts';
import type { Procedure } from '../population/procedure.ts';

export interface EffectLimits {
  /** Delay before the second try, ms; doubles with each further one. */
  readonly effectRetryMs: number;
  readonly effectRetryMsMax: number;
  readonly effectAttemptsMax: number;
}

export interface EffectNeeds {
  readonly clock: Clock;
  /** In [0, 1); spreads retries. */
  readonly random: () => number;
  readonly limits: EffectLimits;
  /** The effect is settled: its row leaves with a later commit. */
  settled(procedure: Procedure, effect: LiveEffect): void;
  /** The effect's tries are used up; it is settled by the step that takes `event`. */
  failed(procedure: Procedure, effect: LiveEffect, event: EventObject): void;
  report(error: unknown, procedure: Procedure, effect: LiveEffect): void;
}

/** What an effect is doing, for `explain`. */
export interface EffectStanding {
  readonly type: string;
  readonly key: string;
  readonly attempts: number;
  readonly lastError?: string;
}

interface Line {
  readonly effects: LiveEffect[];
  attempts: number;
  lastError: string | undefined;
  running: boolean;
  timer: TimerHandle | undefined;
}

export class EffectRunner {
  readonly #needs: EffectNeeds;
  readonly #lines = new Map<Procedure, Line>();
  #started = false;
  #stopped = false;

  constructor(needs: EffectNeeds) {
    this.#needs = needs;
  }

  get count(): number {
    let count = 0;
    for (const line of this.#lines.values()) count += line.effects.length;
    return count;
  }

  busy(procedure: Procedure): boolean {
    return this.#lines.has(procedure);
  }

  standing(procedure: Procedure): readonly EffectStanding[] {
    const line = this.#lines.get(procedure);
    return (line?.effects ?? []).map(({ stored }, index) => ({
      type: stored.type,
      key: keyOf(procedure, stored),
      attempts: index === 0 ? (line?.attempts ?? 0) : 0,
      ...(index === 0 && line?.lastError !== undefined ? { lastError: line.lastError } : {}),
    }));
  }

  add(procedure: Procedure, effects: readonly LiveEffect[]): void {
    if (effects.length === 0 || this.#stopped) return;
    let line = this.#lines.get(procedure);
    if (line === undefined) {
      line = { effects: [], attempts: 0, lastError: undefined, running: false, timer: undefined };
      this.#lines.set(procedure, line);
    }
    line.effects.push(...effects);
    if (this.#started && !line.running) this.#run(procedure, line);
  }

  /** Effects added so far, and from now on, run. */
  start(): void {
    this.#started = true;
    for (const [procedure, line] of this.#lines) if (!line.running) this.#run(procedure, line);
  }

  /** No further effect starts. */
  stop(): void {
    this.#stopped = true;
    for (const line of this.#lines.values()) {
      if (line.timer !== undefined) this.#needs.clock.clearTimeout(line.timer);
    }
  }

  #run(procedure: Procedure, line: Line): void {
    line.running = true;
    while (!this.#stopped) {
      const effect = line.effects[0];
      if (effect === undefined) {
        this.#lines.delete(procedure);
        return;
      }
      const outcome = this.#call(procedure, line, effect);
      if (outcome !== undefined) {
        outcome.then(
          () => {
            this.#settle(procedure, line, effect);
            this.#run(procedure, line);
          },
          (error: unknown) => {
            if (this.#retry(procedure, line, effect, error)) this.#run(procedure, line);
          },
        );
        return;
      }
      if (line.timer !== undefined) return;
    }
  }

  /** Runs the effect; a promise when it goes on, undefined when it is settled or waits. */
  #call(procedure: Procedure, line: Line, effect: LiveEffect): PromiseLike<unknown> | undefined {
    const { stored, context, event, params } = effect;
    try {
      const run = procedure.program.actions?.find(stored.type);
      if (run === undefined) {
        throw new Error(`machine '${procedure.program.key}' has no action '${stored.type}'`);
      }
      line.attempts++;
      const { ref } = procedure;
      const key = keyOf(procedure, stored);
      const result = run({ context, event, self: ref, system: ref.system, key }, params);
      if (isPromise(result)) return result;
      this.#settle(procedure, line, effect);
    } catch (error) {
      this.#retry(procedure, line, effect, error);
    }
    return undefined;
  }

  #settle(procedure: Procedure, line: Line, effect: LiveEffect): void {
    if (this.#stopped) return;
    this.#next(line);
    this.#needs.settled(procedure, effect);
  }

  #next(line: Line): void {
    line.effects.shift();
    line.attempts = 0;
    line.lastError = undefined;
  }

  /** True when the line goes on at once; false when it waits for the next try. */
  #retry(procedure: Procedure, line: Line, effect: LiveEffect, error: unknown): boolean {
    if (this.#stopped) return false;
    const { limits, clock, random } = this.#needs;
    this.#needs.report(error, procedure, effect);
    const { stack: _stack, ...data } = toErrorData(error);
    line.lastError = data.message;
    if (line.attempts >= limits.effectAttemptsMax) {
      const { type, params } = effect.stored;
      const event = { type: 'effect.failed', effect: type, params: params ?? null, error: data };
      this.#next(line);
      this.#needs.failed(procedure, effect, event as unknown as EventObject);
      return true;
    }
    const doubled = limits.effectRetryMs * 2 ** Math.min(line.attempts - 1, 30);
    const delay = Math.min(limits.effectRetryMsMax, doubled) * (0.5 + random() / 2);
    line.timer = clock.setTimeout(() => {
      line.timer = undefined;
      this.#run(procedure, line);
    }, Math.ceil(delay));
    return false;
  }
}

/**
 * The key of the effect that an action is called for. Give it to whatever the action calls, so that
 * a second try is known as one. Undefined when the machine runs under a plain `createActor`.
 */
export function effectKey(args: object): string | undefined {
  const { key } = args as { key?: unknown };
  return typeof key === 'string' ? key : undefined;
}

/** Key under which an effect may dedupe its work: the same in every try, also after a crash. */
export function keyOf(
  procedure: { readonly number: number },
  effect: { readonly seq: number; readonly index: number; readonly params?: Json },
): string {
  return `${procedure.number}:${effect.seq}:${effect.index}`;
}

function isPromise(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === 'function';
}
