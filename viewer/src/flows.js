/**
 * The effect of a span of time: bytes of the blocks that were allocated in it, freed in it, or allocated in it and
 * still live at its end. The report counts them in slices of the heap's changes.
 * @typedef {import('./columns.js').Flows} Rows
 * @typedef {{ time: Float64Array, changes: number, rows: Rows }} Flows time: each slice's first change, ns; changes:
 *   how many a slice has
 * @typedef {{ first: number, last: number, from: number, to: number, exact: boolean }} Slices the slices that overlap a
 *   span, and their time; exact: their time is exactly that span
 * @typedef {'allocated' | 'freed' | 'kept'} Deed
 */
import { spanAt } from './model.js';

/** @type {Deed[]} */
export const DEEDS = ['allocated', 'freed', 'kept'];

/** Returns true if the flows contain every block of the heap.
 *  @param {{ flows: Flows, endBytes: number, allocations: number }} heap */
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

/** Returns the bytes and blocks of each band. @param {Flows} flows @param {Slices} slices @param {Deed} deed
 *  @param {number} bands */
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

/** Returns how many blocks a group has at a span, or null if that is unknown: the slices have several changes, or the
 *  group's bytes are estimates. @param {import('./model.js').Heap} heap
 *  @param {{ groups: import('./model.js').Group[], groupOfBand: Int32Array }} stack @param {import('./model.js').Group} group
 *  @param {number} span */
export function liveCount(heap, { groups, groupOfBand }, group, span) {
  const { flows, spans } = heap;
  if (!flows || flows.changes !== 1 || !isKnown(heap)) return null;
  const { born, life, band, bytes, blocks } = flows.rows,
    slice = spanAt(flows.time, spans.time[span]),
    wanted = groups.indexOf(group);
  let found = 0,
    held = 0;
  for (let i = 0; i < born.length && born[i] <= slice; i++) {
    if (groupOfBand[band[i]] !== wanted || (life[i] && born[i] + life[i] - 1 <= slice)) continue;
    found += blocks[i];
    held += bytes[i];
  }
  return held === group.bytes[span] ? found : null;
}
