import { expect, it } from 'vitest';
import { Alarm } from '../../src/threads/alarm.ts';
import { virtualClock } from '../../src/world/virtual-clock.ts';

it('holds one callback: set anew, the one before does not ring; cleared, none does', async () => {
  const clock = virtualClock();
  const alarm = new Alarm(clock);
  const rung: string[] = [];
  const ring = (name: string) => (): void => {
    rung.push(`${name} at ${clock.monotonic()}, set ${alarm.isSet}`);
  };
  alarm.clear();
  alarm.set(10, ring('a'));
  alarm.set(20, ring('b'));
  expect([alarm.isSet, clock.pending]).toEqual([true, 1]);
  await clock.advance(20);
  expect(rung).toEqual(['b at 20, set false']);
  alarm.set(5, ring('c'));
  alarm.clear();
  await clock.advance(50);
  expect(rung).toHaveLength(1);
  expect(clock.pending).toBe(0);
});

it('may be set again while it rings', async () => {
  const clock = virtualClock();
  const alarm = new Alarm(clock);
  let rings = 0;
  const ring = (): void => {
    if (++rings < 3) alarm.set(1, ring);
  };
  alarm.set(1, ring);
  await clock.advance(10);
  expect(rings).toBe(3);
});
