/** Ranks by ranges: how far each rank's peak is from the median of all ranks, by range. */
import { colour, nameText } from './dom.js';
import { amount, exactly } from './format.js';
import { composition, isEstimated, isUnnamed, peakSpan } from './model.js';

/**
 * @typedef {import('./app.js').App} App
 * @typedef {import('./data.js').Log} Log
 * @typedef {import('./data.js').Heap} Heap
 * @typedef {import('./lines.js').Side} Side
 * @typedef {{ name: string, median: number, bytes: (number | null)[], least: boolean[] }} Column bytes, least: by log,
 *   in the order of the rows, with null if bands without a name hold the bytes
 */

/** @param {number[]} values */
export const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1];

/** Returns the names that hold most in any log at its peak, except names of bands that do not name a holder.
 *  @param {Side[]} sides by log @param {number} most maximum number of columns @returns {Column[]} */
export function columnsOf(sides, most) {
  const largest = new Map();
  for (const { held } of sides)
    for (const [name, { bytes }] of held)
      if (bytes && !isUnnamed(name)) largest.set(name, Math.max(largest.get(name) ?? 0, bytes));
  return [...largest]
    .sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))
    .slice(0, most)
    .map(([name]) => {
      const found = sides.map(({ held, more }) => held.get(name) ?? { bytes: 0, least: more }),
        bytes = found.map((of) => (of.least && !of.bytes ? null : of.bytes)),
        least = found.map((of) => of.least ?? false);
      return { name, median: median(bytes.filter((of) => of !== null)), bytes, least };
    });
}

/** Returns all names that a log's heap holds at its peak. @param {App} app @param {Log} log
 *  @param {Heap | undefined} heap @returns {Side} */
const heldBy = (app, log, heap) =>
  heap ? composition(log, heap, app.grouping(), peakSpan(heap)) : { held: new Map(), more: false };

/** @param {Column} of @param {number} row @param {boolean} about whether all of it is estimated */
function saidOf({ bytes, least, median: middle }, row, about) {
  const held = bytes[row],
    bounded = about || least.some(Boolean),
    from = `the median ${amount(middle, false, bounded)}`;
  if (held === null) return `not listed separately; ${from}`;
  return `${amount(held, least[row], about)}, ${amount(held - middle, false, bounded, true)} from ${from}`;
}

const COLUMNS = 40;

/** @param {App} app @param {Log[]} logs @param {(log: Log) => Heap | undefined} heapOf @returns {import('./heatmap.js').Picture} */
export function byRange(app, logs, heapOf) {
  const columns = columnsOf(
      logs.map((log) => heldBy(app, log, heapOf(log))),
      COLUMNS,
    ),
    names = columns.map(({ name }) => name),
    away = columns.flatMap(({ bytes, median: middle }) => bytes.map((held) => Math.abs((held ?? middle) - middle))),
    most = Math.max(1, ...away),
    tones = [colour('--less'), colour('--more')];
  return {
    columns: names,
    label: (name) => nameText(name, names),
    hint: 'a column a range, the largest first',
    what: `${names.length} ranges: how far each is from the median of all at its peak`,
    tone: (column, row) => {
      const { bytes, median: middle } = columns[column],
        held = bytes[row];
      if (held === middle) return null;
      if (held === null) return { alpha: 0.4, colour: colour('--faint') };
      return { alpha: 0.15 + (0.85 * Math.abs(held - middle)) / most, colour: tones[Number(held > middle)] };
    },
    said: (column, row) => {
      const heap = heapOf(logs[row]);
      return saidOf(columns[column], row, heap !== undefined && isEstimated(heap));
    },
    exactly: (column, row) => {
      const { bytes, least } = columns[column],
        held = bytes[row];
      return held === null ? '' : exactly(held, least[row]);
    },
  };
}
