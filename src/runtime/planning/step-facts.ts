import type { EventObject } from 'xstate';

/** What a step is about, beside the machine's decision. */
export interface StepFacts {
  readonly event: EventObject;
  /** Id of the procedure that caused it; absent for the outside, timers and tasks. */
  readonly source?: string | undefined;
  readonly started?: true;
  /** An operator cancelled the procedure. */
  readonly cancelled?: true;
}
