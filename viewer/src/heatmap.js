/** Ranks and ranges in one picture: how far each rank's peak is from the median of all, by range. */
import { colour, element } from './dom.js';
import { amount, exactly } from './format.js';
import { composition, isEstimated, isUnnamed, peakSpan } from './model.js';

/**
 * @typedef {import('./app.js').App} App
 * @typedef {import('./data.js').Log} Log
 * @typedef {import('./lines.js').Side} Side
 * @typedef {{ name: string, median: number, bytes: (number | null)[], least: boolean[] }} Column  by log, in the order of the
 *   rows; null: not told apart from what else it held
 */

/** @param {number[]} values */
export const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1];

/** The names that hold most in any log at its peak; bands that do not say whose they are tell nothing.
 *  @param {Side[]} sides by log @param {number} most columns at most @returns {Column[]} */
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

/** Of a log's heap at its peak, all names. @param {App} app @param {Log} log @param {import('./data.js').Heap | undefined} heap
 *  @returns {Side} */
const heldBy = (app, log, heap) =>
  heap ? composition(log, heap, app.grouping(), peakSpan(heap)) : { held: new Map(), more: false };

/** @param {HTMLCanvasElement} canvas @param {Column[]} columns @param {number} rows */
function draw(canvas, columns, rows) {
  const c = canvas.getContext('2d'),
    away = columns.flatMap(({ bytes, median: middle }) => bytes.map((held) => Math.abs((held ?? middle) - middle))),
    most = Math.max(1, ...away);
  if (!c) return;
  const wide = canvas.width / columns.length,
    high = canvas.height / rows,
    tones = [colour('--less'), colour('--more')];
  columns.forEach(({ bytes, median: middle }, x) =>
    bytes.forEach((held, y) => {
      c.globalAlpha = 0.06;
      c.fillStyle = colour('--ink');
      c.fillRect(x * wide, y * high, wide - 1, high - 1);
      if (held === middle) return;
      c.globalAlpha = held === null ? 0.4 : 0.15 + (0.85 * Math.abs(held - middle)) / most;
      c.fillStyle = held === null ? colour('--faint') : tones[Number(held > middle)];
      c.fillRect(x * wide, y * high, wide - 1, high - 1);
    }),
  );
}

/** @param {Column} of @param {number} row @param {boolean} about whether all of it is estimated */
function saidOf({ bytes, least, median: middle }, row, about) {
  const held = bytes[row],
    bounded = about || least.some(Boolean),
    from = `the median ${amount(middle, false, bounded)}`;
  if (held === null) return `not told apart; ${from}`;
  return `${amount(held, least[row], about)}, ${amount(held - middle, false, bounded, true)} from ${from}`;
}

/** A row a log, in their order, a column a range. @param {App} app @param {Log[]} logs
 *  @param {(log: Log) => import('./data.js').Heap | undefined} heapOf */
export function heatMap(app, logs, heapOf) {
  const COLUMNS = 40,
    ROW = Math.max(3, Math.min(12, Math.round(240 / logs.length))),
    columns = columnsOf(
      logs.map((log) => heldBy(app, log, heapOf(log))),
      COLUMNS,
    );
  const canvas = /** @type {HTMLCanvasElement} */ (
    element('canvas', {
      class: 'heat',
      role: 'img',
      width: 1200,
      height: 2 * ROW * logs.length,
      'aria-label': `${logs.length} ranks by ${columns.length} ranges: how far each is from the median of all at its peak`,
    })
  );
  const said = element('p', { class: 'sub', 'data-said': 'heat' }, 'a row a rank, a column a range, the largest first');
  /** @param {MouseEvent} event */
  const at = (event) => ({
    row: Math.floor((event.offsetY / canvas.clientHeight) * logs.length),
    column: Math.floor((event.offsetX / canvas.clientWidth) * columns.length),
  });
  canvas.addEventListener('mousemove', (event) => {
    const { row, column } = at(event),
      log = logs[row],
      of = columns[column];
    if (!log || !of) return;
    const held = of.bytes[row],
      heap = heapOf(log);
    said.textContent = `${log.short}, ${of.name}: ${saidOf(of, row, heap !== undefined && isEstimated(heap))}`;
    said.title = held === null ? '' : exactly(held, of.least[row]);
  });
  canvas.addEventListener('click', (event) => {
    const log = logs[at(event).row];
    if (log && log.index !== app.state.a) app.choose('b', log.index);
  });
  draw(canvas, columns, logs.length);
  return element('div', { class: 'heats' }, said, canvas);
}
