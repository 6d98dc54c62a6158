/** The picture of all ranks, one row each: by range, as the distance from the median of all, or over time. */
import { ARROWS, button, colour, element } from './dom.js';
import { byRange } from './heatranges.js';
import { byTime } from './heattimes.js';

/**
 * @typedef {import('./app.js').App} App
 * @typedef {import('./data.js').Log} Log
 * @typedef {import('./data.js').Heap} Heap
 * @typedef {{ columns: string[], label: (name: string) => Node | string, hint: string, what: string, tone: (column:
 *   number, row: number) => { alpha: number, colour: string } | null, said: (column: number, row: number) => string,
 *   exactly: (column: number, row: number) => string }} Picture columns: their names; what: a description for screen
 *   readers
 */

/** @param {HTMLCanvasElement} canvas @param {Picture} picture @param {number} rows */
function draw(canvas, { columns, tone }, rows) {
  const c = canvas.getContext('2d'),
    wide = canvas.width / columns.length,
    high = canvas.height / rows;
  if (!c) return;
  for (let x = 0; x < columns.length; x++)
    for (let y = 0; y < rows; y++) {
      const of = tone(x, y);
      c.globalAlpha = 0.06;
      c.fillStyle = colour('--ink');
      c.fillRect(x * wide, y * high, wide - 1, high - 1);
      if (!of) continue;
      c.globalAlpha = of.alpha;
      c.fillStyle = of.colour;
      c.fillRect(x * wide, y * high, wide - 1, high - 1);
    }
}

const WIDTH = 600; // minimum width of the picture

/** One row per log, in the order of the logs. */
class HeatMap {
  /** @param {App} app @param {Log[]} logs @param {(log: Log) => import('./data.js').Heap | undefined} heapOf */
  constructor(app, logs, heapOf) {
    const ROW = Math.max(11, Math.min(16, Math.round(240 / logs.length))); // CSS pixels: names must stay readable
    this.app = app;
    this.logs = logs;
    this.picture = (app.state.heat === 'time' ? byTime : byRange)(app, logs, heapOf);
    const { columns } = this.picture,
      CELL = Math.max(2, Math.ceil(WIDTH / columns.length)); // whole pixels, so that all columns look alike
    const canvas = /** @type {HTMLCanvasElement} */ (
      element('canvas', {
        class: 'heat',
        'aria-hidden': 'true',
        width: CELL * columns.length,
        height: ROW * logs.length,
      })
    );
    draw(canvas, this.picture, logs.length);
    this.frame = element('i', { class: 'frame', hidden: true });
    this.names = {
      rows: element('div', { class: 'rows' }, ...logs.map(({ short }) => element('span', { title: short }, short))),
      columns: element(
        'div',
        { class: 'columns' },
        ...columns.map((name) => element('span', { title: name }, this.picture.label(name))),
      ),
    };
    for (const name of this.names.rows.children) /** @type {HTMLElement} */ (name).style.height = `${ROW}px`;
    this.said = element(
      'p',
      { class: 'sub', 'data-said': 'heat', role: 'status' },
      `a row a rank, ${this.picture.hint}; arrow keys move, a click or Enter compares`,
    );
    this.cells = element('div', { class: 'cells' }, canvas, this.frame);
    this.grid = element(
      'div',
      {
        class: 'grid',
        role: 'application',
        tabindex: 0,
        'aria-label': `${logs.length} ranks by ${this.picture.what}`,
        onkeydown: (/** @type {KeyboardEvent} */ event) => this.walk(event),
        onfocus: () => this.describe(app.cell ?? { row: 0, column: 0 }),
      },
      this.names.columns,
      this.names.rows,
      this.cells,
    );
    const at = (/** @type {MouseEvent} */ event) => ({
      row: Math.floor((event.offsetY / canvas.clientHeight) * logs.length),
      column: Math.floor((event.offsetX / canvas.clientWidth) * columns.length),
    });
    canvas.addEventListener('mousemove', (event) => this.describe(at(event)));
    canvas.addEventListener('click', (event) => this.choose(at(event)));
    this.root = element(
      'div',
      { class: 'heats', 'data-heat': app.state.heat || 'range' },
      this.turns(),
      this.said,
      this.grid,
    );
  }

  /** Returns the buttons that choose the columns. */
  turns() {
    const { app } = this,
      turn = (/** @type {import('./state.js').State['heat']} */ heat, /** @type {string} */ text) => {
        const made = button(text, `a row a rank, ${text}`, () => this.turn(heat), app.state.heat === heat);
        made.dataset.key = `heat ${heat}`;
        return made;
      };
    return element('div', { class: 'tools turns' }, turn('', 'by range'), turn('time', 'over time'));
  }

  /** Switches to other columns. @param {import('./state.js').State['heat']} heat */
  turn(heat) {
    this.app.cell = null;
    this.app.change({ heat });
  }

  /** Describes a cell and frames it. @param {{ row: number, column: number }} cell */
  describe(cell) {
    const { row, column } = cell,
      { columns, said, exactly } = this.picture,
      log = this.logs[row],
      name = columns[column];
    if (!log || name === undefined) return;
    this.app.cell = cell;
    this.said.textContent = `${log.short}, ${name}: ${said(column, row)}`;
    this.said.title = exactly(column, row);
    this.cells.title = [this.said.textContent, this.said.title].filter(Boolean).join('\n');
    this.frame.hidden = false;
    const share = (/** @type {number} */ part, /** @type {number} */ whole) => `${(100 * part) / whole}%`;
    Object.assign(this.frame.style, {
      left: share(column, columns.length),
      top: share(row, this.logs.length),
      width: share(1, columns.length),
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
    this.describe({
      row: within(row + step[0], this.logs.length),
      column: within(column + step[1], this.picture.columns.length),
    });
    this.frame.scrollIntoView({ block: 'nearest' });
  }
}

/** Returns the picture, or null if no log held anything. @param {App} app @param {Log[]} logs
 *  @param {(log: Log) => import('./data.js').Heap | undefined} heapOf */
export function heatMap(app, logs, heapOf) {
  const made = new HeatMap(app, logs, heapOf);
  return made.picture.columns.length ? made.root : null;
}
