/** What planning reads and writes beside the forming group. */
import type { Counters } from '../records/counters.ts';
import type { DeadLetters } from './dead-letters.ts';
import type { Directory } from '../population/directory.ts';
import type { DurableTime } from '../records/durable-time.ts';
import type { Envelope } from './envelope.ts';
import type { PlanScope } from '../interpreter/plan-scope.ts';
import type { Registry } from '../interpreter/registry.ts';
import type { KeyIndex } from './key-index.ts';
import type { MailQueue } from './mail-queue.ts';
import type { Population } from '../population/population.ts';
import type { Procedure } from '../population/procedure.ts';
import type { ProcedureRow } from '../records/row.ts';
import type { Tables } from '../records/tables.ts';
import type { TimerQueue } from '../records/timer-queue.ts';

export interface StepLimits {
  readonly mailboxMax: number;
  readonly recordBytesMax: number;
  readonly childrenMax: number;
  readonly effectsMax: number;
  readonly timersMax: number;
  readonly childrenInFlightMax: number;
  readonly setFailuresKept: number;
}

export interface StepperNeeds {
  readonly registry: Registry;
  readonly directory: Directory;
  readonly population: Population;
  readonly tables: Tables;
  readonly timers: TimerQueue;
  readonly time: DurableTime;
  readonly scope: PlanScope;
  readonly queue: MailQueue;
  readonly counters: Counters;
  readonly deadLetters: DeadLetters;
  readonly keys: KeyIndex;
  readonly limits: StepLimits;
  /** What is derived from the heads of the rows follows a change. */
  follow(before: ProcedureRow, after: ProcedureRow): void;
  /** Ledger id of the runner behind a task; throws TASK_NOT_BOUND. */
  ledgerOf(task: string, src: string): string;
  /** An event that came too late for what it was meant for (L16): counted and logged. */
  stale(what: 'mail' | 'timer' | 'task', procedure: string, detail: string): void;
  /** Numbers of the children of a procedure set that have not ended, as planned so far. */
  runningChildren(set: Procedure): number[];
  /** An effect is settled in memory; it leaves the row with the procedure's next commit. */
  settled(procedure: Procedure, key: string): void;
  /** Mail held for a quarantined procedure. */
  readonly held: Map<number, Envelope[]>;
}
