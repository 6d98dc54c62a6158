/**
 * What a span of time did: bytes of the blocks that came in it, that went in it, and of those that came in it and were
 * still there at its end. The report counts them by slices of the heap's changes. *
 * @typedef {import('./columns.js').Flows} Rows
 * @typedef {{ time: Float64Array, changes: number, rows: Rows }} Flows time: of each slice's first change, ns; changes: in a slice
 * @typedef {{ first: number, last: number, from: number, to: number, exact: boolean }} Slices those that a span touches, and
 *   their own span; exact: it is the one that was asked for
 * @typedef {'allocated' | 'freed' | 'kept'} Deed
 */
import { spanAt } from './model.js';

/** @type {Deed[]} */
export const DEEDS = ['allocated', 'freed', 'kept'];

/** Whether every block of the heap is in it. @param {{ flows: Flows, endBytes: number, allocations: number }} heap */
export function isKnown({ flows: { rows }, endBytes, allocations }) {
  let live = 0,
    births = 0;
  for (let i = 0; i < rows.life.length; i++) {
    births += rows.blocks[i];
    if (!rows.life[i]) live += rows.bytes[i];
  }
  return births > 0 && births === allocations && live === endBytes;
}

/** @param {Flows} flows @param {number} from @param {number} to in the log's time @param {number} end of the run @returns {Slices} */
export function slicesOf({ time, changes }, from, to, end) {
  const exact = changes === 1,
    last = spanAt(time, to),
    at = spanAt(time, from),
    first = exact ? spanAt(time, Math.ceil(from) - 1) + 1 : Math.max(0, at);
  return exact
    ? { first, last, from, to, exact }
    : { first, last, from: time[first] ?? from, to: (time[last + 1] ?? end + 1) - 1, exact };
}

/** By band. @param {Flows} flows @param {Slices} slices @param {Deed} deed @param {number} bands */
export function flowed({ rows }, { first, last }, deed, bands) {
  const bytes = new Float64Array(bands),
    blocks = new Float64Array(bands);
  for (let i = 0; i < rows.born.length; i++) {
    const gone = rows.life[i] ? rows.born[i] + rows.life[i] - 1 : Infinity,
      came = rows.born[i] >= first && rows.born[i] <= last,
      went = gone >= first && gone <= last;
    if (deed === 'allocated' ? !came : deed === 'freed' ? !went : !came || gone <= last) continue;
    bytes[rows.band[i]] += rows.bytes[i];
    blocks[rows.band[i]] += rows.blocks[i];
  }
  return { bytes, blocks };
}
