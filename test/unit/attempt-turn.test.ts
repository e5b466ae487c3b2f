/** Turns of attempts under any schedule: the laws that hold whatever happens, and when. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { virtualPool } from '../../src/testing/virtual-pool.ts';
import type { VirtualFault } from '../../src/testing/virtual-task.ts';
import { virtualClock } from '../../src/world/virtual-clock.ts';
import { attemptOf, submission } from '../support/task-recorder.ts';

const FAULTS: (VirtualFault | undefined)[] = [
  undefined,
  undefined,
  { kind: 'die-before-start' },
  { kind: 'die', afterMs: 15 },
  { kind: 'hang' },
  { kind: 'lose-answer', deathAfterMs: 30 },
  { kind: 'answer-late', afterMs: 40 },
  { kind: 'answer-twice' },
  { kind: 'answer-for-another' },
];

interface Move {
  readonly do: 'submit' | 'again' | 'cancel' | 'die' | 'wait';
  readonly id: number;
  readonly ms: number;
}

const moves: fc.Arbitrary<Move[]> = fc.array(
  fc.record({
    do: fc.constantFrom<Move['do'][]>('submit', 'submit', 'again', 'cancel', 'die', 'wait', 'wait'),
    id: fc.integer({ min: 1, max: 12 }),
    ms: fc.integer({ min: 0, max: 120 }),
  }),
  { maxLength: 40 },
);

/** Plays the moves and gives everything that was heard and done, in order. */
async function play(script: readonly Move[], faults: readonly number[]): Promise<string[]> {
  const log: string[] = [];
  const clock = virtualClock();
  const pool = virtualPool({
    threads: 2,
    graceMs: 20,
    exitMs: 7,
    deadlineMs: 150,
    fault: (task, run) => FAULTS[faults[(Number(task.attempt) + run) % faults.length] ?? 0],
    tasks: {
      t: {
        *steps(input: number) {
          for (let i = 0; i < 4; i++) {
            log.push(`effect ${input}`);
            yield 13;
          }
          return input;
        },
      },
    },
  });
  const runner = pool.open({ clock, ledger: 'l' });
  const submit = (id: number): void => {
    const hear = (what: string) => (outcome: { status: string }) => {
      log.push(`${what} ${id} ${outcome.status}`);
    };
    runner.submit(submission(id, id), {
      progress: () => undefined,
      ended: hear('ended'),
      late: hear('late'),
    });
  };
  const submitted = new Set<number>();
  for (const move of script) {
    if (move.do === 'wait') await clock.advance(move.ms);
    else if (move.do === 'die') pool.die(attemptOf(move.id));
    else if (move.do === 'cancel') runner.cancel(attemptOf(move.id));
    else if (move.do === 'submit' ? !submitted.has(move.id) : submitted.has(move.id)) {
      submitted.add(move.id);
      if (!log.some((line) => line.startsWith(`ended ${move.id} `))) submit(move.id);
    }
    expect(pool.running.length).toBeLessThanOrEqual(2);
  }
  await clock.advance(10_000);
  log.push(`submitted ${[...submitted].join(' ')}`, `begun ${pool.begun.join(' ')}`);
  expect(clock.pending).toBe(0);
  return log;
}

describe('under any schedule of calls, deaths and faults', () => {
  const input = [
    moves,
    fc.array(fc.nat(FAULTS.length - 1), { minLength: 1, maxLength: 9 }),
  ] as const;

  it('each attempt ends once, begins at most once, and does nothing after its end', async () => {
    await fc.assert(
      fc.asyncProperty(...input, async (script, faults) => {
        const log = await play(script, faults);
        const listed = (word: string): string[] =>
          (log.find((line) => line.startsWith(word)) ?? '').split(' ').slice(1).filter(Boolean);
        const begun = listed('begun');
        expect(new Set(begun).size).toBe(begun.length);
        for (const id of listed('submitted')) {
          const ends = log.filter((line) => line.startsWith(`ended ${id} `));
          expect(ends).toHaveLength(1);
          const lastEffect = log.lastIndexOf(`effect ${id}`);
          expect(lastEffect).toBeLessThan(log.indexOf(ends[0] ?? ''));
          if (!begun.includes(id)) expect(ends[0]).not.toContain('success');
        }
      }),
      { numRuns: 300 },
    );
  });

  it('the same schedule gives the same history', async () => {
    await fc.assert(
      fc.asyncProperty(...input, async (script, faults) => {
        expect(await play(script, faults)).toEqual(await play(script, faults));
      }),
      { numRuns: 50 },
    );
  });
});
