/**
 * `inspect` hears the same events from the runtime as from XState: per actor and per kind the same
 * ones in the same order. The kinds interleave differently, because actions run after the commit,
 * and XState's built-in actions are no effects here, so they are not shown as actions.
 */
import { expect, test } from 'vitest';
import type { ActorRefLike, AnyActorRef, AnyMachineSnapshot, InspectionEvent } from 'xstate';
import { virtualClock } from '../../src/world/virtual-clock.ts';
import { createActorDriver, type Driver, type Stage } from './actor-driver.ts';
import { runtimeDriver } from './actor-runtime-driver.ts';
import { Transcript } from './actor-transcript.ts';
import * as family from './machines-family.ts';
import * as steps from './machines-steps.ts';

type Heard = Record<string, unknown[]>;

/** What the inspector heard, by actor and kind of event. */
async function inspected(
  driver: Driver,
  make: (stage: Stage) => Parameters<Driver['start']>[0],
  events: readonly { type: string }[],
): Promise<Heard> {
  const stage: Stage = { clock: virtualClock(), notes: new Transcript() };
  const heard: Heard = {};
  const inspect = (event: InspectionEvent): void => {
    const line = lineOf(event);
    if (line === undefined) return;
    (heard[`${idOf(event.actorRef)} ${event.type}`] ??= []).push(line);
  };
  const handle = await driver.start(make(stage), stage, { inspect });
  await handle.send(...events);
  const soFar = structuredClone(heard);
  await handle.close();
  return soFar;
}

/** A child procedure is known by its path; its last part is the id that XState gives it. */
function idOf(ref: ActorRefLike): string {
  return (ref as AnyActorRef).id.split('/').at(-1) ?? '';
}

function lineOf(event: InspectionEvent): unknown {
  switch (event.type) {
    case '@xstate.actor':
      return 'actor';
    case '@xstate.event':
      return [event.event.type, event.sourceRef && idOf(event.sourceRef)];
    case '@xstate.action':
      if (event.action.type.startsWith('xstate.')) return undefined;
      return event.action;
    case '@xstate.snapshot':
    case '@xstate.microstep':
      return [event.event.type, (event.snapshot as AnyMachineSnapshot).value];
    default:
      return undefined;
  }
}

test('microsteps, actions and snapshots of one machine', async () => {
  const events = [{ type: 'GO' }, { type: 'UNHEARD_OF' }];
  const heard = await inspected(runtimeDriver, steps.raising, events);
  expect(heard['subject @xstate.microstep']).toHaveLength(5);
  expect(heard).toEqual(await inspected(createActorDriver, steps.raising, events));
});

test('events and snapshots between a machine and its child, with their sources', async () => {
  const events = [{ type: 'WORK' }, { type: 'PASS_ON', what: { type: 'FINISH' } }];
  const heard = await inspected(runtimeDriver, family.employer, events);
  expect(heard['joe @xstate.event']).toEqual([
    ['xstate.init', 'subject'],
    ['JOB', 'subject'],
    ['FINISH', 'subject'],
  ]);
  expect(heard).toEqual(await inspected(createActorDriver, family.employer, events));
});
