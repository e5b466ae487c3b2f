import { describe, expect, it } from 'vitest';
import { fromPool } from '../../src/threads/pool.ts';
import { parsePoolOptions, type PoolOptions } from '../../src/threads/pool-options.ts';

const URL_TEXT = 'file:///work/worker.js';

describe('options of fromPool', () => {
  it('have these defaults', () => {
    expect(parsePoolOptions(new URL(URL_TEXT), {})).toEqual({
      module: URL_TEXT,
      exportName: 'default',
      threads: 1,
      queueMax: 10_000,
      deadlineMs: null,
      graceMs: 1_000,
      noProgressMs: null,
      idleMs: 10_000,
      startMs: 30_000,
    });
  });

  it('are taken at their limits', () => {
    const options = {
      export: 'hash',
      threads: 64,
      queueMax: 0,
      deadlineMs: 1,
      graceMs: 0,
      noProgressMs: 100,
      idleMs: 0,
      startMs: 600_000,
      resourceLimits: { maxOldGenerationSizeMb: 0.5 },
    };
    const { export: exportName, ...rest } = options;
    expect(parsePoolOptions(URL_TEXT, options)).toEqual({ module: URL_TEXT, exportName, ...rest });
  });

  const refused: [string, unknown][] = [
    ['an unknown option', { thread: 2 }],
    ['an inherited name', { toString: 1 }],
    ['no export name', { export: '' }],
    ['an export that is no text', { export: 1 }],
    ['no threads', { threads: 0 }],
    ['too many threads', { threads: 65 }],
    ['half a thread', { threads: 1.5 }],
    ['a number as text', { graceMs: '5' }],
    ['a deadline of 0', { deadlineMs: 0 }],
    ['a deadline that timers cannot hold', { deadlineMs: 2 ** 31 }],
    ['infinity', { queueMax: Number.POSITIVE_INFINITY }],
    ['null', { graceMs: null }],
    ['a silence shorter than progress is shown', { noProgressMs: 99 }],
    ['unknown resource limits', { resourceLimits: { maxMemory: 1 } }],
    ['resource limits of 0', { resourceLimits: { stackSizeMb: 0 } }],
    ['resource limits that are none', { resourceLimits: 5 }],
  ];

  it.each(refused)(
    '%s is refused with OPTION_INVALID, before a thread starts',
    (_what, options) => {
      expect(() => fromPool(URL_TEXT, options as PoolOptions)).toThrow(
        expect.objectContaining({ code: 'OPTION_INVALID' }),
      );
    },
  );

  it.each([
    ['a path', '/work/worker.js'],
    ['another scheme', 'https://example.org/worker.js'],
    ['code in a URL', 'data:text/javascript,export default () => 1'],
    ['a number', 7],
  ])('%s is no URL of a worker module', (_what, url) => {
    expect(() => fromPool(url as string)).toThrow(
      expect.objectContaining({ code: 'OPTION_INVALID' }),
    );
  });
});
