/**
 * Stands in for a child's logic while its parent is planned: an actor that does nothing. The real
 * child is started by the runtime after the commit.
 */
import type { AnyActorLogic } from 'xstate';

interface StandInSnapshot {
  readonly status: 'active';
  readonly output: undefined;
  readonly error: undefined;
  readonly input: unknown;
}

export const standIn = {
  transition: (snapshot: StandInSnapshot) => snapshot,
  getInitialSnapshot: (_scope: unknown, input: unknown): StandInSnapshot => ({
    status: 'active',
    output: undefined,
    error: undefined,
    input,
  }),
  getPersistedSnapshot: (snapshot: StandInSnapshot) => snapshot,
  restoreSnapshot: (snapshot: StandInSnapshot) => snapshot,
} as unknown as AnyActorLogic;
