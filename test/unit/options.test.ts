import fc from 'fast-check';
import { describe, expect, expectTypeOf, test } from 'vitest';
import { ERRORS, type ReeveError } from '../../src/model/errors.ts';
import {
  OPTIONS,
  RELATIONS,
  resolveOptions,
  type GivenLimits,
  type Limits,
  type OptionName,
  type OptionRow,
} from '../../src/model/options.ts';

const rows = Object.entries(OPTIONS) as [OptionName, OptionRow][];

function refusal(given: unknown): ReeveError {
  try {
    resolveOptions(given as GivenLimits);
  } catch (error) {
    return error as ReeveError;
  }
  throw new Error('nothing was refused');
}

describe('the table of limits', () => {
  test.each(rows)('L11 %s: its default lies within its bounds, its code is known', (_, row) => {
    expect(row.min).toBeLessThan(row.max);
    expect(Number.isInteger(row.min) && Number.isInteger(row.max)).toBe(true);
    if (row.default === null) expect(row.nullable).toBe(true);
    else expect(row.default >= row.min && row.default <= row.max).toBe(true);
    if (row.code !== undefined) expect(Object.keys(ERRORS)).toContain(row.code);
  });
});

describe('resolveOptions', () => {
  test('fills in every default, and the result cannot be changed', () => {
    const limits = resolveOptions();
    expect(limits).toEqual(Object.fromEntries(rows.map(([name, row]) => [name, row.default])));
    expect(Object.isFrozen(limits)).toBe(true);
    expect(resolveOptions({ mailboxMax: undefined })).toEqual(limits);
  });

  test('takes each value within the bounds and refuses each one outside, with the bounds', () => {
    fc.assert(
      fc.property(fc.constantFrom(...rows), fc.double({ noNaN: false }), ([name, row], value) => {
        const { min, max, unit } = row;
        if (Number.isInteger(value) && value >= min && value <= max) return;
        const error = refusal({ [name]: value });
        expect(error.code).toBe('OPTION_INVALID');
        expect(error.message).toContain(`'${name}' is a whole number of ${unit} from ${min} to`);
        expect(error.details).toMatchObject({ option: name, min, max, unit });
      }),
    );
    for (const [name, { min, max }] of rows) {
      const other = RELATIONS.find((pair) => pair.includes(name)) ?? [];
      for (const value of [min, max]) {
        const given = Object.fromEntries([name, ...other].map((each) => [each, value]));
        expect(resolveOptions(given)[name]).toBe(value);
      }
      expect(refusal({ [name]: min - 1 }).code).toBe('OPTION_INVALID');
      expect(refusal({ [name]: max + 1 }).code).toBe('OPTION_INVALID');
    }
  });

  test('takes null where it means "never", and nowhere else', () => {
    for (const [name, { nullable }] of rows) {
      if (nullable) expect(resolveOptions({ [name]: null })[name]).toBeNull();
      else expect(refusal({ [name]: null }).message).toContain('not null');
    }
    expectTypeOf<Limits['retentionMs']>().toEqualTypeOf<number | null>();
    expectTypeOf<Limits['mailboxMax']>().toEqualTypeOf<number>();
  });

  test.each([
    ['mailBoxMax', 'mailboxMax'],
    ['mailbox', 'mailboxMax'],
    ['effectsAttemptsMax', 'effectAttemptsMax'],
    ['passivateAfter', 'passivateAfterMs'],
    ['__proto__', undefined],
    ['constructor', undefined],
    ['x'.repeat(100_000), undefined],
  ])('refuses the unknown name %.40s and names the nearest one', (name, nearest) => {
    const error = refusal(Object.fromEntries([[name, 1]]));
    expect(error.code).toBe('OPTION_INVALID');
    expect(error.message).toContain(`there is no option '${name.slice(0, 64)}'`);
    if (nearest !== undefined) expect(error.details['nearest']).toBe(nearest);
  });

  test('refuses an unknown name also when its value is undefined', () => {
    expect(refusal({ mailbox: undefined }).code).toBe('OPTION_INVALID');
  });

  test('refuses two values that contradict each other, given or by default', () => {
    const error = refusal({ effectRetryMs: 120_000 });
    expect(error.message).toContain("'effectRetryMs' (120000) may not be above 'effectRetryMsMax'");
    expect(resolveOptions({ effectRetryMs: 120_000, effectRetryMsMax: 120_000 })).toMatchObject({
      effectRetryMs: 120_000,
    });
  });

  test.each([['mailboxMax'], [null], [[1]], [7]])('refuses %j in place of an object', (given) => {
    expect(refusal(given).code).toBe('OPTION_INVALID');
  });

  test.each([
    ['"5"', '5'],
    ['an object', {}],
    ['NaN', NaN],
    ['5', 5n],
    ['Symbol(x)', Symbol('x')],
  ])('says %s when that was given for a number', (shown, value) => {
    expect(refusal({ mailboxMax: value }).message).toContain(`, not ${shown}`);
  });
});
