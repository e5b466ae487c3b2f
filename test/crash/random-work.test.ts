/**
 * L3-L5, L13, L15: random lives of procedures that work: tasks one after the other, child procedures,
 * promises. Whatever dies, fills up or breaks on the way, every acknowledged job gives one result,
 * in order, and no attempt runs beside another of the same job.
 */
import { assign, fromPromise, setup, spawnChild } from 'xstate';
import { expect, test } from 'vitest';
import { procedureOfAttempt } from '../../src/model/attempt-id.ts';
import { declareTask } from '../../src/model/declare-task.ts';
import type { Runtime } from '../../src/runtime/index.ts';
import { virtualPool, type VirtualPool } from '../../src/testing/virtual-pool.ts';
import { dice, pick } from '../support/runtime-dice.ts';
import { Stand } from '../support/runtime-stand.ts';

const COUNT = 2;
const work = declareTask<{ n: number }, { n: number }>('work');

const kid = setup({
  types: {} as { input: { n: number }; context: { n: number }; output: number },
  delays: { soon: ({ context }) => (context.n * 13) % 40 },
}).createMachine({
  id: 'kid',
  version: '1',
  initial: 'on',
  context: ({ input }) => input,
  states: { on: { after: { soon: 'over' } }, over: { type: 'final' } },
  output: ({ context }) => context.n,
});

interface Context {
  readonly jobs: number[];
  readonly results: number[];
  readonly kids: number[];
  readonly told: number[];
  readonly n: number;
}

const parts = (stand: Stand) =>
  setup({
    types: {} as {
      context: Context;
      events:
        | { type: 'JOB'; n: number }
        | { type: 'BREAK' }
        | { type: `xstate.done.actor.k${number}`; output: number };
    },
    actors: {
      work,
      kid,
      tell: fromPromise(
        ({ input }: { input: { n: number } }) =>
          new Promise<number>((resolve) => {
            stand.clock.setTimeout(() => resolve(input.n), 3);
          }),
      ),
    },
  });

const worker = (stand: Stand, isRepaired: () => boolean) =>
  parts(stand).createMachine({
    id: 'worker',
    version: '1',
    initial: 'idle',
    context: { jobs: [], results: [], kids: [], told: [], n: 0 },
    on: {
      JOB: {
        actions: [
          assign({ jobs: ({ context, event }) => [...context.jobs, event.n] }),
          spawnChild('kid', {
            id: ({ event }) => `k${event.n}`,
            input: ({ event }) => ({ n: (event as { n: number }).n }),
          }),
        ],
      },
      BREAK: {
        actions: assign(({ context }) => (isRepaired() ? context : { n: new Map() as never })),
      },
      'xstate.done.actor.*': {
        guard: ({ event }) => event.type.startsWith('xstate.done.actor.k'),
        actions: assign({
          kids: ({ context, event }) => [
            ...context.kids,
            (event as unknown as { output: number }).output,
          ],
        }),
      },
    },
    states: {
      idle: {
        always: {
          guard: ({ context }) => context.jobs.length > 0,
          target: 'working',
          actions: assign({
            n: ({ context }) => context.jobs[0] ?? 0,
            jobs: ({ context }) => context.jobs.slice(1),
          }),
        },
      },
      working: {
        invoke: {
          id: 'w',
          src: 'work',
          input: ({ context }) => ({ n: context.n }),
          onDone: {
            target: 'telling',
            actions: assign({
              results: ({ context, event }) => [...context.results, event.output.n],
            }),
          },
          onError: { target: 'working', reenter: true },
        },
      },
      telling: {
        invoke: {
          id: 't',
          src: 'tell',
          input: ({ context }) => ({ n: context.n }),
          onDone: {
            target: 'idle',
            actions: assign({ told: ({ context, event }) => [...context.told, event.output] }),
          },
        },
      },
    },
  });

class Play {
  readonly #random: () => number;
  readonly #stand: Stand;
  readonly #acknowledged = new Map<number, number[]>();
  readonly #refused = new Set<number>();
  readonly #limits;
  /** Moments at which one procedure had two attempts on threads. */
  #beside = 0;
  #pool!: VirtualPool;
  #repaired = true;
  #n = 0;
  #runtime!: Runtime;

  constructor(seed: number) {
    this.#random = dice(seed);
    this.#stand = new Stand({ latencyMs: pick(this.#random, [0, 2, 9]) });
    this.#limits = {
      groupRecordsMax: pick(this.#random, [1, 4, 4_096]),
      passivateAfterMs: pick(this.#random, [5, 1_000]),
      childrenMax: 1_000,
    };
  }

  async run(): Promise<void> {
    await this.#boot();
    for (let n = 0; n < COUNT; n++) {
      await this.#stand.run(this.#runtime.spawn('worker', { id: `w${n}` }));
    }
    for (let step = 0; step < 50; step++) await this.#step();
    await this.#settle();
    this.#audit();
  }

  async #boot(): Promise<void> {
    this.#pool = virtualPool({
      clock: this.#stand.clock,
      tasks: { work: { steps: (input: never) => this.#work(input) } },
      fault: (_task, run) =>
        run === 1 && this.#random() < 0.2
          ? pick(this.#random, [
              { kind: 'die', afterMs: 2 } as const,
              { kind: 'die-before-start' } as const,
              { kind: 'answer-late', afterMs: 9 } as const,
              { kind: 'answer-twice' } as const,
            ])
          : undefined,
    });
    this.#runtime = await this.#stand.start({
      machines: [worker(this.#stand, () => this.#repaired), kid],
      actors: { work: this.#pool },
      limits: this.#limits,
    });
  }

  *#work({ n }: { n: number }): Generator<number, { n: number }> {
    const owners = this.#pool.running.map(procedureOfAttempt);
    if (new Set(owners).size < owners.length) this.#beside++;
    yield 3;
    yield (n * 7) % 30;
    return { n };
  }

  async #step(): Promise<void> {
    const roll = this.#random();
    const id = Math.floor(this.#random() * COUNT);
    if (roll < 0.4) this.#job(id);
    else if (roll < 0.48) this.#stand.faults.fill(pick(this.#random, [1, 2]));
    else if (roll < 0.55) await this.#die();
    else if (roll < 0.6) this.#break(id);
    else if (roll < 0.66) await this.#repair();
    else await this.#stand.clock.advance(pick(this.#random, [0, 1, 4, 30, 700]));
  }

  #job(id: number): void {
    const n = ++this.#n;
    const sent = this.#runtime.get(`w${id}`)?.sendDurable({ type: 'JOB', n } as never);
    sent?.then(
      () => this.#acknowledged.set(id, [...(this.#acknowledged.get(id) ?? []), n]),
      () => this.#refused.add(n),
    );
  }

  #break(id: number): void {
    this.#repaired = false;
    this.#runtime.get(`w${id}`)?.send({ type: 'BREAK' } as never);
  }

  async #repair(): Promise<void> {
    this.#repaired = true;
    for (const { id } of this.#runtime.list({ status: 'quarantined' }).procedures) {
      void this.#runtime.retry(id).catch(() => undefined);
    }
    await this.#stand.clock.settle();
  }

  async #die(): Promise<void> {
    this.#pool.crash();
    this.#stand.crash();
    await this.#boot();
  }

  async #settle(): Promise<void> {
    this.#stand.faults.free();
    await this.#stand.clock.advance(20_000);
    await this.#repair();
    await this.#stand.clock.advance(60_000);
  }

  #audit(): void {
    for (let id = 0; id < COUNT; id++) {
      const snapshot = this.#runtime.get(`w${id}`)!.getSnapshot();
      expect([snapshot.status, snapshot.value]).toEqual(['active', 'idle']);
      const { results, told, kids, jobs } = snapshot.context as unknown as Context;
      expect(jobs).toEqual([]);
      expect(results).toEqual([...new Set(results)]);
      expect(results).toEqual([...results].sort((a, b) => a - b));
      expect(told).toEqual(results);
      expect([...kids].sort((a, b) => a - b)).toEqual(results);
      for (const n of this.#acknowledged.get(id) ?? []) expect(results).toContain(n);
      for (const n of results) expect(this.#refused.has(n)).toBe(false);
    }
    expect(this.#beside).toBe(0);
    const { runningTasks, queued, unsettledEffects } = this.#runtime.state();
    expect({ runningTasks, queued, unsettledEffects }).toEqual({
      runningTasks: 0,
      queued: 0,
      unsettledEffects: 0,
    });
    expect(this.#pool.running).toEqual([]);
  }
}

test.each(Array.from({ length: 60 }, (_, seed) => seed))(
  'all work is done once, seed %s',
  async (seed) => {
    await new Play(seed).run();
  },
);
