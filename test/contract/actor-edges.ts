/** Behaviours at the edges of life. */
import { expect } from 'vitest';
import type { Behaviour } from './actor-driver.ts';
import * as machines from './machines-edges.ts';

export const edges: readonly Behaviour[] = [
  {
    name: 'a machine may be done when it starts',
    machine: machines.doneAtOnce,
    input: 21,
    run(actor) {
      expect(actor.snapshot).toMatchObject({ status: 'done', value: 'end', output: 42 });
      expect(actor.said()).toEqual(['-start', '+end']);
      expect(actor.notes.seen()).toEqual(['end', 'complete']);
    },
  },
  {
    name: 'a child that is done when it starts is done at its parent as any other',
    machine: machines.hastyChildren,
    async run(actor) {
      await actor.send('DONE');
      expect(actor.value).toBe('idle');
      expect(actor.context).toEqual({ got: [42] });
      expect(actor.said('parent')).toEqual(['+doneAtOnce', 'done']);
      expect(actor.notes.seen()).toEqual(['idle', 'doneAtOnce', 'idle']);
    },
  },
  {
    name: 'a child may send to its parent in its first step, and be sent to in the parent’s same',
    machine: machines.hastyChildren,
    async run(actor) {
      await actor.send('REPORTS');
      expect(actor.context).toEqual({ got: [1, 2] });
      expect(actor.said('reporting')).toEqual(['+reporting', 'echo']);
    },
  },
  {
    name: 'a callback may send back while it starts',
    machine: machines.hastyChildren,
    async run(actor) {
      await actor.send('CALL');
      expect(actor.context).toEqual({ got: ['callback'] });
    },
  },
  {
    name: 'two states in a row may invoke under the same id',
    machine: machines.hastyChildren,
    async run(actor) {
      await actor.send('CHAIN');
      expect(actor.notes.seen()).toEqual(['idle', 'chain', 'chainEnd', 'idle']);
      expect(actor.said('parent')).toEqual(['chain end']);
    },
  },
  {
    name: 'a delayed event from a child comes while the child lives',
    machine: machines.delayedReport,
    async run(actor) {
      await actor.send('GO');
      await actor.advance(99);
      expect(actor.said()).toEqual([]);
      await actor.advance(1);
      expect(actor.said()).toEqual(['late']);
    },
  },
  {
    name: 'a delayed event from a child that is done or was stopped before never comes',
    machine: machines.delayedReport,
    async run(actor) {
      await actor.send('GO', 'END');
      expect(actor.said()).toEqual(['done']);
      await actor.advance(200);
      expect(actor.said()).toEqual([]);
      await actor.send('GO', 'LEAVE');
      await actor.advance(200);
      expect(actor.said()).toEqual([]);
    },
  },
  {
    name: 'delayed events of one moment come in the order they were asked for',
    machine: machines.sameMoment,
    async run(actor) {
      await actor.send('THREE');
      await actor.advance(50);
      expect(actor.notes.lines()).toMatchObject([
        { event: { n: 1 } },
        { event: { n: 2 } },
        { event: { n: 3 } },
      ]);
    },
  },
  {
    name: 'a raised event goes before those sent to itself, which keep their order',
    machine: machines.sameMoment,
    async run(actor) {
      await actor.send('SEND');
      expect(actor.notes.lines()).toMatchObject([
        { event: { n: 2 } },
        { event: { n: 1 } },
        { event: { n: 3 } },
      ]);
    },
  },
  {
    name: 'a delay of 0 ms is an event of its own, after the step, without time passing',
    machine: machines.sameMoment,
    async run(actor) {
      await actor.act(() => {
        actor.ref.send({ type: 'ZERO' });
        actor.ref.send({ type: 'WAIT' });
      });
      await actor.advance(0);
      expect(actor.said()).toEqual(['zero', 'ping', '+waited']);
      expect(actor.value).toBe('waited');
    },
  },
  {
    name: 'one logic invoked in two regions makes two children',
    inOneProcess: 'live child',
    machine: machines.twoOfAKind,
    async run(actor) {
      expect(Object.keys(actor.snapshot.children)).toEqual(['0.two.left.busy', '0.two.right.busy']);
      await actor.advance(10);
      expect(actor.said()).toEqual(['10 over']);
      await actor.advance(10);
      expect(actor.said()).toEqual(['20 over']);
      expect(actor.snapshot.status).toBe('done');
    },
  },
];
