/** Items of a piece; sorting one takes well below a millisecond. */
const PIECE_ITEMS = 1024;
/** Items looked at for each piece, to find where the pieces should meet. */
const SAMPLES_PER_PIECE = 8;

/**
 * Sorts many items without holding the thread: yields sorted pieces that follow each other in
 * order, and empty ones where the work may pause.
 */
export function* sortInPieces<T>(
  items: readonly T[],
  compare: (a: T, b: T) => number,
): Generator<T[]> {
  const pivots = pivotsOf(items, compare);
  const pieces: T[][] = Array.from({ length: pivots.length + 1 }, () => []);
  for (const [i, item] of items.entries()) {
    pieces[placeAmong(pivots, item, compare)]?.push(item);
    if (i % PIECE_ITEMS === PIECE_ITEMS - 1) yield [];
  }
  for (const piece of pieces) yield piece.sort(compare);
}

/** Items in order that part the others into pieces of about the same size. */
function pivotsOf<T>(items: readonly T[], compare: (a: T, b: T) => number): T[] {
  const count = Math.floor(items.length / PIECE_ITEMS);
  const step = Math.max(1, Math.floor(items.length / (count * SAMPLES_PER_PIECE || 1)));
  if (count === 0) return [];
  const samples = items.filter((_, i) => i % step === 0).sort(compare);
  return samples.filter((_, i) => i % SAMPLES_PER_PIECE === SAMPLES_PER_PIECE - 1).slice(0, count);
}

/** How many pivots are not behind `item`. */
function placeAmong<T>(pivots: readonly T[], item: T, compare: (a: T, b: T) => number): number {
  let low = 0;
  let high = pivots.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (compare(pivots[middle] as T, item) <= 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
