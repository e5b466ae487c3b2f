/** Behaviours of one step: always, raise, assign, guards, enqueueActions, emit, log, input. */
import { expect } from 'vitest';
import type { Behaviour } from './actor-driver.ts';
import * as machines from './machines-steps.ts';

const inOneStep: readonly Behaviour[] = [
  {
    name: 'always is taken as soon as its guard holds, and chains within the step',
    machine: machines.eventless,
    async run(actor) {
      await actor.send('ADD', 'ADD');
      expect(actor.value).toBe('filling');
      await actor.send('ADD');
      expect(actor.value).toBe('even');
      expect(actor.context).toEqual({ n: 4 });
      expect(actor.said()).toEqual(['always', '+full', '-full', '+odd']);
      expect(actor.notes.seen()).toEqual(['filling', 'filling', 'filling', 'even']);
    },
  },
  {
    name: 'always is asked at the start too, before the first snapshot',
    machine: (stage) =>
      machines.eventless(stage).provide({ guards: { full: () => true, odd: () => false } }),
    run(actor) {
      expect(actor.notes.seen()).toEqual(['even']);
      expect(actor.said()).toEqual(['always', '+full', '-full']);
    },
  },
  {
    name: 'raised events are handled in order, within the step, before anybody sees the state',
    machine: machines.raising,
    async run(actor) {
      await actor.send('GO');
      expect(actor.said()).toEqual(['a to b', '+b', 'first', 'second', 'third', '+c']);
      expect(actor.context).toEqual({ path: ['first', 'second', 'c'] });
      expect(actor.notes.seen()).toEqual(['a', 'c']);
    },
  },
  {
    name: 'an action gets the event of its own microstep: the raised one where one was raised',
    machine: machines.raising,
    async run(actor) {
      await actor.send('GO');
      expect(actor.notes.lines().map((line) => [line['what'], line['event']])).toEqual([
        ['a to b', { type: 'GO' }],
        ['+b', { type: 'GO' }],
        ['first', { type: 'FIRST', n: 1 }],
        ['second', { type: 'SECOND', n: 0 }],
        ['third', { type: 'THIRD' }],
        ['+c', { type: 'THIRD' }],
      ]);
    },
  },
  {
    name: 'an action that sends to its own actor makes an event of its own, after the raised ones',
    machine: machines.sendingToItself,
    async run(actor) {
      await actor.send('GO');
      expect(actor.context).toEqual({ got: ['RAISED', 'SENT_FIRST', 'SENT_SECOND'] });
      expect(actor.notes.seen()).toEqual(['a', 'b', 'b', 'b']);
    },
  },
  {
    name: 'events sent together are handled one by one, in order',
    machine: (stage) =>
      machines.sendingToItself(stage).provide({ actions: { sendTwice: () => {} } }),
    async run(actor) {
      await actor.sendTogether('ZERO', 'GO', 'ONE', 'TWO');
      expect(actor.context).toEqual({ got: ['RAISED', 'ONE', 'TWO'] });
      expect(actor.notes.seen()).toEqual(['a', 'a', 'b', 'b', 'b']);
    },
  },
];

const contextAndParams: readonly Behaviour[] = [
  {
    name: 'input reaches the context factory and the first event',
    machine: machines.assigning,
    input: { from: 20 },
    run(actor) {
      expect(actor.context).toEqual({ n: 20, by: [], last: null });
      expect(actor.notes.lines()).toMatchObject([
        { what: '+root', event: { type: 'xstate.init', input: { from: 20 } } },
      ]);
    },
  },
  {
    name: 'assign works in the order of the list; an action sees the context as of its place',
    machine: machines.assigning,
    input: { from: 1 },
    async run(actor) {
      actor.said();
      await actor.send({ type: 'STEP', extra: true });
      const seen = actor.notes.lines().map((line) => [line['what'], line['context']]);
      const event = { type: 'STEP', extra: true };
      expect(seen).toEqual([
        ['before', { n: 1, by: [], last: null }],
        ['between', { n: 2, by: ['object'], last: null }],
        ['after', { n: 4, by: ['object', 'function'], last: event }],
      ]);
      expect(actor.context).toEqual({ n: 4, by: ['object', 'function'], last: event });
    },
  },
  {
    name: 'params of actions are given as they stand or computed from context and event',
    machine: machines.assigning,
    input: { from: 30 },
    async run(actor) {
      actor.said();
      await actor.send({ type: 'PARAMS', n: 12 });
      expect(actor.notes.lines()).toMatchObject([
        { what: 'static', context: { last: 7 } },
        { what: 'dynamic 12', params: { what: 'dynamic 12', n: 12 }, context: { last: 42 } },
      ]);
    },
  },
  {
    name: 'guards: and, or, not, nested, inline, and by name with the context of the moment',
    machine: machines.guarded,
    async run(actor) {
      await actor.send('AND', 'OR', 'NOT', 'NESTED', { type: 'INLINE', n: 5 });
      expect(actor.said()).toEqual(['and', 'or', 'nested', 'inline']);
      await actor.send({ type: 'SET', to: { open: false, n: 50 } });
      await actor.send('AND', 'OR', 'NOT', 'NESTED', { type: 'INLINE', n: 5 });
      expect(actor.said()).toEqual(['not', 'nested']);
    },
  },
  {
    name: 'guards take params, also computed ones; one that fails leaves everything as it was',
    machine: machines.guarded,
    async run(actor) {
      await actor.send({ type: 'DYNAMIC', least: 4 }, { type: 'DYNAMIC', least: 5 });
      expect(actor.said()).toEqual(['dynamic']);
      expect(actor.context).toEqual({ n: 5, open: true });
    },
  },
  {
    name: 'stateIn asks for a state of another region, by value and by id',
    machine: machines.guarded,
    async run(actor) {
      await actor.send('IN', 'IN_ID', 'SHUT', 'IN', 'IN_ID');
      expect(actor.said()).toEqual(['in shut', 'in #shut']);
    },
  },
];

const composedAndHeard: readonly Behaviour[] = [
  {
    name: 'enqueueActions: reads context and guards as they were, and enqueues all kinds',
    machine: machines.enqueueing,
    async run(actor) {
      await actor.send({ type: 'GO', n: 20 });
      expect(actor.notes.lines().map((line) => [line['what'], line['context']])).toEqual([
        ['sees 1', { n: 1, log: [] }],
        ['behind the assign', { n: 20, log: [] }],
        ['was over', { n: 20, log: [] }],
      ]);
      expect(actor.context).toEqual({ n: 20, log: ['is large now'] });
      expect(actor.value).toBe('b');
      expect(actor.notes.emitted).toEqual([{ step: 1, event: { type: 'emitted', n: 20 } }]);
      expect(actor.notes.logs).toEqual([{ step: 1, values: ['logged', 20] }]);
    },
  },
  {
    name: 'enqueueActions as a named action enqueues other named actions with params',
    machine: machines.enqueueing,
    async run(actor) {
      await actor.send('COMPOSED');
      expect(actor.context).toEqual({ n: 1, log: ['x', 'y', 'z'] });
      expect(actor.value).toBe('a');
    },
  },
  {
    name: 'emit reaches listeners of the type and of all types, in order, and no machine',
    inOneProcess: 'observer',
    machine: machines.emitting,
    async run(actor) {
      const heard: unknown[] = [];
      const listening = actor.ref.on('a', (event) => void heard.push(event));
      await actor.send('EMIT');
      expect(actor.notes.emitted.map((line) => line['event'])).toEqual([
        { type: 'b' },
        { type: 'a', n: 2 },
        { type: 'a', n: 102 },
      ]);
      expect(heard).toEqual([
        { type: 'a', n: 2 },
        { type: 'a', n: 102 },
      ]);
      listening.unsubscribe();
      await actor.send('EMIT');
      expect(heard).toHaveLength(2);
      expect(actor.notes.emitted).toHaveLength(6);
    },
  },
  {
    name: 'log goes to the logger, with its label before the value',
    machine: machines.emitting,
    async run(actor) {
      await actor.send('LOG');
      expect(actor.notes.logs.map((line) => line['values'])).toEqual([
        ['plain'],
        ['label', { n: 1, type: 'LOG' }],
        [{ context: { n: 1 }, event: { type: 'LOG' } }],
      ]);
    },
  },
];

export const steps: readonly Behaviour[] = [...inOneStep, ...contextAndParams, ...composedAndHeard];
