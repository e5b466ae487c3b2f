/** Puts points around the effects of a machine and of the machines it starts. */
import type { AnyActorLogic, AnyStateMachine } from 'xstate';
import type { TaskBinding, TaskListener, TaskRunner } from '../model/task.ts';
import { effectKey } from '../runtime/acting/effect-runner.ts';
import { never, type Life } from './virtual-world.ts';

/** One run of an effect. */
export interface EffectRun {
  /** `procedure:seq:index`; the same in every try. */
  readonly key: string;
  /** Id of the procedure. */
  readonly procedure: string;
  readonly type: string;
  readonly params: unknown;
  /** Number of the life that ran it. */
  readonly life: number;
}

type Action = (args: { self: { sessionId: string } }, params: unknown) => unknown;

/** The machine with its named actions and, recursively, its child machines under observation. */
export function withPoints(
  machine: AnyStateMachine,
  life: Life,
  runs: EffectRun[],
): AnyStateMachine {
  const { actions, actors } = machine.implementations as {
    actions: Record<string, unknown>;
    actors: Record<string, AnyActorLogic>;
  };
  const observed = Object.entries(actions)
    .filter(([, action]) => typeof action === 'function' && !('resolve' in action))
    .map(([type, action]) => [type, pointed(type, action as Action, life, runs)]);
  const children = Object.entries(actors)
    .filter(([, logic]) => '__xstatenode' in logic)
    .map(([src, logic]) => [src, withPoints(logic as AnyStateMachine, life, runs)]);
  const provided: object = {
    actions: Object.fromEntries(observed) as object,
    actors: Object.fromEntries(children) as object,
  };
  return machine.provide(provided as never);
}

function pointed(type: string, action: Action, life: Life, runs: EffectRun[]): Action {
  return (args, params) => {
    if (life.point('effect:before')) return never();
    const result = action(args, params);
    const key = effectKey(args) ?? '';
    runs.push({ key, procedure: args.self.sessionId, type, params, life: life.number });
    return life.point('effect:after') ? never() : result;
  };
}

/** A binding whose attempts have a point before they begin and one before their end is heard. */
export function pointedBinding(binding: TaskBinding, life: Life): TaskBinding {
  return {
    kind: 'task-binding',
    open: (needs) => pointedRunner(binding.open({ ...needs, clock: life.clock }), life),
  };
}

function pointedRunner(runner: TaskRunner, life: Life): TaskRunner {
  return {
    ledger: runner.ledger,
    submit(task, listener) {
      if (life.point('task:before')) return;
      runner.submit(task, pointedListener(listener, life));
    },
    cancel: (attempt) => {
      runner.cancel(attempt);
    },
    forget: (attempt) => {
      runner.forget(attempt);
    },
    close: () => runner.close(),
  };
}

function pointedListener(listener: TaskListener, life: Life): TaskListener {
  return {
    ...listener,
    ended(outcome) {
      if (!life.point('task:after')) listener.ended(outcome);
    },
  };
}
