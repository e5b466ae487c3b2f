/** `reeve demo`: real processes, a real SIGKILL, and what becomes of it when it is cut off. */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { processGone, startProgram } from '../support/program-run.ts';

let root = '';
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'reeve-demo-'));
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

function demo(dir: string, ...args: string[]) {
  return startProgram([
    'demo',
    '--dir',
    join(root, dir),
    '--files',
    '80',
    '--bytes',
    '64',
    ...args,
  ]);
}

interface Report {
  readonly ok: boolean;
  readonly procedure: string;
  readonly first: { readonly signal: string; readonly committed: number };
  readonly second: { readonly code: number; readonly from: number; readonly begunWith: string };
  readonly checks: readonly { readonly ok: boolean }[];
}

function reportOf(out: string): Report {
  return JSON.parse(out.trimEnd().split('\n').at(-1) ?? '') as Report;
}

describe('reeve demo', () => {
  it('kills the job in the middle, and it goes on where it was', async () => {
    const { code, out, err } = await demo('twice', '--json').ended();
    expect([code, err]).toEqual([0, '']);
    const report = reportOf(out);
    expect(report).toMatchObject({ ok: true, first: { signal: 'SIGKILL' }, second: { code: 0 } });
    expect(report.checks.every(({ ok }) => ok)).toBe(true);
    const { from, begunWith } = report.second;
    expect(from).toBeGreaterThan(0);
    expect(from).toBeGreaterThanOrEqual(report.first.committed);
    expect(out).toContain(
      `continues after batch ${from / 4} of 20; batch ${from / 4 + 1} is begun anew as attempt ` +
        begunWith,
    );
    expect(out).toContain('VERDICT: all is right');
  });

  it('runs again in the same directory, with the same files, as another procedure', async () => {
    const { code, out } = await demo('twice', '--json').ended();
    expect([code, reportOf(out).ok]).toEqual([0, true]);
    expect(out).toContain('as an earlier run left them');
    expect(readdirSync(join(root, 'twice')).sort()).toEqual(['files-80x64', 'store']);
  });
});

describe('the demo, cut off', () => {
  it('asked to end, it ends its job too and says so; the next run is not disturbed', async () => {
    const run = demo('asked');
    await run.printed('batch 2 of 20');
    run.child.kill('SIGTERM');
    const { code, err } = await run.ended();
    expect([code, err]).toEqual([143, 'reeve: the demo was asked to end\n']);
    await processGone(jobOf(run.out()));
    const again = await demo('asked', '--quiet').ended();
    expect(again).toMatchObject({ code: 0, err: '' });
    expect(again.out).toMatch(/^VERDICT: all is right[^\n]*\n$/);
  });

  it('killed, it leaves no process behind, and the next run is not disturbed', async () => {
    const run = demo('killed');
    await run.printed('batch 2 of 20');
    run.child.kill('SIGKILL');
    expect(await run.ended()).toMatchObject({ signal: 'SIGKILL', err: '' });
    await processGone(jobOf(run.out()));
    expect(await demo('killed', '--quiet').ended()).toMatchObject({ code: 0, err: '' });
  });
});

describe('the demo, kept from running', () => {
  it('says in one line who holds the store', async () => {
    // So many files that the first process holds the store for long enough.
    const holder = demo('held', '--files', '10000');
    await holder.printed('begins');
    const { code, out, err } = await demo('held').ended();
    holder.child.kill('SIGTERM');
    expect([code, out]).toEqual([1, '']);
    expect(err).toMatch(new RegExp(`^reeve: STORE_LOCKED: .*${jobOf(holder.out())}.*\n$`));
    await holder.ended();
  });

  it('says in one line that the directory cannot be used', async () => {
    writeFileSync(join(root, 'file'), '');
    const { code, out, err } = await demo('file/below').ended();
    expect([code, out]).toEqual([1, '']);
    expect(err).toMatch(/^reeve: STORE_UNAVAILABLE: [^\n]*ENOTDIR[^\n]*\n$/);
  });
});

function jobOf(out: string): number {
  return Number(/process (\d+) begins/.exec(out)?.[1]);
}
