/**
 * The one door to time. Everything in `src` that waits or asks the time does it through a `Clock`,
 * so that the whole system runs on a virtual clock in tests and in the simulator.
 */

/** Handle of a pending timer; opaque. */
export type TimerHandle = unknown;

export interface Clock {
  /** Wall time in ms since 1970. May jump in either direction. */
  now(): number;
  /** Ms since some fixed moment of this process; never goes back. */
  monotonic(): number;
  /** Runs `run` once after at least `delayMs`; 0 <= delayMs < 2^31. */
  setTimeout(run: () => void, delayMs: number): TimerHandle;
  clearTimeout(handle: TimerHandle): void;
  /** Runs `run` after the current turn and its promise jobs, before any timer that is not due. */
  setImmediate(run: () => void): void;
}

/** The real clock. Its timers keep the process alive, as Node's own do. */
export function systemClock(): Clock {
  return {
    now: () => Date.now(),
    monotonic: () => performance.now(),
    setTimeout: (run, delayMs) => setTimeout(run, delayMs),
    clearTimeout: (handle) => {
      clearTimeout(handle as NodeJS.Timeout);
    },
    setImmediate: (run) => {
      setImmediate(run);
    },
  };
}
