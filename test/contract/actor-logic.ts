/** Behaviours of children that are no machines. */
import { expect } from 'vitest';
import type { Behaviour } from './actor-driver.ts';
import * as machines from './machines-logic.ts';

const ask = (order: object) => ({ type: 'ASK', order });

const promises: readonly Behaviour[] = [
  {
    name: 'an invoked promise takes input, and its result comes as done with output',
    machine: machines.invokedPromise,
    async run(actor) {
      await actor.send(ask({ ms: 0, answer: 'yes' }));
      expect(actor.context).toMatchObject({ got: ['yes!'] });
      expect(actor.value).toBe('idle');
      expect(actor.notes.lines()).toMatchObject([
        {
          what: 'done',
          event: { type: 'xstate.done.actor.answer', output: 'yes!', actorId: 'answer' },
        },
      ]);
      expect(actor.notes.seen()).toEqual(['idle', 'asking', 'idle']);
    },
  },
  {
    name: 'an invoked promise that rejects comes as error, and the state can ask again',
    inOneProcess: 'live child',
    machine: machines.invokedPromise,
    async run(actor) {
      await actor.send(ask({ ms: 5, fail: 'no luck' }));
      expect(actor.value).toBe('asking');
      await actor.advance(5);
      expect(actor.value).toBe('failed');
      expect(actor.notes.lines()).toMatchObject([
        {
          what: 'failed',
          event: { type: 'xstate.error.actor.answer', error: 'error: no luck', actorId: 'answer' },
        },
      ]);
      await actor.send(ask({ ms: 5, answer: 'now' }));
      await actor.advance(5);
      expect(actor.context).toMatchObject({ got: ['now!'] });
    },
  },
  {
    name: 'the result of a promise whose state was left is not heard',
    inOneProcess: 'live child',
    machine: machines.invokedPromise,
    async run(actor) {
      await actor.send(ask({ ms: 50, answer: 'late' }));
      expect(Object.keys(actor.snapshot.children)).toEqual(['answer']);
      await actor.send('LEAVE');
      expect(actor.snapshot.children).toEqual({});
      await actor.advance(100);
      expect(actor.value).toBe('idle');
      expect(actor.said()).toEqual([]);
    },
  },
  {
    name: 'L16 re-entering the state runs a second promise; the first result counts nothing',
    inOneProcess: 'live child',
    machine: machines.invokedPromise,
    async run(actor) {
      await actor.send(ask({ ms: 50, answer: 'first' }));
      await actor.advance(30);
      await actor.send(ask({ ms: 50, answer: 'second' }));
      await actor.advance(20);
      expect(actor.value).toBe('asking');
      expect(actor.said()).toEqual([]);
      await actor.advance(30);
      expect(actor.context).toMatchObject({ got: ['second!'] });
      expect(actor.said('promise')).toEqual(['runs for first', 'runs for second']);
    },
  },
  {
    name: 'two promises of one state are done each by itself, in the order of their ends',
    inOneProcess: 'live child',
    machine: machines.invokedPromise,
    async run(actor) {
      await actor.send('ASK_TWO');
      expect(Object.keys(actor.snapshot.children).sort()).toEqual(['fast', 'slow']);
      await actor.advance(10);
      expect(actor.said()).toEqual(['fast done']);
      await actor.advance(10);
      expect(actor.said()).toEqual(['slow done']);
      expect(actor.context).toMatchObject({ got: ['fast!', 'slow!'] });
      expect(actor.value).toBe('both');
    },
  },
];

const callbacks: readonly Behaviour[] = [
  {
    name: 'an invoked callback runs, receives what is sent to it, and sends back',
    inOneProcess: 'live child',
    machine: machines.invokedCallback,
    async run(actor) {
      expect(actor.said('door')).toEqual(['opens oak']);
      await actor.send({ type: 'KNOCK', n: 1 }, { type: 'KNOCK', n: 7 });
      expect(actor.said('door')).toEqual(['hears PING', 'hears PING']);
      expect(actor.notes.lines()).toMatchObject([
        { event: { type: 'PONG', n: 2 } },
        { event: { type: 'PONG', n: 8 } },
      ]);
      await actor.advance(500);
      expect(actor.said()).toEqual(['creak']);
    },
  },
  {
    name: 'leaving the state runs the callback’s cleanup, and nothing is heard from it any more',
    inOneProcess: 'live child',
    machine: machines.invokedCallback,
    async run(actor) {
      actor.said('door');
      await actor.send('LEAVE');
      expect(actor.said('door')).toEqual(['closes oak']);
      await actor.advance(1000);
      expect(actor.said()).toEqual([]);
    },
  },
  {
    name: 're-entering the state stops the old callback before the new one starts',
    inOneProcess: 'live child',
    machine: machines.invokedCallback,
    async run(actor) {
      await actor.send('AGAIN', { type: 'KNOCK', n: 1 });
      expect(actor.said('door')).toEqual(['opens oak', 'closes oak', 'opens oak', 'hears PING']);
      expect(actor.said()).toEqual(['pong']);
    },
  },
  {
    name: 'the end of the machine runs the cleanup of its callbacks',
    inOneProcess: 'live child',
    machine: machines.invokedCallback,
    async run(actor) {
      await actor.send('END');
      expect(actor.said('door')).toEqual(['opens oak', 'closes oak']);
      expect(actor.snapshot.status).toBe('done');
    },
  },
];

const streams: readonly Behaviour[] = [
  {
    name: 'an invoked observable: each value is a snapshot, its completion is done',
    inOneProcess: 'live child',
    machine: machines.invokedObservable,
    async run(actor) {
      await actor.send('COUNT');
      await actor.advance(300);
      expect(actor.value).toBe('counting');
      await actor.advance(100);
      expect(actor.value).toBe('idle');
      expect(actor.said()).toEqual(['snapshot', 'snapshot', 'snapshot', 'snapshot', 'done']);
      expect(actor.context).toEqual({ seen: [null, 1, 2, 3] });
    },
  },
  {
    name: 'leaving the state unsubscribes from the observable',
    inOneProcess: 'live child',
    machine: machines.invokedObservable,
    async run(actor) {
      await actor.send('COUNT');
      await actor.advance(100);
      await actor.send('LEAVE');
      expect(actor.said('observable')).toEqual(['unsubscribed']);
      await actor.advance(1000);
      expect(actor.context).toEqual({ seen: [null, 1] });
    },
  },
  {
    name: 'an observable that fails comes as error',
    inOneProcess: 'live child',
    machine: machines.invokedObservable,
    async run(actor) {
      await actor.send('FAIL');
      await actor.advance(200);
      expect(actor.value).toBe('idle');
      expect(actor.notes.lines()).toMatchObject([
        { what: 'error', event: { error: 'error: the source broke' } },
      ]);
    },
  },
  {
    name: 'an event observable sends its values to the parent as events',
    inOneProcess: 'live child',
    machine: machines.invokedObservable,
    async run(actor) {
      await actor.send('EVENTS');
      await actor.advance(300);
      expect(actor.said()).toEqual(['tick', 'tick', 'events done']);
    },
  },
  {
    name: 'transition logic: starts from input, takes events, and its snapshots come',
    machine: machines.invokedReducer,
    async run(actor) {
      await actor.send({ type: 'ADD', n: 5 }, { type: 'ADD', n: 6 });
      expect(actor.context).toEqual({ totals: [100, 105, 111] });
      expect(actor.child('sum')?.getSnapshot()).toMatchObject({ context: { total: 111 } });
    },
  },
  {
    name: 'transition logic that throws comes as error',
    machine: machines.invokedReducer,
    async run(actor) {
      await actor.send('BREAK');
      expect(actor.value).toBe('broken');
      expect(actor.notes.lines()).toMatchObject([{ event: { error: 'error: no such sum' } }]);
    },
  },
];

export const logic: readonly Behaviour[] = [...promises, ...callbacks, ...streams];
