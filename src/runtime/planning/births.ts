/** First steps: of roots, asked for from outside, and of children, decided by a parent's step. */
import { createHash } from 'node:crypto';
import { ReeveError, toErrorData } from '../../model/errors.ts';
import type { Json } from '../../model/json.ts';
import type { CommitGroup } from './commit-group.ts';
import type { SpawnEnvelope } from './envelope.ts';
import { reviveValue } from '../interpreter/actor-refs.ts';
import type { LiveSnapshot } from '../interpreter/internals.ts';
import type { Planned } from '../interpreter/plan-scope.ts';
import type { Program } from '../interpreter/program.ts';
import { errorJson } from './plan-row.ts';
import { Procedure } from '../population/procedure.ts';
import type { ProcedureRow, StoredParent } from '../records/row.ts';
import type { Birth } from './step-children.ts';
import type { StepPlan } from './step-plan.ts';
import type { StepperNeeds } from './stepper-needs.ts';

/** Deepest nesting of procedures: a machine that invokes itself must not go on for ever. */
const DEPTH_MAX = 64;

interface NewProcedure {
  readonly id: string;
  readonly number: number;
  readonly root: number;
  readonly parent?: StoredParent;
  readonly parentSlot: number;
  readonly program: Program;
  readonly input: Json | undefined;
  readonly refs: boolean;
  readonly inputHash: string;
}

export class Births {
  readonly #needs: StepperNeeds;
  #plan: StepPlan | undefined;

  constructor(needs: StepperNeeds) {
    this.#needs = needs;
  }

  /** The plan bears children through this object, so the two are joined after both exist. */
  join(plan: StepPlan): void {
    this.#plan = plan;
  }

  /** Throws what the machine's first step throws by the rules; then nothing was created. */
  root(envelope: SpawnEnvelope, group: CommitGroup): Procedure {
    const number = this.#needs.counters.nextProcedure();
    const { id, program, input, refs, inputHash } = envelope;
    const fresh = { id, number, root: number, parentSlot: -1, program, input, refs, inputHash };
    const procedure = this.#create(fresh, group);
    try {
      this.#firstStep(procedure, fresh, group);
    } catch (error) {
      this.#needs.population.remove(procedure);
      group.uncreate(procedure);
      throw error;
    }
    return procedure;
  }

  /** A child whose first step breaks a rule is born quarantined: its parent waits, visibly. */
  readonly child = (parent: Procedure, birth: Birth, group: CommitGroup): void => {
    const { child, program, number, refs } = birth;
    const stored: StoredParent = {
      number: parent.number,
      child: child.id,
      arming: child.arming,
      ...(child.sync ? { sync: true as const } : {}),
    };
    const fresh = {
      id: this.#childId(parent, child.id, child.arming),
      number,
      root: parent.row.root,
      parent: stored,
      parentSlot: parent.slot,
      program,
      input: child.input,
      refs,
      inputHash: '',
    };
    const procedure = this.#create(fresh, group);
    const { row: unborn } = procedure;
    try {
      this.#assertDepth(procedure);
      this.#firstStep(procedure, fresh, group);
    } catch (error) {
      const { input } = fresh;
      const row: ProcedureRow = {
        ...unborn,
        status: 'quarantined',
        quarantine: { error: plainError(error), was: 'active', unread: true },
        ...(input === undefined ? {} : { input }),
        ...(refs ? { refs } : {}),
      };
      this.#plan?.keep(procedure, group, row);
    }
  };

  /** The first step once more, of a child that was born quarantined. Throws what breaks a rule. */
  again(procedure: Procedure, group: CommitGroup): void {
    const { row, program, slot } = procedure;
    const { input, refs = false } = row;
    const parentSlot = this.#needs.directory.parentOf(slot);
    this.#assertDepth(procedure);
    this.#firstStep(procedure, { ...row, parentSlot, program, input, refs }, group);
  }

  #create(fresh: NewProcedure, group: CommitGroup): Procedure {
    const { directory, population, time } = this.#needs;
    const { id, number, root, parent, program, inputHash } = fresh;
    const slot = directory.add({ id, number, parent: fresh.parentSlot });
    const now = time.now();
    const row: ProcedureRow = {
      id,
      number,
      machine: program.key,
      version: program.version,
      print: program.print,
      root,
      ...(parent === undefined ? {} : { parent }),
      inputHash,
      status: 'active',
      state: null,
      context: null,
      seq: -1,
      armed: 0,
      tasked: 0,
      createdAt: now,
      at: now,
    };
    const ref = population.newRef({ id, number, root, parent }, program);
    const procedure = new Procedure({ slot, program, ref, row, snapshot: undefined, json: '' });
    group.create(procedure);
    population.add(procedure);
    return procedure;
  }

  #firstStep(procedure: Procedure, fresh: NewProcedure, group: CommitGroup): void {
    const plan = this.#plan;
    if (plan === undefined) throw new Error('births are not joined to a plan');
    const { scope, population } = this.#needs;
    const { program, ref } = procedure;
    const input = fresh.refs
      ? reviveValue(fresh.input ?? null, (address) => population.resolve(address, ref, undefined))
      : fresh.input;
    scope.begin(ref, `x:${procedure.number}.0`);
    let snapshot: LiveSnapshot;
    let planned: Planned;
    try {
      snapshot = program.start(scope, input);
    } catch (error) {
      snapshot = { status: 'error', error, output: undefined, context: null, value: null };
    } finally {
      planned = scope.end();
    }
    const facts = {
      event: { type: 'xstate.init', input },
      source: fresh.parent === undefined ? undefined : ref._parent?.sessionId,
      started: true as const,
    };
    if (snapshot.status === 'error') planned = { actions: [], inspection: [] };
    plan.conclude(procedure, plan.draft(procedure), snapshot, planned, facts, group);
  }

  /** The id under the parent; with the arming number when that is taken by an earlier life. */
  #childId(parent: Procedure, child: string, arming: number): string {
    const plain = `${parent.id}/${child}`;
    let id = plain;
    // Somebody outside may have chosen such an id too.
    for (let n = 0; this.#needs.directory.slotOf(id) !== undefined; n++) {
      id = n === 0 ? `${plain}~${arming}` : `${plain}~${arming}.${n}`;
    }
    return id;
  }

  #assertDepth(procedure: Procedure): void {
    const { directory } = this.#needs;
    let depth = 0;
    for (let at = procedure.slot; at !== -1; at = directory.parentOf(at)) depth++;
    if (depth <= DEPTH_MAX) return;
    throw new ReeveError('DEPTH_LIMIT', `procedures are nested deeper than ${DEPTH_MAX}`, {
      procedure: procedure.id,
      limit: DEPTH_MAX,
    });
  }
}

/** Equal inputs have equal hashes, whatever the order of their keys. */
export function hashInput(input: Json | undefined): string {
  if (input === undefined || input === null) return 'null';
  const text = JSON.stringify(input ?? null, (_key, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );
  return createHash('sha256').update(text).digest('base64url').slice(0, 22);
}

/** An error as a quarantine keeps it. */
export function plainError(error: unknown): ReturnType<typeof toErrorData> {
  return errorJson(error instanceof Error ? error : toErrorData(error)) as never;
}
