/**
 * What every store promises (`src/store/port.ts`), as tests. A store of its own calls
 * `storeContract` with a factory; nothing here knows which store it is.
 */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Store } from '../../src/store/port.ts';
import { encodeGroup, loadGroups, loadStates } from '../support/store-groups.ts';
import { appends, reigns } from './store-appends.ts';
import { checkpoints, loading } from './store-checkpoints.ts';
import { storeFoldProperties } from './store-fold.ts';
import { endings, histories } from './store-histories.ts';
import { failure, fill } from './store-world.ts';
import type { StoreTraits, StoreWorld } from './store-world.ts';

export function storeContract(
  name: string,
  createWorld: () => Promise<StoreWorld>,
  traits: StoreTraits,
): void {
  describe(`store contract: ${name}`, () => {
    let world: StoreWorld;
    let store: Store;

    beforeEach(async () => {
      world = await createWorld();
      store = world.open();
    });

    afterEach(async () => {
      await store.close();
      await world.destroy();
    });

    /** Closes the store and opens the next one over the same data. */
    async function reopen(): Promise<Store> {
      await store.close();
      store = world.open();
      return store;
    }

    reigns(() => store, reopen);
    appends(() => store, reopen);
    loading(() => store, reopen);
    checkpoints(() => store, reopen);
    histories(() => store, reopen);
    endings(() => store);

    describe('damage', () => {
      test('a flipped bit in an acknowledged group is refused by its position', async () => {
        await fill(store, 5);
        await store.close();
        await world.damageGroup(3);
        store = world.open();
        await store.acquire();
        const error = await failure(loadGroups(store));
        expect(error).toMatchObject({ code: 'STORE_DAMAGED', details: { position: 3 } });
      });

      test('a damaged group is not folded: the checkpoint is refused by its position', async () => {
        await fill(store, 5);
        await store.close();
        await world.damageGroup(2);
        store = world.open();
        const { epoch } = await store.acquire();
        const error = await failure(store.checkpoint(epoch, 5));
        expect(error).toMatchObject({ code: 'STORE_DAMAGED', details: { position: 2 } });
        expect(await failure(loadGroups(store))).toMatchObject({ code: 'STORE_DAMAGED' });
      });

      test('a flipped bit in a state is refused by its key', async () => {
        const { epoch } = await fill(store, 5);
        await store.checkpoint(epoch, 5);
        await store.close();
        await world.damageState('k/3');
        store = world.open();
        await store.acquire();
        const error = await failure(loadStates(store));
        expect(error).toMatchObject({ code: 'STORE_DAMAGED', details: { key: 'k/3' } });
      });
    });

    if (traits.exclusive) {
      test('a second store over the same data is refused while the first is open', async () => {
        await store.acquire();
        const second = world.open();
        expect(await failure(second.acquire())).toMatchObject({ code: 'STORE_LOCKED' });
        await second.close();
        await store.close();
        store = world.open();
        expect((await store.acquire()).epoch).toBe(2);
      });
    } else {
      test('L8 a second store over the same data takes over; the first is refused', async () => {
        const first = await store.acquire();
        const second = world.open();
        await second.acquire();
        const late = failure(store.append(first.epoch, encodeGroup(1, first.epoch, [])));
        expect(await late).toMatchObject({ code: 'STALE_EPOCH' });
        await second.close();
      });
    }

    storeFoldProperties(createWorld, traits.runs);
  });
}
