/** The durable runtime: what `reeve` exports of it. */
export { createRuntime, type RuntimeOptions } from './create-runtime.ts';
export { Runtime, type DurableActorRef, type RuntimeState, type SpawnOptions } from './runtime.ts';
export { effectKey } from './acting/effect-runner.ts';
export type { Explanation, Waiting } from './explain.ts';
export type { MachineEntry, VersionedMachine } from './interpreter/registry.ts';
export type { MigratedState, Migrate } from './interpreter/program.ts';
export type { ListPage, ListQuery, ProcedureFacts } from './population/listing.ts';
export type { RuntimeLog } from './notices.ts';
export type { DurableSendOptions } from './population/procedure-ref.ts';
export type { DeadLetter, ProcedureStatus } from './records/row.ts';
