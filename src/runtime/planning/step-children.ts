/**
 * The children of a step: which ones the machine started, which ones it gave up.
 *
 * XState shows both by the `children` of the snapshots before and after. A child that is there
 * after and was not before (or is another object under the same id) starts; one that was there
 * before and is gone stops; one created and given up inside the same step never was.
 */
import type { AnyActorLogic, AnyActorRef } from 'xstate';
import { ReeveError } from '../../model/errors.ts';
import { assertSafeKey } from '../../model/json.ts';
import { ChildRef } from '../population/child-ref.ts';
import { encodeValue, type ActorAddress } from '../interpreter/actor-refs.ts';
import type { CreatedActor, ResolvedAction } from '../interpreter/internals.ts';
import type { ChildLogic, Program } from '../interpreter/program.ts';
import type { Procedure } from '../population/procedure.ts';
import type { RowDraft } from './row-draft.ts';
import type { StoredChild } from '../records/row.ts';
import type { StepperNeeds } from './stepper-needs.ts';

/** A child procedure to be created once its parent's row stands. */
export interface Birth {
  readonly child: StoredChild;
  readonly program: Program;
  readonly number: number;
  readonly refs: boolean;
}

/** What planning the children of a step answers to the actions in it. */
export interface ChildPlan {
  /** Starts the child the action created, unless the step ended it again. */
  start(actor: CreatedActor): void;
  /** Stops a child that lived before the step. */
  stop(actor: unknown): void;
  /** The child a created actor has become; undefined when the step ended it again. */
  of(actor: object): StoredChild | undefined;
}

type Children = Readonly<Record<string, AnyActorRef>>;

export class StepChildren implements ChildPlan {
  readonly births: Birth[] = [];
  readonly #needs: StepperNeeds;
  readonly #procedure: Procedure;
  readonly #draft: RowDraft;
  readonly #after: Children;
  #started: Map<object, StoredChild> | undefined;

  constructor(
    needs: StepperNeeds,
    procedure: Procedure,
    draft: RowDraft,
    after: Children | undefined,
  ) {
    this.#needs = needs;
    this.#procedure = procedure;
    this.#draft = draft;
    this.#after = after ?? {};
  }

  /** True when the snapshot holds stand-ins that must become references. */
  get changed(): boolean {
    return this.#started !== undefined;
  }

  /** Starts children spawned in an `assign` or the context factory, which no action mentions. */
  startUnlisted(actions: readonly ResolvedAction[]): void {
    for (const id in this.#after) {
      const actor = this.#after[id] as object | undefined;
      if (actor instanceof ChildRef || actor === undefined) continue;
      const listed = actions.some(
        ({ type, params }) =>
          type === 'xstate.spawnChild' && (params as { actorRef?: object }).actorRef === actor,
      );
      if (!listed) this.start(actor as CreatedActor);
    }
  }

  start(actor: CreatedActor): void {
    if (this.#started?.has(actor)) return;
    const id = Object.keys(this.#after).find((key) => Object.is(this.#after[key], actor));
    if (id === undefined) return;
    const src = this.#sourceOf(actor);
    const logic = this.#needs.registry.child(this.#procedure.program, src);
    if (logic === undefined) {
      throw new ReeveError(
        'ACTOR_UNKNOWN',
        `machine '${this.#procedure.program.key}' starts '${src}', which nobody provides`,
        { machine: this.#procedure.program.key, src },
      );
    }
    const child = this.#add(id, src, logic, actor);
    (this.#started ??= new Map()).set(actor, child);
  }

  stop(actor: unknown): void {
    if (!(actor instanceof ChildRef)) return;
    const { id, arming } = actor.stored;
    const child = this.#draft.children.find((own) => own.id === id && own.arming === arming);
    if (child !== undefined) this.stopChild(child);
  }

  /** Stops a child that lived before the step; its row leaves. */
  stopChild(child: StoredChild): void {
    this.#draft.children = this.#draft.children.filter((own) => own !== child);
    if (child.ended) return;
    if (child.kind === 'local') {
      this.#draft.after.push({ do: 'stop-local', child: child.id, arming: child.arming });
    } else if (child.kind === 'task') {
      this.#draft.stopTasks(child);
    } else if (child.number !== undefined) {
      this.#draft.mails.push(stopMail(child.number));
    }
  }

  /** Stops what is gone from the snapshot though no action said so. */
  stopMissing(): void {
    for (const child of this.#draft.children) {
      const before = child.arming <= this.#draft.before.armed;
      if (before && !Object.hasOwn(this.#after, child.id)) this.stopChild(child);
    }
  }

  of(actor: object): StoredChild | undefined {
    const started = this.#started?.get(actor);
    if (started !== undefined) return started;
    // A reference that an action holds before its `spawnChild` was looked at.
    if (!(actor instanceof ChildRef) && Object.values(this.#after).includes(actor as AnyActorRef)) {
      this.start(actor as CreatedActor);
      return (this.#started as Map<object, StoredChild> | undefined)?.get(actor);
    }
    return undefined;
  }

  #add(id: string, src: string, logic: ChildLogic, actor: CreatedActor): StoredChild {
    assertSafeKey(id, 'the id of a child');
    const given = actor.options.input;
    const input =
      given === undefined
        ? undefined
        : encodeValue(given, `input of '${id}'`, (ref) => {
            const child = this.of(ref);
            return child && childAddress(this.#procedure, child);
          });
    const number = logic.kind === 'procedure' ? this.#needs.counters.nextProcedure() : undefined;
    const before = this.#draft.children.find((own) => own.id === id);
    if (before !== undefined) this.stopChild(before);
    const child = this.#draft.addChild({
      id,
      src,
      kind: logic.kind,
      ...(input === undefined ? {} : { input: input.json }),
      ...(actor.systemId === undefined ? {} : { systemId: actor.systemId }),
      ...(actor._syncSnapshot ? { sync: true as const } : {}),
      ...(number === undefined ? {} : { number }),
    });
    if (logic.kind === 'local') this.#draft.after.push({ do: 'start-local', child: id });
    if (logic.kind === 'task') {
      this.#draft.addTask(child, this.#needs.ledgerOf(logic.task.name, src));
    }
    if (logic.kind === 'procedure' && number !== undefined) {
      this.births.push({ child, program: logic.program, number, refs: input?.refs ?? false });
    }
    return child;
  }

  #sourceOf(actor: CreatedActor): string {
    if (typeof actor.src === 'string') return actor.src;
    const src = this.#needs.registry.sourceOf(this.#procedure.program, actor.src as AnyActorLogic);
    if (src !== undefined) return src;
    throw new ReeveError(
      'ACTOR_NOT_NAMED',
      `machine '${this.#procedure.program.key}' spawns '${actor.id}' from logic without a name; ` +
        'declare it in setup({ actors }) or give its machine to createRuntime({ machines })',
      { machine: this.#procedure.program.key, child: actor.id },
    );
  }
}

/** The address of a child of this procedure. */
export function childAddress(procedure: Procedure, child: StoredChild): ActorAddress {
  const { id, number, arming } = child;
  return {
    procedure: procedure.id,
    child: id,
    ...(number === undefined ? { arming } : { number }),
  };
}

export function stopMail(number: number) {
  const event = { type: 'xstate.stop' };
  return { to: number, event, json: event, act: 'stop' as const };
}
