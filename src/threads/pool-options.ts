/** The options of `fromPool`: one table of numbers with their limits; an unknown key is refused. */
import type { ResourceLimits } from 'node:worker_threads';
import { ReeveError } from '../model/errors.ts';

/** Options of `fromPool`. Times are in ms. */
export interface PoolOptions {
  /** Name of the worker function in the module. Default: `default`. */
  readonly export?: string;
  /** Most threads, 1 to 64; each runs one task at a time. Default: 1. */
  readonly threads?: number;
  /**
   * Most attempts that wait for a thread, 0 to 1,000,000; one more is refused TASK_QUEUE_FULL.
   * Default: 10,000.
   */
  readonly queueMax?: number;
  /**
   * Longest run of one attempt, from the start of its code, loading the module included: 1 to
   * 2^31 - 1. An attempt that exceeds it is asked to stop, and fails with TASK_DEADLINE when it is
   * seen to have ended. Default: none.
   */
  readonly deadlineMs?: number;
  /**
   * How long an attempt that was asked to stop may take, 0 to 600,000, before its thread is
   * terminated. Default: 1,000.
   */
  readonly graceMs?: number;
  /**
   * Report (never stop) a running attempt that shows no progress for so long, 100 to 2^31 - 1.
   * Default: none.
   */
  readonly noProgressMs?: number;
  /** A thread without work ends after this time, 0 to 2^31 - 1. Default: 10,000. */
  readonly idleMs?: number;
  /**
   * How long a thread may take to take an attempt up, 100 to 600,000; then it is terminated and
   * another one gets the attempt, which has not begun. Default: 30,000.
   */
  readonly startMs?: number;
  /** V8's limits of each thread. They do not count Buffers. Default: none. */
  readonly resourceLimits?: ResourceLimits;
}

/** All options, decided. */
export interface PoolSettings {
  readonly module: string;
  readonly exportName: string;
  readonly threads: number;
  readonly queueMax: number;
  readonly deadlineMs: number | null;
  readonly graceMs: number;
  readonly noProgressMs: number | null;
  readonly idleMs: number;
  readonly startMs: number;
  readonly resourceLimits?: ResourceLimits;
}

const TIME_MS_MAX = 2 ** 31 - 1;

/** Whole numbers: [minimum, maximum, default]; null means "none". */
const NUMBERS = {
  threads: [1, 64, 1],
  queueMax: [0, 1_000_000, 10_000],
  deadlineMs: [1, TIME_MS_MAX, null],
  graceMs: [0, 600_000, 1_000],
  noProgressMs: [100, TIME_MS_MAX, null],
  idleMs: [0, TIME_MS_MAX, 10_000],
  startMs: [100, 600_000, 30_000],
} as const;

const RESOURCE_LIMITS = [
  'maxYoungGenerationSizeMb',
  'maxOldGenerationSizeMb',
  'codeRangeSizeMb',
  'stackSizeMb',
] as const;

/** Throws OPTION_INVALID. */
export function parsePoolOptions(url: string | URL, options: PoolOptions): PoolSettings {
  const { export: exportName = 'default', resourceLimits, ...numbers } = options;
  if (typeof exportName !== 'string' || exportName === '') {
    refuse('export', exportName, 'the name of an export');
  }
  for (const option of Object.keys(numbers)) {
    if (!Object.hasOwn(NUMBERS, option)) refuse(option, undefined, 'no option of fromPool');
  }
  return {
    module: fileUrl(url),
    exportName,
    threads: number(options, 'threads'),
    queueMax: number(options, 'queueMax'),
    deadlineMs: number(options, 'deadlineMs'),
    graceMs: number(options, 'graceMs'),
    noProgressMs: number(options, 'noProgressMs'),
    idleMs: number(options, 'idleMs'),
    startMs: number(options, 'startMs'),
    ...(resourceLimits === undefined ? {} : { resourceLimits: checkedLimits(resourceLimits) }),
  };
}

function number<Name extends keyof typeof NUMBERS>(
  options: PoolOptions,
  option: Name,
): number | (typeof NUMBERS)[Name][2] {
  const [min, max, byDefault] = NUMBERS[option];
  const value = options[option];
  if (value === undefined) return byDefault;
  if (Number.isInteger(value) && value >= min && value <= max) return value;
  return refuse(option, value, `a whole number from ${min} to ${max}`);
}

function fileUrl(url: unknown): string {
  const text = url instanceof URL ? url.href : url;
  if (typeof text === 'string' && URL.canParse(text) && new URL(text).protocol === 'file:') {
    return text;
  }
  return refuse('url', text, "the file: URL of a module: new URL('./worker.js', import.meta.url)");
}

function checkedLimits(limits: unknown): ResourceLimits {
  if (typeof limits !== 'object' || limits === null) {
    return refuse('resourceLimits', limits, `an object of ${RESOURCE_LIMITS.join(', ')}`);
  }
  for (const [name, value] of Object.entries(limits) as [string, unknown][]) {
    const option = `resourceLimits.${name}`;
    if (!RESOURCE_LIMITS.some((known) => known === name)) refuse(option, value, 'no such limit');
    if (typeof value !== 'number' || !(value > 0)) refuse(option, value, 'a number above 0');
  }
  return limits;
}

function refuse(option: string, value: unknown, wanted: string): never {
  throw new ReeveError('OPTION_INVALID', `${option}: ${wanted}; got ${shown(value)}`, {
    option,
    value: shown(value),
  });
}

function shown(value: unknown): string {
  return typeof value === 'string' ? `'${value.slice(0, 200)}'` : typeof value;
}
