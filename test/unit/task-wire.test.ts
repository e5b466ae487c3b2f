/** The one reader of what threads say: positive, shaped, stamped, or a breach. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isReceipt, readThreadMessage } from '../../src/threads/task-wire.ts';

const stamp = { v: 1, attempt: '42' };

describe('readThreadMessage', () => {
  it('reads what the protocol has', () => {
    const error = { name: 'Error', message: 'no', code: 'BUSY', details: { path: '/x' } };
    expect(readThreadMessage({ ...stamp, kind: 'started' }, '42')).toEqual({ kind: 'started' });
    expect(readThreadMessage({ ...stamp, kind: 'progress', progress: '{"i":1}' }, '42')).toEqual({
      kind: 'progress',
      progress: { i: 1 },
    });
    expect(readThreadMessage({ ...stamp, kind: 'success', output: 'null' }, '42')).toEqual({
      kind: 'report',
      ending: { kind: 'success', output: null },
    });
    expect(readThreadMessage({ ...stamp, kind: 'fail', error }, '42')).toEqual({
      kind: 'report',
      ending: { kind: 'fail', error },
    });
    expect(readThreadMessage({ ...stamp, kind: 'unfit', error }, '42')).toEqual({
      kind: 'report',
      ending: { kind: 'lost', error },
    });
    expect(readThreadMessage({ ...stamp, kind: 'stopped' }, '42')).toEqual({
      kind: 'report',
      ending: { kind: 'stopped' },
    });
  });

  const success = { ...stamp, kind: 'success', output: '1' };
  const breaches: [string, unknown][] = [
    ['M01 null', null],
    ['undefined', undefined],
    ['true', true],
    ['a text', 'success'],
    ['an empty object', {}],
    ['a success without a stamp', { kind: 'success', output: '1' }],
    ['another version', { ...success, v: 2 }],
    ['a version as text', { ...success, v: '1' }],
    ['another attempt', { ...success, attempt: '43' }],
    ['an attempt as number', { ...success, attempt: 42 }],
    ['another kind', { ...success, kind: 'done' }],
    ['an inherited kind', { ...success, kind: 'toString' }],
    ['output that is no text', { ...success, output: 1 }],
    ['output that is no JSON', { ...success, output: '{' }],
    ['output with a poisonous key', { ...success, output: '{"a":{"__proto__":1}}' }],
    ['no output', { ...stamp, kind: 'success' }],
    ['progress that is no text', { ...stamp, kind: 'progress', progress: {} }],
    ['a failure without an error', { ...stamp, kind: 'fail' }],
    ['a failure whose error has no message', { ...stamp, kind: 'fail', error: { name: 'E' } }],
  ];

  it.each(breaches)('L5 takes %s for a breach', (_what, message) => {
    expect(readThreadMessage(message, '42')).toMatchObject({
      kind: 'breach',
      error: { code: 'TASK_RESULT_INVALID' },
    });
  });

  it('L5 gives a success only for a message that says so, of this version and attempt', () => {
    const part = fc.oneof(fc.anything(), fc.constantFrom('success', '42', '1', 'null', 1));
    const message = fc.record(
      { v: part, attempt: part, kind: part, output: part, error: part },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(fc.oneof(message, fc.anything()), (said) => {
        const heard = readThreadMessage(said, '42');
        if (heard.kind !== 'report' || heard.ending.kind !== 'success') return;
        expect(said).toMatchObject({ v: 1, attempt: '42', kind: 'success' });
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('isReceipt', () => {
  it('is true for the receipt of this attempt only', () => {
    expect(isReceipt({ ...stamp, kind: 'returned' }, '42')).toBe(true);
    for (const value of [null, undefined, true, {}, stamp, { ...stamp, kind: 'success' }]) {
      expect(isReceipt(value, '42')).toBe(false);
    }
    expect(isReceipt({ ...stamp, kind: 'returned' }, '43')).toBe(false);
  });
});
