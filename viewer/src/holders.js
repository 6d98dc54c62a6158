/** Finds the holders of a heap's peak. */
import { isFold, partOf } from './folds.js';
import { ELSE, bestName, shownName } from './model.js';

/**
 * @typedef {import('./model.js').Log} Log
 * @typedef {import('./model.js').Heap} Heap
 */

/** Returns the estimates by name. Those with the same name are added up. @param {Log} log @param {Heap} heap */
function summed(log, heap) {
  /** @type {import("./lines.js").Side["held"]} */
  const held = new Map();
  for (const of of heap.estimates) {
    const name = shownName(log, of.name),
      same = held.get(name);
    held.set(name, {
      ...of,
      bytes: of.bytes + (same?.bytes ?? 0),
      blocks: of.blocks + (same?.blocks ?? 0),
      error: Math.hypot(of.error ?? 0, same?.error ?? 0),
    });
  }
  return held;
}

/** Returns the holders by best name, as the replay summed them: whole lines, and the largest rows of expanded lines.
 *  @param {Log} log @param {Heap} heap @param {import('./model.js').Grouping} grouping
 *  @returns {import('./lines.js').Side} */
export function holders(log, heap, { depth, unfolded = [] }) {
  if (heap.estimates.length && !depth && !unfolded.length) return { held: summed(log, heap), more: false };
  /** @type {import("./lines.js").Side["held"]} */
  const held = new Map();
  let rest = heap.peakBytes;
  const sampled = new Set(heap.holders.filter((of) => of.atLeast).map((of) => partOf(heap, 'auto', of)?.line));
  const add = (
    /** @type {string} */ name,
    /** @type {{ bytes: number, blocks: number }} */ of,
    /** @type {boolean} */ least,
  ) => {
    const same = held.get(name); // names may repeat
    held.set(name, {
      bytes: of.bytes + (same?.bytes ?? 0),
      blocks: of.blocks + (same?.blocks ?? 0),
      least: least || same?.least,
    });
    rest -= of.bytes;
  };
  const isOpen = (/** @type {import('./folds.js').Line} */ line) =>
    depth > 0 || (isFold(line) && unfolded.includes(line.name));
  for (const line of heap.lines.auto.lines)
    if (line.bytes && !isOpen(line)) add(shownName(log, line.name), line, sampled.has(line));
  for (const of of heap.holders) {
    const part = partOf(heap, 'auto', of);
    if (!part || isOpen(part.line))
      add(shownName(log, (!depth && part?.told) || bestName(log, of)), of, of.atLeast === 1);
  }
  if (rest > 0) held.set(ELSE, { bytes: rest });
  return { held, more: rest > 0 };
}
