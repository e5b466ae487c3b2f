/** Behaviours of machines that invoke machines. */
import { expect } from 'vitest';
import type { Behaviour } from './actor-driver.ts';
import * as machines from './machines-family.ts';

const TO = (what: string) => ({ type: 'TO', what: { type: what } });

const parentAndChild: readonly Behaviour[] = [
  {
    name: 'an invoked machine starts with its input after the parent’s entry actions',
    machine: machines.employer,
    run(actor) {
      expect(actor.said()).toEqual(['+hiring']);
      expect(actor.said('worker')).toEqual(['+worker']);
      expect(actor.child('joe')?.getSnapshot()).toMatchObject({
        status: 'active',
        value: 'working',
        context: { name: 'joe of xstate.init', jobs: 0 },
      });
      expect(actor.child('joe')?.id).toBe('joe');
    },
  },
  {
    name: 'sendTo reaches the child by id, by ref and by function; it reports by sendParent',
    machine: machines.employer,
    async run(actor) {
      await actor.send('WORK', 'BY_REF', 'BY_FUNCTION');
      expect(actor.context).toMatchObject({ reports: [1, 2, 3] });
      expect(actor.notes.lines().slice(1)).toMatchObject([
        { event: { type: 'REPORT', jobs: 1, echo: 'by id' } },
        { event: { type: 'REPORT', jobs: 2, echo: 'BY_REF' } },
        { event: { type: 'REPORT', jobs: 3, echo: 'by function' } },
      ]);
    },
  },
  {
    name: 'forwardTo hands the very event on',
    machine: machines.employer,
    async run(actor) {
      await actor.send({ type: 'JOB', echo: { deep: [1] } });
      expect(actor.notes.lines('worker')).toMatchObject([
        { what: '+worker' },
        { what: 'job', event: { type: 'JOB', echo: { deep: [1] } } },
      ]);
      expect(actor.context).toMatchObject({ reports: [1] });
    },
  },
  {
    name: 'a child machine that ends is done with its output at the parent, and leaves children',
    machine: machines.employer,
    async run(actor) {
      await actor.send('WORK', { type: 'PASS_ON', what: { type: 'FINISH' } });
      expect(actor.value).toBe('paid');
      expect(actor.context).toMatchObject({ result: { by: 'joe of xstate.init', jobs: 1 } });
      expect(actor.said()).toEqual(['+hiring', 'report', 'done', '+paid']);
      expect(actor.said('worker')).toEqual(['+worker', 'job', '+finished', '-worker']);
      expect(actor.snapshot.children).toEqual({});
    },
  },
  {
    name: 'a child machine that fails comes as error at the parent',
    machine: machines.employer,
    async run(actor) {
      await actor.send({ type: 'PASS_ON', what: { type: 'FAIL' } });
      expect(actor.value).toBe('accident');
      expect(actor.notes.lines().at(-1)).toMatchObject({
        what: 'error',
        event: {
          type: 'xstate.error.actor.joe',
          actorId: 'joe',
          error: 'error: the worker fell',
        },
      });
    },
  },
  {
    name: 'leaving the state stops the child without its exit actions; entering makes a new one',
    inOneProcess: 'ref of a child',
    machine: machines.employer,
    async run(actor) {
      await actor.send('WORK');
      const before = actor.child('joe');
      await actor.send('FIRE');
      expect(before?.getSnapshot()).toMatchObject({ status: 'stopped' });
      expect(actor.snapshot.children).toEqual({});
      await actor.send('REHIRE');
      expect(actor.child('joe')).not.toBe(before);
      expect(actor.child('joe')?.getSnapshot()).toMatchObject({
        context: { name: 'joe of REHIRE', jobs: 0 },
      });
      expect(actor.said('worker')).toEqual(['+worker', 'job', '+worker']);
    },
  },
  {
    name: 'a child’s emitted events are heard on its ref, its log lines by the one logger',
    inOneProcess: 'observer',
    machine: machines.employer,
    async run(actor) {
      const heard: unknown[] = [];
      actor.child('joe')?.on('shout', (event) => void heard.push(event));
      await actor.send(
        { type: 'PASS_ON', what: { type: 'SHOUT' } },
        { type: 'PASS_ON', what: { type: 'SAY' } },
      );
      expect(heard).toEqual([{ type: 'shout', by: 'joe of xstate.init' }]);
      expect(actor.notes.logs).toMatchObject([{ values: ['joe of xstate.init'] }]);
      expect(actor.notes.emitted).toEqual([]);
    },
  },
  {
    name: 'onSnapshot tells the parent of every snapshot of the active child, also after no change',
    machine: machines.follower,
    async run(actor) {
      await actor.send(TO('JOB'), TO('UNHEARD_OF'), TO('FINISH'));
      expect(actor.context).toEqual({ seen: ['active 0', 'active 1', 'active 1'] });
      expect(actor.said()).toEqual(['done']);
    },
  },
  {
    name: 'a child’s error that the parent has no answer to is the parent’s own error',
    machine: machines.careless,
    async run(actor) {
      await actor.send(TO('FAIL'));
      expect(actor.snapshot.status).toBe('error');
      expect(actor.notes.seen().at(-1)).toBe('error: the worker fell');
    },
  },
  {
    name: 'a child’s done that the parent has no answer to changes nothing',
    machine: machines.careless,
    async run(actor) {
      await actor.send(TO('FINISH'));
      expect(actor.value).toBe('on');
      expect(actor.snapshot.status).toBe('active');
    },
  },
];

const families: readonly Behaviour[] = [
  {
    name: 'three deep: events go down and up through every generation',
    machine: machines.grandparents,
    async run(actor) {
      await actor.send('DOWN');
      expect(actor.said('middle')).toEqual(['+middle', 'down', 'up']);
      expect(actor.said('youngest')).toEqual(['+youngest', 'down']);
      expect(actor.said()).toEqual(['up']);
      expect(actor.child('middle', 'youngest')?.getSnapshot()).toMatchObject({ value: 'young' });
    },
  },
  {
    name: 'three deep: the end of the youngest ends the middle, which moves the root',
    machine: machines.grandparents,
    async run(actor) {
      await actor.send('AGE');
      expect(actor.value).toBe('old');
      expect(actor.said('middle')).toEqual(['+middle', 'youngest done', '-middle']);
      expect(actor.notes.lines()).toMatchObject([
        { what: 'middle done', event: { output: 'bereft' } },
      ]);
    },
  },
  {
    name: 'three deep: leaving the root’s state stops all below it',
    inOneProcess: 'ref of a child',
    machine: machines.grandparents,
    async run(actor) {
      const middle = actor.child('middle');
      const youngest = actor.child('middle', 'youngest');
      await actor.send('LEAVE');
      expect(middle?.getSnapshot().status).toBe('stopped');
      expect(youngest?.getSnapshot().status).toBe('stopped');
      expect(actor.said('middle')).toEqual(['+middle']);
      expect(actor.said('youngest')).toEqual(['+youngest']);
    },
  },
  {
    name: 'siblings find each other by systemId',
    machine: machines.siblings,
    async run(actor) {
      await actor.send('CALL', 'CALL');
      expect(actor.notes.lines('caller')).toMatchObject([
        { event: { type: 'ANSWER', calls: 1 } },
        { event: { type: 'ANSWER', calls: 2 } },
      ]);
      expect(actor.ref.system.get('desk')).toBe(actor.child('desk'));
      expect(actor.ref.system.get('nobody')).toBe(undefined);
    },
  },
  {
    name: 'a systemId is free again when its actor is left, also within one transition',
    machine: machines.siblings,
    async run(actor) {
      await actor.send('CALL', 'SHIFT', 'CALL');
      expect(actor.notes.lines('receptionist')).toMatchObject([
        { context: { calls: 1 } },
        { context: { calls: 1 } },
      ]);
      await actor.send('CLOSE');
      expect(actor.ref.system.get('desk')).toBe(undefined);
      await actor.send('OPEN', 'CALL');
      expect(actor.notes.lines('receptionist')).toMatchObject([{ context: { calls: 1 } }]);
    },
  },
  {
    name: 'two machines that answer each other come to an end',
    machine: machines.pingPong,
    async run(actor) {
      await actor.send('SERVE');
      expect(actor.value).toBe('over');
      expect(actor.said('pong')).toHaveLength(5);
      expect(actor.said()).toEqual(['pong', 'pong', 'pong', 'pong', 'enough']);
      expect(actor.notes.seen()).toEqual([
        'ready',
        ...Array.from({ length: 5 }, () => 'playing'),
        'over',
      ]);
    },
  },
];

export const family: readonly Behaviour[] = [...parentAndChild, ...families];
