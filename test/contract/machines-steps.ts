/** Machines about one step: always, raise, assign, guards, enqueueActions, emit, log, input. */
import { and, assign, emit, log, not, or, raise, setup, stateIn } from 'xstate';
import type { Stage } from './actor-driver.ts';
import { note } from './actor-transcript.ts';

export function eventless({ notes }: Stage) {
  return setup({
    types: {} as { context: { n: number } },
    actions: {
      note: notes.of('root'),
      count: assign({ n: ({ context }) => context.n + 1 }),
    },
    guards: { full: ({ context }) => context.n >= 3, odd: ({ context }) => context.n % 2 === 1 },
  }).createMachine({
    context: { n: 0 },
    initial: 'filling',
    states: {
      filling: {
        always: { guard: 'full', target: 'full', actions: note('always') },
        on: { ADD: { actions: 'count' } },
      },
      full: {
        entry: note('+full'),
        exit: note('-full'),
        always: [{ guard: 'odd', target: 'odd' }, { target: 'even' }],
      },
      odd: { entry: ['count', note('+odd')], always: 'checked' },
      even: {},
      checked: { always: { guard: ({ context }) => context.n === 4, target: 'even' } },
    },
  });
}

export function raising({ notes }: Stage) {
  return setup({
    types: {} as { context: { path: string[] } },
    actions: {
      note: notes.of('root'),
      add: assign({
        path: ({ context }, params: { at: string }) => [...context.path, params.at],
      }),
    },
  }).createMachine({
    context: { path: [] },
    initial: 'a',
    states: {
      a: {
        on: {
          GO: {
            target: 'b',
            actions: [
              raise({ type: 'FIRST', n: 1 }),
              raise(({ context }) => ({
                type: 'SECOND',
                n: context.path.length,
              })),
              note('a to b'),
            ],
          },
        },
      },
      b: {
        entry: [raise({ type: 'THIRD' }), note('+b')],
        on: {
          FIRST: { actions: [{ type: 'add', params: { at: 'first' } }, note('first')] },
          SECOND: { actions: [{ type: 'add', params: { at: 'second' } }, note('second')] },
          THIRD: { target: 'c', actions: note('third') },
        },
      },
      c: { entry: [{ type: 'add', params: { at: 'c' } }, note('+c')] },
    },
  });
}

export function assigning({ notes }: Stage) {
  return setup({
    types: {} as { context: { n: number; by: string[]; last: unknown }; input: { from: number } },
    actions: {
      note: notes.of('root'),
      double: assign({ n: ({ context }) => context.n * 2 }),
      plus: assign((_, params: { n: number }) => ({ last: params.n })),
    },
  }).createMachine({
    context: ({ input }) => ({ n: input.from, by: [], last: null }),
    entry: note('+root'),
    on: {
      STEP: {
        actions: [
          note('before'),
          assign({ n: ({ context }) => context.n + 1, by: ['object'] }),
          note('between'),
          assign(({ context, event }) => ({ by: [...context.by, 'function'], last: event })),
          'double',
          note('after'),
        ],
      },
      PARAMS: {
        actions: [
          { type: 'plus', params: { n: 7 } },
          note('static'),
          { type: 'plus', params: ({ context, event }) => ({ n: context.n + event.n }) },
          { type: 'note', params: ({ event }) => ({ what: `dynamic ${event.n}`, n: event.n }) },
        ],
      },
      SAME: { actions: assign({}) },
    },
  });
}

export function guarded({ notes }: Stage) {
  return setup({
    types: {} as { context: { n: number; open: boolean } },
    actions: { note: notes.of('root') },
    guards: {
      open: ({ context }) => context.open,
      above: ({ context }, params: { least: number }) => context.n > params.least,
      small: not({ type: 'above', params: { least: 10 } }),
      openAndSmall: and(['open', 'small']),
    },
  }).createMachine({
    context: { n: 5, open: true },
    type: 'parallel',
    on: {
      SET: { actions: assign(({ event }) => event.to as object) },
      AND: { guard: 'openAndSmall', actions: note('and') },
      OR: {
        guard: or(['open', { type: 'above', params: { least: 100 } }]),
        actions: note('or'),
      },
      NOT: { guard: not('open'), actions: note('not') },
      NESTED: {
        guard: and([or([not('open'), 'small']), { type: 'above', params: { least: 1 } }]),
        actions: note('nested'),
      },
      INLINE: { guard: ({ context, event }) => context.n === event.n, actions: note('inline') },
      DYNAMIC: {
        guard: { type: 'above', params: ({ event }) => ({ least: event.least as number }) },
        actions: note('dynamic'),
      },
      IN: { guard: stateIn({ door: 'shut' }), actions: note('in shut') },
      IN_ID: { guard: stateIn('#shut'), actions: note('in #shut') },
    },
    states: {
      door: {
        initial: 'wide',
        states: { wide: { on: { SHUT: 'shut' } }, shut: { id: 'shut' } },
      },
      other: {},
    },
  });
}

export function enqueueing({ notes }: Stage) {
  const base = setup({
    types: {} as {
      context: { n: number; log: string[] };
      emitted: { type: 'emitted'; n: number };
    },
    actions: {
      note: notes.of('root'),
      add: assign({
        log: ({ context }, params: { what: string }) => [...context.log, params.what],
      }),
    },
    guards: {
      large: ({ context }) => context.n > 10,
      over: ({ context }, params: { least: number }) => context.n > params.least,
    },
  });
  return base
    .extend({
      actions: {
        composed: base.enqueueActions(({ enqueue }) => {
          for (const what of ['x', 'y', 'z']) enqueue({ type: 'add', params: { what } });
        }),
        go: base.enqueueActions(({ context, event, enqueue, check }) => {
          enqueue(note(`sees ${context.n}`));
          enqueue.assign({ n: event['n'] as number });
          enqueue({ type: 'note', params: { what: 'behind the assign' } });
          if (check('large')) enqueue(note('was large'));
          if (check({ type: 'over', params: { least: 0 } })) enqueue(note('was over'));
          enqueue.raise({ type: 'RAISED' });
          enqueue.emit({ type: 'emitted', n: event['n'] as number });
          enqueue(log(({ context: seen }) => seen.n, 'logged'));
        }),
        whenRaised: base.enqueueActions(({ enqueue, check }) => {
          if (check('large')) enqueue({ type: 'add', params: { what: 'is large now' } });
        }),
      },
    })
    .createMachine({
      context: { n: 1, log: [] },
      initial: 'a',
      states: {
        a: {
          on: {
            GO: { target: 'b', actions: 'go' },
            COMPOSED: { actions: 'composed' },
          },
        },
        b: { on: { RAISED: { actions: 'whenRaised' } } },
      },
    });
}

export function emitting({ notes }: Stage) {
  return setup({
    types: {} as { context: { n: number }; emitted: { type: 'a'; n: number } | { type: 'b' } },
    actions: {
      note: notes.of('root'),
      shout: emit(({ context }, params: { plus: number }) => ({
        type: 'a',
        n: context.n + params.plus,
      })),
    },
  }).createMachine({
    context: { n: 1 },
    on: {
      EMIT: {
        actions: [
          emit({ type: 'b' }),
          assign({ n: ({ context }) => context.n + 1 }),
          emit(({ context }) => ({ type: 'a', n: context.n })),
          { type: 'shout', params: { plus: 100 } },
        ],
      },
      LOG: {
        actions: [
          log('plain'),
          log(({ context, event }) => ({ n: context.n, type: event.type }), 'label'),
          log(),
        ],
      },
    },
  });
}

/** An action that sends to its own actor: an event of its own, after this step. */
export function sendingToItself({ notes }: Stage) {
  return setup({
    types: {} as { context: { got: string[] } },
    actions: {
      note: notes.of('root'),
      got: assign({ got: ({ context, event }) => [...context.got, event.type] }),
      sendTwice: ({ self }) => {
        self.send({ type: 'SENT_FIRST' });
        self.send({ type: 'SENT_SECOND' });
      },
    },
  }).createMachine({
    context: { got: [] },
    initial: 'a',
    states: {
      a: { on: { GO: { target: 'b', actions: ['sendTwice', raise({ type: 'RAISED' })] } } },
      b: { entry: note('+b'), on: { '*': { actions: ['got', note('got')] } } },
    },
  });
}
