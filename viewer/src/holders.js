/** Finds the holders of a heap's peak. */
import { isFold, partOf } from './folds.js';
import { ELSE, bestName, shownName } from './model.js';

/**
 * @typedef {import('./model.js').Log} Log
 * @typedef {import('./model.js').Heap} Heap
 */

/** Returns the holders by best name, as the replay summed them: whole lines, and the largest rows of expanded lines.
 *  @param {Log} log @param {Heap} heap @param {import('./model.js').Grouping} grouping
 *  @returns {import('./lines.js').Side} */
export function holders(log, heap, { depth, unfolded = [] }) {
  /** @type {import("./lines.js").Side["held"]} */
  const held = new Map();
  let rest = heap.peakBytes;
  const add = (
    /** @type {string} */ name,
    /** @type {{ bytes: number, blocks: number, about: number, error: number }} */ of,
  ) => {
    const same = held.get(name); // names may repeat
    held.set(name, {
      bytes: of.bytes + (same?.bytes ?? 0),
      blocks: of.blocks + (same?.blocks ?? 0),
      about: of.about === 1 || same?.about,
      error: Math.hypot(of.error, same?.error ?? 0),
    });
    rest -= of.bytes;
  };
  const isOpen = (/** @type {import('./folds.js').Line} */ line) =>
    depth > 0 || (isFold(line) && unfolded.includes(line.name));
  for (const line of heap.lines.auto.lines) if (line.bytes && !isOpen(line)) add(shownName(log, line.name), line);
  for (const of of heap.holders) {
    const part = partOf(heap, 'auto', of);
    if (!part || isOpen(part.line)) add(shownName(log, (!depth && part?.ownName) || bestName(log, of)), of);
  }
  if (rest > 0) held.set(ELSE, { bytes: rest });
  return { held, more: rest > 0 };
}
