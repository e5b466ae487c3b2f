/**
 * The machines a runtime knows, by durable name and version, and what stands behind each child.
 * Everything is checked here once, at `createRuntime`, with an error that names the place.
 */
import type { AnyActorLogic, AnyStateMachine } from 'xstate';
import { isDeclaredTask, taskOf } from '../../model/declare-task.ts';
import { ReeveError } from '../../model/errors.ts';
import { isProcedureSet, PROCEDURE_SET } from '../../model/procedure-set.ts';
import { inspected, isStateMachine } from './internals.ts';
import { isPureLogic, LogicProgram } from './logic-program.ts';
import { checkMachine, versionOf } from './machine-rules.ts';
import { MachineProgram } from './machine-program.ts';
import type { ChildLogic, Migrate, Program } from './program.ts';
import type { RegistryOptions } from './registry-options.ts';
import { setProgram } from './set-program.ts';
import { standIn } from './stand-in.ts';

/** A machine, with the way to take over rows of its earlier versions. */
export interface VersionedMachine {
  readonly machine: AnyStateMachine;
  /** `migrate[n]` takes a state of version n to version n + 1. */
  readonly migrate?: Readonly<Record<number, Migrate>>;
}

export type MachineEntry = AnyStateMachine | VersionedMachine;

/** Marks a `src` that names a registered machine instead of an actor of the parent. */
const REGISTERED = 'machine:';

export class Registry {
  readonly #options: RegistryOptions;
  readonly #programs = new Map<string, Map<number, Program>>();
  readonly #byLogic = new Map<object, Program>();

  constructor(machines: readonly MachineEntry[], options: RegistryOptions) {
    this.#options = options;
    const entries = machines.map((entry) => (isStateMachine(entry) ? { machine: entry } : entry));
    this.#add(setProgram);
    // Names given explicitly win over names derived from a parent, whatever the order.
    const explicit = new Map(entries.map((entry) => [entry.machine, entry.machine.id]));
    for (const entry of entries) this.#machine(entry.machine, explicit, entry.migrate ?? {});
  }

  /** Throws MACHINE_UNKNOWN. */
  resolve(machine: AnyStateMachine | string): Program {
    const found =
      typeof machine === 'string'
        ? this.newest(machine)
        : (this.#byLogic.get(machine) ?? this.newest(machine.id));
    if (found === undefined) {
      const name = typeof machine === 'string' ? machine : machine.id;
      throw new ReeveError('MACHINE_UNKNOWN', `no machine '${name}' was given to createRuntime`, {
        machine: name,
        known: [...this.#programs.keys()],
      });
    }
    return found;
  }

  newest(key: string): Program | undefined {
    const versions = this.#programs.get(key);
    return versions?.get(Math.max(...versions.keys()));
  }

  version(key: string, version: number): Program | undefined {
    return this.#programs.get(key)?.get(version);
  }

  /** What stands behind a child's `src` in a program. */
  child(program: Program, src: string): ChildLogic | undefined {
    const own = program.child(src);
    if (own !== undefined || !src.startsWith(REGISTERED)) return own;
    const registered = this.newest(src.slice(REGISTERED.length));
    return registered && { kind: 'procedure', program: registered };
  }

  /** The `src` under which logic spawned as an object is found again after a restart. */
  sourceOf(program: Program, logic: AnyActorLogic): string | undefined {
    const own = program.srcOf(logic);
    if (own !== undefined) return own;
    const registered = this.#byLogic.get(logic);
    return registered && `${REGISTERED}${registered.key}`;
  }

  *all(): Generator<Program> {
    for (const versions of this.#programs.values()) yield* versions.values();
  }

  #add(program: Program): void {
    const versions = this.#programs.get(program.key) ?? new Map<number, Program>();
    if (versions.has(program.version)) {
      throw new ReeveError(
        'MACHINE_DUPLICATE',
        `two machines are called '${program.key}' in version ${program.version}`,
        { machine: program.key, version: program.version },
      );
    }
    versions.set(program.version, program);
    this.#programs.set(program.key, versions);
  }

  #machine(
    machine: AnyStateMachine,
    names: Map<AnyStateMachine, string>,
    migrate: Readonly<Record<number, Migrate>>,
  ): Program {
    const known = this.#byLogic.get(machine);
    if (known !== undefined) return known;
    const key = names.get(machine) ?? machine.id;
    const version = versionOf(machine, key);
    const sources = this.#sources(machine);
    const rules = checkMachine(machine, key, sources, this.#options);
    const children = new Map<string, ChildLogic>();
    const planning = planningMachine(machine, sources, this.#options.maxIterations);
    const program = new MachineProgram({
      key,
      version,
      machine,
      planning,
      children,
      sources: new Map([...sources].map(([src, logic]) => [logic, src])),
      migrate,
      positionalInvokes: rules.positionalInvokes,
    });
    this.#byLogic.set(machine, program);
    this.#add(program);
    for (const [src, logic] of sources) {
      if (isStateMachine(logic) && !names.has(logic)) names.set(logic, `${key}/${src}`);
      children.set(src, this.#child(src, logic, program, names));
    }
    return program;
  }

  #child(
    src: string,
    logic: AnyActorLogic,
    parent: Program,
    names: Map<AnyStateMachine, string>,
  ): ChildLogic {
    if (isProcedureSet(logic)) return { kind: 'procedure', program: setProgram };
    if (isDeclaredTask(logic)) return { kind: 'task', task: taskOf(logic) };
    if (isStateMachine(logic)) {
      return { kind: 'procedure', program: this.#machine(logic, names, {}) };
    }
    if (!isPureLogic(logic)) return { kind: 'local', logic };
    const program =
      this.#byLogic.get(logic) ?? new LogicProgram(`${parent.key}/${src}`, parent.version, logic);
    if (!this.#byLogic.has(logic)) {
      this.#byLogic.set(logic, program);
      this.#add(program);
    }
    return { kind: 'procedure', program };
  }

  /** Every child logic of a machine by its `src`: declared, bound, or inline in an invoke. */
  #sources(machine: AnyStateMachine): Map<string, AnyActorLogic> {
    const { actors } = inspected(machine).implementations;
    const sources = new Map<string, AnyActorLogic>(Object.entries(actors));
    for (const node of inspected(machine).idMap.values()) {
      const configs = [node.config.invoke ?? []].flat() as { src: string | AnyActorLogic }[];
      node.invoke.forEach((invoke, index) => {
        const src = configs[index]?.src;
        if (typeof src === 'object') sources.set(invoke.src, src);
        else if (src === PROCEDURE_SET.src) sources.set(src, PROCEDURE_SET.logic);
      });
    }
    for (const [src, logic] of Object.entries(this.#options.actors)) {
      if (sources.has(src) || usesSource(machine, src)) sources.set(src, logic);
    }
    return sources;
  }
}

function usesSource(machine: AnyStateMachine, src: string): boolean {
  for (const node of inspected(machine).idMap.values()) {
    if (node.invoke.some((invoke) => invoke.src === src)) return true;
  }
  return false;
}

/**
 * The machine as it is planned with: every child replaced by a stand-in, loops bounded.
 * Inline logic in an invoke is found by XState through the config, not through implementations,
 * and stays as it is: it is created, but never started.
 */
function planningMachine(
  machine: AnyStateMachine,
  sources: ReadonlyMap<string, AnyActorLogic>,
  maxIterations: number,
): AnyStateMachine {
  const actors = Object.fromEntries([...sources.keys()].map((src) => [src, standIn]));
  const planning = machine.provide({ actors });
  const options = planning.options as { maxIterations?: number };
  if (options.maxIterations === Infinity) options.maxIterations = maxIterations;
  return planning;
}
