/**
 * Machines out of fast-check: up to three levels of compound, parallel, history and final states,
 * with guards, assigns, raised and delayed events, timers and children.
 *
 * They always come to rest: raised events raise nothing, and `always` counts up to its own end.
 * Two actors hardly ever have something to do at one moment, because its order is nobody's promise:
 * a child lives 2.5 s and a power of two of its own, all other times are whole seconds.
 */
import fc from 'fast-check';
import { assign, type AnyStateMachine, raise, sendParent, setup } from 'xstate';
import type { Stage } from './actor-driver.ts';

export const EVENTS = ['A', 'B', 'C'] as const;
const RAISED = ['R', 'S'] as const;
const DEPTH_MAX = 3;
const KID_MS = 2500;

type Act =
  | { readonly do: 'inc' | 'tell' | 'spawn' | 'stop' }
  | { readonly do: 'raise'; readonly event: string; readonly delay?: number };

interface Move {
  /** Picks a state of the machine by number; undefined: no target. */
  readonly to: number | undefined;
  readonly reenter: boolean;
  readonly guard: 'even' | 'odd' | undefined;
  readonly acts: readonly Act[];
}

interface Plan {
  readonly kind: 'atomic' | 'compound' | 'parallel' | 'final';
  readonly parts: readonly Plan[];
  readonly history: 'none' | 'shallow' | 'deep';
  readonly on: Readonly<Record<string, Move | undefined>>;
  readonly after: Readonly<Record<string, Move | undefined>>;
  readonly always: Move | undefined;
  readonly done: Move | undefined;
  readonly entry: readonly Act[];
  readonly invokes: boolean;
}

const raising: fc.Arbitrary<Act> = fc.record(
  {
    do: fc.constant('raise' as const),
    event: fc.constantFrom(...RAISED),
    delay: fc.constantFrom(1000, 2000, 3000),
  },
  { requiredKeys: ['do', 'event'] },
);
const plainAct: fc.Arbitrary<Act> = fc
  .constantFrom('inc' as const, 'tell' as const, 'spawn' as const, 'stop' as const)
  .map((what) => ({ do: what }));

function move(acts: fc.Arbitrary<Act>): fc.Arbitrary<Move> {
  return fc.record({
    to: fc.option(fc.nat(40), { nil: undefined, freq: 4 }),
    reenter: fc.boolean(),
    guard: fc.constantFrom('even' as const, 'odd' as const, undefined, undefined),
    acts: fc.array(acts, { maxLength: 3 }),
  });
}

function moves(keys: readonly string[], acts: fc.Arbitrary<Act>) {
  const one = fc.option(move(acts), { nil: undefined, freq: 2 });
  return fc.record(Object.fromEntries(keys.map((key) => [key, one])));
}

function plan(depth: number): fc.Arbitrary<Plan> {
  const leaf = depth >= DEPTH_MAX;
  const kinds = leaf
    ? ['atomic', 'atomic', 'final']
    : ['atomic', 'compound', 'compound', 'parallel'];
  return fc
    .record({
      kind: fc.constantFrom(...(kinds as Plan['kind'][])),
      parts: leaf ? fc.constant([]) : fc.array(plan(depth + 1), { minLength: 2, maxLength: 3 }),
      history: fc.constantFrom('none' as const, 'shallow' as const, 'deep' as const),
      on: fc
        .tuple(moves(EVENTS, fc.oneof(plainAct, raising)), moves(RAISED, plainAct))
        .map(([events, raised]) => ({ ...events, ...raised })),
      after: moves(['1000', '2000', '3000'], fc.oneof(plainAct, raising)),
      always: fc.option(move(plainAct), { nil: undefined, freq: 1 }),
      done: fc.option(move(plainAct), { nil: undefined, freq: 2 }),
      entry: fc.array(plainAct, { maxLength: 2 }),
      invokes: fc.constantFrom(true, false, false, false),
    })
    .map((made) =>
      made.kind === 'atomic' || made.kind === 'final' ? { ...made, parts: [] } : made,
    );
}

/** A root with two or three states. */
export const machinePlan: fc.Arbitrary<Plan> = fc
  .tuple(plan(1), fc.array(plan(2), { minLength: 2, maxLength: 3 }))
  .map(([root, parts]) => ({ ...root, kind: 'compound', parts, always: undefined }));

/** Builds the machine of a plan, which may be refused by XState (a final state with a child). */
export function machineOf(root: Plan, { notes }: Stage): AnyStateMachine {
  const ids: Ids = { targets: [], invoking: [] };
  collect(root, 'm', ids);
  const kid = setup({
    types: {} as { context: { told: number; days: number }; input: number | undefined },
    delays: { lifetime: ({ context }) => KID_MS + 2 ** context.days },
  }).createMachine({
    id: 'kid',
    context: ({ input }) => ({ told: 0, days: input ?? 0 }),
    initial: 'young',
    states: {
      young: {
        after: { lifetime: 'old' },
        on: {
          TELL: {
            actions: [
              assign({ told: ({ context }) => context.told + 1 }),
              sendParent(({ context }) => ({ type: 'TOLD', told: context.told })),
            ],
          },
        },
      },
      old: { type: 'final' },
    },
    output: ({ context }) => context.told,
  });
  const base = setup({
    types: {} as { context: { n: number; always: number; spawned: boolean } },
    actors: { kid },
    actions: {
      note: notes.of('root'),
      inc: assign({ n: ({ context }) => context.n + 1 }),
      once: assign({ always: ({ context }) => context.always + 1 }),
    },
    guards: {
      even: ({ context }) => context.n % 2 === 0,
      odd: ({ context }) => context.n % 2 === 1,
      notForEver: ({ context }) => context.always < 5,
    },
  });
  const machine = base.extend({
    actions: {
      tell: base.enqueueActions(({ context, enqueue }) => {
        if (context.spawned) enqueue.sendTo('spawned', { type: 'TELL' });
      }),
      spawn: base.enqueueActions(({ context, enqueue }) => {
        if (!context.spawned) enqueue.spawnChild('kid', { id: 'spawned' });
        enqueue.assign({ spawned: true });
      }),
      stop: base.enqueueActions(({ enqueue }) => {
        enqueue.stopChild('spawned');
        enqueue.assign({ spawned: false });
      }),
    },
  });
  const config = stateConfig(root, 'm', ids) as object;
  return machine.createMachine({
    ...config,
    id: 'm',
    context: { n: 0, always: 0, spawned: false },
  } as never) as unknown as AnyStateMachine;
}

interface Ids {
  /** States that can be the target of a transition. */
  readonly targets: string[];
  readonly invoking: string[];
}

function collect(of: Plan, id: string, ids: Ids): void {
  if (of.invokes) ids.invoking.push(id);
  of.parts.forEach((part, index) => {
    const own = `${id}.s${index}`;
    ids.targets.push(own);
    collect(part, own, ids);
  });
  if (of.kind !== 'atomic' && of.kind !== 'final' && of.history !== 'none')
    ids.targets.push(`${id}.h`);
}

function stateConfig(of: Plan, id: string, ids: Ids): unknown {
  const { targets, invoking } = ids;
  const note = (what: string) => ({ type: 'note', params: { what } });
  const acts = (list: readonly Act[]): unknown[] =>
    list.map((act) => {
      if (act.do !== 'raise') return act.do;
      return raise({ type: act.event }, act.delay === undefined ? {} : { delay: act.delay });
    });
  const config = ({ to, reenter, guard, acts: list }: Move, label: string): object => ({
    ...(to === undefined ? {} : { target: `#${targets[to % targets.length] ?? 'm'}`, reenter }),
    ...(guard === undefined ? {} : { guard }),
    actions: [...acts(list), note(label)],
  });
  const table = (all: Plan['on'], label: string): object =>
    Object.fromEntries(
      Object.entries(all).flatMap(([key, own]) =>
        own === undefined ? [] : [[key, config(own, `${id} ${label} ${key}`)]],
      ),
    );
  if (of.kind === 'final') return { id, type: 'final', entry: [note(`+${id}`)] };
  const branching = of.kind !== 'atomic';
  const states = Object.fromEntries(
    of.parts.map((part, index) => [`s${index}`, stateConfig(part, `${id}.s${index}`, ids)]),
  );
  return {
    id,
    ...(of.kind === 'parallel' ? { type: 'parallel' } : branching ? { initial: 's0' } : {}),
    entry: [...acts(of.entry), note(`+${id}`)],
    exit: [note(`-${id}`)],
    on: { ...table(of.on, 'on'), TOLD: { actions: [note(`${id} told`)] } },
    after: table(of.after, 'after'),
    ...(of.always === undefined
      ? {}
      : {
          always: {
            ...config(of.always, `${id} always`),
            guard: 'notForEver',
            actions: ['once', note(`${id} always`)],
          },
        }),
    ...(of.done === undefined || !branching ? {} : { onDone: config(of.done, `${id} done`) }),
    ...(of.invokes
      ? {
          invoke: {
            id: `kid of ${id}`,
            src: 'kid',
            input: 1 + invoking.indexOf(id),
            onDone: { actions: ['inc', note(`${id} kid done`)] },
          },
        }
      : {}),
    ...(branching
      ? {
          states: {
            ...states,
            ...(of.history === 'none'
              ? {}
              : { h: { id: `${id}.h`, type: 'history', history: of.history } }),
          },
        }
      : {}),
  };
}
