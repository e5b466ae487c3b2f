/** What the executor takes steps on, one at a time, in order of arrival. */
import type { EventObject } from 'xstate';
import type { TaskOutcome } from '../../model/task.ts';
import type { Json } from '../../model/json.ts';
import type { Program } from '../interpreter/program.ts';
import type { MailAct } from '../records/row.ts';

/** Somebody outside who waits for a commit. */
export interface Waiter {
  resolve(): void;
  reject(error: unknown): void;
}

interface EnvelopeBase {
  /** Number of the receiver. */
  readonly to: number;
  /** Resolved when the step is durable; rejected when it was discarded. */
  readonly waiter?: Waiter;
  /**
   * Serial of the group whose step sent this; it is void when that group is discarded, because the
   * step will be planned again. Absent for what came from outside the steps.
   */
  origin?: number;
}

export interface MailEnvelope extends EnvelopeBase {
  readonly kind: 'mail';
  /** Number of the mail's row; absent for an outside event that was never a row. */
  readonly seq?: number;
  readonly event: EventObject;
  /** The event holds actor addresses that must become references. */
  readonly refs?: true;
  /** Id of the sending procedure. */
  readonly from?: string;
  readonly child?: string;
  readonly arming?: number;
  readonly act?: MailAct;
  /** Idempotency key of an outside send. */
  readonly key?: string;
  /** `seq:index` of an effect that is settled by this being taken. */
  readonly settles?: string;
}

export interface TimerEnvelope extends EnvelopeBase {
  readonly kind: 'timer';
  readonly timer: string;
  readonly arming: number;
}

export interface TaskEndedEnvelope extends EnvelopeBase {
  readonly kind: 'task-ended';
  readonly attempt: string;
  readonly outcome: TaskOutcome;
}

/**
 * A row changes without a step: settled effects leave, a task gets a new attempt. A `mark` changes
 * nothing and is answered when what was planned before it is durable.
 */
export interface UpkeepEnvelope extends EnvelopeBase {
  readonly kind: 'upkeep';
  readonly what: 'settle' | 'renew-tasks' | 'retry' | 'hydrate' | 'mark';
}

export interface SpawnEnvelope extends EnvelopeBase {
  readonly kind: 'spawn';
  readonly id: string;
  readonly program: Program;
  readonly input: Json | undefined;
  readonly refs: boolean;
  readonly inputHash: string;
}

export interface PurgeEnvelope extends EnvelopeBase {
  readonly kind: 'purge';
}

export type Envelope =
  MailEnvelope | TimerEnvelope | TaskEndedEnvelope | UpkeepEnvelope | SpawnEnvelope | PurgeEnvelope;
