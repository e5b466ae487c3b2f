import type { AnyActorLogic } from 'xstate';

/** What registration needs to know beside the machines. */
export interface RegistryOptions {
  /** Logic bound by name over what the machines declare. */
  readonly actors: Readonly<Record<string, AnyActorLogic>>;
  /** Actions of each table. */
  readonly tables: ReadonlyMap<string, ReadonlySet<string>>;
  /** Refuse names by position instead of guarding them by the fingerprint. */
  readonly strict: boolean;
  /** Most microsteps of one step, for machines that set no limit of their own. */
  readonly maxIterations: number;
}
