import { defineConfig } from 'vitest/config';

/**
 * `unit` runs in one process on hand-driven time; `real` starts threads and processes, and comes
 * after it, so that neither waits for the other's processor.
 */
export default defineConfig({
  test: {
    reporters: ['default'],
    projects: [
      {
        test: {
          name: 'unit',
          include: ['test/*.test.ts', 'test/{unit,contract,crash}/**/*.test.ts'],
          testTimeout: 20_000,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          name: 'real',
          include: ['test/real/**/*.test.ts'],
          testTimeout: 60_000,
          hookTimeout: 60_000,
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
