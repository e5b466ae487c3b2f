/** A worker module that never finishes loading. */
await new Promise(() => undefined);

export function never(): void {
  // Never reached.
}
