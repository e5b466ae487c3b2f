/**
 * What the parts of a machine are called in an export, where a function cannot go.
 *
 * A function has its own name when somebody gave it one; a name that JavaScript took from the key
 * it was written under (`entry`, `guard`) says nothing. Such parts are called by their place, as
 * the runtime calls them on record: `inline:door.open:entry:0`.
 */

/** Keys under which a function has their name without anybody having named it. */
const KEYS: ReadonlySet<string> = new Set([
  'actions',
  'always',
  'context',
  'entry',
  'exit',
  'guard',
  'input',
  'onDone',
  'onError',
  'onSnapshot',
  'output',
  'params',
  'src',
]);

const OWN_FACTS: ReadonlySet<string> = new Set(['delay', 'event', 'id', 'sendId', 'src', 'to']);

/** An action or a guard as an export names it. */
export interface NamedPart {
  readonly type: string;
  readonly params?: unknown;
}

/** The name of a function; `place` when it has none of its own. */
export function functionName(value: unknown, place: string): string {
  const { type, name } = value as { type?: unknown; name: string };
  if (typeof type === 'string') return type;
  return name === '' || KEYS.has(name) ? place : name;
}

/** An action as `{ type, params }`; `params` that are computed are left out. */
export function namedAction(action: unknown, place: string): NamedPart {
  if (typeof action === 'string') return { type: action };
  if (typeof action !== 'function') return namedObject(action as NamedPart);
  const params = literal(ownFacts(action));
  const type = functionName(action, place);
  return params === undefined ? { type } : { type, params };
}

/** A guard as `{ type, params }`; the guards inside `and`, `or` and `not` are its params. */
export function namedGuard(guard: unknown, place: string): NamedPart {
  if (typeof guard === 'string') return { type: guard };
  if (typeof guard !== 'function') return namedObject(guard as NamedPart);
  const type = functionName(guard, place);
  const inner: unknown = (guard as { guards?: unknown }).guards;
  if (!Array.isArray(inner)) return { type };
  return { type, params: { guards: inner.map((one, i) => namedGuard(one, `${place}:${i}`)) } };
}

function namedObject({ type, params }: NamedPart): NamedPart {
  const kept = literal(params);
  return kept === undefined ? { type } : { type, params: kept };
}

/** What XState's own actions (`raise`, `sendTo`) know beside their type, unless it is computed. */
function ownFacts(action: object): object | undefined {
  const facts = Object.entries(action).filter(
    ([key, value]) => OWN_FACTS.has(key) && literal(value) !== undefined,
  );
  return facts.length === 0 ? undefined : Object.fromEntries(facts);
}

/** The value as JSON has it, without functions; undefined when nothing of it is left. */
export function literal(value: unknown, above: ReadonlySet<object> = new Set()): unknown {
  if (typeof value === 'function' || typeof value === 'symbol') return undefined;
  if (typeof value === 'bigint') return String(value);
  if (typeof value !== 'object' || value === null) return value;
  if (above.has(value)) return undefined;
  const below = new Set(above).add(value);
  if (Array.isArray(value)) return value.map((part) => literal(part, below) ?? null);
  if (typeof (value as { toJSON?: unknown }).toJSON === 'function') {
    return literal((value as { toJSON(): unknown }).toJSON(), below);
  }
  const parts = Object.entries(value).map(([key, part]) => [key, literal(part, below)] as const);
  return Object.fromEntries(parts.filter(([, part]) => part !== undefined));
}
