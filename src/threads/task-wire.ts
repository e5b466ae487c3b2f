/**
 * The protocol between a pool and the entry in its threads, and the one reader of it. What a thread
 * says is believed only in these shapes, of this version and for the attempt that was asked: a
 * success is a positive token, never "the promise resolved".
 */
import type { MessagePort } from 'node:worker_threads';
import type { ErrorData } from '../model/errors.ts';
import { type Json, parseJson } from '../model/json.ts';
import { codedError, readErrorData } from './describe-thrown.ts';
import type { Ending, StopReason } from './thread-host.ts';

export const WIRE_VERSION = 1;

/** What the flag shows; 0 is "go on". */
export const STOP_FLAG: Readonly<Record<StopReason, number>> = { cancel: 1, deadline: 2, close: 3 };

/** Pool to thread: run this. */
export interface TaskOrder {
  readonly v: typeof WIRE_VERSION;
  readonly attempt: string;
  /** URL of the user's module, and the name of the function in it. */
  readonly module: string;
  readonly exportName: string;
  /** JSON text. */
  readonly input: string;
  readonly deadlineMs: number | null;
  /** One cell: 0, or a value of STOP_FLAG. Any message on the port is a nudge to look at it. */
  readonly flag: Int32Array;
  readonly port: MessagePort;
}

interface Stamp {
  readonly v: typeof WIRE_VERSION;
  readonly attempt: string;
}

/** Thread to pool, over the attempt's own port, in this order: started, progress*, one report. */
export type ThreadMessage = Stamp &
  (
    | { readonly kind: 'started' }
    | { readonly kind: 'progress'; readonly progress: string }
    | ThreadReport
  );

/** How the task ended, in its thread's word. */
export type ThreadReport =
  | { readonly kind: 'success'; readonly output: string }
  | { readonly kind: 'fail'; readonly error: ErrorData }
  /** It saw the flag and gave up because of it. */
  | { readonly kind: 'stopped' }
  /** It returned something that cannot be carried. */
  | { readonly kind: 'unfit'; readonly error: ErrorData };

/** Thread to pool, through Piscina's promise: the report has been posted, the thread is free. */
export interface TaskReceipt extends Stamp {
  readonly kind: 'returned';
}

/** A thread's message, read. `breach`: it broke the protocol, and its word is worth nothing. */
export type Heard =
  | { readonly kind: 'started' }
  | { readonly kind: 'progress'; readonly progress: Json }
  | { readonly kind: 'report'; readonly ending: Ending }
  | { readonly kind: 'breach'; readonly error: ErrorData };

/** Never throws. */
export function readThreadMessage(message: unknown, attempt: string): Heard {
  if (!isStamped(message, attempt)) return breach(foreignText(message, attempt));
  const said = message as Partial<Record<string, unknown>>;
  switch (said.kind) {
    case 'started':
      return { kind: 'started' };
    case 'progress': {
      const read = readJson(said.progress);
      if (read === undefined) return breach('progress is not JSON text');
      return { kind: 'progress', progress: read.value };
    }
    case 'success': {
      const read = readJson(said.output);
      if (read === undefined) return breach('success without an output in JSON text');
      return { kind: 'report', ending: { kind: 'success', output: read.value } };
    }
    case 'fail':
    case 'unfit': {
      const error = readErrorData(said.error);
      if (error === undefined) return breach(`${said.kind} without an error`);
      return { kind: 'report', ending: { kind: said.kind === 'fail' ? 'fail' : 'lost', error } };
    }
    case 'stopped':
      return { kind: 'report', ending: { kind: 'stopped' } };
    default:
      return breach('a message of no known kind');
  }
}

/** True for the receipt of this attempt; nothing else that a promise gives means anything. */
export function isReceipt(value: unknown, attempt: string): value is TaskReceipt {
  return isStamped(value, attempt) && (value as { kind?: unknown }).kind === 'returned';
}

/** The error of an attempt whose thread did not keep to the protocol. */
export function protocolError(what: string): ErrorData {
  return codedError('TASK_RESULT_INVALID', what);
}

function readJson(text: unknown): { value: Json } | undefined {
  if (typeof text !== 'string') return undefined;
  try {
    return { value: parseJson(text, 'message') };
  } catch {
    return undefined;
  }
}

function isStamped(value: unknown, attempt: string): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const { v, attempt: of } = value as Partial<Stamp>;
  return v === WIRE_VERSION && of === attempt;
}

function foreignText(message: unknown, attempt: string): string {
  const of = (message as Partial<Stamp> | null | undefined)?.attempt;
  return typeof of === 'string' && of !== attempt
    ? `the thread of attempt ${attempt} answered for another attempt`
    : 'a message without the stamp of this protocol';
}

function breach(what: string): Heard {
  return { kind: 'breach', error: protocolError(what) };
}
