/** Shared by the benches: rates, loop delay, and one line per figure. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';

export const pause = (ms: number): Promise<void> => new Promise((r) => setTimeout(r, ms));

/** 99th percentile of the main loop's delay while `work` runs, ms. */
export async function loopDelay<T>(work: () => Promise<T>): Promise<{ p99: number; result: T }> {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const result = await work();
  delay.disable();
  return { p99: delay.percentile(99) / 1e6, result };
}

/** The main loop's own delay on this machine at this moment, ms. */
export async function idleDelay(): Promise<number> {
  return (await loopDelay(() => pause(1_000))).p99;
}

/** Runs `work` in a fresh directory on the disk that the temporary directory is on. */
export async function inDirectory<T>(work: (dir: string) => Promise<T>): Promise<T> {
  const dir = mkdtempSync(join(tmpdir(), 'reeve-bench-'));
  try {
    return await work(dir);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

export function seconds(since: number): number {
  return (performance.now() - since) / 1000;
}

export function line(name: string, figures: Readonly<Record<string, number | string>>): void {
  const parts = Object.entries(figures).map(([key, value]) => {
    const shown = typeof value === 'number' ? round(value) : value;
    return `${key} ${shown}`;
  });
  console.log(`${name.padEnd(34)} ${parts.join('   ')}`);
}

function round(value: number): string {
  if (value >= 1000) return Math.round(value).toLocaleString('en');
  return value >= 10 ? value.toFixed(1) : value.toFixed(2);
}

export function percentile(values: readonly number[], p: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * p))] ?? NaN;
}
