/**
 * A program under test: a runtime on the SQLite store, told by its standard input and telling what
 * it did on its standard output. Run as `node --import tsx runtime-program.ts <dir> <mode>`.
 *
 * Counters take an `ADD`, keep the sum, and have an effect that appends its key to a file. `ack n`
 * is printed when the send of number n is durable.
 */
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { assign, setup } from 'xstate';
import { createRuntime, effectKey, type Runtime } from '../../src/runtime/index.ts';
import { ReeveError } from '../../src/model/errors.ts';
import type { Store } from '../../src/store/port.ts';
import { sqliteStore } from '../../src/store/sqlite-store.ts';
import { closeOnSignals } from '../../src/world/process-signals.ts';

const [dir = '', mode = 'run', countText = '4'] = process.argv.slice(2);
const say = (text: string): void => {
  process.stdout.write(`${text}\n`);
};

export const counter = setup({
  types: {} as { context: { sum: number; seen: number }; events: { type: 'ADD'; n: number } },
  actions: {
    write: (args, params: { n: number }) => {
      appendFileSync(join(dir, 'effects.txt'), `${effectKey(args) ?? ''} ${params.n}\n`);
    },
    slow: async () => {
      await new Promise((resolve) => setTimeout(resolve, 300));
      appendFileSync(join(dir, 'effects.txt'), 'slow\n');
    },
  },
}).createMachine({
  id: 'counter',
  version: '1',
  context: { sum: 0, seen: 0 },
  on: {
    ADD: {
      actions: [
        assign({
          sum: ({ context, event }) => context.sum + event.n,
          seen: ({ context }) => context.seen + 1,
        }),
        { type: 'write', params: ({ event }) => ({ n: event.n }) },
      ],
    },
  },
});

const sleeper = setup({
  actions: {
    slow: async () => {
      await new Promise((resolve) => setTimeout(resolve, 300));
      appendFileSync(join(dir, 'effects.txt'), 'slow\n');
    },
  },
}).createMachine({ id: 'sleeper', version: '1', initial: 'a', states: { a: { entry: 'slow' } } });

const count = Number(countText);
const store = sqliteStore({ dir: join(dir, 'store') });
const runtime = await createRuntime({ machines: [counter, sleeper], store: failingOn('SIGUSR2') });
closeOnSignals(runtime);
say(`epoch ${runtime.state().epoch}`);
if (mode === 'report') await report(runtime);
if (mode === 'sleep') {
  await runtime.spawn(sleeper, { id: 's' });
  say('asleep');
}
if (mode === 'run') await run(runtime);

/** The store; from the signal on a commit is written, but nobody can say so. */
function failingOn(signal: NodeJS.Signals): Store {
  const append = store.append.bind(store);
  process.on(signal, () => {
    store.append = async (epoch, group) => {
      await append(epoch, group);
      throw new ReeveError('STORE_OUTCOME_UNKNOWN', 'the disk did not answer');
    };
  });
  return store;
}

/** Adds 1, 2, 3, ... for ever, each under its number as key; going on where the last life was. */
async function run(own: Runtime): Promise<void> {
  const refs = await Promise.all(
    Array.from({ length: count }, (_, i) => own.spawn(counter, { id: `c${i}` })),
  );
  await Promise.all(
    refs.map(async (ref, i) => {
      for (let n = ref.getSnapshot().context.seen + 1; ; n++) {
        await ref.sendDurable({ type: 'ADD', n }, { key: `${n}` });
        say(`ack ${i} ${n}`);
      }
    }),
  );
}

async function report(own: Runtime): Promise<void> {
  for (let i = 0; i < count; i++) {
    const { sum, seen } = own.get<typeof counter>(`c${i}`)?.getSnapshot().context ?? {
      sum: 0,
      seen: 0,
    };
    say(`counter ${i} ${sum} ${seen}`);
  }
  await own.close();
  say('closed');
}
