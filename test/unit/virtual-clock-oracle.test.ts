import fc from 'fast-check';
import { expect, test } from 'vitest';
import { virtualClock } from '../../src/world/virtual-clock.ts';

interface Plan {
  readonly delay: number;
  /** Timers this one arms when it fires. */
  readonly arms: readonly number[];
  /** Name of a timer this one cancels when it fires. */
  readonly cancels: number;
  readonly immediate: boolean;
}

interface Timers {
  now(): number;
  setTimeout(run: () => void, delay: number): unknown;
  clearTimeout(handle: unknown): void;
  setImmediate(run: () => void): void;
}

/** Runs the plans on any clock and writes down every callback with its time. */
function perform(timers: Timers, plans: readonly Plan[]): string[] {
  const trace: string[] = [];
  const handles = new Map<number, unknown>();
  const arm = (name: number, generation: number): void => {
    const plan = plans[name % plans.length] as Plan;
    const run = (): void => {
      trace.push(`${name} at ${timers.now()}`);
      timers.clearTimeout(handles.get(plan.cancels % plans.length));
      if (plan.immediate) timers.setImmediate(() => trace.push(`${name}i at ${timers.now()}`));
      if (generation < 3) {
        for (const next of plan.arms) arm(next % plans.length, generation + 1);
      }
    };
    handles.set(name, timers.setTimeout(run, plan.delay));
  };
  plans.forEach((_, name) => {
    arm(name, 0);
  });
  return trace;
}

/** The slow obvious clock: sort the whole list, take the first, drain, again. */
function naive(): Timers & { advance(ms: number): void } {
  let now = 0;
  let sequence = 0;
  let list: { due: number; sequence: number; run: () => void }[] = [];
  const immediates: (() => void)[] = [];
  return {
    now: () => now,
    setTimeout(run, delay) {
      const timer = { due: now + delay, sequence: sequence++, run };
      list.push(timer);
      return timer;
    },
    clearTimeout(handle) {
      list = list.filter((timer) => timer !== handle);
    },
    setImmediate: (run) => void immediates.push(run),
    advance(ms) {
      const end = now + ms;
      for (;;) {
        list.sort((a, b) => a.due - b.due || a.sequence - b.sequence);
        const first = list[0];
        if (first === undefined || first.due > end) break;
        list.shift();
        now = first.due;
        first.run();
        for (let run = immediates.shift(); run; run = immediates.shift()) run();
      }
      now = end;
    },
  };
}

test('any web of timers that arm and cancel each other runs as in a sorted list', async () => {
  const plan = fc.record({
    delay: fc.oneof(fc.integer({ min: 0, max: 5 }), fc.integer({ min: 0, max: 200 })),
    arms: fc.array(fc.nat(30), { maxLength: 3 }),
    cancels: fc.nat(30),
    immediate: fc.boolean(),
  });
  const windows = fc.array(fc.integer({ min: 0, max: 120 }), { minLength: 1, maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(
      fc.array(plan, { minLength: 1, maxLength: 20 }),
      windows,
      async (plans, steps) => {
        const clock = virtualClock({ start: 0 });
        const oracle = naive();
        const trace = perform(clock, plans);
        const expected = perform(oracle, plans);
        for (const ms of steps) {
          await clock.advance(ms);
          oracle.advance(ms);
          expect(trace).toEqual(expected);
          expect(clock.now()).toBe(oracle.now());
        }
      },
    ),
    { numRuns: 300 },
  );
});
