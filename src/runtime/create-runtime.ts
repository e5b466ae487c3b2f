/** `createRuntime`: from options to a runtime that has recovered and takes work. */
import type { AnyActorLogic, InspectionEvent, Observer } from 'xstate';
import { ReeveError, toErrorData } from '../model/errors.ts';
import { resolveOptions, type Limits } from '../model/options.ts';
import type { Table } from '../model/table.ts';
import type { TaskBinding } from '../model/task.ts';
import type { Store } from '../store/port.ts';
import { systemClock, type Clock } from '../world/clock.ts';
import { EXIT_CODES, exitProcess } from '../world/process-exit.ts';
import { systemRandom } from '../world/random.ts';
import { Engine } from './engine.ts';
import type { MachineEntry } from './interpreter/registry.ts';
import { standardLog, standardLogger, type RuntimeLog } from './notices.ts';
import { Runtime } from './runtime.ts';

export interface RuntimeOptions {
  /** Machines that may be spawned, and those whose children they start by object. */
  readonly machines: readonly MachineEntry[];
  readonly store: Store;
  /** What stands behind actors: a binding for each declared task, other XState logic by `src`. */
  readonly actors?: Readonly<Record<string, TaskBinding | AnyActorLogic>>;
  readonly tables?: Readonly<Record<string, Table>>;
  readonly clock?: Clock;
  /** In [0, 1); spreads retries. */
  readonly random?: () => number;
  readonly inspect?: ((event: InspectionEvent) => void) | Observer<InspectionEvent>;
  /** XState's logger: hears `log()` actions. Default: console.log. */
  readonly logger?: (...values: unknown[]) => void;
  /** Hears what an operator should know; default: JSON lines on standard error from `warn` up. */
  readonly log?: RuntimeLog;
  /** Refuse machines with unnamed parts instead of guarding them; default false. */
  readonly strict?: boolean;
  /** See docs/options.md. */
  readonly limits?: Partial<Limits>;
  /**
   * Called once when nothing may act any more (STORE_OUTCOME_UNKNOWN, STALE_EPOCH, a defect).
   * Default: ends the process with an exit code of its own.
   */
  readonly onFatal?: (error: unknown) => void;
}

const KNOWN_OPTIONS: ReadonlySet<string> = new Set([
  'machines',
  'store',
  'actors',
  'tables',
  'clock',
  'random',
  'inspect',
  'logger',
  'log',
  'strict',
  'limits',
  'onFatal',
]);

/**
 * Opens the store, recovers what is on it, and runs the machines from there. Resolves when recovery
 * is durable and new work is taken. Throws OPTION_INVALID, the MACHINE_ codes and the STORE_ codes.
 */
export async function createRuntime(options: RuntimeOptions): Promise<Runtime> {
  for (const key of Object.keys(options)) {
    if (KNOWN_OPTIONS.has(key)) continue;
    throw new ReeveError('OPTION_INVALID', `createRuntime knows no option '${key}'`, { key });
  }
  try {
    return await openRuntime(options);
  } catch (error) {
    // Whoever opens it next must not find it held by a runtime that never was.
    await options.store.close();
    throw error;
  }
}

async function openRuntime(options: RuntimeOptions): Promise<Runtime> {
  const limits = resolveOptions(options.limits ?? {});
  const { bindings, logics } = actorsByKind(options.actors ?? {});
  const reign = await options.store.acquire();
  const engine = new Engine(
    {
      machines: options.machines,
      logics,
      bindings,
      tables: options.tables ?? {},
      store: options.store,
      clock: options.clock ?? systemClock(),
      random: options.random ?? systemRandom,
      limits,
      strict: options.strict ?? false,
      logger: options.logger ?? standardLogger,
      log: options.log ?? standardLog(),
      inspect: options.inspect,
      onFatal: options.onFatal ?? endProcess,
    },
    reign,
  );
  await engine.start();
  return new Runtime(engine);
}

function actorsByKind(actors: Readonly<Record<string, TaskBinding | AnyActorLogic>>) {
  const bindings: Record<string, TaskBinding> = {};
  const logics: Record<string, AnyActorLogic> = {};
  for (const [name, actor] of Object.entries(actors)) {
    if ((actor as { kind?: unknown }).kind === 'task-binding') {
      bindings[name] = actor as TaskBinding;
    } else {
      logics[name] = actor as AnyActorLogic;
    }
  }
  return { bindings, logics };
}

function endProcess(error: unknown): never {
  const { code } = toErrorData(error);
  if (code === 'STORE_OUTCOME_UNKNOWN') exitProcess(EXIT_CODES.storeOutcomeUnknown);
  exitProcess(code === 'STALE_EPOCH' ? EXIT_CODES.staleEpoch : EXIT_CODES.defect);
}
