/**
 * Machines out of fast-check: up to three levels of compound, parallel, history and final states,
 * with guards, assigns, raised and delayed events, timers and children.
 *
 * They always come to rest: what a raised event does raises nothing, and `always` and `onDone` have
 * a number of turns in all. Every delay is of its own length, so that hardly ever two things are
 * due at one moment: which consequences come first then is difference D8.
 */
import fc from 'fast-check';
import { type AnyStateMachine, assign, raise, sendParent, setup } from 'xstate';
import type { Stage } from './actor-driver.ts';
import { note } from './actor-transcript.ts';

export const EVENTS = ['A', 'B', 'C'] as const;
const RAISED = ['R', 'S'] as const;
const DEPTH_MAX = 3;
const TURNS_MAX = 5;
const DELAY_MS = 1000;
/** A prime: delays differ by cubes modulo it, whose sums hardly ever meet. */
const SPREAD_MS = 983;

type Act =
  | { readonly do: 'inc' | 'tell' | 'spawn' | 'stop' }
  | { readonly do: 'raise'; readonly event: string; readonly seconds?: number };

interface Move {
  /** Picks a state of the machine by number; undefined: no target. */
  readonly to: number | undefined;
  readonly reenter: boolean;
  readonly guard: 'even' | 'odd' | undefined;
  readonly acts: readonly Act[];
}

export interface MachinePlan {
  readonly kind: 'atomic' | 'compound' | 'parallel' | 'final';
  readonly parts: readonly MachinePlan[];
  readonly history: 'none' | 'shallow' | 'deep';
  readonly on: Readonly<Record<string, Move | undefined>>;
  /** By whole seconds. */
  readonly after: Readonly<Record<string, Move | undefined>>;
  readonly always: Move | undefined;
  readonly done: Move | undefined;
  readonly entry: readonly Act[];
  readonly invokes: boolean;
}

const plainAct: fc.Arbitrary<Act> = fc
  .constantFrom('inc' as const, 'tell' as const, 'spawn' as const, 'stop' as const)
  .map((what) => ({ do: what }));
const raisingAct: fc.Arbitrary<Act> = fc.record(
  {
    do: fc.constant('raise' as const),
    event: fc.constantFrom(...RAISED),
    seconds: fc.integer({ min: 1, max: 3 }),
  },
  { requiredKeys: ['do', 'event'] },
);

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

function statePlan(depth: number): fc.Arbitrary<MachinePlan> {
  const kinds: MachinePlan['kind'][] =
    depth === DEPTH_MAX
      ? ['atomic', 'atomic', 'final']
      : ['atomic', 'compound', 'compound', 'parallel'];
  return fc.constantFrom(...kinds).chain((kind) => {
    const branches = kind === 'compound' || kind === 'parallel';
    const parts = fc.array(statePlan(depth + 1), { minLength: 2, maxLength: 3 });
    return fc.record({
      kind: fc.constant(kind),
      parts: branches ? parts : fc.constant([]),
      history: branches
        ? fc.constantFrom('none' as const, 'shallow' as const, 'deep' as const)
        : fc.constant('none' as const),
      on: fc
        .tuple(moves(EVENTS, fc.oneof(plainAct, raisingAct)), moves(RAISED, plainAct))
        .map(([events, raised]) => ({ ...events, ...raised })),
      after: moves(['1', '2', '3'], fc.oneof(plainAct, raisingAct)),
      always: fc.option(move(plainAct), { nil: undefined, freq: 1 }),
      done: fc.option(move(plainAct), { nil: undefined, freq: 2 }),
      entry: fc.array(plainAct, { maxLength: 2 }),
      invokes: fc.constantFrom(false, false, false, true),
    });
  });
}

/** A root with two or three states. */
export const machinePlan: fc.Arbitrary<MachinePlan> = fc
  .tuple(statePlan(DEPTH_MAX), fc.array(statePlan(2), { minLength: 2, maxLength: 3 }))
  .map(([root, parts]) => ({ ...root, kind: 'compound', parts, always: undefined }));

export function machineOf(plan: MachinePlan, { notes }: Stage): AnyStateMachine {
  const base = setup({
    types: {} as { context: { n: number; turns: number; spawned: boolean } },
    actors: { kid: kid() },
    actions: {
      note: notes.of('root'),
      inc: assign({ n: ({ context }) => context.n + 1 }),
      turn: assign({ turns: ({ context }) => context.turns + 1 }),
    },
    guards: {
      even: ({ context }) => context.n % 2 === 0,
      odd: ({ context }) => context.n % 2 === 1,
      notForEver: ({ context }) => context.turns < TURNS_MAX,
    },
  });
  const complete = base.extend({
    actions: {
      tell: base.enqueueActions(({ context, enqueue }) => {
        if (context.spawned) enqueue.sendTo('spawned', { type: 'TELL' });
      }),
      spawn: base.enqueueActions(({ context, enqueue }) => {
        if (!context.spawned) enqueue.spawnChild('kid', { id: 'spawned', input: 1500 });
        enqueue.assign({ spawned: true });
      }),
      stop: base.enqueueActions(({ enqueue }) => {
        enqueue.stopChild('spawned');
        enqueue.assign({ spawned: false });
      }),
    },
  });
  return complete.createMachine({
    ...new ConfigWriter(plan).root(),
    id: 'm',
    context: { n: 0, turns: 0, spawned: false },
  } as never) as unknown as AnyStateMachine;
}

/** Counts what it is told, answers, and is done after as many ms as its input says. */
function kid() {
  return setup({
    types: {} as { context: { told: number; lifeMs: number }; input: number },
    delays: { life: ({ context }) => context.lifeMs },
  }).createMachine({
    id: 'kid',
    context: ({ input }) => ({ told: 0, lifeMs: input }),
    initial: 'young',
    states: {
      young: {
        after: { life: 'old' },
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
}

/** Writes the config of a plan: every transition and state notes what it is. */
class ConfigWriter {
  readonly #plan: MachinePlan;
  readonly #targets: string[] = [];
  #delays = 0;

  constructor(plan: MachinePlan) {
    this.#plan = plan;
    this.#collect(plan, 'm');
  }

  root(): object {
    return this.#state(this.#plan, 'm');
  }

  #collect({ parts, history }: MachinePlan, id: string): void {
    parts.forEach((part, index) => {
      this.#targets.push(`${id}.s${index}`);
      this.#collect(part, `${id}.s${index}`);
    });
    if (history !== 'none') this.#targets.push(`${id}.h`);
  }

  #state(plan: MachinePlan, id: string): object {
    const { kind, on, after, always, done, entry, invokes } = plan;
    if (kind === 'final') return { id, type: 'final', entry: note(`+${id}`) };
    return {
      id,
      entry: [...this.#acts(entry), note(`+${id}`)],
      exit: note(`-${id}`),
      on: {
        ...this.#table(id, on, (event) => event),
        TOLD: { actions: note(`${id} told`) },
      },
      after: this.#table(id, after, (seconds) => this.#delay(Number(seconds))),
      ...(always && { always: this.#turn(id, always, 'always') }),
      ...(invokes && { invoke: this.#invoke(id) }),
      ...(kind === 'atomic' ? {} : this.#branches(plan, id)),
      ...(kind !== 'atomic' && done && { onDone: this.#turn(id, done, 'done') }),
    };
  }

  #branches({ kind, parts, history }: MachinePlan, id: string): object {
    const states: [string, object][] = parts.map((part, index) => [
      `s${index}`,
      this.#state(part, `${id}.s${index}`),
    ]);
    if (history !== 'none') states.push(['h', { id: `${id}.h`, type: 'history', history }]);
    return {
      ...(kind === 'parallel' ? { type: 'parallel' } : { initial: 's0' }),
      states: Object.fromEntries(states),
    };
  }

  #invoke(id: string): object {
    return {
      id: `kid of ${id}`,
      src: 'kid',
      input: this.#delay(2),
      onDone: { actions: ['inc', note(`${id} kid done`)] },
    };
  }

  #table(id: string, all: MachinePlan['on'], rename: (key: string) => string | number): object {
    return Object.fromEntries(
      Object.entries(all).flatMap(([key, own]) =>
        own === undefined ? [] : [[rename(key), this.#move(id, own, `takes ${key}`)]],
      ),
    );
  }

  #move(id: string, { to, reenter, guard, acts }: Move, label: string): object {
    return {
      ...(to === undefined ? {} : { target: this.#target(id, to), reenter }),
      ...(guard === undefined ? {} : { guard }),
      actions: [...this.#acts(acts), note(`${id} ${label}`)],
    };
  }

  /** A move that could follow itself for ever. */
  #turn(id: string, { to, acts }: Move, label: string): object {
    return {
      ...(to === undefined ? {} : { target: this.#target(id, to) }),
      guard: 'notForEver',
      actions: ['turn', ...this.#acts(acts), note(`${id} ${label}`)],
    };
  }

  #acts(acts: readonly Act[]): unknown[] {
    return acts.map((act) => {
      if (act.do !== 'raise') return act.do;
      const { event: type, seconds } = act;
      return raise({ type }, seconds === undefined ? {} : { delay: this.#delay(seconds) });
    });
  }

  /**
   * A history state is no target from inside its parent: there XState leaves the parent (or not)
   * and does not enter it again, and what it then takes for active is not what its value says.
   */
  #target(from: string, to: number): string {
    const id = this.#targets[to % this.#targets.length] ?? 'm';
    const parent = id.slice(0, -2);
    const inside = from === parent || from.startsWith(`${parent}.`);
    return `#${id.endsWith('.h') && inside ? parent : id}`;
  }

  #delay(seconds: number): number {
    return seconds * DELAY_MS + ((++this.#delays) ** 3 % SPREAD_MS);
  }
}
