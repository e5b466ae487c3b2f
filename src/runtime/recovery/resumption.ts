/**
 * After a start, asks again for everything that was decided and is not settled: effects, tasks,
 * live children (L2). First what needs a commit (migrations, new attempts, quarantine), then, when
 * that is durable, the acting. Effects queue up in the order in which they were decided.
 */
import type { EventObject } from 'xstate';
import type { LiveEffect } from '../planning/commit-group.ts';
import type { EffectRunner } from '../acting/effect-runner.ts';
import type { Envelope } from '../planning/envelope.ts';
import type { Registry } from '../interpreter/registry.ts';
import type { LocalActors } from '../acting/local-actors.ts';
import type { Population } from '../population/population.ts';
import type { Procedure } from '../population/procedure.ts';
import { NONE } from '../records/row.ts';

export interface ResumptionNeeds {
  readonly registry: Registry;
  readonly population: Population;
  readonly effects: EffectRunner;
  readonly locals: LocalActors;
  readonly executor: { post(envelope: Envelope): void };
  readonly host: {
    liveValue(procedure: Procedure, value: unknown, refs: boolean | undefined): unknown;
  };
}

/** Asks for what must be committed before anything acts; before any other envelope is taken. */
export function prepareResumption(needs: ResumptionNeeds, number: number): void {
  const { executor, population, effects } = needs;
  executor.post({ kind: 'upkeep', what: 'hydrate', to: number });
  const procedure = population.find(number);
  if (procedure === undefined) return;
  const { row } = procedure;
  if (row.quarantine?.unread) executor.post({ kind: 'upkeep', what: 'retry', to: number });
  if (row.tasks !== undefined) executor.post({ kind: 'upkeep', what: 'renew-tasks', to: number });
  if (procedure.snapshot !== undefined) effects.add(procedure, storedEffects(needs, procedure));
}

/** Starts the live children again (at least once, L2). */
export function resumeLocals(needs: ResumptionNeeds, number: number): void {
  const procedure = needs.population.find(number);
  if (procedure?.snapshot === undefined || procedure.row.status !== 'active') return;
  for (const child of procedure.row.children ?? NONE) {
    if (child.ended) continue;
    const logic = needs.registry.child(procedure.program, child.src);
    if (logic?.kind === 'local') needs.locals.start(procedure, child, logic.logic);
  }
}

function storedEffects(needs: ResumptionNeeds, procedure: Procedure): LiveEffect[] {
  const { row, snapshot } = procedure;
  return (row.effects ?? NONE).map((stored) => {
    const live = (value: unknown): unknown => needs.host.liveValue(procedure, value, stored.refs);
    return {
      stored,
      context: stored.context === undefined ? snapshot?.context : live(stored.context),
      event: live(stored.event) as EventObject,
      params: stored.params === undefined ? undefined : live(stored.params),
    };
  });
}
