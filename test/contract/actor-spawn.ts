/** Behaviours of spawned children. */
import { expect } from 'vitest';
import type { Behaviour, Handle } from './actor-driver.ts';
import * as machines from './machines-spawn.ts';

const children = (actor: Handle): string[] => Object.keys(actor.snapshot.children).sort();

const byAction: readonly Behaviour[] = [
  {
    name: 'spawnChild makes a child under its id, which outlives the state',
    machine: machines.spawning,
    async run(actor) {
      await actor.send('ADD', 'MOVE', { type: 'INC', to: 'one' }, { type: 'TELL', to: 'one' });
      expect(actor.value).toBe('moved');
      expect(children(actor)).toEqual(['one']);
      expect(actor.context).toMatchObject({ heard: [1] });
      expect(actor.said('counter')).toEqual(['+counter', 'inc']);
    },
  },
  {
    name: 'spawnChild takes a computed id and a computed input',
    machine: machines.spawning,
    async run(actor) {
      await actor.send({ type: 'ADD_INPUT', name: 'x', plus: 5 });
      await actor.send({ type: 'TELL', to: 'kid x' });
      expect(actor.context).toMatchObject({ heard: [15] });
      expect(children(actor)).toEqual(['kid x']);
    },
  },
  {
    name: 'a child knows itself by the id its parent gave it',
    machine: machines.spawning,
    async run(actor) {
      await actor.send('ADD', { type: 'WHO', to: 'one' }, 'STOP', 'ADD', {
        type: 'WHO',
        to: 'one',
      });
      expect(actor.context).toMatchObject({ heard: ['one', 'one'] });
    },
  },
  {
    name: 'spawnChild without an id starts a child each time',
    machine: machines.spawning,
    async run(actor) {
      await actor.send('ADD_NAMELESS', 'ADD_NAMELESS');
      expect(actor.said('counter')).toEqual(['+counter', '+counter']);
    },
  },
  {
    name: 'a child takes what the same list of actions sends to it, in order',
    machine: machines.spawning,
    async run(actor) {
      await actor.send('ADD_AND_TELL');
      expect(actor.said('counter')).toEqual(['+counter', 'inc']);
      expect(actor.context).toMatchObject({ heard: [1] });
    },
  },
  {
    name: 'stopChild stops it by id, also a computed one; an unknown id is nothing',
    inOneProcess: 'ref of a child',
    machine: machines.spawning,
    async run(actor) {
      await actor.send('ADD', { type: 'ADD_INPUT', name: 'x', plus: 0 });
      const one = actor.child('one');
      await actor.send('STOP', 'STOP_UNKNOWN');
      expect(children(actor)).toEqual(['kid x']);
      expect(one?.getSnapshot().status).toBe('stopped');
      await actor.send({ type: 'STOP_COMPUTED', name: 'kid x' });
      expect(children(actor)).toEqual([]);
    },
  },
  {
    name: 'the id of a stopped child can be used again, by a new child',
    machine: machines.spawning,
    async run(actor) {
      await actor.send('ADD', { type: 'INC', to: 'one' }, 'STOP', 'ADD');
      await actor.send({ type: 'TELL', to: 'one' });
      expect(actor.context).toMatchObject({ heard: [0] });
    },
  },
  {
    name: 'a spawned child that is done tells its parent, stays a child, and takes no event',
    machine: machines.spawning,
    async run(actor) {
      await actor.send('ADD', { type: 'INC', to: 'one' });
      await actor.send('END');
      expect(actor.notes.lines()).toMatchObject([
        { what: 'one is done', event: { type: 'xstate.done.actor.one', output: 1 } },
      ]);
      await actor.send({ type: 'INC', to: 'one' });
      expect(actor.child('one')?.getSnapshot()).toMatchObject({ status: 'done', output: 1 });
      expect(actor.said('counter')).toEqual(['+counter', 'inc']);
    },
  },
  {
    name: 'a child that is spawned and stopped in one step is not there',
    machine: machines.spawning,
    async run(actor) {
      await actor.send('ADD_AND_STOP');
      expect(children(actor)).toEqual([]);
      expect(actor.snapshot.status).toBe('active');
    },
  },
  {
    name: 'enqueueActions spawns, sends to, stops, raises later and cancels',
    machine: machines.enqueuedChildren,
    async run(actor) {
      await actor.send('GO');
      expect(children(actor)).toEqual(['a', 'b']);
      expect(actor.context).toEqual({ heard: [6] });
      await actor.advance(1000);
      expect(actor.said()).toEqual(['later']);
    },
  },
  {
    name: 'syncSnapshot tells the parent of each snapshot of a spawned child',
    machine: machines.syncedChild,
    async run(actor) {
      await actor.send('ADD', 'INC', 'INC');
      expect(actor.notes.lines()).toMatchObject([
        { event: { type: 'xstate.snapshot.one', snapshot: { context: { n: 0 } } } },
        { event: { type: 'xstate.snapshot.one', snapshot: { context: { n: 1 } } } },
        { event: { type: 'xstate.snapshot.one', snapshot: { context: { n: 2 } } } },
      ]);
    },
  },
  {
    name: 'a spawned promise is done at its parent; a spawned callback is cleaned up when stopped',
    inOneProcess: 'live child',
    machine: machines.spawnedLogic,
    async run(actor) {
      await actor.send('TIMER', 'BELL', 'RING');
      expect(actor.said()).toEqual(['rang']);
      await actor.advance(40);
      expect(actor.notes.lines()).toMatchObject([
        { what: 'timer done', event: { output: 'after 40' } },
      ]);
      await actor.send('UNHANG');
      expect(actor.said('bell')).toEqual(['unhung']);
      expect(actor.context).toEqual({ ref: null });
      expect(children(actor)).toEqual(['timer']);
    },
  },
];

const inContext: readonly Behaviour[] = [
  {
    name: 'a child spawned by the context factory is there at the start, its ref in the context',
    machine: machines.keepingRefs,
    async run(actor) {
      expect(children(actor)).toEqual(['first']);
      expect(actor.context['first']).toBe(actor.child('first'));
      await actor.send('FIRST');
      expect(actor.context).toMatchObject({ heard: [2] });
    },
  },
  {
    name: 'children spawned in assign keep their refs in the context and can be sent to by them',
    machine: machines.keepingRefs,
    async run(actor) {
      await actor.send(
        { type: 'MORE', name: 'x', from: 100 },
        { type: 'MORE', name: 'y', from: 200 },
      );
      expect(children(actor)).toEqual(['first', 'x', 'y']);
      await actor.send('ALL');
      expect(actor.context).toMatchObject({
        heard: [1, 100, 200],
      });
      expect((actor.context['more'] as unknown[])[1]).toBe(actor.child('y'));
    },
  },
  {
    name: 'stopChild by ref; the ref in the context stays and tells that it is stopped',
    machine: machines.keepingRefs,
    async run(actor) {
      await actor.send('DROP');
      expect(actor.said()).toEqual(['stopped first']);
      expect(children(actor)).toEqual([]);
      const first = actor.context['first'] as { getSnapshot(): { status: string } };
      expect(first.getSnapshot().status).toBe('stopped');
      await actor.send('FIRST');
      expect(actor.context).toMatchObject({ heard: [] });
      expect(actor.said('counter')).toEqual(['+counter']);
    },
  },
  {
    name: 'enqueueActions stops the children whose refs are in the context',
    machine: machines.keepingRefs,
    async run(actor) {
      await actor.send(
        { type: 'MORE', name: 'x', from: 100 },
        { type: 'MORE', name: 'y', from: 200 },
        'FORGET',
      );
      expect(children(actor)).toEqual(['first']);
      expect(actor.context).toMatchObject({ more: [] });
    },
  },
  {
    name: 'an event may carry a ref, also one for an actor that does not know the event',
    machine: machines.keepingRefs,
    async run(actor) {
      await actor.send({ type: 'MORE', name: 'x', from: 100 }, 'HAND_OVER', 'ALL');
      expect(actor.context).toMatchObject({
        heard: [1, 100],
      });
    },
  },
];

export const spawned: readonly Behaviour[] = [...byAction, ...inContext];
