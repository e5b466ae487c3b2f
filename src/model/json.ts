/**
 * What may become durable: plain JSON, checked and never assumed.
 *
 * XState would persist a `Date` as a string, an `Error` as `{}` and drop `NaN`; a procedure that
 * reads such a value behaves differently after a restart. So every value that enters a record is
 * walked once and refused by path if it would not come back the same.
 */
import { ReeveError } from './errors.ts';

export type Json =
  null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** Keys that change an object's prototype when they are assigned; no record may carry one. */
const POISONOUS_KEYS: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);

/** Throws VALUE_NOT_JSON for a name that must not become the key of an object. */
export function assertSafeKey(key: string, what: string): void {
  if (POISONOUS_KEYS.has(key)) refuse(what, `'${key}', a key that changes the prototype`);
}

/** Deepest nesting of a durable value. Deeper values are refused, so that no walk can overflow. */
const DEPTH_MAX = 100;

/**
 * Throws `VALUE_NOT_JSON` with the path of the first part of `value` that JSON cannot carry.
 * A property whose value is `undefined` counts as absent, as it does for `JSON.stringify`.
 *
 * @param what what the value is, for the error's message: `context`, `event`, `input`
 */
export function assertJson(value: unknown, what: string): asserts value is Json {
  walk(value, what, 0);
}

function walk(value: unknown, path: string, depth: number): void {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return;
    case 'number':
      if (!Number.isFinite(value) || Object.is(value, -0)) refuse(path, String(value));
      return;
    case 'object':
      if (value === null) return;
      if (depth >= DEPTH_MAX) refuse(path, `nested deeper than ${DEPTH_MAX}`);
      if (Array.isArray(value)) {
        for (let i = 0; i < value.length; i++) walk(value[i], `${path}[${i}]`, depth + 1);
        return;
      }
      walkObject(value, path, depth);
      return;
    default:
      refuse(path, typeof value);
  }
}

function walkObject(value: object, path: string, depth: number): void {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) {
    refuse(path, (value as { constructor?: { name?: string } }).constructor?.name ?? 'class');
  }
  for (const key in value) {
    if (POISONOUS_KEYS.has(key)) refuse(`${path}.${key}`, 'a key that changes the prototype');
    const part = (value as Record<string, unknown>)[key];
    if (part !== undefined) walk(part, `${path}.${key}`, depth + 1);
  }
}

function refuse(path: string, found: string): never {
  throw new ReeveError('VALUE_NOT_JSON', `${path} is not plain JSON: ${found}`, { path, found });
}

/**
 * `JSON.parse` for bytes that came from outside this process: refuses the keys that would change a
 * prototype instead of carrying them on. Throws `VALUE_NOT_JSON`.
 */
export function parseJson(text: string, what: string): Json {
  let value: Json;
  try {
    value = JSON.parse(text) as Json;
  } catch (cause) {
    throw new ReeveError('VALUE_NOT_JSON', `${what} is not JSON`, { path: what }, cause);
  }
  // A cheap look at the text decides whether the walk is needed at all.
  if (/"(?:__proto__|constructor|prototype)"\s*:/.test(text) || text.includes('\\u')) {
    assertJson(value, what);
  }
  return value;
}

/** Structural equality of two JSON values; the order of keys does not matter. */
export function sameJson(a: Json | undefined, b: Json | undefined): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) || Array.isArray(b)) {
    if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
    return a.every((part, i) => sameJson(part as Json, b[i] as Json));
  }
  const left = presentEntries(a as Record<string, Json>);
  const right = new Map(presentEntries(b as Record<string, Json>));
  return (
    left.length === right.size &&
    left.every(([key, part]) => right.has(key) && sameJson(part, right.get(key)))
  );
}

function presentEntries(value: Record<string, Json>): [string, Json][] {
  return Object.entries(value).filter(([, part]) => part !== undefined);
}
