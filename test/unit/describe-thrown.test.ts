/** Whatever is thrown becomes bounded, plain data. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { assertJson } from '../../src/model/json.ts';
import { codedError, describeThrown, readErrorData } from '../../src/threads/describe-thrown.ts';

describe('describeThrown', () => {
  it('keeps code, system fields, details and causes', () => {
    const cause = Object.assign(new Error('EIO: read'), { code: 'EIO', errno: -5, path: '/d/1' });
    const error = Object.assign(new RangeError('outer', { cause }), {
      code: 'REGION',
      details: { region: 3 },
      other: 'not carried',
    });
    expect(describeThrown(error)).toEqual({
      name: 'RangeError',
      message: 'outer',
      code: 'REGION',
      stack: expect.stringContaining('outer') as unknown,
      details: {
        region: 3,
        cause: {
          name: 'Error',
          message: 'EIO: read',
          code: 'EIO',
          details: { errno: -5, path: '/d/1' },
        },
      },
    });
  });

  it('follows causes three deep, and no circle for ever', () => {
    const error = new Error('round');
    error.cause = error;
    const names = JSON.stringify(describeThrown(error)).match(/"cause"/g);
    expect(names?.length).toBeLessThanOrEqual(3);
  });

  it('drops details that JSON cannot carry or that are too many, and cuts long texts', () => {
    const odd = Object.assign(new Error('x'.repeat(100_000)), { details: { at: new Date() } });
    const described = describeThrown(odd);
    expect(described.details).toBeUndefined();
    expect(described.message.length).toBeLessThan(10_000);
    const many = Object.assign(new Error('many'), { details: { text: 'y'.repeat(100_000) } });
    expect(describeThrown(many).details).toBeUndefined();
  });

  it('never throws, and gives JSON that fits into a record', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.anything(),
          fc.constantFrom(() => 1, Symbol('s')),
        ),
        (thrown) => {
          const described = describeThrown(thrown);
          assertJson(described, 'error');
          expect(readErrorData(described)).toEqual(described);
          expect(JSON.stringify(described).length).toBeLessThan(200_000);
        },
      ),
      { numRuns: 1_000 },
    );
  });
});

describe('describeThrown of what cannot be read', () => {
  it('says so', () => {
    const trap = new Proxy(
      {},
      {
        get() {
          throw new Error('no');
        },
      },
    );
    expect(describeThrown(trap)).toEqual({
      name: 'Error',
      message: 'thrown: a value that cannot be read',
    });
  });

  it('drops what does not fit, and keeps code, path and cause', () => {
    const error = Object.assign(new Error('x', { cause: new Error('why') }), {
      path: '/d',
      details: { text: 'y'.repeat(16_350) },
    });
    const { details } = describeThrown(error);
    expect(Object.keys(details ?? {}).sort()).toEqual(['cause', 'path']);
    expect(details?.cause).toEqual({ name: 'Error', message: 'why' });
  });
});

describe('readErrorData', () => {
  it('takes the known keys and nothing else', () => {
    const error = codedError('TASK_DEADLINE', 'too long', { deadlineMs: 5 });
    expect(readErrorData({ ...error, evil: 1 })).toEqual(error);
    expect(readErrorData({ name: 'E', message: 'm', code: 7, stack: {}, details: [] })).toEqual({
      name: 'E',
      message: 'm',
    });
    for (const value of [null, 'E', {}, { name: 'E' }, { message: 'm' }]) {
      expect(readErrorData(value)).toBeUndefined();
    }
  });
});
