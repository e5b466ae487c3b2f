/** The runtime as a process among others: killed, asked to end, started twice. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { inDirectory, start } from '../support/runtime-processes.ts';

const KILLS = 8;
const COUNTERS = 4;

test('C84 killed at arbitrary moments: nothing acknowledged is lost, nothing applied twice', async () => {
  await inDirectory(async (dir) => {
    const acked = new Map<number, number>();
    for (let kill = 0; kill < KILLS; kill++) {
      const program = start(dir, 'run', String(COUNTERS));
      await program.line('ack');
      // Another moment each time: between a few and a few hundred commits later.
      await new Promise((resolve) => setTimeout(resolve, 20 + kill * 37));
      program.process.kill('SIGKILL');
      await program.ended;
      for (const text of program.lines) {
        const [word, i, n] = text.split(' ');
        if (word === 'ack') acked.set(Number(i), Math.max(acked.get(Number(i)) ?? 0, Number(n)));
      }
    }
    const program = start(dir, 'report', String(COUNTERS));
    await program.line('closed');
    expect(await program.ended).toMatchObject({ code: 0 });
    for (const text of program.lines.filter((own) => own.startsWith('counter'))) {
      const [, i = 0, sum = 0, seen = 0] = text.split(' ').map(Number);
      expect(seen).toBeGreaterThanOrEqual(acked.get(i) ?? 0);
      // 1 + 2 + ... + seen: no number is missing, none was added twice.
      expect(sum).toBe((seen * (seen + 1)) / 2);
    }
    expectEffects(readFileSync(join(dir, 'effects.txt'), 'utf8'), program.lines);
  });
});

/** Every addition had its effect, under one key, and no more often than the kills explain. */
function expectEffects(text: string, lines: readonly string[]): void {
  const runs = new Map<string, number>();
  for (const key of text.trim().split('\n')) runs.set(key, (runs.get(key) ?? 0) + 1);
  const seen = lines
    .filter((own) => own.startsWith('counter'))
    .reduce((sum, own) => sum + Number(own.split(' ')[3]), 0);
  expect(runs.size).toBe(seen);
  expect(Math.max(...runs.values())).toBeLessThanOrEqual(1 + KILLS);
  const keys = [...runs.keys()].map((run) => run.split(' ')[0]);
  expect(new Set(keys).size).toBe(keys.length);
}

test('SIGTERM lets running effects settle and ends with 143; they do not run again', async () => {
  await inDirectory(async (dir) => {
    const program = start(dir, 'sleep');
    await program.line('asleep');
    program.process.kill('SIGTERM');
    expect(await program.ended).toMatchObject({ code: 143 });
    const effects = (): string => readFileSync(join(dir, 'effects.txt'), 'utf8');
    expect(effects()).toBe('slow\n');
    const again = start(dir, 'report');
    await again.line('closed');
    await again.ended;
    expect(effects()).toBe('slow\n');
  });
});

test('a second process on the same directory is refused by the name of the owner', async () => {
  await inDirectory(async (dir) => {
    const first = start(dir, 'idle');
    await first.line('epoch 1');
    const second = start(dir, 'idle');
    expect((await second.ended).code).not.toBe(0);
    const message = second.errors.join('\n');
    expect(message).toContain('STORE_LOCKED');
    expect(message).toContain(String(first.process.pid));
    first.process.kill('SIGKILL');
    await first.ended;
    const third = start(dir, 'report');
    expect(await third.line('epoch')).toBe('epoch 2');
    await third.ended;
  });
});

test('a commit whose outcome is unknown ends the process with 74; a replay is right', async () => {
  await inDirectory(async (dir) => {
    const program = start(dir, 'run', '1');
    await program.line('ack 0 3');
    program.process.kill('SIGUSR2');
    expect((await program.ended).code).toBe(74);
    const acked = program.lines.filter((text) => text.startsWith('ack')).length;
    const again = start(dir, 'report', '1');
    await again.line('closed');
    const [, , sum = 0, seen = 0] = (await again.line('counter 0')).split(' ').map(Number);
    expect(seen).toBeGreaterThanOrEqual(acked);
    expect(sum).toBe((seen * (seen + 1)) / 2);
    expect(existsSync(join(dir, 'store'))).toBe(true);
  });
});
