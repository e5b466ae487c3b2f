/** Lets a process end in good order when it is asked to: the one place that listens to signals. */
import { exitProcess } from './process-exit.ts';

/** What is closed before the process ends; a runtime is one. */
export interface Closable {
  close(): Promise<void>;
}

export interface SignalOptions {
  /** Default: SIGTERM and SIGINT. */
  readonly signals?: readonly NodeJS.Signals[];
}

/**
 * On the first signal closes `closable` (a runtime drains within its option `drainMs`) and ends the
 * process with 128 + the signal's number, as a shell expects; on a second one ends it at once.
 * Returns a function that stops listening.
 */
export function closeOnSignals(closable: Closable, options: SignalOptions = {}): () => void {
  const { signals = ['SIGTERM', 'SIGINT'] } = options;
  let asked = false;
  const onSignal = (_signal: NodeJS.Signals, number: number): void => {
    const end = (): never => exitProcess(128 + number);
    if (asked) end();
    asked = true;
    closable.close().then(end, end);
  };
  for (const signal of signals) process.on(signal, onSignal);
  return () => {
    for (const signal of signals) process.off(signal, onSignal);
  };
}
