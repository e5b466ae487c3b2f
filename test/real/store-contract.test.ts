import { storeContract } from '../contract/store.ts';
import { StoreDirectory, damageGroupIn, damageTextIn } from '../support/store-directory.ts';

storeContract(
  'sqlite',
  async () => {
    const directory = new StoreDirectory();
    return {
      open: () => directory.open(),
      damageGroup: async (position) => {
        damageGroupIn(directory.database, position);
      },
      damageState: async (key) => {
        damageTextIn(directory.database, `${key}{`, key.length + 4);
      },
      destroy: () => directory.destroy(),
    };
  },
  { exclusive: true, runs: 8 },
);
