/** Behaviours in time. */
import { expect } from 'vitest';
import type { Behaviour } from './actor-driver.ts';
import * as machines from './machines-time.ts';

const after: readonly Behaviour[] = [
  {
    name: 'after: a number, a named delay and one computed from the context',
    machine: machines.afterDelays,
    async run(actor) {
      await actor.advance(999);
      expect(actor.value).toBe('number');
      await actor.advance(1);
      expect(actor.value).toBe('named');
      await actor.advance(499);
      expect(actor.value).toBe('named');
      await actor.advance(1);
      expect(actor.value).toBe('computed');
      await actor.advance(299);
      expect(actor.said()).toEqual(['1000', 'named']);
      await actor.advance(1);
      expect(actor.said()).toEqual(['computed']);
      expect(actor.value).toBe('idle');
    },
  },
  {
    name: 'after: all of them within one advance, each at its own time',
    machine: machines.afterDelays,
    async run(actor) {
      await actor.advance(1800);
      expect(actor.said()).toEqual(['1000', 'named', 'computed']);
      expect(actor.notes.seen()).toEqual(['number', 'named', 'computed', 'idle']);
    },
  },
  {
    name: 'after: a delay computed from the event that entered the state',
    machine: machines.afterDelays,
    async run(actor) {
      await actor.advance(1800);
      await actor.send({ type: 'WAIT', ms: 70 });
      await actor.advance(69);
      expect(actor.value).toBe('fromEvent');
      await actor.advance(1);
      expect(actor.value).toBe('idle');
      expect(actor.said().at(-1)).toBe('from event');
    },
  },
  {
    name: 'after: leaving the state disarms the timer',
    machine: machines.afterDelays,
    async run(actor) {
      await actor.advance(1800);
      await actor.send('ESCAPE');
      await actor.advance(99);
      await actor.send('OUT');
      await actor.advance(1000);
      expect(actor.value).toBe('idle');
    },
  },
  {
    name: 'after: a self-transition without reenter leaves the timer as it is',
    machine: machines.afterDelays,
    async run(actor) {
      await actor.advance(1800);
      await actor.send('ESCAPE');
      await actor.advance(60);
      await actor.send('AGAIN');
      await actor.advance(40);
      expect(actor.value).toBe('late');
    },
  },
  {
    name: 'after: several in one state fire in the order of time',
    machine: machines.afterDelays,
    async run(actor) {
      await actor.advance(1800);
      actor.said();
      await actor.send('RACE');
      await actor.advance(1000);
      expect(actor.said()).toEqual(['100', '200', '300']);
      expect(actor.value).toBe('idle');
    },
  },
  {
    name: 'after: the first transition of a list whose guard holds is taken',
    machine: machines.afterDelays,
    async run(actor) {
      await actor.advance(1800);
      actor.said();
      await actor.send('GUARDS');
      await actor.advance(100);
      expect(actor.said()).toEqual(['first']);
      await actor.advance(100);
      expect(actor.said()).toEqual(['second']);
      expect(actor.value).toBe('idle');
    },
  },
  {
    name: 'after: a state that re-enters itself every second ticks ten times in ten seconds',
    machine: machines.ticking,
    async run(actor) {
      await actor.advance(10_000);
      expect(actor.context).toEqual({ ticks: 10 });
      expect(actor.notes.snapshots).toHaveLength(11);
      await actor.send('STOP');
      await actor.advance(10_000);
      expect(actor.context).toEqual({ ticks: 10 });
    },
  },
  {
    name: 'after: re-entering the state starts its time anew, other events do not',
    machine: machines.ticking,
    async run(actor) {
      await actor.advance(900);
      await actor.send('RESET');
      await actor.advance(900);
      await actor.send('TOUCH');
      expect(actor.context).toEqual({ ticks: 0 });
      await actor.advance(100);
      expect(actor.context).toEqual({ ticks: 1 });
    },
  },
  {
    name: 'after: timers of regions and of their parent run side by side',
    machine: machines.nestedTimers,
    async run(actor) {
      await actor.advance(400);
      expect(actor.said()).toEqual(['left 400', 'right 400']);
      await actor.advance(599);
      expect(actor.said()).toEqual(['left 400 again']);
      await actor.advance(1);
      expect(actor.said()).toEqual(['parent 1000', '+timeout']);
      await actor.advance(5000);
      expect(actor.said()).toEqual([]);
    },
  },
];

const delayed: readonly Behaviour[] = [
  {
    name: 'a delayed raise comes when it is due, also when the state was left meanwhile',
    machine: machines.delayedRaise,
    async run(actor) {
      await actor.send('LATER', 'MOVE');
      await actor.advance(49);
      expect(actor.said()).toEqual([]);
      await actor.advance(1);
      expect(actor.notes.lines()).toMatchObject([
        { what: 'ping', event: { type: 'PING', by: 'number' } },
      ]);
    },
  },
  {
    name: 'a delayed raise takes its delay by name, from the context or from the event',
    machine: machines.delayedRaise,
    async run(actor) {
      await actor.send({ type: 'COMPUTED', ms: 400 });
      const heard: number[] = [];
      for (const ms of [100, 150, 150]) {
        await actor.advance(ms - 1);
        heard.push(actor.said().length);
        await actor.advance(1);
        heard.push(actor.said().length);
      }
      expect(heard).toEqual([0, 1, 0, 1, 0, 1]);
    },
  },
  {
    name: 'cancel takes back a delayed raise by its id, also a computed one; an unknown is nothing',
    machine: machines.delayedRaise,
    async run(actor) {
      await actor.send('LATER');
      await actor.advance(20);
      await actor.send('CANCEL', 'CANCEL_UNKNOWN');
      await actor.advance(100);
      expect(actor.said()).toEqual([]);
      await actor.send('LATER', { type: 'CANCEL_COMPUTED', id: 'ping' });
      await actor.advance(100);
      expect(actor.said()).toEqual([]);
      await actor.send('LATER');
      await actor.advance(100);
      expect(actor.said()).toEqual(['ping']);
    },
  },
  {
    name: 'a delayed raise that the same step cancels never comes',
    machine: machines.delayedRaise,
    async run(actor) {
      await actor.send('AT_ONCE');
      await actor.advance(1000);
      expect(actor.said()).toEqual(['raised and cancelled']);
    },
  },
  {
    name: 'sendTo to itself arrives as an event of its own, at once or after its delay',
    machine: machines.delayedRaise,
    async run(actor) {
      await actor.send('SELF');
      expect(actor.notes.lines()).toMatchObject([{ event: { type: 'PING', by: 'self' } }]);
      await actor.advance(70);
      expect(actor.notes.lines()).toMatchObject([{ event: { type: 'PING', by: 'delayed self' } }]);
    },
  },
  {
    name: 'a delayed sendTo reaches the child when it is due, unless it was cancelled',
    machine: machines.delayedMail,
    async run(actor) {
      await actor.send('TELL', 'TELL_SOON');
      await actor.advance(100);
      expect(actor.notes.lines('child')).toMatchObject([{ event: { type: 'HELLO', n: 1 } }]);
      await actor.advance(100);
      expect(actor.notes.lines('child')).toMatchObject([{ event: { type: 'HELLO', n: 2 } }]);
      await actor.send('TELL', 'UNTELL');
      await actor.advance(1000);
      expect(actor.said('child')).toEqual([]);
    },
  },
  {
    name: 'a delayed sendTo to a child that was stopped meanwhile reaches nobody',
    machine: machines.delayedMail,
    async run(actor) {
      await actor.send('TELL', 'DISMISS');
      await actor.advance(1000);
      expect(actor.said('child')).toEqual([]);
      expect(actor.snapshot.status).toBe('active');
    },
  },
];

export const time: readonly Behaviour[] = [...after, ...delayed];
