/** The one door to chance. */
export const systemRandom = (): number => Math.random();
