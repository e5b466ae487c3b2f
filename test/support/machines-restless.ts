/** A module that does not come to rest once it is loaded. */
import { createMachine } from 'xstate';

setInterval(() => undefined, 1_000);

export const restless = createMachine({ id: 'restless', initial: 'a', states: { a: {} } });
