/**
 * Every limit of the runtime is a row here (L11): what it is about, unit, default, bounds, and what
 * happens at it. `docs/options.md` holds the same rows; a test keeps the two equal.
 */
import { ReeveError, type ErrorCode } from './errors.ts';

export interface OptionRow {
  /** What the number is about, without its name. */
  readonly what: string;
  /** What is counted, in the plural: `ms`, `bytes`, `events`. */
  readonly unit: string;
  readonly default: number | null;
  readonly min: number;
  readonly max: number;
  /** What happens at the limit. */
  readonly atLimit: string;
  /** Code of the error at the limit, where there is one. */
  readonly code?: ErrorCode;
  /** `null` is allowed and means "never". */
  readonly nullable?: true;
}

const KIB = 1024;
const MIB = 1024 * KIB;
const DAY_MS = 86_400_000;

/** So much of an unknown name or value is looked at and shown. */
const NAME_LENGTH_COMPARED = 64;

export const OPTIONS = {
  mailboxMax: {
    what: 'Events that wait for one procedure.',
    unit: 'events',
    default: 10_000,
    min: 1,
    max: 1_000_000,
    atLimit: 'An outside send throws; mail between procedures becomes a dead letter.',
    code: 'MAILBOX_FULL',
  },
  queueMax: {
    what: 'Events that wait in all.',
    unit: 'events',
    default: 65_536,
    min: 1,
    max: 10_000_000,
    atLimit: 'New procedures are refused; running ones go on.',
    code: 'QUEUE_FULL',
  },
  groupRecordsMax: {
    what: 'Records of one commit group.',
    unit: 'records',
    default: 1_024,
    min: 1,
    max: 65_536,
    atLimit: 'The commit group is closed; what follows goes into the next one.',
  },
  groupBytesMax: {
    what: 'Size of one commit group.',
    unit: 'bytes',
    default: MIB,
    min: KIB,
    max: 64 * MIB,
    atLimit: 'The commit group is closed; what follows goes into the next one.',
  },
  recordBytesMax: {
    what: 'Size of the record of one procedure.',
    unit: 'bytes',
    default: MIB,
    min: KIB,
    max: 16 * MIB,
    atLimit: 'The step is refused and the procedure is quarantined.',
    code: 'RECORD_TOO_LARGE',
  },
  childrenMax: {
    what: 'Plain children of one procedure at a time.',
    unit: 'children',
    default: 64,
    min: 0,
    max: 1_000,
    atLimit: 'The step is refused and the procedure is quarantined; use a procedure set.',
    code: 'CHILDREN_LIMIT',
  },
  effectsMax: {
    what: 'Effects of one procedure that are not settled.',
    unit: 'effects',
    default: 256,
    min: 1,
    max: 10_000,
    atLimit: 'The step is refused and the procedure is quarantined.',
    code: 'EFFECTS_LIMIT',
  },
  timersMax: {
    what: 'Timers of one procedure at a time.',
    unit: 'timers',
    default: 256,
    min: 1,
    max: 10_000,
    atLimit: 'The step is refused and the procedure is quarantined.',
    code: 'TIMERS_LIMIT',
  },
  maxIterations: {
    what: 'Microsteps of one step, for a machine that sets no limit of its own.',
    unit: 'microsteps',
    default: 1_000,
    min: 10,
    max: 1_000_000,
    atLimit: 'A step with more microsteps ends its machine in error, as XState does.',
  },
  childrenInFlightMax: {
    what: 'Children of one procedure set that run at a time.',
    unit: 'children',
    default: 64,
    min: 1,
    max: 1_024,
    atLimit: 'Further children of a procedure set wait for one to end.',
  },
  setFailuresKept: {
    what: 'Failures whose errors a procedure set keeps for its summary.',
    unit: 'failures',
    default: 20,
    min: 0,
    max: 1_000,
    atLimit: 'Further failures of a set are counted, not kept.',
  },
  deadLettersMax: {
    what: 'Dead letters that are kept; late reports of tasks likewise.',
    unit: 'letters',
    default: 10_000,
    min: 1,
    max: 1_000_000,
    atLimit: 'The oldest dead letter leaves.',
  },
  idempotencyKeysMax: {
    what: 'Keys of `sendDurable` that one procedure remembers.',
    unit: 'keys',
    default: 1_000,
    min: 1,
    max: 100_000,
    atLimit: 'The oldest key of the procedure leaves.',
  },
  checkpointBytes: {
    what: 'Bytes logged since the last checkpoint.',
    unit: 'bytes',
    default: 32 * MIB,
    min: KIB,
    max: 16 * KIB * MIB,
    atLimit: 'A checkpoint folds the log into the state table.',
  },
  drainMs: {
    what: 'Time that a closing runtime gives to effects that are running.',
    unit: 'ms',
    default: 10_000,
    min: 0,
    max: 3_600_000,
    atLimit: 'A closing runtime stops waiting for effects; they run again at the next start.',
  },
  effectRetryMs: {
    what: 'Delay before the second try of an effect; it doubles with each further one.',
    unit: 'ms',
    default: 100,
    min: 1,
    max: DAY_MS,
    atLimit: 'The effect is tried again.',
  },
  effectRetryMsMax: {
    what: 'Longest delay between two tries of an effect.',
    unit: 'ms',
    default: 60_000,
    min: 1,
    max: DAY_MS,
    atLimit: 'The delay between two tries grows no further.',
  },
  effectAttemptsMax: {
    what: 'Tries of one effect.',
    unit: 'tries',
    default: 10,
    min: 1,
    max: 1_000_000,
    atLimit: 'The effect is given up and the machine hears `effect.failed`.',
  },
  settleDelayMs: {
    what: 'Time for which settled effects wait for a commit of their procedure.',
    unit: 'ms',
    default: 200,
    min: 1,
    max: 60_000,
    atLimit: 'Settled effects of an idle procedure leave its record in a commit of their own.',
  },
  passivateAfterMs: {
    what: 'Time without an event after which a procedure counts as idle.',
    unit: 'ms',
    default: 1_000,
    min: 1,
    max: DAY_MS,
    atLimit: 'An idle procedure leaves memory until its next event.',
  },
  retentionMs: {
    what: 'Time for which a procedure is kept after its end; null keeps it for ever.',
    unit: 'ms',
    default: null,
    nullable: true,
    min: 1,
    max: 3_650 * DAY_MS,
    atLimit: 'An ended tree of procedures and its history are removed.',
  },
  listPageMax: {
    what: 'Rows of one page of `list`; also the default of its `limit`.',
    unit: 'rows',
    default: 1_000,
    min: 1,
    max: 100_000,
    atLimit: 'A longer listing comes in pages.',
  },
} as const satisfies Record<string, OptionRow>;

export type OptionName = keyof typeof OPTIONS;

/** All limits, complete. */
export type Limits = {
  readonly [Name in OptionName]: (typeof OPTIONS)[Name] extends { nullable: true }
    ? number | null
    : number;
};

/** Limits as they are given: what is absent or `undefined` keeps its default. */
export type GivenLimits = { readonly [Name in OptionName]?: Limits[Name] | undefined };

/** Pairs of which the first may not be above the second, whether given or by default. */
export const RELATIONS: readonly (readonly [OptionName, OptionName])[] = [
  ['effectRetryMs', 'effectRetryMsMax'],
];

/**
 * The complete limits: what was given, and defaults for the rest; frozen. Throws OPTION_INVALID for
 * an unknown name, a value outside its bounds, or two values that contradict each other.
 */
export function resolveOptions(given: GivenLimits = {}): Limits {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw new ReeveError('OPTION_INVALID', 'limits are given as an object', {});
  }
  const resolved: Record<string, number | null> = {};
  for (const [name, row] of Object.entries(OPTIONS)) resolved[name] = row.default;
  for (const [name, value] of Object.entries(given) as [string, unknown][]) {
    const row = rowOf(name);
    if (value === undefined) continue;
    assertFits(name, row, value);
    resolved[name] = value;
  }
  for (const [lesser, greater] of RELATIONS) assertOrder(resolved, lesser, greater);
  return Object.freeze(resolved) as Limits;
}

function rowOf(name: string): OptionRow {
  if (Object.hasOwn(OPTIONS, name)) return OPTIONS[name as OptionName];
  const asked = name.slice(0, NAME_LENGTH_COMPARED);
  const near = nearest(asked);
  throw new ReeveError('OPTION_INVALID', `there is no option '${asked}'; '${near}' is near`, {
    option: asked,
    nearest: near,
  });
}

function assertFits(name: string, row: OptionRow, value: unknown): asserts value is number | null {
  const { min, max, unit, nullable } = row;
  if (value === null && nullable) return;
  if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max) return;
  const never = nullable ? ', or null for never' : '';
  throw new ReeveError(
    'OPTION_INVALID',
    `option '${name}' is a whole number of ${unit} from ${min} to ${max}${never}, ` +
      `not ${shown(value)}`,
    { option: name, min, max, unit },
  );
}

function assertOrder(
  resolved: Readonly<Record<string, number | null>>,
  lesser: OptionName,
  greater: OptionName,
): void {
  const [low, high] = [resolved[lesser] ?? 0, resolved[greater] ?? Infinity];
  if (low <= high) return;
  throw new ReeveError(
    'OPTION_INVALID',
    `option '${lesser}' (${low}) may not be above '${greater}' (${high})`,
    { option: lesser, max: high },
  );
}

/** The known name with the fewest edits. */
function nearest(name: string): string {
  const distances = Object.keys(OPTIONS).map(
    (known) => [edits(name.toLowerCase(), known.toLowerCase()), known] as const,
  );
  return distances.sort((a, b) => a[0] - b[0])[0]?.[1] ?? '';
}

function edits(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const swap = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(swap, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}

function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, NAME_LENGTH_COMPARED));
  return typeof value === 'object' && value !== null ? 'an object' : String(value);
}
