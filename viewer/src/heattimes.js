/** Ranks over time: the most bytes that each rank held in each slice of the run, on one scale. */
import { colour } from './dom.js';
import { amount, duration, exactly, time } from './format.js';
import { totals } from './lod.js';
import { isEstimated } from './model.js';

/**
 * @typedef {import('./app.js').App} App
 * @typedef {import('./data.js').Log} Log
 * @typedef {import('./data.js').Heap} Heap
 */

/** The same number as in the ranks report. */
const SLICES = 48;

/**
 * Returns for each slice the largest state that began in it, or the state that continued into it. An entry is null if
 * the run had not begun or had ended.
 * @param {Heap | undefined} heap @param {number} duration of its run @param {number} from ns, of its run
 *   @param {number} to
 * @param {number} slices @returns {(number | null)[]}
 */
export function mostOf(heap, duration, from, to, slices) {
  const begins = (/** @type {number} */ i) => from + (i / slices) * (to - from),
    runs = (/** @type {number} */ i) => begins(i + 1) > 0 && begins(i) < Math.max(1, duration),
    held = heap ? totals(heap.spans, from, to, slices) : new Float64Array(slices);
  return Array.from(held, (bytes, i) => (runs(i) ? bytes : null));
}

/** @param {App} app @param {Log[]} logs @param {(log: Log) => Heap | undefined} heapOf @returns {import('./heatmap.js').Picture} */
export function byTime(app, logs, heapOf) {
  const [from, to] = app.extent(logs),
    at = (/** @type {number} */ i) => from + (i / SLICES) * (to - from),
    rows = logs.map((log) => mostOf(heapOf(log), log.duration, from + app.origin(log), to + app.origin(log), SLICES)),
    most = Math.max(1, ...rows.flat().map((bytes) => bytes ?? 0)),
    columns = Array.from({ length: SLICES }, (_, i) => time(at(i), (to - from) / SLICES));
  return {
    columns,
    label: (text) => text,
    hint: `a column a slice of ${duration((to - from) / SLICES)}: the most in it, the fullest ${amount(most, false, false)}`,
    what: `${SLICES} slices of time: the most that each held in it`,
    tone: (column, row) => {
      const bytes = rows[row][column];
      return bytes ? { alpha: 0.05 + (0.95 * bytes) / most, colour: colour('--accent') } : null;
    },
    said: (column, row) => {
      const bytes = rows[row][column],
        heap = heapOf(logs[row]);
      if (bytes === null) return at(column) + app.origin(logs[row]) < 0 ? 'has not begun' : 'has ended';
      return `at most ${amount(bytes, false, heap !== undefined && isEstimated(heap))}`;
    },
    exactly: (column, row) => {
      const bytes = rows[row][column];
      return bytes === null ? '' : exactly(bytes, false);
    },
  };
}
