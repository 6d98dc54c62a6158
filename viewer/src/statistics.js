/**
 * Statistics of a heap between two instants.
 * @typedef {import('./model.js').Heap} Heap
 */
import { hasAboutPeak, isEstimated, isExact, spanAt } from './model.js';

/**
 * Returns the statistics of a span of time.
 * @param {Heap} heap
 * @param {number} from
 * @param {number} to in the log's time
 */
export function statistics(heap, from, to) {
  const s = heap.spans,
    last = spanAt(s.start, to);
  let before = spanAt(s.start, from);
  if (before >= 0 && s.start[before] === from) before--;
  const level = (/** @type {number} */ span) => (span < 0 ? 0 : s.close[span]),
    start = level(before);
  let max = start,
    min = start,
    allocs = 0,
    frees = 0;
  for (let i = before + 1; i <= last; i++) {
    allocs += s.allocs[i];
    frees += s.frees[i];
    max = Math.max(max, s.max[i]);
    min = Math.min(min, s.min[i]);
  }
  const exact = heap.width === 1 || [before, last].every((i) => i < 0 || isExact(heap, i));
  return {
    length: to - from,
    max,
    min,
    start,
    end: level(last),
    allocs,
    frees,
    exact,
    about: hasAboutPeak(heap),
    sampled: isEstimated(heap),
    width: heap.width,
  };
}
