/** The package: durable XState actors, stores for them, tasks on threads. */
export { createRuntime, effectKey, Runtime } from './runtime/index.ts';
export type {
  DeadLetter,
  DurableActorRef,
  DurableSendOptions,
  Explanation,
  ListPage,
  ListQuery,
  MachineEntry,
  Migrate,
  MigratedState,
  ProcedureFacts,
  ProcedureStatus,
  RuntimeLog,
  RuntimeOptions,
  RuntimeState,
  SpawnOptions,
  VersionedMachine,
  Waiting,
} from './runtime/index.ts';

export { memoryDisk, type MemoryDisk } from './store/memory-disk.ts';
export { memoryFaults, type MemoryFaults } from './store/memory-faults.ts';
export { memoryStore, type MemoryStoreOptions } from './store/memory-store.ts';
export { sqliteStore, type SqliteStoreOptions } from './store/sqlite-store.ts';
export type { HistoryEntries, HistoryPage, Reign, Store } from './store/port.ts';

export { declareTask } from './model/declare-task.ts';
export type { JsonForm, TaskLogic, Validator } from './model/declare-task.ts';
export type {
  AttemptId,
  TaskBinding,
  TaskListener,
  TaskOutcome,
  TaskRunner,
  TaskRunnerNeeds,
  TaskSubmission,
} from './model/task.ts';
export { fromPool } from './threads/pool.ts';
export type { PoolOptions } from './threads/pool-options.ts';
export type { TaskContext, TaskFunction } from './threads/task-context.ts';

export { procedureSet } from './model/procedure-set.ts';
export type {
  ProcedureSetInput,
  ProcedureSetItem,
  ProcedureSetLogic,
  ProcedureSetOutput,
} from './model/procedure-set.ts';
export { defineTable } from './model/table.ts';
export type {
  Table,
  TableAction,
  TableCaller,
  TableResult,
  TableRow,
  TableView,
} from './model/table.ts';
export type { Json } from './model/json.ts';
export { OPTIONS, type Limits, type OptionName } from './model/options.ts';

export { ERRORS, hasCode, ReeveError, toErrorData } from './model/errors.ts';
export type { ErrorCode, ErrorData, ErrorRow } from './model/errors.ts';

export { systemClock, type Clock, type TimerHandle } from './world/clock.ts';
export {
  virtualClock,
  type VirtualClock,
  type VirtualClockOptions,
} from './world/virtual-clock.ts';
export { EXIT_CODES } from './world/process-exit.ts';
export { closeOnSignals, type Closable, type SignalOptions } from './world/process-signals.ts';

export { toDefinition } from './export/machine-definition.ts';
export type {
  InvokeDefinition,
  MachineDefinition,
  StateDefinition,
  TransitionDefinition,
} from './export/machine-definition.ts';
export { toMermaid } from './export/mermaid.ts';
export { toStatelyConfig } from './export/stately-config.ts';
