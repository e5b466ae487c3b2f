/** How the end of a task reaches its machine: as XState's `done` or `error` of that child. */
import type { EventObject } from 'xstate';
import { assertTaskOutput, type DeclaredTask } from '../../model/declare-task.ts';
import { plainError } from './births.ts';
import type { TaskEndedEnvelope } from './envelope.ts';
import { doneActorEvent, errorActorEvent } from '../interpreter/internals.ts';
import type { StoredChild } from '../records/row.ts';

/** The event by which a machine hears of its task's end. Only a valid success is a `done` (L5). */
export function taskEvent(
  child: StoredChild,
  { outcome }: TaskEndedEnvelope,
  task: DeclaredTask | undefined,
): EventObject {
  switch (outcome.status) {
    case 'success':
      try {
        if (task !== undefined) assertTaskOutput(task, outcome.output);
        return doneActorEvent(child.id, outcome.output);
      } catch (error) {
        return errorActorEvent(child.id, plainError(error));
      }
    case 'cancelled':
      return errorActorEvent(child.id, {
        name: 'ReeveError',
        code: 'CANCELLED',
        message: 'CANCELLED: the task was cancelled',
      });
    default:
      return errorActorEvent(child.id, outcome.error);
  }
}
