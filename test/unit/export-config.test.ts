/** Exports for programs: the config that tools import, and the normalised definition. */
import { createMachine, type AnyStateMachine } from 'xstate';
import { describe, expect, it } from 'vitest';
import { hashDirectory } from '../../machines/index.ts';
import { findMachines } from '../../src/export/find-machines.ts';
import { toDefinition, type StateDefinition } from '../../src/export/machine-definition.ts';
import { toStatelyConfig } from '../../src/export/stately-config.ts';
import * as strangers from '../contract/machines-documentation.ts';
import { awkward, everything } from '../support/exported-machines.ts';

const machines = [everything, awkward, hashDirectory, ...findMachines(strangers).map(machineOf)];

function machineOf({ machine }: { readonly machine: AnyStateMachine }): AnyStateMachine {
  return machine;
}

/** The machine that a tool makes of an export. */
function imported(machine: AnyStateMachine): AnyStateMachine {
  return createMachine(JSON.parse(JSON.stringify(toStatelyConfig(machine))) as never);
}

interface Shape {
  readonly id: string;
  readonly type: string;
  readonly initial: string | undefined;
  readonly transitions: readonly string[];
  readonly states: readonly Shape[];
}

function shapeOf({ id, type, initial, transitions, states }: StateDefinition): Shape {
  return {
    id,
    type,
    initial,
    transitions: (transitions ?? []).map(({ event, target, reenter, actions, guard }) =>
      JSON.stringify([event, target, reenter, actions?.length, guard?.type]),
    ),
    states: Object.values(states ?? {}).map(shapeOf),
  };
}

describe('the config for tools', () => {
  it.each(machines.map((machine) => [machine.id, machine] as const))(
    'of %s makes a machine with the same states and transitions',
    (_, machine) => {
      expect(shapeOf(toDefinition(imported(machine)))).toEqual(shapeOf(toDefinition(machine)));
    },
  );

  it('names functions, by their own name or by their place', () => {
    const { left, right } = (toStatelyConfig(everything) as never as Config).states.parts.states;
    expect(left.states.x.on.GO).toEqual({
      target: 'y',
      guard: {
        type: 'and',
        params: {
          guards: [{ type: 'ready' }, { type: 'not', params: { guards: [{ type: 'ready' }] } }],
        },
      },
      actions: [{ type: 'xstate.assign' }, { type: 'inline:everything.parts.left.x:on:GO:0:1' }],
    });
    expect(right.states.q.after.slow.guard).toEqual({ type: 'isLate' });
    expect(right.invoke.map(({ src }) => src)).toEqual(['fetch', 'kid']);
    expect(right.states.w.invoke.src).toBe('inline:everything.parts.right.w:invoke:0');
  });

  it('leaves out what is computed where JSON would be taken for the value', () => {
    const config = toStatelyConfig(everything) as never as Config;
    expect(config).not.toHaveProperty('context');
    expect(config).not.toHaveProperty('types');
    expect(config.states.parts.states.right.invoke[0]).not.toHaveProperty('input');
    expect(config.states.parts.states.left.states.x.exit).toEqual({ type: 'greetBy' });
    expect(config.states.parts.states.left.states.x.entry).toEqual([
      { type: 'greetBy', params: { name: 'x' } },
    ]);
  });

  it('carries values that JSON cannot, or drops them, and never throws', () => {
    const loop: Record<string, unknown> = { date: new Date(0), big: 1n, call: () => 1 };
    loop['self'] = loop;
    const machine = createMachine({ id: 'odd', meta: loop, context: { when: new Date(0) } });
    expect(JSON.parse(JSON.stringify(toStatelyConfig(machine)))).toEqual({
      id: 'odd',
      meta: { date: '1970-01-01T00:00:00.000Z', big: '1' },
      context: { when: '1970-01-01T00:00:00.000Z' },
    });
  });
});

describe('the definition', () => {
  it('has ids, sources and targets, whatever shorthand was used', () => {
    const { states, ...root } = toDefinition(everything);
    expect(root).toEqual({
      id: 'everything',
      key: 'everything',
      version: '2',
      type: 'compound',
      initial: 'everything.parts',
      entry: [{ type: 'xstate.raise', params: { event: { type: 'GO' } } }],
      transitions: [
        { event: 'CANCEL', target: ['everything.over'] },
        { event: 'PING', actions: [{ type: 'greet' }] },
        { event: 'IGNORED' },
      ],
    });
    expect(states?.['over']).toEqual({
      id: 'everything.over',
      key: 'over',
      type: 'final',
      tags: ['ended'],
      meta: { page: 1 },
      description: 'It is "over": so.',
    });
  });

  it('has delays, always and history, and none of the actions XState adds for a delay', () => {
    const { left, right } = toDefinition(everything).states?.['parts']?.states ?? {};
    expect(left?.states?.['back']).toMatchObject({ type: 'history', history: 'deep' });
    expect(right?.states?.['q']?.entry).toBeUndefined();
    expect(right?.states?.['q']?.transitions?.slice(1)).toEqual([
      {
        event: 'xstate.after.1000.everything.parts.right.q',
        delay: 1000,
        target: [`${right?.id}.w`],
      },
      {
        event: 'xstate.after.slow.everything.parts.right.q',
        delay: 'slow',
        guard: { type: 'isLate' },
        target: [`${right?.id}.w`],
      },
    ]);
    expect(right?.states?.['w']?.transitions).toEqual([
      {
        event: '',
        guard: { type: 'inline:everything.parts.right.w:always:0:guard' },
        target: [`${right?.id}.q`],
      },
    ]);
  });

  it.each(machines.map((machine) => [machine.id, machine] as const))(
    'of %s is JSON',
    (_, machine) => {
      const definition = toDefinition(machine);
      expect(JSON.parse(JSON.stringify(definition))).toEqual(definition);
    },
  );
});

describe('the machines of a module', () => {
  it('are the exports that are machines, each once, also under a default export', () => {
    const module = { b: awkward, again: awkward, f: () => 1, default: { a: everything, n: 1 } };
    expect(findMachines(module)).toEqual([
      { name: 'a', machine: everything },
      { name: 'b', machine: awkward },
    ]);
    expect(findMachines({ default: awkward })).toEqual([{ name: 'default', machine: awkward }]);
    expect(findMachines({ default: null, x: undefined })).toEqual([]);
  });
});

/** As far as the tests look into it. */
interface Config {
  readonly states: {
    readonly parts: {
      readonly states: {
        readonly left: {
          readonly states: {
            readonly x: { readonly entry: unknown; readonly exit: unknown; on: { GO: unknown } };
          };
        };
        readonly right: {
          readonly invoke: readonly { readonly src: unknown }[];
          readonly states: {
            readonly q: { after: { slow: { guard: unknown } } };
            readonly w: { invoke: { src: unknown } };
          };
        };
      };
    };
  };
}
