/** Measuring for the store bench: percentiles, loop delay, the bare disk. */
import { closeSync, fdatasyncSync, fsyncSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';

export interface Spread {
  readonly count: number;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

export function spreadOf(samples: readonly number[]): Spread {
  const sorted = Float64Array.from(samples).sort();
  const at = (part: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? NaN;
  return { count: sorted.length, p50: at(0.5), p99: at(0.99), max: at(1) };
}

export function ms(value: number): string {
  return value.toFixed(value < 10 ? 2 : 1);
}

export function tell(spread: Spread): string {
  return `p50 ${ms(spread.p50)} p99 ${ms(spread.p99)} max ${ms(spread.max)} ms`;
}

/** Runs `work` and returns its result with the p99 of the main loop's delay in ms meanwhile. */
export async function withLoopDelay<T>(work: () => Promise<T>): Promise<[T, number]> {
  const histogram = monitorEventLoopDelay({ resolution: 1 });
  histogram.enable();
  const result = await work();
  histogram.disable();
  // The timer's own millisecond is not a delay.
  return [result, Math.max(0, histogram.percentile(99) / 1e6 - 1)];
}

/** p50 in ms of one write and sync, over bytes that exist already and past the end of the file. */
export function measureDisk(
  dir: string,
  bytes: number,
): Record<'fdatasync' | 'fsync' | 'growing', number> {
  const path = join(dir, 'disk-probe');
  const page = Buffer.alloc(bytes, 7);
  const fd = openSync(path, 'w');
  try {
    const rounds = Math.max(40, Math.min(400, Math.floor((16 << 20) / bytes)));
    writeSync(fd, Buffer.alloc(bytes * rounds), 0, bytes * rounds, 0);
    fsyncSync(fd);
    const time = (sync: (fd: number) => void, from: number): number => {
      const samples: number[] = [];
      for (let i = 0; i < rounds; i++) {
        const began = performance.now();
        writeSync(fd, page, 0, bytes, from + i * bytes);
        sync(fd);
        samples.push(performance.now() - began);
      }
      return spreadOf(samples).p50;
    };
    return {
      fdatasync: time(fdatasyncSync, 0),
      fsync: time(fsyncSync, 0),
      growing: time(fsyncSync, bytes * rounds),
    };
  } finally {
    closeSync(fd);
    rmSync(path);
  }
}
