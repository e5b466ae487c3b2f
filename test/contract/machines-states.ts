/** Machines about the tree of states: entry, exit, self-transitions, parallel, history, final. */
import { assign, setup } from 'xstate';
import type { Stage } from './actor-driver.ts';
import { note } from './actor-transcript.ts';

function noting({ notes }: Stage) {
  return setup({ types: {} as { context: object }, actions: { note: notes.of('root') } });
}

/** States that note when they are entered and left. */
function noted(name: string) {
  return { entry: note(`+${name}`), exit: note(`-${name}`) };
}

export function nestedStates(stage: Stage) {
  return noting(stage).createMachine({
    context: {},
    initial: 'a',
    ...noted('root'),
    states: {
      a: {
        initial: 'a1',
        ...noted('a'),
        on: { OUT: { target: 'b', actions: note('a to b') } },
        states: {
          a1: { ...noted('a1'), on: { IN: { target: 'a2', actions: note('a1 to a2') } } },
          a2: { ...noted('a2') },
        },
      },
      b: {
        initial: 'b1',
        ...noted('b'),
        states: { b1: { initial: 'b2', ...noted('b1'), states: { b2: noted('b2') } } },
      },
    },
  });
}

export function selfTransitions(stage: Stage) {
  return noting(stage).createMachine({
    context: {},
    initial: 'a',
    states: {
      a: {
        initial: 'a1',
        ...noted('a'),
        on: {
          TARGETLESS: { actions: note('targetless') },
          SELF: { target: 'a', actions: note('self') },
          SELF_AGAIN: { target: 'a', reenter: true, actions: note('self again') },
          DOWN: { target: '.a1', actions: note('down') },
          DOWN_AGAIN: { target: '.a1', reenter: true, actions: note('down again') },
        },
        states: {
          a1: { ...noted('a1'), on: { NEXT: 'a2' } },
          a2: {
            ...noted('a2'),
            on: {
              LEAF: { target: 'a2', actions: note('leaf') },
              LEAF_AGAIN: { target: 'a2', reenter: true, actions: note('leaf again') },
            },
          },
        },
      },
    },
  });
}

export function parallelRegions(stage: Stage) {
  return noting(stage).createMachine({
    context: {},
    type: 'parallel',
    states: {
      one: {
        initial: 'off',
        ...noted('one'),
        states: {
          off: { ...noted('one.off'), on: { BOTH: 'on', ONE: 'on' } },
          on: { ...noted('one.on'), on: { BOTH: 'off' } },
        },
      },
      two: {
        initial: 'off',
        ...noted('two'),
        states: {
          off: { ...noted('two.off'), on: { BOTH: { target: 'on', actions: note('two moves') } } },
          on: { ...noted('two.on'), on: { CROSS: '#other' } },
        },
      },
      three: { initial: 'idle', states: { idle: {}, other: { id: 'other' } } },
    },
  });
}

export function parallelDone(stage: Stage) {
  return noting(stage).createMachine({
    context: {},
    initial: 'work',
    states: {
      work: {
        type: 'parallel',
        states: {
          left: {
            initial: 'busy',
            onDone: { actions: note('left done') },
            states: { busy: { on: { LEFT: 'end' } }, end: { type: 'final', output: { l: 1 } } },
          },
          right: {
            initial: 'busy',
            states: { busy: { on: { RIGHT: 'end' } }, end: { type: 'final', output: { r: 2 } } },
          },
        },
        onDone: { target: 'finished', actions: note('work done') },
      },
      finished: {},
    },
  });
}

export function nestedDone({ notes }: Stage) {
  return setup({
    types: {} as { context: { got: unknown } },
    actions: { note: notes.of('root') },
  }).createMachine({
    context: { got: null },
    initial: 'outer',
    states: {
      outer: {
        initial: 'inner',
        onDone: {
          target: 'after',
          actions: [note('outer done'), assign({ got: ({ event }) => event.output })],
        },
        states: {
          inner: {
            initial: 'step',
            onDone: { target: 'end', actions: note('inner done') },
            states: {
              step: { on: { NEXT: 'last' } },
              last: { type: 'final', output: { from: 'inner' } },
            },
          },
          end: {
            type: 'final',
            entry: note('+end'),
            output: ({ context }) => ({ from: 'outer', got: context.got }),
          },
        },
      },
      after: {},
    },
  });
}

/** A parent with two regions of depth, left by LEAVE and come back to through a history state. */
export function historyStates(stage: Stage, history: 'shallow' | 'deep') {
  return noting(stage).createMachine({
    context: {},
    initial: 'away',
    states: {
      away: { on: { BACK: 'home.past', BACK_IN: '#remembered', HOME: 'home' } },
      home: {
        initial: 'hall',
        on: { LEAVE: 'away' },
        states: {
          past: { id: 'remembered', type: 'history', history, target: 'garden' },
          hall: { ...noted('hall'), on: { UP: 'upstairs' } },
          garden: noted('garden'),
          upstairs: {
            initial: 'landing',
            ...noted('upstairs'),
            states: {
              landing: { ...noted('landing'), on: { UP: 'attic' } },
              attic: noted('attic'),
            },
          },
        },
      },
    },
  });
}

export function parallelHistory(stage: Stage) {
  return noting(stage).createMachine({
    context: {},
    initial: 'player',
    states: {
      player: {
        type: 'parallel',
        on: { OFF: 'off' },
        states: {
          past: { type: 'history', history: 'deep' },
          sound: { initial: 'loud', states: { loud: { on: { MUTE: 'mute' } }, mute: {} } },
          track: {
            initial: 'first',
            states: {
              first: { on: { SKIP: 'second' } },
              second: {
                initial: 'start',
                states: { start: { on: { SKIP: 'middle' } }, middle: {} },
              },
            },
          },
        },
      },
      off: { on: { ON: 'player.past', RESET: 'player' } },
    },
  });
}

export function finalOutput({ notes }: Stage) {
  return setup({
    types: {} as { context: { sum: number }; output: { sum: number; by: string } },
    actions: { note: notes.of('root') },
  }).createMachine({
    context: { sum: 0 },
    initial: 'counting',
    states: {
      counting: {
        on: {
          ADD: { actions: assign({ sum: ({ context, event }) => context.sum + event.n }) },
          END: 'end',
        },
        exit: note('-counting'),
      },
      end: { type: 'final', entry: note('+end'), output: { by: 'the final state' } },
    },
    output: ({ context, event }) => ({
      sum: context.sum,
      by: (event as unknown as { output: { by: string } }).output.by,
    }),
  });
}

/** Which of several transitions is taken: deepest state first, then the first that may. */
export function selection({ notes }: Stage) {
  return setup({
    types: {} as { context: object },
    actions: { note: notes.of('root') },
    guards: { big: (_, params: { least: number; n: number }) => params.n >= params.least },
  }).createMachine({
    context: {},
    initial: 'a',
    on: {
      'mouse.*': { actions: note('some mouse') },
      'mouse.down': { actions: note('mouse.down') },
      '*': { actions: note('anything') },
      ROOT: { actions: note('root has it') },
      BOTH: { actions: note('root has it') },
      NEVER: { actions: note('root has it') },
      SIZE: { actions: note('root has it') },
    },
    states: {
      a: {
        on: {
          BOTH: { actions: note('a has it') },
          NEVER: undefined,
          NOTHING: {},
          SIZE: [
            {
              guard: { type: 'big', params: ({ event }) => ({ least: 100, n: event.n }) },
              actions: note('huge'),
            },
            {
              guard: { type: 'big', params: ({ event }) => ({ least: 10, n: event.n }) },
              actions: note('big'),
            },
          ],
          STRICT: 'strict',
        },
      },
      strict: { on: { '*': { actions: note('strict has all') }, BOTH: undefined } },
    },
  });
}

export function described(stage: Stage) {
  return noting(stage).createMachine({
    id: 'lamp',
    context: {},
    initial: 'dark',
    tags: 'device',
    meta: { of: 'root' },
    states: {
      dark: { tags: ['calm', 'cold'], meta: { note: 'no light' }, on: { LIGHT: 'bright' } },
      bright: {
        tags: 'warm',
        initial: 'low',
        on: { DARK: { target: 'dark', guard: () => false }, LIGHT: {} },
        states: { low: { meta: { level: 1 }, on: { MORE: 'high' } }, high: { tags: 'hot' } },
      },
    },
  });
}
