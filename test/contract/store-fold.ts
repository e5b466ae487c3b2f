/**
 * The property every store must have: at any moment, states of the checkpoint plus the groups
 * behind it equal the fold of all groups, and so does the history, whatever checkpoints, restarts
 * and cut-off checkpoints came in between.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Json } from '../../src/model/json.ts';
import type { Store } from '../../src/store/port.ts';
import { NaiveFold, encodeGroup, loadHistory, loadStates } from '../support/store-groups.ts';
import type { Word } from '../support/store-groups.ts';
import type { StoreWorld } from './store-world.ts';

const KEYS = 12;
const PROCEDURES = 3;

type Step =
  | { readonly append: readonly Word[] }
  /** Part of the way from the last checkpoint to the last group, in percent. */
  | { readonly checkpoint: number; readonly awaited: boolean }
  | { readonly restart: 'orderly' | 'cutting' }
  | { readonly look: 'states' | 'history' };

const word: fc.Arbitrary<Word> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ put: key(), value: fc.json({ maxDepth: 1 }) }) },
  { weight: 3, arbitrary: fc.record({ del: key() }) },
  {
    weight: 4,
    arbitrary: fc.record({
      history: fc.integer({ min: 1, max: PROCEDURES }),
      entries: fc.array(
        fc.integer().map((n): Json => ({ n })),
        { maxLength: 3 },
      ),
    }),
  },
  { weight: 1, arbitrary: fc.record({ forget: fc.integer({ min: 1, max: PROCEDURES }) }) },
);

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 12, arbitrary: fc.record({ append: fc.array(word, { maxLength: 12 }) }) },
  {
    weight: 5,
    arbitrary: fc.record({
      checkpoint: fc.integer({ min: 0, max: 100 }),
      awaited: fc.boolean(),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ restart: fc.constantFrom('orderly' as const, 'cutting' as const) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ look: fc.constantFrom('states' as const, 'history' as const) }),
  },
);

export function storeFoldProperties(createWorld: () => Promise<StoreWorld>, runs: number): void {
  test('states and history equal the fold at any moment', { timeout: 120_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
        const world = await createWorld();
        const run = new FoldRun(world);
        try {
          await run.start();
          for (const each of steps) await run.take(each);
          await run.check('states');
          await run.check('history');
        } finally {
          await run.stop();
          await world.destroy();
        }
      }),
      { numRuns: runs },
    );
  });
}

class FoldRun {
  readonly #world: StoreWorld;
  readonly #naive = new NaiveFold();
  #store: Store;
  #folding: Promise<void>[] = [];
  #epoch = 0;
  #position = 0;
  #checkpointed = 0;

  constructor(world: StoreWorld) {
    this.#world = world;
    this.#store = world.open();
  }

  async start(): Promise<void> {
    const { epoch, position, checkpointed } = await this.#store.acquire();
    expect(position).toBe(this.#position);
    expect(checkpointed).toBeGreaterThanOrEqual(this.#checkpointed);
    this.#epoch = epoch;
    this.#checkpointed = checkpointed;
  }

  async take(step: Step): Promise<void> {
    if ('append' in step) await this.#append(step.append);
    else if ('checkpoint' in step) await this.#checkpoint(step.checkpoint, step.awaited);
    else if ('restart' in step) await this.#restart(step.restart);
    else await this.check(step.look);
  }

  /** Loading is for when no checkpoint runs; history may be read at any time. */
  async check(what: 'states' | 'history'): Promise<void> {
    if (what === 'states') {
      await this.#settle();
      expect(await loadStates(this.#store)).toEqual(this.#naive.states);
      return;
    }
    for (let procedure = 1; procedure <= PROCEDURES; procedure++) {
      const expected = this.#naive.history.get(procedure) ?? [];
      expect(await loadHistory(this.#store, procedure, 4)).toEqual(expected);
    }
  }

  async stop(): Promise<void> {
    await this.#store.close();
    await Promise.all(this.#folding);
  }

  async #append(words: readonly Word[]): Promise<void> {
    const group = encodeGroup(this.#position + 1, this.#epoch, words);
    await this.#store.append(this.#epoch, group);
    this.#position++;
    this.#naive.apply(words);
  }

  async #checkpoint(percent: number, awaited: boolean): Promise<void> {
    const ahead = this.#position - this.#checkpointed;
    const target = this.#checkpointed + Math.floor((ahead * percent) / 100);
    const folding = this.#store.checkpoint(this.#epoch, target);
    if (awaited) {
      await folding;
      this.#checkpointed = target;
    } else {
      // Only a restart may cut it off.
      const cut = folding.catch((error: unknown) => {
        expect(error).toMatchObject({ code: 'STORE_CLOSED' });
      });
      this.#folding.push(cut);
    }
  }

  async #restart(how: 'orderly' | 'cutting'): Promise<void> {
    if (how === 'orderly') await this.#settle();
    await this.#store.close();
    await this.#settle();
    this.#store = this.#world.open();
    await this.start();
  }

  async #settle(): Promise<void> {
    await Promise.all(this.#folding);
    this.#folding = [];
  }
}

function key(): fc.Arbitrary<string> {
  return fc.integer({ min: 1, max: KEYS }).map((n) => `p/${n}`);
}
