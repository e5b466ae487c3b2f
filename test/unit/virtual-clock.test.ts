import { expect, test } from 'vitest';
import { assign, createActor, createMachine, SimulatedClock } from 'xstate';
import { type VirtualClock, virtualClock } from '../../src/world/virtual-clock.ts';

/** Arms `run` every `ms`, from within its own callback, until the returned function is called. */
function rearm(clock: VirtualClock, ms: number, run: () => void): () => void {
  let handle: unknown;
  const tick = (): void => {
    handle = clock.setTimeout(tick, ms);
    run();
  };
  handle = clock.setTimeout(tick, ms);
  return () => {
    clock.clearTimeout(handle);
  };
}

test('time: starts at a fixed date, or where it is told to, and stands still', async () => {
  expect(new Date(virtualClock().now()).toISOString()).toBe('2024-01-01T00:00:00.000Z');
  const clock = virtualClock({ start: 5000 });
  await new Promise((resolve) => setImmediate(resolve));
  expect([clock.now(), clock.monotonic()]).toEqual([5000, 0]);
});

test('time: is exactly the due time while an event and its promise jobs run', async () => {
  const clock = virtualClock({ start: 1000 });
  const seen: [string, number, number][] = [];
  const see = (what: string): void => void seen.push([what, clock.now(), clock.monotonic()]);
  clock.setTimeout(() => {
    see('timer');
    void Promise.resolve().then(() => Promise.resolve().then(() => see('job')));
    clock.setImmediate(() => see('immediate'));
  }, 7.9);
  await clock.advance(100);
  expect(seen).toEqual([
    ['timer', 1007, 7],
    ['job', 1007, 7],
    ['immediate', 1007, 7],
  ]);
  expect([clock.now(), clock.monotonic()]).toEqual([1100, 100]);
});

test('time: moves to the end of an empty window, and not at all by settle', async () => {
  const clock = virtualClock({ start: 0 });
  await clock.advance(10 * 365 * 86_400_000);
  expect(clock.now()).toBe(10 * 365 * 86_400_000);
  await clock.settle();
  expect(clock.now()).toBe(10 * 365 * 86_400_000);
});

test('time: a jump of the wall clock moves now() only, and no timer', async () => {
  const clock = virtualClock({ start: 10_000 });
  const fired: number[] = [];
  clock.setTimeout(() => void fired.push(clock.monotonic()), 100);
  clock.jumpWall(-9000);
  expect([clock.now(), clock.monotonic(), clock.next]).toEqual([1000, 0, 1100]);
  clock.jumpWall(500_000);
  await clock.advance(99);
  expect(fired).toEqual([]);
  await clock.advance(1);
  expect(fired).toEqual([100]);
  expect([clock.now(), clock.monotonic()]).toEqual([501_100, 100]);
});

test('timers: one that arms itself every 1000 ms fires 10 times in 10 s', async () => {
  const clock = virtualClock({ start: 0 });
  const fired: number[] = [];
  const stop = rearm(clock, 1000, () => void fired.push(clock.now()));
  await clock.advance(10_000);
  expect(fired).toEqual([1000, 2000, 3000, 4000, 5000, 6000, 7000, 8000, 9000, 10_000]);
  stop();
  await clock.advance(10_000);
  expect(fired).toHaveLength(10);
});

test('timers: XState takes this clock; its SimulatedClock is no discrete-event clock', async () => {
  const machine = createMachine({
    context: { ticks: 0 },
    initial: 'on',
    states: {
      on: {
        after: {
          1000: {
            target: 'on',
            reenter: true,
            actions: assign({ ticks: ({ context }) => context.ticks + 1 }),
          },
        },
      },
    },
  });
  const simulated = new SimulatedClock();
  const shallow = createActor(machine, { clock: simulated }).start();
  simulated.increment(10_000);
  expect(shallow.getSnapshot().context.ticks).toBe(1);

  const clock = virtualClock();
  const actor = createActor(machine, { clock }).start();
  await clock.advance(10_000);
  expect(actor.getSnapshot().context.ticks).toBe(10);
  actor.stop();
  expect(clock.pending).toBe(0);
});

test('timers: due together: in the order of arming, also those armed meanwhile', async () => {
  const clock = virtualClock();
  const order: string[] = [];
  clock.setTimeout(() => {
    order.push('50 early');
    clock.setTimeout(() => void order.push('50+50'), 50);
  }, 50);
  clock.setTimeout(() => void order.push('100 first'), 100);
  clock.setTimeout(() => void order.push('100 second'), 100);
  clock.setTimeout(() => {
    order.push('100 third');
    clock.setTimeout(() => void order.push('100+0'), 0);
  }, 100);
  await clock.advance(100);
  expect(order).toEqual(['50 early', '100 first', '100 second', '100 third', '50+50', '100+0']);
});

test('timers: what one event causes is over before the next of its moment', async () => {
  const clock = virtualClock();
  const order: string[] = [];
  for (const name of ['a', 'b']) {
    clock.setTimeout(() => {
      order.push(name);
      clock.setImmediate(() => {
        order.push(`${name} immediate`);
        void Promise.resolve().then(() => order.push(`${name} job of immediate`));
      });
      clock.setImmediate(() => void order.push(`${name} second immediate`));
      void Promise.resolve().then(() => order.push(`${name} job`));
    }, 10);
  }
  await clock.advance(10);
  const caused = ['', ' job', ' immediate', ' job of immediate', ' second immediate'];
  expect(order).toEqual(['a', 'b'].flatMap((name) => caused.map((part) => name + part)));
});

test('timers: can be cancelled before, and by a callback of the same moment', async () => {
  const clock = virtualClock();
  const fired: string[] = [];
  const before = clock.setTimeout(() => void fired.push('before'), 10);
  clock.setTimeout(() => {
    fired.push('canceller');
    clock.clearTimeout(same);
    clock.clearTimeout(later);
    clock.clearTimeout(own);
  }, 10);
  const own = clock.setTimeout(() => void fired.push('own'), 10);
  const same = clock.setTimeout(() => void fired.push('same'), 10);
  const later = clock.setTimeout(() => void fired.push('later'), 11);
  clock.clearTimeout(before);
  expect(clock.pending).toBe(4);
  await clock.advance(100);
  expect(fired).toEqual(['canceller']);
  expect([clock.pending, clock.next]).toEqual([0, undefined]);
});

test('timers: handles unknown, fired, cancelled or of another clock are ignored', async () => {
  const clock = virtualClock();
  const other = virtualClock();
  const foreign = other.setTimeout(() => {}, 5);
  const fired = clock.setTimeout(() => {}, 0);
  await clock.advance(0);
  let ran = 0;
  clock.setTimeout(() => void ran++, 5);
  for (const handle of [undefined, null, 7, 'x', {}, fired, fired, foreign]) {
    clock.clearTimeout(handle);
  }
  expect([clock.pending, other.pending]).toEqual([1, 1]);
  await clock.advance(5);
  expect(ran).toBe(1);
});

test.each([Number.NaN, -1, 2 ** 31, Infinity, -Infinity])(
  'timers: a delay of %s is refused: Node would fire it after 1 ms',
  (delay) => {
    const clock = virtualClock();
    expect(() => clock.setTimeout(() => {}, delay)).toThrow(/OPTION_INVALID.*a delay is 0 to/);
    expect(clock.pending).toBe(0);
  },
);

test('timers: the longest delay, 2^31 - 1 ms, is not early and not late', async () => {
  const clock = virtualClock({ start: 0 });
  let at = 0;
  clock.setTimeout(() => (at = clock.now()), 2 ** 31 - 1);
  await clock.advance(2 ** 31 - 2);
  expect(at).toBe(0);
  await clock.advance(1);
  expect(at).toBe(2 ** 31 - 1);
});

test('timers: pending counts them and next is the wall time of the earliest', async () => {
  const clock = virtualClock({ start: 100 });
  expect([clock.pending, clock.next]).toEqual([0, undefined]);
  clock.setTimeout(() => {}, 20);
  const first = clock.setTimeout(() => {}, 10);
  expect([clock.pending, clock.next]).toEqual([2, 110]);
  clock.clearTimeout(first);
  expect([clock.pending, clock.next]).toEqual([1, 120]);
  await clock.advance(20);
  expect([clock.pending, clock.next]).toEqual([0, undefined]);
});

test('settle: ends promise chains of any length, nextTicks and immediates', async () => {
  const clock = virtualClock();
  const done: string[] = [];
  let chain = Promise.resolve();
  for (let i = 0; i < 20_000; i++) chain = chain.then(() => {});
  void chain.then(() => {
    done.push('chain');
    process.nextTick(() => {
      done.push('tick');
      clock.setImmediate(() => void Promise.resolve().then(() => done.push('job')));
    });
  });
  await clock.settle();
  expect(done).toEqual(['chain', 'tick', 'job']);
});

test('settle: runs no timer, not even one that is due', async () => {
  const clock = virtualClock();
  let ran = 0;
  clock.setTimeout(() => void ran++, 0);
  await clock.settle();
  expect(ran).toBe(0);
  await clock.advance(0);
  expect(ran).toBe(1);
});

test('settle: runs a long queue of immediates in order', async () => {
  const clock = virtualClock();
  const order: number[] = [];
  for (let i = 0; i < 5000; i++) clock.setImmediate(() => void order.push(i));
  await clock.settle();
  expect(order).toEqual(Array.from({ length: 5000 }, (_, i) => i));
});

test('drives: what a callback throws rejects the drive; the rest is kept', async () => {
  const clock = virtualClock({ start: 0 });
  const fired: number[] = [];
  const at = (): void => void fired.push(clock.now());
  clock.setTimeout(at, 1);
  clock.setTimeout(() => {
    throw new Error('from the timer');
  }, 2);
  clock.setTimeout(at, 2);
  clock.setTimeout(at, 3);
  await expect(clock.advance(10)).rejects.toThrow('from the timer');
  expect([fired, clock.now(), clock.pending]).toEqual([[1], 2, 2]);
  await clock.advance(10);
  expect([fired, clock.now()]).toEqual([[1, 2, 3], 12]);
});

test('drives: what an immediate throws rejects settle; the rest is kept', async () => {
  const clock = virtualClock();
  let ran = 0;
  clock.setImmediate(() => {
    throw new Error('from the immediate');
  });
  clock.setImmediate(() => void ran++);
  await expect(clock.settle()).rejects.toThrow('from the immediate');
  await clock.settle();
  expect(ran).toBe(1);
});

test('drives: asked for together, or in a callback, they follow each other', async () => {
  const clock = virtualClock({ start: 0 });
  const seen: string[] = [];
  clock.setTimeout(() => {
    void clock.advance(5).then(() => seen.push(`inner ends at ${clock.now()}`));
  }, 3);
  rearm(clock, 10, () => void seen.push(`tick at ${clock.now()}`));
  await Promise.all([
    clock.advance(10).then(() => seen.push(`first ends at ${clock.now()}`)),
    clock.settle(),
    clock.advance(10).then(() => seen.push(`second ends at ${clock.now()}`)),
  ]);
  await clock.settle();
  expect(seen).toEqual([
    'tick at 10',
    'first ends at 10',
    'tick at 20',
    'second ends at 20',
    'inner ends at 25',
  ]);
});

test('drives: a timer of 0 ms or an immediate without end is CLOCK_RUNAWAY', async () => {
  const clock = virtualClock({ eventsPerInstantMax: 500 });
  const stop = rearm(clock, 0, () => {});
  await expect(clock.advance(1)).rejects.toMatchObject({ code: 'CLOCK_RUNAWAY' });
  stop();
  const again = (): void => clock.setImmediate(again);
  again();
  await expect(clock.settle()).rejects.toMatchObject({ code: 'CLOCK_RUNAWAY' });
});

test('drives: the limit is one of an instant: many events over time are fine', async () => {
  const clock = virtualClock({ eventsPerInstantMax: 2 });
  let ticks = 0;
  rearm(clock, 1, () => void ticks++);
  await clock.advance(50);
  for (let i = 0; i < 5; i++) {
    clock.setImmediate(() => void ticks++);
    await clock.settle();
  }
  expect(ticks).toBe(55);
});

test('drives: options and lengths of time that are no whole numbers are refused', async () => {
  for (const options of [{ start: Number.NaN }, { seed: 0.5 }, { eventsPerInstantMax: 0 }]) {
    expect(() => virtualClock(options)).toThrow(/OPTION_INVALID/);
  }
  const clock = virtualClock();
  expect(() => clock.jumpWall(Infinity)).toThrow(/OPTION_INVALID/);
  for (const ms of [-1, 0.5, Number.NaN]) {
    expect(() => clock.advance(ms)).toThrow(/OPTION_INVALID/);
  }
});

/** Names of timers that all fall due at 100, armed at 0, 10, .. 90; two of each delay. */
async function orderUnder(seed: number | undefined): Promise<string[]> {
  const clock = virtualClock(seed === undefined ? {} : { seed });
  const order: string[] = [];
  for (let at = 0; at < 100; at += 10) {
    for (const twin of ['a', 'b']) {
      clock.setTimeout(() => void order.push(`${at}${twin}`), 100 - at);
    }
    await clock.advance(10);
  }
  return order;
}

test('a seed orders what is due together differently, in the same way each time', async () => {
  const armed = Array.from({ length: 10 }, (_, i) => [`${i * 10}a`, `${i * 10}b`]).flat();
  expect(await orderUnder(undefined)).toEqual(armed);
  const orders = await Promise.all([1, 2, 3, 4, 5].map(orderUnder));
  expect(new Set(orders.map(String)).size).toBe(5);
  expect(await orderUnder(3)).toEqual(orders[2]);
  for (const order of orders) {
    expect([...order].sort()).toEqual([...armed].sort());
    for (const name of armed.filter((one) => one.endsWith('a'))) {
      expect(order[order.indexOf(name) + 1]).toBe(name.replace('a', 'b'));
    }
  }
});
