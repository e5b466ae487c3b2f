/** Two machines with one id, as versions of one would be. */
import { createMachine } from 'xstate';

export const first = createMachine({ id: 'same', initial: 'a', states: { a: {} } });
export const second = createMachine({ id: 'same', initial: 'b', states: { b: {} } });
