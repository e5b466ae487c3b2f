/** Machines in which something throws. */
import { assign, fromCallback, fromPromise, sendTo, setup } from 'xstate';
import type { Stage } from './actor-driver.ts';
import { note } from './actor-transcript.ts';

function fall(what: string): never {
  throw new Error(`${what} fell`);
}

/** One event for each place where a machine's own pure code may throw. */
export function throwing({ notes }: Stage) {
  return setup({
    types: {} as { context: { n: number } },
    actors: {
      promise: fromPromise<string, number>(({ input }) => Promise.resolve(`got ${input}`)),
      rejecting: fromPromise<string>(() => Promise.reject(new Error('promise fell'))),
      callback: fromCallback(() => fall('callback')),
    },
    actions: {
      note: notes.of('root'),
      fall: assign({ n: () => fall('assign') }),
      fallDynamic: (_, params: { n: number }) => {
        notes.say('root', `called with ${params.n}`);
      },
    },
    guards: { fall: () => fall('guard') },
    delays: { fall: () => fall('delay') },
  }).createMachine({
    context: { n: 0 },
    initial: 'fine',
    states: {
      fine: {
        after: { 500: { actions: note('fine for 500') } },
        on: {
          GUARD: { guard: 'fall', target: 'other' },
          GUARD_SECOND: [
            { guard: () => false, target: 'other' },
            { guard: 'fall', target: 'other' },
            { target: 'other' },
          ],
          ASSIGN: { actions: ['fall', note('behind')], target: 'other' },
          PARAMS: { actions: { type: 'fallDynamic', params: () => fall('params') } },
          SEND_TO: { actions: sendTo('nobody', { type: 'HELLO' }) },
          ENTRY: 'fallingEntry',
          EXIT: 'fallingExit',
          DELAY: 'fallingDelay',
          OUTPUT: 'fallingOutput',
          INPUT: 'fallingInput',
          REJECT: 'rejecting',
          CALLBACK: 'callback',
          HANDLED: 'handled',
        },
      },
      other: { entry: note('+other') },
      fallingEntry: { entry: 'fall' },
      fallingExit: { exit: 'fall', on: { OUT: 'other' } },
      fallingDelay: { after: { fall: 'other' } },
      fallingOutput: { type: 'final', output: () => fall('output') },
      fallingInput: { invoke: { id: 'p', src: 'promise', input: () => fall('input') } },
      rejecting: { invoke: { id: 'r', src: 'rejecting' } },
      callback: { invoke: { id: 'c', src: 'callback' } },
      handled: {
        invoke: { id: 'c', src: 'callback', onError: { target: 'other', actions: note('error') } },
      },
    },
  });
}

export function fallingAtTheStart({ notes }: Stage) {
  return setup({
    types: {} as { context: { n: number } },
    actions: { note: notes.of('root') },
  }).createMachine({
    context: { n: 0 },
    entry: assign({ n: () => fall('entry') }),
    on: { GO: { actions: note('go') } },
  });
}

export function fallingContext({ notes }: Stage) {
  return setup({
    types: {} as { context: { n: number } },
    actions: { note: notes.of('root') },
  }).createMachine({
    context: () => fall('context'),
    entry: note('+root'),
  });
}
