/**
 * How a step is planned: the machine decides, its wishes become a row, and row, mail, timers and
 * table changes enter the forming group together, or not at all. A step that breaks a rule throws
 * before the group is touched; the stepper then quarantines the procedure.
 */
import type { AnyActorRef, EventObject } from 'xstate';
import { ReeveError } from '../../model/errors.ts';
import type { CommitGroup } from './commit-group.ts';
import { countEnd, refill, type SetContext, type SetStart } from '../interpreter/set-program.ts';
import type { LiveSnapshot } from '../interpreter/internals.ts';
import { encodeValue } from '../interpreter/actor-refs.ts';
import type { Planned } from '../interpreter/plan-scope.ts';
import { ActionPlan } from './plan-actions.ts';
import { endSnapshot, withErrorData, historyEntry, rowOf, upkeepRow } from './plan-row.ts';
import type { Postman } from './postman.ts';
import type { Procedure } from '../population/procedure.ts';
import { RowDraft } from './row-draft.ts';
import { isTerminal, NONE, type ProcedureRow, type StoredChild } from '../records/row.ts';
import { childAddress, StepChildren, stopMail, type Birth } from './step-children.ts';
import type { StepperNeeds } from './stepper-needs.ts';
import type { StepFacts } from './step-facts.ts';
import { StepJournal } from './step-journal.ts';

const NOTHING: Planned = { actions: [], inspection: [] };
const UPKEEP = { type: 'reeve.upkeep' };

/** Creates child procedures; called when the parent's new row stands. */
export type Bear = (parent: Procedure, birth: Birth, group: CommitGroup) => void;

export class StepPlan {
  readonly #needs: StepperNeeds;
  readonly #postman: Postman;
  readonly #bear: Bear;

  constructor(needs: StepperNeeds, postman: Postman, bear: Bear) {
    this.#needs = needs;
    this.#postman = postman;
    this.#bear = bear;
  }

  draft(procedure: Procedure): RowDraft {
    return new RowDraft(procedure.row, procedure.settled, this.#needs.limits);
  }

  /** One step of an active procedure. Throws when the step breaks a rule. */
  step(
    procedure: Procedure,
    facts: StepFacts,
    group: CommitGroup,
    draft = this.draft(procedure),
  ): void {
    const { scope } = this.#needs;
    const { program, snapshot: head } = procedure;
    if (head === undefined) throw new Error(`procedure ${procedure.id} is not readable`);
    const snapshot =
      draft.childrenSeen === undefined ? head : { ...head, children: draft.childrenSeen };
    scope.begin(procedure.ref, `x:${procedure.number}.${draft.seq}`);
    let next: LiveSnapshot;
    let planned = NOTHING;
    try {
      next = program.transition(snapshot, facts.event, scope);
      planned = scope.end();
    } catch (error) {
      // As in XState, an error in a guard or an assign ends the machine; none of its actions act.
      scope.end();
      next = { ...snapshot, status: 'error', error };
    }
    this.conclude(procedure, draft, next, planned, facts, group);
  }

  /** A child's end or snapshot: a step of a set counts, a machine's step sees the event. */
  setStep(procedure: Procedure, child: string, facts: StepFacts, group: CommitGroup): void {
    const snapshot = procedure.snapshot;
    if (snapshot === undefined || facts.event.type.startsWith('xstate.snapshot.')) return;
    const { limits } = this.#needs;
    const context = countEnd(snapshot.context as SetContext, child, facts.event, limits);
    const next = { ...snapshot, context };
    this.conclude(procedure, this.draft(procedure), next, NOTHING, facts, group);
  }

  /** Turns the machine's decision into the group's records. Throws before it touches the group. */
  conclude(
    procedure: Procedure,
    draft: RowDraft,
    decided: LiveSnapshot,
    planned: Planned,
    facts: StepFacts,
    group: CommitGroup,
  ): void {
    const now = this.#needs.time.now();
    const { snapshot: next, starts } = this.#refillSet(procedure, withErrorData(decided));
    const ending = next.status !== 'active';
    const children = new StepChildren(
      this.#needs,
      procedure,
      draft,
      ending ? {} : (next.children as Record<string, AnyActorRef> | undefined),
    );
    const living = draft.children;
    const actions = this.#planActions(procedure, draft, next, planned, children, now);
    const awaiting = ending ? this.#endChildren(procedure, draft, children, living) : [];
    const row = this.#makeRow(procedure, draft, next, awaiting, facts, now, children);
    const json = this.#checkedJson(row);
    const journal = actions.tableWishes.length > 0 ? new StepJournal() : undefined;
    const replies = journal && this.#runTables(procedure, actions, journal);
    const snapshot = this.#liveSnapshot(procedure, row, next, children.changed);

    // From here on nothing throws: the step is decided.
    this.setHead(procedure, row, snapshot, json, group);
    journal?.moveTo(group);
    if (replies !== undefined) draft.mails.push(...replies);
    this.#enter(procedure, draft, facts, planned, group);
    for (const birth of children.births) this.#bear(procedure, birth, group);
    this.#startSet(procedure, starts, group);
    if (isTerminal(row.status)) this.#postman.tellParent(procedure, group);
    else if (row.parent?.sync) this.#postman.tellSnapshot(procedure, group);
  }

  /** Gives the procedure its next row; the group knows the way back. */
  setHead(
    procedure: Procedure,
    row: ProcedureRow,
    snapshot: LiveSnapshot | undefined,
    json: string,
    group: CommitGroup,
  ): void {
    group.touch(procedure);
    this.#needs.follow(procedure.row, row);
    procedure.row = row;
    procedure.snapshot = snapshot;
    procedure.json = json;
    procedure.migrated = false;
  }

  /** A change of the row that is no step: nobody hears of it. */
  keep(procedure: Procedure, group: CommitGroup, row = procedure.row): void {
    this.setHead(procedure, row, procedure.snapshot, JSON.stringify(row), group);
  }

  /** A change of the row that is decided without the machine: its tasks, timers, mail. */
  upkeep(
    procedure: Procedure,
    draft: RowDraft,
    group: CommitGroup,
    changes: { readonly awaiting?: readonly number[] } = {},
  ): void {
    const { row } = procedure;
    const next = upkeepRow(row, draft, changes.awaiting ?? row.awaiting ?? NONE);
    this.setHead(procedure, next, procedure.snapshot, JSON.stringify(next), group);
    const waits = next.tasks !== undefined || next.awaiting !== undefined;
    if (next.status === 'stopping' && !waits) this.finish(procedure, draft, group);
    else this.#enter(procedure, draft, { event: UPKEEP }, NOTHING, group, true);
  }

  /** Sends a due delayed event; the procedure itself takes no step. */
  relay(
    procedure: Procedure,
    draft: RowDraft,
    to: object | undefined,
    event: EventObject,
    group: CommitGroup,
  ): void {
    if (to !== undefined) {
      const children = new StepChildren(this.#needs, procedure, draft, undefined);
      const now = this.#needs.time.now();
      new ActionPlan({ procedure, draft, children, now, finalContext: undefined }).send(to, event);
    }
    this.upkeep(procedure, draft, group);
  }

  /** Something befell the procedure that its observers and its history shall know. */
  announce(procedure: Procedure, group: CommitGroup, event: EventObject): void {
    this.#enter(procedure, this.draft(procedure), { event }, NOTHING, group);
  }

  /** The stopping procedure has nothing left to wait for: now it has ended (L13). */
  finish(procedure: Procedure, draft: RowDraft, group: CommitGroup): void {
    const { row } = procedure;
    const { awaiting: _awaiting, ending, children: _children, tasks: _tasks, ...rest } = row;
    const ended: ProcedureRow = {
      ...rest,
      status: ending ?? 'stopped',
      seq: draft.seq,
      at: this.#needs.time.now(),
    };
    const snapshot = procedure.snapshot && endSnapshot(procedure.snapshot, ended);
    this.setHead(procedure, ended, snapshot, JSON.stringify(ended), group);
    group.muteStopping(procedure);
    this.#enter(procedure, draft, { event: { type: 'reeve.ended' } }, NOTHING, group);
    this.#postman.tellParent(procedure, group);
  }

  #planActions(
    procedure: Procedure,
    draft: RowDraft,
    next: LiveSnapshot,
    planned: Planned,
    children: StepChildren,
    now: number,
  ): ActionPlan {
    const actions = new ActionPlan({
      procedure,
      draft,
      children,
      now,
      finalContext: next.context,
    });
    children.startUnlisted(planned.actions);
    for (const action of planned.actions) actions.add(action);
    if (next.status === 'active' && procedure.program.kind === 'machine') children.stopMissing();
    return actions;
  }

  /** Everything below an ending procedure is told to stop; returns the procedures to wait for. */
  #endChildren(
    procedure: Procedure,
    draft: RowDraft,
    children: StepChildren,
    living: readonly StoredChild[],
  ): number[] {
    draft.timers = [];
    const { directory } = this.#needs;
    const awaiting = living.flatMap(({ number, ended }) =>
      number === undefined || ended || directory.slotOfNumber(number) === undefined ? [] : [number],
    );
    for (const child of draft.children) children.stopChild(child);
    if (procedure.program.kind === 'set') {
      for (const number of this.#needs.runningChildren(procedure)) {
        awaiting.push(number);
        draft.mails.push(stopMail(number));
      }
    }
    return awaiting;
  }

  #makeRow(
    procedure: Procedure,
    draft: RowDraft,
    next: LiveSnapshot,
    awaiting: readonly number[],
    facts: StepFacts,
    now: number,
    children: StepChildren,
  ): ProcedureRow {
    const { program, row } = procedure;
    // What cannot be read is kept as it is while its procedure ends.
    const unread = procedure.snapshot === undefined && !facts.started;
    const parts = unread ? { ...row, state: row.state } : program.store(next);
    const same = procedure.snapshot !== undefined && next.context === procedure.snapshot.context;
    const kept = unread || (program.kind === 'machine' && same && !children.changed);
    const context = kept
      ? { json: row.context, refs: row.refs === true }
      : encodeValue(parts.context, 'context', (ref) => {
          const child = children.of(ref);
          return child && childAddress(procedure, child);
        });
    return rowOf({ row, draft, program, parts, context, next, awaiting, now, facts });
  }

  #checkedJson(row: ProcedureRow): string {
    const json = JSON.stringify(row);
    const { recordBytesMax } = this.#needs.limits;
    // A character has up to three bytes; only near the limit is it worth counting them.
    if (json.length * 3 <= recordBytesMax) return json;
    const bytes = Buffer.byteLength(json, 'utf8');
    if (bytes <= recordBytesMax) return json;
    throw new ReeveError(
      'RECORD_TOO_LARGE',
      `the record of '${row.id}' would have ${bytes} bytes; the limit is ${recordBytesMax}`,
      { procedure: row.id, bytes, limit: recordBytesMax },
    );
  }

  #runTables(procedure: Procedure, actions: ActionPlan, journal: StepJournal) {
    const caller = {
      procedure: procedure.id,
      root: procedure.row.root,
      machine: procedure.program.key,
    };
    try {
      return actions.tableWishes.flatMap(({ type, params }) => {
        const { json } = encodeValue(params ?? null, `params of '${type}'`, () => undefined);
        const reply = this.#needs.tables.run(type, json, caller, journal);
        if (reply === undefined) return [];
        const sent = encodeValue(reply, `reply of '${type}'`, () => undefined);
        return [{ to: procedure.number, event: reply, json: sent.json }];
      });
    } catch (error) {
      journal.undo();
      throw error;
    }
  }

  /** New children make the snapshot be read back from its row: the same road as a restart (L2). */
  #liveSnapshot(
    procedure: Procedure,
    row: ProcedureRow,
    next: LiveSnapshot,
    changed: boolean,
  ): LiveSnapshot {
    if (row.status === 'active') {
      return changed ? this.#needs.population.restore(procedure.program, row, procedure.ref) : next;
    }
    if (row.status === 'stopping') return { ...next, status: 'active' };
    return endSnapshot(next, row);
  }

  #enter(
    procedure: Procedure,
    draft: RowDraft,
    facts: StepFacts,
    planned: Planned,
    group: CommitGroup,
    quiet = false,
  ): void {
    const { row, snapshot } = procedure;
    for (const mail of draft.mails) this.#postman.post(mail, procedure.id, group);
    for (const { id, due } of draft.armedTimers) {
      if (row.timers?.some((timer) => timer.id === id)) this.#needs.timers.add(due, procedure.slot);
    }
    group.addStep(
      {
        procedure,
        row,
        snapshot,
        event: facts.event,
        source: facts.source,
        effects: draft.live,
        after: draft.after,
        emits: draft.emits,
        inspection: planned.inspection,
        ...(facts.started ? { started: true as const } : {}),
        ...(quiet ? { quiet: true as const } : {}),
      },
      quiet ? undefined : historyEntry(row, draft.before, facts),
    );
  }

  #refillSet(
    procedure: Procedure,
    decided: LiveSnapshot,
  ): { snapshot: LiveSnapshot; starts: readonly SetStart[] } {
    if (procedure.program.kind !== 'set' || decided.status !== 'active') {
      return { snapshot: decided, starts: [] };
    }
    const { tables, limits, registry } = this.#needs;
    // Before the group is touched: a set of a machine that is not known breaks a rule.
    registry.resolve((decided.context as SetContext).input.of);
    return refill(
      decided,
      (table, prefix, after, limit) => tables.view(table).page({ prefix, after, limit }),
      limits,
    );
  }

  #startSet(procedure: Procedure, starts: readonly SetStart[], group: CommitGroup): void {
    if (starts.length === 0) return;
    const { of } = (procedure.snapshot?.context as SetContext).input;
    const program = this.#needs.registry.resolve(of);
    for (const { key, input } of starts) {
      const child: StoredChild = { id: key, src: of, kind: 'procedure', arming: 0, input };
      const number = this.#needs.counters.nextProcedure();
      this.#bear(procedure, { child: { ...child, number }, program, number, refs: false }, group);
    }
  }
}
