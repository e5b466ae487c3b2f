/** A worker module that throws while it is loaded. */
export function never(): void {
  // Never reached: the module does not load.
}

throw Object.assign(new Error('no licence'), { code: 'NO_LICENCE' });
