/**
 * S18, L1, L15: random lives. Callers send with keys, procedures pass on what they get, disks are
 * full now and then, processes die, procedures are set aside and let go on. At the end the books
 * must balance: every acknowledged send counts once, every refused one never.
 */
import { assign, sendTo, setup, type AnyActorRef } from 'xstate';
import { expect, test } from 'vitest';
import type { Runtime } from '../../src/runtime/index.ts';
import { dice, pick } from '../support/runtime-dice.ts';
import { Stand } from '../support/runtime-stand.ts';

const COUNT = 3;

/** Counts what it gets and passes it on once; breaks a rule on demand until it is repaired. */
const teller = (isRepaired: () => boolean) =>
  setup({
    types: {} as {
      input: { next: string | null };
      context: { next: unknown; own: number[]; passed: number[]; late: number };
      events:
        | { type: 'JOIN'; next: unknown }
        | { type: 'PUT'; n: number }
        | { type: 'PASSED'; n: number }
        | { type: 'LATE' }
        | { type: 'BREAK' };
    },
    actions: { act: () => undefined },
  }).createMachine({
    id: 'teller',
    version: '1',
    context: { next: null, own: [], passed: [], late: 0 },
    on: {
      JOIN: { actions: assign({ next: ({ event }) => event.next }) },
      PUT: {
        actions: [
          assign({ own: ({ context, event }) => [...context.own, event.n] }),
          'act',
          sendTo(
            ({ context }) => context.next as AnyActorRef,
            ({ event }) => ({ type: 'PASSED', n: event.n }),
          ),
          sendTo(({ context }) => context.next as AnyActorRef, { type: 'LATE' }, { delay: 700 }),
        ],
      },
      PASSED: { actions: assign({ passed: ({ context, event }) => [...context.passed, event.n] }) },
      LATE: { actions: assign({ late: ({ context }) => context.late + 1 }) },
      BREAK: {
        actions: assign(({ context }) => (isRepaired() ? context : { late: new Map() as never })),
      },
    },
  });

interface Context {
  readonly own: number[];
  readonly passed: number[];
  readonly late: number;
}

class Book {
  readonly acknowledged = new Map<number, Set<number>>();
  readonly refused = new Map<number, Set<number>>();
  #n = 0;

  next(): number {
    return ++this.#n;
  }

  note(of: 'acknowledged' | 'refused', id: number, n: number): void {
    const set = this[of].get(id) ?? new Set();
    this[of].set(id, set.add(n));
  }
}

class Play {
  readonly #random: () => number;
  readonly #stand: Stand;
  readonly #book = new Book();
  readonly #limits;
  #repaired = true;
  #runtime!: Runtime;

  constructor(seed: number) {
    this.#random = dice(seed);
    this.#stand = new Stand({ latencyMs: pick(this.#random, [0, 1, 7]) });
    this.#limits = {
      groupRecordsMax: pick(this.#random, [1, 3, 4_096]),
      passivateAfterMs: pick(this.#random, [5, 1_000]),
      settleDelayMs: 20,
      checkpointBytes: pick(this.#random, [1_024, 1_000_000]),
    };
  }

  async run(): Promise<void> {
    await this.#boot();
    await this.#join();
    for (let step = 0; step < 60; step++) await this.#step();
    await this.#settle();
    this.#audit();
  }

  async #boot(): Promise<void> {
    const machines = [teller(() => this.#repaired)];
    this.#runtime = await this.#stand.start({ machines, limits: this.#limits });
  }

  async #join(): Promise<void> {
    const refs = [];
    for (let n = 0; n < COUNT; n++) {
      refs.push(await this.#stand.run(this.#runtime.spawn('teller', { id: `t${n}` })));
    }
    for (const [n, ref] of refs.entries()) {
      const next = refs[(n + 1) % COUNT];
      await this.#stand.run(ref.sendDurable({ type: 'JOIN', next } as never, { key: 'join' }));
    }
  }

  async #step(): Promise<void> {
    const roll = this.#random();
    const id = Math.floor(this.#random() * COUNT);
    if (roll < 0.55) this.#put(id);
    else if (roll < 0.62) this.#stand.faults.fill(pick(this.#random, [1, 2]));
    else if (roll < 0.68) await this.#die();
    else if (roll < 0.72) this.#break(id);
    else if (roll < 0.76) await this.#repair();
    else await this.#stand.clock.advance(pick(this.#random, [0, 1, 3, 40, 800]));
  }

  #put(id: number): void {
    const n = this.#book.next();
    const ref = this.#runtime.get(`t${id}`);
    const sent = ref?.sendDurable({ type: 'PUT', n } as never, { key: `k${n}` });
    sent?.then(
      () => this.#book.note('acknowledged', id, n),
      () => this.#book.note('refused', id, n),
    );
  }

  #break(id: number): void {
    this.#repaired = false;
    this.#runtime.get(`t${id}`)?.send({ type: 'BREAK' } as never);
  }

  async #repair(): Promise<void> {
    this.#repaired = true;
    for (const { id } of this.#runtime.list({ status: 'quarantined' }).procedures) {
      void this.#runtime.retry(id).catch(() => undefined);
    }
    await this.#stand.clock.settle();
  }

  async #die(): Promise<void> {
    this.#stand.crash();
    await this.#boot();
  }

  /** All faults end; what is under way comes to rest; one more life reads it back. */
  async #settle(): Promise<void> {
    this.#stand.faults.free();
    await this.#stand.clock.advance(20_000);
    await this.#repair();
    await this.#stand.clock.advance(20_000);
    await this.#die();
    await this.#repair();
    await this.#stand.clock.advance(20_000);
  }

  #audit(): void {
    const contexts = Array.from({ length: COUNT }, (_, n) => {
      const snapshot = this.#runtime.get(`t${n}`)!.getSnapshot();
      expect(snapshot.status).toBe('active');
      return snapshot.context as unknown as Context;
    });
    for (const [id, { own, late }] of contexts.entries()) {
      expect(new Set(own).size).toBe(own.length);
      expect(own).toEqual([...own].sort((a, b) => a - b));
      for (const n of this.#book.acknowledged.get(id) ?? []) expect(own).toContain(n);
      for (const n of this.#book.refused.get(id) ?? []) expect(own).not.toContain(n);
      const next = contexts[(id + 1) % COUNT]!;
      expect(next.passed).toEqual(own);
      const before = contexts[(id + COUNT - 1) % COUNT]!;
      expect(late).toBe(before.own.length);
    }
    const { unsettledEffects, queued, deadLetters } = this.#runtime.state();
    expect({ unsettledEffects, queued, deadLetters }).toEqual({
      unsettledEffects: 0,
      queued: 0,
      deadLetters: 0,
    });
  }
}

test.each(Array.from({ length: 60 }, (_, seed) => seed))(
  'the books balance, seed %s',
  async (seed) => {
    await new Play(seed).run();
  },
);
