/**
 * Actor references inside durable values.
 *
 * XState lets an event, an input or a context hold an `ActorRef` (`sender: self`,
 * `ref: spawn(...)`). On disk such a reference is an address; in memory it is an object again. A
 * value is walked once: the walk both checks that it is plain JSON and swaps references for
 * addresses, and copies only what holds one.
 */
import { assertJson, type Json } from '../../model/json.ts';
import { ReeveError } from '../../model/errors.ts';

/** Where a reference points: a procedure, or a local child (promise, callback) of one. */
export interface ActorAddress {
  /** Id of the procedure, or of the parent when `child` is given. */
  readonly procedure: string;
  readonly child?: string;
  /** Number of a child that is a procedure itself: it is found also when it has ended. */
  readonly number?: number;
  /** Life of a child that is none: a later one under the same id is another actor (L16). */
  readonly arming?: number;
}

/** XState's own mark of a persisted reference, kept so that tools know it. */
const MARK = 'xstate$$type';
const MARK_ACTOR = 1;

/** What every reference of this runtime can tell about itself. */
export interface Addressable {
  readonly address: ActorAddress;
}

export interface Encoded {
  readonly json: Json;
  readonly refs: boolean;
}

/**
 * The durable form of `value`. `addressOf` names a reference that is not `Addressable` by itself
 * (a child spawned in the step being planned). Throws VALUE_NOT_JSON with the path.
 */
export function encodeValue(
  value: unknown,
  what: string,
  addressOf: (ref: object) => ActorAddress | undefined,
): Encoded {
  if (!holdsRef(value, 0)) {
    assertJson(value, what);
    return { json: value, refs: false };
  }
  const json = swapRefs(value, what, addressOf);
  assertJson(json, what);
  return { json, refs: true };
}

/** The live form of a durable value: addresses become references again. */
export function reviveValue(value: Json, resolve: (address: ActorAddress) => unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((part: Json) => reviveValue(part, resolve));
  const object = value as { readonly [key: string]: Json };
  if (object[MARK] === MARK_ACTOR) {
    const { procedure, child, number, arming } = object;
    if (typeof procedure !== 'string') return undefined;
    if (typeof child !== 'string') return resolve({ procedure });
    return resolve({
      procedure,
      child,
      ...(typeof number === 'number' ? { number } : {}),
      ...(typeof arming === 'number' ? { arming } : {}),
    });
  }
  const live: Record<string, unknown> = {};
  for (const key of Object.keys(object)) live[key] = reviveValue(object[key] ?? null, resolve);
  return live;
}

/** True for anything that has the shape by which XState itself recognises an actor reference. */
export function isActorRef(value: unknown): value is object & { id: string } {
  return (
    typeof value === 'object' &&
    value !== null &&
    'sessionId' in value &&
    'send' in value &&
    'ref' in value
  );
}

/**
 * Throws VALUE_NOT_JSON when `value` holds a reference of another runtime than `host`: its address
 * would mean somebody else here. For what comes from outside.
 */
export function assertOwnRefs(value: unknown, host: object, path: string, depth = 0): void {
  if (typeof value !== 'object' || value === null || depth > DEPTH_MAX) return;
  if (isActorRef(value)) {
    const { isOf } = value as { isOf?: (host: object) => boolean };
    if (isOf === undefined || isOf.call(value, host)) return;
    throw new ReeveError('VALUE_NOT_JSON', `${path} holds an actor of another runtime`, { path });
  }
  for (const key in value) {
    assertOwnRefs((value as Record<string, unknown>)[key], host, `${path}.${key}`, depth + 1);
  }
}

export function isAddressable(value: object): value is Addressable {
  return 'address' in value;
}

const DEPTH_MAX = 100;

function holdsRef(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null || depth > DEPTH_MAX) return false;
  if (isActorRef(value) || MARK in value) return true;
  for (const key in value) {
    const part = (value as Record<string, unknown>)[key];
    if (typeof part === 'object' && part !== null && holdsRef(part, depth + 1)) return true;
  }
  return false;
}

function swapRefs(
  value: unknown,
  path: string,
  addressOf: (ref: object) => ActorAddress | undefined,
): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (isActorRef(value)) {
    const address = isAddressable(value) ? value.address : addressOf(value);
    if (address === undefined) {
      throw new ReeveError('VALUE_NOT_JSON', `${path} holds an actor of another system`, { path });
    }
    return { [MARK]: MARK_ACTOR, id: value.id, ...address };
  }
  if (MARK in value) {
    // Data that looks like a reference would come back as one.
    throw new ReeveError('VALUE_NOT_JSON', `${path} has the key '${MARK}', which is reserved`, {
      path,
    });
  }
  if (Array.isArray(value)) {
    return value.map((part, index) => swapRefs(part, `${path}[${index}]`, addressOf));
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return value;
  const copy: Record<string, unknown> = {};
  for (const key in value) {
    copy[key] = swapRefs((value as Record<string, unknown>)[key], `${path}.${key}`, addressOf);
  }
  return copy;
}
