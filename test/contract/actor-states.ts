/** Behaviours of the tree of states. */
import { expect } from 'vitest';
import type { Behaviour } from './actor-driver.ts';
import * as machines from './machines-states.ts';

const entryAndExit: readonly Behaviour[] = [
  {
    name: 'states are entered from the root down and left from the leaf up',
    machine: machines.nestedStates,
    async run(actor) {
      expect(actor.said()).toEqual(['+root', '+a', '+a1']);
      await actor.send('IN');
      expect(actor.said()).toEqual(['-a1', 'a1 to a2', '+a2']);
      await actor.send('OUT');
      expect(actor.said()).toEqual(['-a2', '-a', 'a to b', '+b', '+b1', '+b2']);
    },
  },
  {
    name: 'a transition without target leaves no state',
    machine: machines.selfTransitions,
    async run(actor) {
      actor.said();
      await actor.send('TARGETLESS');
      expect(actor.said()).toEqual(['targetless']);
      expect(actor.notes.snapshots).toHaveLength(2);
    },
  },
  {
    name: 'a compound state that targets itself leaves its children, itself only with reenter',
    machine: machines.selfTransitions,
    async run(actor) {
      await actor.send('NEXT');
      actor.said();
      await actor.send('SELF');
      expect(actor.said()).toEqual(['-a2', 'self', '+a1']);
      await actor.send('NEXT');
      actor.said();
      await actor.send('SELF_AGAIN');
      expect(actor.said()).toEqual(['-a2', '-a', 'self again', '+a', '+a1']);
    },
  },
  {
    name: 'a transition to a child leaves the parent only with reenter',
    machine: machines.selfTransitions,
    async run(actor) {
      await actor.send('NEXT');
      actor.said();
      await actor.send('DOWN');
      expect(actor.said()).toEqual(['-a2', 'down', '+a1']);
      await actor.send('DOWN_AGAIN');
      expect(actor.said()).toEqual(['-a1', '-a', 'down again', '+a', '+a1']);
    },
  },
  {
    name: 'an atomic state that targets itself is left and entered only with reenter',
    machine: machines.selfTransitions,
    async run(actor) {
      await actor.send('NEXT');
      actor.said();
      await actor.send('LEAF');
      expect(actor.said()).toEqual(['leaf']);
      await actor.send('LEAF_AGAIN');
      expect(actor.said()).toEqual(['-a2', 'leaf again', '+a2']);
    },
  },
];

const parallelAndHistory: readonly Behaviour[] = [
  {
    name: 'parallel regions are entered in order, take one event together, and change alone',
    machine: machines.parallelRegions,
    async run(actor) {
      expect(actor.said()).toEqual(['+one', '+one.off', '+two', '+two.off']);
      await actor.send('BOTH');
      expect(actor.said()).toEqual(['-two.off', '-one.off', 'two moves', '+one.on', '+two.on']);
      expect(actor.value).toEqual({ one: 'on', two: 'on', three: 'idle' });
      await actor.send('BOTH', 'ONE');
      expect(actor.value).toEqual({ one: 'on', two: 'on', three: 'idle' });
    },
  },
  {
    name: 'a transition out of a region into another one re-enters all regions',
    machine: machines.parallelRegions,
    async run(actor) {
      await actor.send('BOTH');
      actor.said();
      await actor.send('CROSS');
      expect(actor.value).toEqual({ one: 'off', two: 'off', three: 'other' });
      expect(actor.said()).toContain('+one.off');
    },
  },
  {
    name: 'a parallel state is done when its last region is; each region says so by itself',
    machine: machines.parallelDone,
    async run(actor) {
      await actor.send('LEFT');
      expect(actor.said()).toEqual(['left done']);
      expect(actor.value).toEqual({ work: { left: 'end', right: 'busy' } });
      await actor.send('RIGHT');
      expect(actor.said()).toEqual(['work done']);
      expect(actor.value).toBe('finished');
    },
  },
  {
    name: 'a final child state raises done of its parent, with output, within the same step',
    machine: machines.nestedDone,
    async run(actor) {
      await actor.send('NEXT');
      expect(actor.said()).toEqual(['inner done', '+end', 'outer done']);
      expect(actor.value).toBe('after');
      expect(actor.context).toEqual({ got: { from: 'outer', got: null } });
      expect(actor.notes.snapshots).toHaveLength(2);
    },
  },
  {
    name: 'shallow history comes back to the child, and to that one’s own beginning',
    machine: (stage) => machines.historyStates(stage, 'shallow'),
    async run(actor) {
      await actor.send('HOME', 'UP', 'UP');
      expect(actor.value).toEqual({ home: { upstairs: 'attic' } });
      await actor.send('LEAVE', 'BACK');
      expect(actor.value).toEqual({ home: { upstairs: 'landing' } });
    },
  },
  {
    name: 'deep history comes back to the leaf',
    machine: (stage) => machines.historyStates(stage, 'deep'),
    async run(actor) {
      await actor.send('HOME', 'UP', 'UP', 'LEAVE');
      actor.said();
      await actor.send('BACK_IN');
      expect(actor.value).toEqual({ home: { upstairs: 'attic' } });
      expect(actor.said()).toEqual(['+upstairs', '+attic']);
    },
  },
  {
    name: 'a history state that was never left leads to its own target',
    machine: (stage) => machines.historyStates(stage, 'deep'),
    async run(actor) {
      await actor.send('BACK');
      expect(actor.value).toEqual({ home: 'garden' });
    },
  },
  {
    name: 'deep history of a parallel state restores every region',
    machine: machines.parallelHistory,
    async run(actor) {
      await actor.send('MUTE', 'SKIP', 'SKIP', 'OFF', 'ON');
      expect(actor.value).toEqual({ player: { sound: 'mute', track: { second: 'middle' } } });
      await actor.send('OFF', 'RESET');
      expect(actor.value).toEqual({ player: { sound: 'loud', track: 'first' } });
      await actor.send('OFF', 'ON');
      expect(actor.value).toEqual({ player: { sound: 'loud', track: 'first' } });
    },
  },
];

const finalAndSelection: readonly Behaviour[] = [
  {
    name: 'a final state of the root ends the actor with the machine’s output',
    machine: machines.finalOutput,
    async run(actor) {
      await actor.send({ type: 'ADD', n: 2 }, { type: 'ADD', n: 3 }, 'END');
      expect(actor.said()).toEqual(['-counting', '+end']);
      expect(actor.snapshot).toMatchObject({
        status: 'done',
        output: { sum: 5, by: 'the final state' },
      });
      expect(actor.notes.seen().slice(-2)).toEqual(['end', 'complete']);
    },
  },
  {
    name: 'an event for a done actor changes nothing and nobody hears of it',
    inOneProcess: 'observer',
    machine: machines.finalOutput,
    async run(actor) {
      await actor.send('END', { type: 'ADD', n: 1 });
      const lines = actor.notes.snapshots.length;
      await actor.send({ type: 'ADD', n: 1 });
      expect(actor.context).toEqual({ sum: 0 });
      expect(actor.notes.snapshots).toHaveLength(lines);
    },
  },
  {
    name: 'the deepest state that has a transition takes it; a wildcard only when nothing else is',
    machine: machines.selection,
    async run(actor) {
      await actor.send('BOTH', 'ROOT', 'mouse.down', 'mouse.up', 'mouse', 'UNHEARD_OF');
      expect(actor.said()).toEqual([
        'a has it',
        'root has it',
        'mouse.down',
        'some mouse',
        'some mouse',
        'anything',
      ]);
    },
  },
  {
    name: 'a wildcard of a deeper state wins over the event’s own name at the root',
    machine: machines.selection,
    async run(actor) {
      await actor.send('STRICT', 'ROOT', 'mouse.down');
      expect(actor.said()).toEqual(['strict has all', 'strict has all']);
    },
  },
  {
    name: 'a forbidden event goes no further up, whether undefined or without a body',
    machine: machines.selection,
    async run(actor) {
      await actor.send('NEVER', 'NOTHING');
      expect(actor.said()).toEqual([]);
      await actor.send('STRICT', 'BOTH');
      expect(actor.said()).toEqual([]);
    },
  },
  {
    name: 'the first transition whose guard holds is taken, and the parent’s when none does',
    machine: machines.selection,
    async run(actor) {
      await actor.send({ type: 'SIZE', n: 500 }, { type: 'SIZE', n: 50 }, { type: 'SIZE', n: 5 });
      expect(actor.said()).toEqual(['huge', 'big', 'root has it']);
    },
  },
  {
    name: 'an event that nobody takes still tells the subscriber the old state',
    machine: machines.parallelDone,
    async run(actor) {
      await actor.send('UNHEARD_OF');
      expect(actor.notes.snapshots).toHaveLength(2);
      expect(actor.said()).toEqual([]);
    },
  },
  {
    name: 'tags, meta, can, hasTag and matches answer on the snapshot',
    machine: machines.described,
    async run(actor) {
      const ask = (): object => {
        const { snapshot } = actor;
        return {
          tags: [...snapshot.tags].sort(),
          meta: snapshot.getMeta(),
          cold: snapshot.hasTag('cold'),
          bright: snapshot.matches('bright'),
          high: snapshot.matches({ bright: 'high' }),
          light: snapshot.can({ type: 'LIGHT' }),
          more: snapshot.can({ type: 'MORE' }),
          dark: snapshot.can({ type: 'DARK' }),
        };
      };
      const dark = ask();
      await actor.send('LIGHT', 'MORE');
      const bright = ask();
      expect(dark).toEqual({
        tags: ['calm', 'cold', 'device'],
        meta: { lamp: { of: 'root' }, 'lamp.dark': { note: 'no light' } },
        cold: true,
        bright: false,
        high: false,
        light: true,
        more: false,
        dark: false,
      });
      expect(bright).toMatchObject({ tags: ['device', 'hot', 'warm'], bright: true, high: true });
      expect(bright).toMatchObject({ light: false, more: false, dark: false });
      actor.read('asked', { dark, bright });
    },
  },
];

export const states: readonly Behaviour[] = [
  ...entryAndExit,
  ...parallelAndHistory,
  ...finalAndSelection,
];
