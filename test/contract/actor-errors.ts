/** Behaviours when a machine's own code throws. Effects that throw: differences.test.ts, D2. */
import { expect } from 'vitest';
import type { Behaviour } from './actor-driver.ts';
import * as machines from './machines-errors.ts';

/** The event `type` ends the actor with an error whose message says `what`. */
function ends(name: string, type: string, what: string, value: unknown): Behaviour {
  return {
    name,
    machine: machines.throwing,
    async run(actor) {
      await actor.send(type);
      expect(actor.snapshot.status).toBe('error');
      expect(actor.value).toEqual(value);
      expect((actor.snapshot.error as Error).message).toContain(what);
      expect(actor.notes.seen().at(-1)).toContain(what);
      await actor.send('HANDLED');
      await actor.advance(1000);
      expect(actor.value).toEqual(value);
      expect(actor.said()).not.toContain('fine for 500');
    },
  };
}

export const errors: readonly Behaviour[] = [
  ends('a guard that throws ends the actor with an error', 'GUARD', 'guard fell', 'fine'),
  ends('so does one further down a list', 'GUARD_SECOND', 'guard fell', 'fine'),
  ends('an assign that throws ends the actor in the state it was in', 'ASSIGN', 'assign', 'fine'),
  ends('params that throw end the actor', 'PARAMS', 'params fell', 'fine'),
  ends('an assign in entry that throws ends the actor before the state', 'ENTRY', 'assign', 'fine'),
  ends('a delay that throws ends the actor', 'DELAY', 'delay fell', 'fine'),
  ends('the input of an invoke that throws ends the actor', 'INPUT', 'input fell', 'fine'),
  ends('sendTo to a child that is not there ends the actor', 'SEND_TO', 'nobody', 'fine'),
  ends('a rejected promise without onError ends the actor', 'REJECT', 'promise', 'rejecting'),
  ends('a callback that throws without onError ends the actor', 'CALLBACK', 'callback', 'callback'),
  {
    name: 'an output that throws ends the actor with an error',
    machine: machines.throwing,
    async run(actor) {
      await actor.send('OUTPUT');
      expect(actor.snapshot.status).toBe('error');
    },
  },
  {
    name: 'an assign in exit that throws leaves the actor in the state it could not leave',
    machine: machines.throwing,
    async run(actor) {
      await actor.send('EXIT');
      expect(actor.value).toBe('fallingExit');
      await actor.send('OUT');
      expect(actor.snapshot).toMatchObject({ status: 'error', value: 'fallingExit' });
      expect(actor.said()).not.toContain('+other');
    },
  },
  {
    name: 'a callback that throws at once comes as error where there is an onError',
    machine: machines.throwing,
    async run(actor) {
      await actor.send('HANDLED');
      expect(actor.value).toBe('other');
      expect(actor.notes.lines()).toMatchObject([
        { what: 'error', event: { type: 'xstate.error.actor.c', error: 'error: callback fell' } },
        { what: '+other' },
      ]);
    },
  },
  {
    name: 'a machine that throws in its first step is an actor with an error',
    machine: machines.fallingAtTheStart,
    async run(actor) {
      expect(actor.snapshot.status).toBe('error');
      expect(actor.notes.seen().at(-1)).toBe('error: entry fell');
      await actor.send('GO');
      expect(actor.said()).not.toContain('go');
    },
  },
  {
    name: 'a context factory that throws makes an actor with an error',
    machine: machines.fallingContext,
    run(actor) {
      expect(actor.snapshot.status).toBe('error');
      expect(actor.said()).toEqual([]);
    },
  },
];
