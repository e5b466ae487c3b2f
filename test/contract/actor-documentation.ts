/** Behaviours of machines in the manner of XState's documentation. */
import { expect } from 'vitest';
import type { Behaviour } from './actor-driver.ts';
import * as machines from './machines-documentation.ts';
import * as larger from './machines-documentation-larger.ts';

const small: readonly Behaviour[] = [
  {
    name: 'documentation: toggle',
    machine: () => machines.toggle,
    async run(actor) {
      await actor.send('toggle', 'toggle', 'toggle');
      expect(actor.value).toBe('active');
      await actor.advance(2000);
      expect(actor.value).toBe('inactive');
      expect(actor.context).toEqual({ count: 2 });
    },
  },
  {
    name: 'documentation: traffic light',
    machine: () => machines.trafficLight,
    async run(actor) {
      await actor.advance(9500);
      expect(actor.notes.seen()).toEqual([
        'green',
        'yellow',
        { red: 'walk' },
        { red: 'wait' },
        'green',
      ]);
      await actor.send('POWER_OUTAGE');
      expect(actor.value).toEqual({ red: 'walk' });
    },
  },
  {
    name: 'documentation: fetch with an inline promise, failure and retry',
    inOneProcess: 'live child',
    machine: machines.fetchUser,
    async run(actor) {
      await actor.send('FETCH', 'CANCEL');
      await actor.advance(500);
      expect(actor.value).toBe('idle');
      await actor.send('FETCH');
      await actor.advance(100);
      expect(actor.snapshot).toMatchObject({
        status: 'done',
        output: { name: 'user 42' },
        context: { error: null },
      });
    },
  },
  {
    name: 'documentation: fetch that fails once and is tried again after a second',
    inOneProcess: 'live child',
    machine: machines.fetchUser,
    async run(actor) {
      await actor.send('FETCH');
      await actor.advance(100);
      expect(actor.value).toBe('failure');
      expect(actor.context).toMatchObject({ error: 'network is down' });
      await actor.advance(1100);
      expect(actor.snapshot.output).toEqual({ name: 'user 42' });
    },
  },
  {
    name: 'documentation: feedback',
    machine: () => machines.feedback,
    async run(actor) {
      await actor.send('feedback.bad', 'submit');
      expect(actor.value).toBe('form');
      await actor.send({ type: 'feedback.update', value: 'too slow' }, 'submit');
      expect(actor.value).toBe('thanks');
      await actor.advance(3000);
      expect(actor.value).toBe('closed');
      await actor.send('restart', 'feedback.good', 'close');
      expect(actor.value).toBe('closed');
    },
  },
  {
    name: 'documentation: form',
    machine: () => machines.form,
    async run(actor) {
      await actor.send('SUBMIT');
      expect(actor.context).toMatchObject({ problems: ['name is missing', 'too young'] });
      await actor.send({ type: 'CHANGE', to: { name: 'Bob', age: 30 } }, 'SUBMIT');
      expect(actor.context).toMatchObject({ problems: ['Bob is taken'] });
      expect(actor.snapshot.hasTag('editable')).toBe(true);
      await actor.send({ type: 'CHANGE', to: { name: 'Ann' } });
      await actor.send('SUBMIT');
      expect(actor.snapshot).toMatchObject({ status: 'done', value: 'submitted' });
    },
  },
  {
    name: 'documentation: countdown with a callback actor and inline actions',
    inOneProcess: 'live child',
    machine: machines.countdown,
    async run(actor) {
      await actor.advance(3000);
      await actor.send({ type: 'DURATION.UPDATE', value: 4 });
      await actor.advance(5000);
      expect(actor.context).toMatchObject({ elapsed: 4 });
      expect(actor.said()).toEqual([
        'running',
        'TICK 1',
        'TICK 2',
        'TICK 3',
        'TICK 4',
        'paused',
        'for good',
      ]);
      await actor.send('RESET');
      expect(actor.value).toBe('running');
      await actor.advance(1000);
      expect(actor.said()).toEqual(['running', 'TICK 1']);
    },
  },
  {
    name: 'documentation: player with two regions',
    machine: () => machines.player,
    async run(actor) {
      await actor.send('MUTE', 'PLAY', 'LOUDER', 'LOUDER', 'LOUDER');
      expect(actor.value).toEqual({ track: 'playing', volume: 'normal' });
      expect(actor.context).toEqual({ volume: 7 });
      await actor.send('MUTE', 'END');
      expect(actor.value).toEqual({ track: 'paused', volume: 'muted' });
    },
  },
];

const several: readonly Behaviour[] = [
  {
    name: 'documentation: pizza, a machine that orders from another one',
    machine: () => machines.pizza,
    async run(actor) {
      await actor.send('CALL');
      await actor.advance(599);
      await actor.send('FLAMES');
      expect(actor.context).toMatchObject({ news: ['baking', 'burnt'] });
      await actor.advance(700);
      expect(actor.value).toBe('eating');
      expect(actor.context).toEqual({ slices: 8, news: ['baking', 'burnt', 'baking'] });
    },
  },
  {
    name: 'documentation: todos, spawned by their logic itself',
    machine: () => larger.todos,
    companions: [larger.todo],
    async run(actor) {
      await actor.send({ type: 'ADD', title: 'milk' }, { type: 'ADD', title: 'bread' });
      await actor.send({ type: 'TO', index: 1, what: { type: 'TOGGLE' } });
      expect(actor.child('todo-2')?.getSnapshot()).toMatchObject({
        context: { title: 'bread', done: true },
      });
      await actor.send({ type: 'TO', index: 0, what: { type: 'DELETE' } });
      expect((actor.context['items'] as { id: string }[]).map((item) => item.id)).toEqual([
        'todo-2',
      ]);
    },
  },
  {
    name: 'documentation: todos, spawned by name',
    machine: () => larger.namedTodos,
    async run(actor) {
      await actor.send({ type: 'ADD', title: 'milk' }, { type: 'ADD', title: 'bread' });
      await actor.send(
        { type: 'TO', index: 0, what: { type: 'EDIT' } },
        { type: 'TO', index: 0, what: { type: 'SAVE', title: 'oat milk' } },
      );
      expect(actor.child('todo-1')?.getSnapshot()).toMatchObject({
        value: 'reading',
        context: { title: 'oat milk', done: false },
      });
      expect(actor.child('todo-2')?.getSnapshot()).toMatchObject({ context: { title: 'bread' } });
    },
  },
  {
    name: 'documentation: credit check, promises side by side, then always',
    inOneProcess: 'live child',
    machine: larger.creditCheck,
    input: { ssn: '123' },
    async run(actor) {
      await actor.advance(10);
      expect(actor.value).toEqual({ checking: { a: 'asking', b: 'answered', c: 'asking' } });
      await actor.advance(20);
      expect(actor.value).toBe('offered');
      expect(actor.snapshot.output).toEqual({ rate: 0.05, asked: 3 });
    },
  },
  {
    name: 'documentation: credit check that nobody answers',
    inOneProcess: 'live child',
    machine: larger.creditCheck,
    input: { ssn: 'unknown' },
    async run(actor) {
      await actor.advance(100);
      expect(actor.value).toBe('rejected');
      expect(actor.snapshot.output).toEqual({ rate: null, asked: 0 });
    },
  },
  {
    name: 'documentation: search with a pause for typing and inline actions of every kind',
    inOneProcess: 'live child',
    machine: larger.search,
    async run(actor) {
      await actor.send({ type: 'TYPE', query: 'a' });
      await actor.advance(200);
      await actor.send({ type: 'TYPE', query: 'ab' });
      await actor.advance(299);
      expect(actor.value).toBe('debouncing');
      await actor.advance(51);
      expect(actor.context).toEqual({ query: 'ab', results: ['ab 1', 'ab 2'] });
      expect(actor.said()).toEqual([
        'subject is here',
        'no longer idle',
        'typed a',
        'subject is here',
        'typed ab',
        'subject is here',
        'xstate.done.actor.0.search.searching: 2',
      ]);
      await actor.send('CLEAR');
      expect(actor.said()).toEqual(['no longer idle', 'cleared']);
    },
  },
  {
    name: 'documentation: tally, transition logic given inline',
    machine: () => larger.tally,
    async run(actor) {
      await actor.send('inc', 'inc');
      expect(actor.context).toEqual({ shown: 12 });
    },
  },
];

export const documentation: readonly Behaviour[] = [...small, ...several];
