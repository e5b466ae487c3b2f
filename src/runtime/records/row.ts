/**
 * The durable record of one procedure: everything a restart needs, and nothing it can compute.
 * Rows are immutable values; a step makes a new one. The JSON of a row is the value of the store's
 * key `p/<number>`; the fields `id machine version parent status state at` are also what operators
 * see in the store's views.
 */
import type { ErrorData } from '../../model/errors.ts';
import type { Json } from '../../model/json.ts';

/**
 * - `active`: takes events.
 * - `stopping`: the machine has ended (or was cancelled), but a task or child is not yet seen to
 *   have ended; `ending` says what it will become (L13).
 * - `done`, `error`, `stopped`: terminal, for ever.
 * - `quarantined`: cannot go on under the present code; keeps its state and its mail.
 */
export type ProcedureStatus = 'active' | 'stopping' | 'done' | 'error' | 'stopped' | 'quarantined';

export const STATUSES: readonly ProcedureStatus[] = [
  'active',
  'stopping',
  'done',
  'error',
  'stopped',
  'quarantined',
];

export type ChildKind = 'procedure' | 'task' | 'local';

/** A child in the parent's snapshot. `arming` tells its lives under one id apart (L16). */
export interface StoredChild {
  readonly id: string;
  readonly src: string;
  readonly kind: ChildKind;
  readonly arming: number;
  readonly input?: Json;
  readonly systemId?: string;
  readonly sync?: true;
  /** `procedure`: its number. */
  readonly number?: number;
  /** A local actor or task that has answered: it is not asked for again. */
  readonly ended?: true;
}

/** A task attempt that is not proven over (L3, L4). */
export interface StoredTask {
  readonly attempt: string;
  readonly child: string;
  readonly src: string;
  readonly arming: number;
  readonly ledger: string;
  readonly input?: Json;
  /** `waiting` for an earlier attempt of the same child to be proven over. */
  readonly phase: 'submitted' | 'waiting' | 'stopping';
}

export interface StoredTimer {
  readonly id: string;
  /** Durable time (`DurableTime`) in ms at which it fires. */
  readonly due: number;
  readonly delay: number;
  readonly event: Json;
  readonly arming: number;
  /** Receiver of a delayed `sendTo`; absent: the procedure itself. */
  readonly to?: Json;
  readonly refs?: true;
  readonly missed?: 'skip';
}

/** An effect that is decided but not settled; key `procedure:seq:index`. */
export interface StoredEffect {
  readonly seq: number;
  readonly index: number;
  readonly type: string;
  readonly params?: Json;
  readonly event: Json;
  /** Context the action saw; absent when it equals the row's. */
  readonly context?: Json;
  readonly refs?: true;
}

export interface StoredParent {
  readonly number: number;
  /** The child's id under the parent. */
  readonly child: string;
  readonly arming: number;
  readonly sync?: true;
}

export interface Quarantine {
  readonly error: ErrorData;
  /** What the row's status was before. */
  readonly was: ProcedureStatus;
  /** True when the record itself could not be read as a state of the machine. */
  readonly unread?: true;
}

export interface ProcedureRow {
  readonly number: number;
  readonly id: string;
  readonly machine: string;
  readonly version: number;
  /** Fingerprint of the machine's structure when the row was written. */
  readonly print: string;
  readonly root: number;
  readonly parent?: StoredParent;
  readonly inputHash: string;
  readonly status: ProcedureStatus;
  /** While `stopping`: what it will be. */
  readonly ending?: 'done' | 'error' | 'stopped';
  /** Child procedures that were told to stop and have not ended. */
  readonly awaiting?: readonly number[];
  /** An operator cancelled it (a parent that stops its child does not). */
  readonly cancelled?: true;
  readonly state: Json;
  readonly context: Json;
  readonly refs?: true;
  readonly historyValue?: Json;
  readonly output?: Json;
  readonly error?: Json;
  readonly children?: readonly StoredChild[];
  readonly tasks?: readonly StoredTask[];
  readonly timers?: readonly StoredTimer[];
  readonly effects?: readonly StoredEffect[];
  readonly quarantine?: Quarantine;
  /** Only of a child whose first step broke a rule: it is taken again by `retry`. */
  readonly input?: Json;
  /** Steps taken; -1 before the first. */
  readonly seq: number;
  /** Highest arming number given out. */
  readonly armed: number;
  /** Task counter; attempt = number * 2^20 + counter. */
  readonly tasked: number;
  readonly createdAt: number;
  readonly at: number;
}

export const NONE: readonly never[] = [];

export function isTerminal(status: ProcedureStatus): boolean {
  return status === 'done' || status === 'error' || status === 'stopped';
}

export function rowKey(number: number): string {
  return `p/${number}`;
}

/** Mail on its way: the value of key `m/<seq>`. */
export interface StoredMail {
  readonly seq: number;
  readonly to: number;
  readonly event: Json;
  readonly refs?: true;
  /** Id of the sending procedure; absent for the outside. */
  readonly from?: string;
  /** Mail from a child carries its child id and arming number. */
  readonly child?: string;
  readonly arming?: number;
  /** `stop`: the parent ends it; `cancel`: an operator does; `child-ended`: a stopped child has. */
  readonly act?: MailAct;
}

export type MailAct = 'stop' | 'cancel' | 'child-ended';

export interface DeadLetter {
  readonly seq: number;
  readonly to: string;
  readonly from?: string;
  readonly event: Json;
  readonly reason: 'unknown-receiver' | 'receiver-ended' | 'mailbox-full' | 'stale';
  readonly at: number;
}
