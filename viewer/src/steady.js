/** Finds the bytes of each band that never change in view. Charts can begin above them. */

/**
 * Returns the fewest bytes that each group holds at the spans of a view.
 * @param {import('./model.js').Group[]} groups @param {number} first span @param {number} last span @returns {number[]}
 */
export const steadyOf = (groups, first, last) =>
  groups.map(({ bytes }) => {
    let least = last < first ? 0 : Infinity;
    for (let i = Math.max(0, first); i <= last; i++) if (bytes[i] < least) least = bytes[i];
    return first < 0 || least === Infinity ? 0 : least; // nothing was held before the first span
  });
