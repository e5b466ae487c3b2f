/** Mails per second between procedures: 1,000 rings of three on the SQLite store. */
import { type AnyActorRef, assign, sendTo, setup } from 'xstate';
import { createRuntime } from '../src/runtime/index.ts';
import { sqliteStore } from '../src/store/sqlite-store.ts';
import { idleDelay, inDirectory, line, loopDelay, pause, seconds } from './measure.ts';

const RINGS = 1_000;
const RUN_MS = 5_000;

const member = setup({
  types: {} as {
    context: { next: AnyActorRef | null; seen: number };
    events: { type: 'JOIN'; next: unknown } | { type: 'TOKEN' };
  },
}).createMachine({
  id: 'member',
  version: '1',
  context: { next: null, seen: 0 },
  on: {
    JOIN: { actions: assign({ next: ({ event }) => event.next as AnyActorRef }) },
    TOKEN: {
      actions: [
        assign({ seen: ({ context }) => context.seen + 1 }),
        sendTo(({ context }) => context.next as AnyActorRef, { type: 'TOKEN' }),
      ],
    },
  },
});

await inDirectory(async (dir) => {
  const idle = await idleDelay();
  const runtime = await createRuntime({ machines: [member], store: sqliteStore({ dir }) });
  const spawn = (ring: number, place: string) => runtime.spawn(member, { id: `${ring}-${place}` });
  const rings = await Promise.all(
    Array.from({ length: RINGS }, async (_, ring) => {
      const [a, b, c] = await Promise.all([spawn(ring, 'a'), spawn(ring, 'b'), spawn(ring, 'c')]);
      await Promise.all([
        a.sendDurable({ type: 'JOIN', next: b }),
        b.sendDurable({ type: 'JOIN', next: c }),
        c.sendDurable({ type: 'JOIN', next: a }),
      ]);
      return a;
    }),
  );
  const seen = (): number =>
    rings.reduce((sum, ref) => sum + ref.getSnapshot().context.seen, 0) * 3;
  for (const ref of rings) ref.send({ type: 'TOKEN' });
  await pause(1_000);
  const before = seen();
  const started = performance.now();
  const { p99 } = await loopDelay(() => pause(RUN_MS));
  line('mail ring of three, 1,000 rings', {
    'mails per s': (seen() - before) / seconds(started),
    'loop p99 above idle ms': p99 - idle,
  });
  await runtime.close();
});
