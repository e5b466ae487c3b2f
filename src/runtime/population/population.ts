/**
 * All procedures: live objects for those at work, bytes for the idle ones. Finding one hydrates it;
 * a sweep passivates what has been idle.
 */
import type { AnyActorRef } from 'xstate';
import { ReeveError } from '../../model/errors.ts';
import { parseJson } from '../../model/json.ts';
import { ChildRef, type ChildHost } from './child-ref.ts';
import type { ColdRows } from './cold-rows.ts';
import { stateLabel, type Directory } from './directory.ts';
import { reviveValue, type ActorAddress } from '../interpreter/actor-refs.ts';
import type { LiveSnapshot, Scope } from '../interpreter/internals.ts';
import type { Program } from '../interpreter/program.ts';
import type { Registry } from '../interpreter/registry.ts';
import { Procedure } from './procedure.ts';
import { ProcedureRef, type RefFacts, type RefHost } from './procedure-ref.ts';
import { currentProgram, missingProgram } from './row-program.ts';
import { isTerminal, NONE, type ProcedureRow } from '../records/row.ts';

export interface PopulationNeeds {
  readonly registry: Registry;
  readonly directory: Directory;
  readonly cold: ColdRows;
  readonly host: RefHost & ChildHost;
  readonly scope: Scope;
  readonly monotonic: () => number;
  /** The first procedure has come into memory. */
  readonly populated: () => void;
}

export class Population {
  readonly #needs: PopulationNeeds;
  readonly #live = new Map<number, Procedure>();

  constructor(needs: PopulationNeeds) {
    this.#needs = needs;
  }

  get live(): Iterable<Procedure> {
    return this.#live.values();
  }

  get liveCount(): number {
    return this.#live.size;
  }

  /** The live procedure with this number, if it is in memory. */
  peek(number: number): Procedure | undefined {
    const slot = this.#needs.directory.slotOfNumber(number);
    return slot === undefined ? undefined : this.#live.get(slot);
  }

  /** The procedure with this number, hydrated; undefined when there is none. */
  find(number: number): Procedure | undefined {
    const slot = this.#needs.directory.slotOfNumber(number);
    if (slot === undefined) return undefined;
    const live = this.#live.get(slot);
    if (live !== undefined) {
      live.usedAt = this.#needs.monotonic();
      return live;
    }
    const text = this.#needs.cold.get(slot);
    if (text === undefined) return undefined;
    const procedure = this.#hydrate(slot, text);
    this.#needs.cold.delete(slot);
    this.#enter(procedure);
    return procedure;
  }

  /** The handle of a procedure. Does not hydrate: rows may refer to each other in circles. */
  ref(number: number): ProcedureRef | undefined {
    const { directory, host, registry, cold } = this.#needs;
    const slot = directory.slotOfNumber(number);
    if (slot === undefined) return undefined;
    const live = this.#live.get(slot);
    if (live !== undefined) return live.ref;
    const text = cold.get(slot);
    if (text === undefined) return undefined;
    const row = JSON.parse(text) as ProcedureRow;
    return new ProcedureRef(host, row, registry.newest(row.machine) ?? missingProgram(row));
  }

  /** Makes a handle for a procedure whose first step is about to be planned. */
  newRef(facts: RefFacts, program: Program): ProcedureRef {
    return new ProcedureRef(this.#needs.host, facts, program);
  }

  /** Adds a procedure that has just taken its first step; hidden until its commit. */
  add(procedure: Procedure): void {
    procedure.usedAt = this.#needs.monotonic();
    this.#enter(procedure);
  }

  remove(procedure: Procedure): void {
    this.#live.delete(procedure.slot);
    this.#needs.cold.delete(procedure.slot);
    this.#needs.directory.remove(procedure.slot);
  }

  /** A row read at start-up, as text; it stays passive. */
  load(row: ProcedureRow, text: string): number {
    const { directory, cold } = this.#needs;
    const slot = directory.add({ id: row.id, number: row.number, parent: -1 });
    directory.publish(slot, row.machine, stateLabel(row.state), row.status);
    cold.put(slot, text);
    return slot;
  }

  /** Passivates procedures idle since `before` (monotonic ms); returns how many. */
  passivate(before: number, mayLeave: (procedure: Procedure) => boolean): number {
    let count = 0;
    for (const procedure of this.#live.values()) {
      if (procedure.usedAt > before || procedure.pinned > 0 || procedure.migrated) continue;
      if (!mayLeave(procedure)) continue;
      this.#needs.cold.put(procedure.slot, procedure.json);
      this.#live.delete(procedure.slot);
      count++;
    }
    return count;
  }

  #enter(procedure: Procedure): void {
    this.#live.set(procedure.slot, procedure);
    if (this.#live.size === 1) this.#needs.populated();
  }

  #hydrate(slot: number, text: string): Procedure {
    const { registry, host, monotonic } = this.#needs;
    const stored = parseJson(text, 'a procedure') as unknown as ProcedureRow;
    let row = stored;
    let program: Program | undefined;
    let snapshot: LiveSnapshot | undefined;
    let unfit: ReeveError | undefined;
    let ref: ProcedureRef | undefined;
    try {
      [program, row] = currentProgram(registry, stored);
      ref = new ProcedureRef(host, row, program);
      // A child that was born quarantined has no state yet.
      if (row.seq >= 0) snapshot = this.restore(program, row, ref);
    } catch (error) {
      if (!(error instanceof ReeveError)) throw error;
      row = stored;
      // What has ended needs no machine any more to be looked at.
      if (isTerminal(row.status)) snapshot = bareSnapshot(row);
      else unfit = error;
    }
    program ??= registry.newest(row.machine) ?? missingProgram(row);
    ref ??= new ProcedureRef(host, row, program);
    const migrated = row !== stored;
    const json = migrated ? JSON.stringify(row) : text;
    const procedure = new Procedure({ slot, program, ref, row, snapshot, json });
    procedure.usedAt = monotonic();
    procedure.shown = { row, snapshot };
    procedure.unfit = unfit;
    procedure.migrated = migrated;
    return procedure;
  }

  /** The live snapshot of a row. Throws ROW_UNFIT. */
  restore(program: Program, row: ProcedureRow, ref: ProcedureRef): LiveSnapshot {
    const { host, scope, registry } = this.#needs;
    const children: Record<string, AnyActorRef> = {};
    for (const child of row.children ?? NONE) {
      if (!isTerminal(row.status) && registry.child(program, child.src) === undefined) {
        throw new ReeveError(
          'ROW_UNFIT',
          `machine '${program.key}' has no actor '${child.src}' for the child '${child.id}'`,
          { machine: program.key, src: child.src },
        );
      }
      children[child.id] = new ChildRef(host, ref, child) as unknown as AnyActorRef;
    }
    const context = row.refs
      ? reviveValue(row.context, (address) => this.resolve(address, ref, children))
      : row.context;
    return program.restore(
      {
        status: snapshotStatus(row),
        state: row.state,
        context,
        historyValue: row.historyValue,
        output: row.output,
        error: row.error,
      },
      children,
      scope,
    );
  }

  /** The live reference of an address, as seen by `self`. */
  resolve(
    address: ActorAddress,
    self: ProcedureRef,
    children: Readonly<Record<string, AnyActorRef>> | undefined,
  ): unknown {
    if (address.procedure === self.sessionId) {
      if (address.child === undefined) return self;
      const child = children?.[address.child] as ChildRef | undefined;
      // A child of its own kind that has left the snapshot is still found by its number.
      if (address.number !== undefined && child?.stored.number !== address.number) {
        return this.ref(address.number);
      }
      return isLife(child, address) ? child : undefined;
    }
    for (const child of Object.values(children ?? {})) {
      const own = (child as unknown as Partial<ChildRef>).procedure;
      if (own?.sessionId === address.procedure) return child;
    }
    const slot = this.#needs.directory.slotOf(address.procedure);
    if (slot === undefined) return undefined;
    const owner = this.ref(this.#needs.directory.numberOf(slot));
    if (address.child === undefined || owner === undefined) return owner;
    const child = this.peek(owner.number)?.snapshot?.children?.[address.child];
    return isLife(child as unknown as ChildRef | undefined, address) ? child : undefined;
  }
}

function isLife(child: ChildRef | undefined, { arming }: ActorAddress): boolean {
  return arming === undefined || child?.stored.arming === arming;
}

/** While a procedure is stopping its last state is still shown as active (L12). */
export function snapshotStatus(row: ProcedureRow): LiveSnapshot['status'] {
  return isTerminal(row.status) ? (row.status as LiveSnapshot['status']) : 'active';
}

function bareSnapshot(row: ProcedureRow): LiveSnapshot {
  const { state: value, context, output, error } = row;
  return { status: snapshotStatus(row), value, context, output, error, children: {} };
}
