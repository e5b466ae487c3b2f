/** The contract: what XState does with a machine, and the runtime therefore has to do too. */
import type { Behaviour } from './actor-driver.ts';
import { documentation } from './actor-documentation.ts';
import { edges } from './actor-edges.ts';
import { errors } from './actor-errors.ts';
import { family } from './actor-family.ts';
import { logic } from './actor-logic.ts';
import { reading } from './actor-reading.ts';
import { spawned } from './actor-spawn.ts';
import { states } from './actor-states.ts';
import { steps } from './actor-steps.ts';
import { time } from './actor-time.ts';

export const behaviours: readonly Behaviour[] = [
  ...states,
  ...steps,
  ...time,
  ...logic,
  ...family,
  ...spawned,
  ...errors,
  ...reading,
  ...edges,
  ...documentation,
];
