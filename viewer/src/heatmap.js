/** Ranks and ranges in one picture: how far each rank's peak is from the median of all, by range. */
import { ARROWS, colour, element, nameText } from './dom.js';
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

const COLUMNS = 40;

/** A row a log, in their order, a column a range. */
class HeatMap {
  /** @param {App} app @param {Log[]} logs @param {(log: Log) => import('./data.js').Heap | undefined} heapOf */
  constructor(app, logs, heapOf) {
    const ROW = Math.max(11, Math.min(16, Math.round(240 / logs.length))); // CSS pixels: a name has to be read
    this.app = app;
    this.logs = logs;
    this.heapOf = heapOf;
    this.columns = columnsOf(
      logs.map((log) => heldBy(app, log, heapOf(log))),
      COLUMNS,
    );
    const canvas = /** @type {HTMLCanvasElement} */ (
      element('canvas', { class: 'heat', 'aria-hidden': 'true', width: 600, height: ROW * logs.length })
    );
    draw(canvas, this.columns, logs.length);
    this.frame = element('i', { class: 'frame', hidden: true });
    this.names = {
      rows: element('div', { class: 'rows' }, ...logs.map(({ short }) => element('span', { title: short }, short))),
      columns: element(
        'div',
        { class: 'columns' },
        ...this.columns.map(({ name }, _, all) =>
          element(
            'span',
            { title: name },
            nameText(
              name,
              all.map((of) => of.name),
            ),
          ),
        ),
      ),
    };
    for (const name of this.names.rows.children) /** @type {HTMLElement} */ (name).style.height = `${ROW}px`;
    this.said = element(
      'p',
      { class: 'sub', 'data-said': 'heat', role: 'status' },
      'a row a rank, a column a range, the largest first; arrow keys move, a click or Enter compares',
    );
    this.cells = element('div', { class: 'cells' }, canvas, this.frame);
    this.grid = element(
      'div',
      {
        class: 'grid',
        role: 'application',
        tabindex: 0,
        'aria-label': `${logs.length} ranks by ${this.columns.length} ranges: how far each is from the median of all at its peak`,
        onkeydown: (/** @type {KeyboardEvent} */ event) => this.walk(event),
        onfocus: () => this.tell(app.cell ?? { row: 0, column: 0 }),
      },
      this.names.columns,
      this.names.rows,
      this.cells,
    );
    const at = (/** @type {MouseEvent} */ event) => ({
      row: Math.floor((event.offsetY / canvas.clientHeight) * logs.length),
      column: Math.floor((event.offsetX / canvas.clientWidth) * this.columns.length),
    });
    canvas.addEventListener('mousemove', (event) => this.tell(at(event)));
    canvas.addEventListener('click', (event) => this.choose(at(event)));
    this.root = element('div', { class: 'heats' }, this.said, this.grid);
  }

  /** Says what a cell is, and frames it. @param {{ row: number, column: number }} cell */
  tell(cell) {
    const { row, column } = cell,
      log = this.logs[row],
      of = this.columns[column];
    if (!log || !of) return;
    this.app.cell = cell;
    const held = of.bytes[row],
      heap = this.heapOf(log);
    this.said.textContent = `${log.short}, ${of.name}: ${saidOf(of, row, heap !== undefined && isEstimated(heap))}`;
    this.said.title = held === null ? '' : exactly(held, of.least[row]);
    this.cells.title = [this.said.textContent, this.said.title].filter(Boolean).join('\n');
    this.frame.hidden = false;
    const share = (/** @type {number} */ part, /** @type {number} */ whole) => `${(100 * part) / whole}%`;
    Object.assign(this.frame.style, {
      left: share(column, this.columns.length),
      top: share(row, this.logs.length),
      width: share(1, this.columns.length),
      height: share(1, this.logs.length),
    });
    [...this.names.rows.children].forEach((name, i) => name.classList.toggle('lit', i === row));
    [...this.names.columns.children].forEach((name, i) => name.classList.toggle('lit', i === column));
  }

  /** @param {{ row: number }} cell */
  choose({ row }) {
    const log = this.logs[row];
    if (log && log.index !== this.app.state.a) this.app.choose('b', log.index);
  }

  /** @param {KeyboardEvent} event */
  walk(event) {
    const step = ARROWS[event.key],
      { row, column } = this.app.cell ?? { row: 0, column: 0 },
      within = (/** @type {number} */ at, /** @type {number} */ length) => Math.min(length - 1, Math.max(0, at));
    if (!step && event.key !== 'Enter') return;
    event.preventDefault();
    event.stopPropagation();
    if (!step) return this.choose({ row });
    this.tell({ row: within(row + step[0], this.logs.length), column: within(column + step[1], this.columns.length) });
    this.frame.scrollIntoView({ block: 'nearest' });
  }
}

/** null: no log held anything. @param {App} app @param {Log[]} logs @param {(log: Log) => import('./data.js').Heap | undefined} heapOf */
export function heatMap(app, logs, heapOf) {
  const made = new HeatMap(app, logs, heapOf);
  return made.columns.length ? made.root : null;
}
