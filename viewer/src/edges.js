/** Stacks bands on both sides of zero: increases above it, decreases below it. */

/**
 * @template {{ bytes: ArrayLike<number> }} Part
 * @param {Part[]} parts with bytes at each place, the innermost first
 * @param {number} places
 * @returns {{ part: Part, below: Float64Array, edge: Float64Array }[]} the outermost first, on both sides; edge:
 *   farther from zero than `below`
 */
export function edges(parts, places) {
  const sums = [new Float64Array(places), new Float64Array(places)];
  const made = parts.flatMap((part) =>
    sums.flatMap((sum, side) => {
      const within = Array.from(part.bytes, (bytes) => (side ? Math.min(0, bytes) : Math.max(0, bytes)));
      if (within.every((bytes) => bytes === 0)) return [];
      const below = sum.slice();
      within.forEach((bytes, i) => {
        sum[i] += bytes;
      });
      return [{ part, below, edge: sum.slice() }];
    }),
  );
  return made.reverse();
}
