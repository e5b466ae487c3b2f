import { memoryDisk } from '../../src/store/memory-disk.ts';
import { memoryStore } from '../../src/store/memory-store.ts';
import { VirtualTime } from '../support/store-time.ts';
import { storeContract } from './store.ts';
import type { StoreWorld } from './store-world.ts';

/** Bytes of a group's header and of the first record's frame in front of its body. */
const FIRST_BODY_BITS = (32 + 8) * 8;

function createWorld(options: () => Parameters<typeof memoryStore>[0]): Promise<StoreWorld> {
  const disk = memoryDisk();
  return Promise.resolve({
    open: () => memoryStore({ disk, ...options() }),
    damageGroup: async (position) => {
      disk.flipBit(position, FIRST_BODY_BITS + 77);
    },
    damageState: async (key) => {
      disk.flipStateBit(key, 77);
    },
    destroy: async () => {},
  });
}

storeContract('memory', () => createWorld(() => ({})), { exclusive: false, runs: 300 });

storeContract(
  'memory with latency',
  () => createWorld(() => ({ clock: new VirtualTime(), latencyMs: 3 })),
  { exclusive: false, runs: 60 },
);
