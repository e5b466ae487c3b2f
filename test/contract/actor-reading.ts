/** Behaviours of the ref: observers, XState's own helpers, persisted snapshots. */
import { expect } from 'vitest';
import { type AnyMachineSnapshot, createActor, toPromise, waitFor } from 'xstate';
import type { Behaviour } from './actor-driver.ts';
import * as machines from './machines-reading.ts';

const input = { to: 'Lima' };
const STOP = { type: 'STOP', at: 'Panama' };

interface Heard {
  readonly lines: unknown[];
  readonly observer: {
    next(snapshot: AnyMachineSnapshot): void;
    error(error: unknown): void;
    complete(): void;
  };
}

function listen(): Heard {
  const lines: unknown[] = [];
  return {
    lines,
    observer: {
      next: (snapshot) => void lines.push(snapshot.value),
      error: (error) => void lines.push(`error: ${(error as Error).message}`),
      complete: () => void lines.push('complete'),
    },
  };
}

const observers: readonly Behaviour[] = [
  {
    name: 'every observer hears every state from then on; the current one is not repeated',
    inOneProcess: 'observer',
    machine: machines.parcel,
    input,
    async run(actor) {
      const early = listen();
      const late = listen();
      actor.ref.subscribe(early.observer);
      await actor.send('SHIP');
      const lone = actor.ref.subscribe((snapshot) => late.observer.next(snapshot));
      await actor.send('SAIL');
      lone.unsubscribe();
      await actor.send(STOP, 'ARRIVE');
      expect(early.lines).toEqual([
        { moving: 'road' },
        { moving: 'sea' },
        'resting',
        'arrived',
        'complete',
      ]);
      expect(late.lines).toEqual([{ moving: 'sea' }]);
    },
  },
  {
    name: 'who subscribes to a done actor hears that it is complete, and nothing else',
    machine: machines.parcel,
    input,
    async run(actor) {
      await actor.send('SHIP', STOP, 'ARRIVE');
      const late = listen();
      await actor.act(() => void actor.ref.subscribe(late.observer));
      expect(late.lines).toEqual(['complete']);
    },
  },
  {
    name: 'observers hear the error of an actor, also those that come later',
    inOneProcess: 'observer',
    machine: machines.parcel,
    input,
    async run(actor) {
      const early = listen();
      const late = listen();
      await actor.send('SHIP', STOP);
      actor.ref.subscribe(early.observer);
      await actor.send('LOSE');
      await actor.act(() => void actor.ref.subscribe(late.observer));
      expect(early.lines).toEqual(['error: lost']);
      expect(late.lines).toEqual(['error: lost']);
    },
  },
  {
    name: 'an observer may send; the event is handled after the one that is being told of',
    inOneProcess: 'observer',
    machine: machines.parcel,
    input,
    async run(actor) {
      const heard: unknown[] = [];
      actor.ref.subscribe((snapshot: AnyMachineSnapshot) => {
        heard.push(snapshot.value);
        if (snapshot.matches({ moving: 'road' })) actor.ref.send({ type: 'SAIL' });
      });
      await actor.send('SHIP');
      expect(heard).toEqual([{ moving: 'road' }, { moving: 'sea' }]);
    },
  },
  {
    name: 'an observer that unsubscribes while it is being told hears no more',
    inOneProcess: 'observer',
    machine: machines.parcel,
    input,
    async run(actor) {
      const heard: unknown[] = [];
      const subscription = actor.ref.subscribe((snapshot: AnyMachineSnapshot) => {
        heard.push(snapshot.value);
        subscription.unsubscribe();
      });
      await actor.send('SHIP', 'SAIL');
      expect(heard).toEqual([{ moving: 'road' }]);
    },
  },
  {
    name: 'an event emitted by the last step is heard before the actor is complete',
    machine: machines.parcel,
    input,
    async run(actor) {
      await actor.send('SHIP', STOP, 'ARRIVE');
      expect(actor.notes.emitted).toMatchObject([{ event: { type: 'rang' } }]);
      expect(actor.said()).toEqual(['+arrived']);
    },
  },
];

const helpers: readonly Behaviour[] = [
  {
    name: 'waitFor resolves with the first snapshot that fits, also when it fits already',
    inOneProcess: 'observer',
    machine: machines.parcel,
    input,
    async run(actor) {
      const sea = waitFor(actor.ref, (snapshot) => snapshot.matches({ moving: 'sea' }));
      await actor.send('SHIP', 'SAIL', STOP);
      expect((await sea).value).toEqual({ moving: 'sea' });
      const now = await waitFor(actor.ref, (snapshot) => snapshot.value === 'resting');
      expect(now.context).toMatchObject({ stops: ['Panama'] });
    },
  },
  {
    name: 'waitFor rejects when the actor ends without fitting',
    inOneProcess: 'observer',
    machine: machines.parcel,
    input,
    async run(actor) {
      const never = waitFor(actor.ref, (snapshot) => snapshot.matches({ moving: 'sea' })).then(
        () => 'fits',
        (error: unknown) => (error as Error).message,
      );
      await actor.send('SHIP', STOP, 'ARRIVE');
      expect(await never).toMatch(/terminated without satisfying predicate/);
    },
  },
  {
    name: 'toPromise resolves with the output, during and after the life of the actor',
    inOneProcess: 'observer',
    machine: machines.parcel,
    input,
    async run(actor) {
      const during = toPromise(actor.ref);
      await actor.send('SHIP', STOP, 'ARRIVE');
      expect(await during).toEqual({ arrived: 'Lima' });
      expect(await toPromise(actor.ref)).toEqual({ arrived: 'Lima' });
    },
  },
  {
    name: 'toPromise rejects with the actor’s error',
    inOneProcess: 'observer',
    machine: machines.parcel,
    input,
    async run(actor) {
      const failed = toPromise(actor.ref).then(
        () => 'resolved',
        (error: unknown) => (error as Error).message,
      );
      await actor.send('SHIP', STOP, 'LOSE');
      expect(await failed).toBe('lost');
    },
  },
  {
    name: 'a ref has its id and its system; a machine’s snapshot knows its machine',
    machine: machines.parcel,
    input,
    async run(actor) {
      await actor.send('SHIP');
      const customs = actor.child('customs');
      expect([actor.ref.id, customs?.id]).toEqual(['subject', 'customs']);
      expect(typeof actor.ref.sessionId).toBe('string');
      expect(customs?.sessionId).not.toBe(actor.ref.sessionId);
      expect(customs?.system).toBe(actor.ref.system);
      expect(actor.snapshot.machine.id).toBe('parcel');
    },
  },
  {
    name: 'the ref of a child can be sent to and observed from outside',
    inOneProcess: 'ref of a child',
    machine: machines.parcel,
    input,
    async run(actor) {
      await actor.send('SHIP');
      const checks: number[] = [];
      const customs = actor.child('customs');
      customs?.subscribe((snapshot: AnyMachineSnapshot) => {
        checks.push((snapshot.context as { checks: number }).checks);
      });
      await actor.act(() => {
        customs?.send({ type: 'CHECK' });
        customs?.send({ type: 'CHECK' });
      });
      expect(checks).toEqual([1, 2]);
    },
  },
];

const looking: readonly Behaviour[] = [
  {
    name: 'L1 an assign that looks at its own actor finds it as the step before left it',
    machine: machines.looking,
    async run(actor) {
      await actor.sendTogether('SELF', 'SELF', 'SELF');
      expect(actor.context).toMatchObject({ n: 3, seen: [0, 1, 2] });
    },
  },
  {
    name: 'a guard may look at the snapshot of a child',
    machine: machines.looking,
    async run(actor) {
      await actor.send('INC', 'FULL');
      expect(actor.value).toBe('on');
      await actor.send('INC', 'FULL');
      expect(actor.value).toBe('full');
    },
  },
];

const persisted: readonly Behaviour[] = [
  {
    name: 'getPersistedSnapshot is plain data: state, context, history, children with their input',
    inOneProcess: 'live child',
    machine: machines.parcel,
    input,
    async run(actor) {
      await actor.advance(100);
      await actor.send('SHIP', 'SAIL', STOP, 'GO_ON');
      const snapshot = JSON.parse(JSON.stringify(actor.ref.getPersistedSnapshot())) as object;
      expect(snapshot).toMatchObject({
        status: 'active',
        value: { moving: 'sea' },
        context: { to: 'Lima', stops: ['3 kg', 'Panama'] },
        historyValue: { 'parcel.moving.past': [{ id: 'parcel.moving.sea' }] },
        children: {
          customs: {
            src: 'customs',
            snapshot: { status: 'active', value: 'closed', context: { checks: 0 } },
          },
        },
      });
      actor.readData('persisted', snapshot);
    },
  },
  {
    name: 'a plain createActor goes on from a persisted snapshot',
    machine: machines.parcel,
    input,
    async run(actor) {
      await actor.send('SHIP', 'SAIL', STOP);
      const { machine } = actor.snapshot;
      const snapshot = JSON.parse(JSON.stringify(actor.ref.getPersistedSnapshot())) as never;
      const plain = createActor(machine, { snapshot }).start();
      plain.send({ type: 'GO_ON' });
      expect(plain.getSnapshot()).toMatchObject({ value: { moving: 'sea' } });
      plain.stop();
    },
  },
  {
    name: 'getPersistedSnapshot of a done actor holds its output',
    machine: machines.parcel,
    input,
    async run(actor) {
      await actor.send('SHIP', STOP, 'ARRIVE');
      const snapshot = JSON.parse(JSON.stringify(actor.ref.getPersistedSnapshot())) as object;
      expect(snapshot).toMatchObject({ status: 'done', output: { arrived: 'Lima' } });
      actor.readData('persisted', snapshot);
    },
  },
];

export const reading: readonly Behaviour[] = [...observers, ...helpers, ...looking, ...persisted];
