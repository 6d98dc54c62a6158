/** One heap of two runs in one chart: the base class of both kinds, and the overlay of both totals. */
import { colour, element } from './dom.js';
import { amount, exactly } from './format.js';
import { heldAt, spansIn } from './lod.js';
import { hasAboutPeak, peakSpan } from './model.js';
import * as paint from './paint.js';
import { Plot } from './plot.js';
import { pair } from './split.js';

/**
 * @typedef {import('./app.js').App} App
 * @typedef {import('./model.js').Stack} Stack
 */

export class CompareChart {
  /** @param {App} app @param {[Stack, Stack]} stacks @param {number} height @param {string} mode @param {string} said
   *  how to read it */
  constructor(app, stacks, height, mode, said) {
    this.app = app;
    this.stacks = stacks;
    this.height = height;
    this.name = stacks[0].heap.name;
    this.estimated = stacks.some(({ heap }) => hasAboutPeak(heap));
    /** For each run, the span that is drawn in each column. @type {Int32Array[]} */
    this.spans = [];
    /** @type {number[]} */
    this.xs = [];
    /** @type {number | null} where the mouse is */
    this.cursor = null;
    this.canvas = element('div', {
      class: 'plot',
      role: 'img',
      tabindex: 0,
      'aria-label': `${this.name}: A and B, ${mode}`,
    });
    this.legend = element('div', { class: 'legend' });
    this.root = element(
      'section',
      { class: 'chart', 'data-heap': this.name, 'data-mode': mode },
      element('h2', {}, this.name, element('span', { class: 'sub' }, said)),
      pair(app, this.canvas, this.legend),
    );
  }

  measure() {
    const [from, to] = this.app.view;
    const columns = Math.max(50, Math.floor((this.plot?.u.bbox.width ?? 600) / (globalThis.devicePixelRatio || 1)));
    this.spans = this.stacks.map(({ log, heap }) => {
      const origin = this.app.origin(log);
      return spansIn(heap.spans, from + origin, to + origin, columns, this.app.scaleOf(origin));
    });
    const { at } = this.app.scaleOf(0);
    this.xs = Array.from({ length: columns }, (_, i) => at(i / columns));
  }

  /** Returns when a run began and ended on the axis. @param {number} i */
  life(i) {
    const { log } = this.stacks[i],
      origin = this.app.origin(log);
    return { from: 0 - origin, to: log.duration - origin };
  }

  /** Returns true if a run was running in a column. @param {number} i @param {number} column */
  runs(i, column) {
    const { from, to } = this.life(i),
      end = this.xs[column + 1] ?? this.app.view[1];
    return end > from && this.xs[column] <= to;
  }

  /** Returns the bytes of a run in a column, or null if it was not running. @param {number} i @param {number} column */
  bytes = (i, column) => (this.runs(i, column) ? heldAt(this.stacks[i].heap.spans.max, this.spans[i][column]) : null);

  /** @param {number} ns */
  columnAt(ns) {
    return Math.min(this.xs.length - 1, Math.max(0, Math.floor(this.app.scaleOf(0).share(ns) * this.xs.length)));
  }

  /** Returns the state of each run that the table shows, or null if the run was not running.
   *  @returns {{ label: string, of: (number | null)[] }} */
  chosen() {
    const { cursor, app } = this;
    if (cursor !== null) {
      const column = this.columnAt(cursor);
      return {
        label: 'under the cursor',
        of: [0, 1].map((i) => (this.runs(i, column) ? this.spans[i][column] : null)),
      };
    }
    if (!app.pins.length) return { label: 'peaks', of: this.stacks.map(({ heap }) => peakSpan(heap)) };
    const of = this.stacks.map(({ log, heap }, i) => {
      const { at } = app.pins.find((pin) => pin.log === log.index && pin.heap === heap.name) ?? app.pins[0],
        { from, to } = this.life(i);
      return at >= from && at <= to ? app.pinSpan(log, heap, at) : null;
    });
    return { label: 'pinned', of };
  }

  /** Pins the states of both runs that are drawn at a time. @param {number} ns */
  pin(ns) {
    const column = this.columnAt(ns);
    this.app.pin(
      this.stacks.flatMap(({ log, heap }, i) =>
        this.runs(i, column)
          ? [{ heap: heap.name, log: log.index, at: this.app.instantOf(log, heap, this.spans[i][column], ns) }]
          : [],
      ),
    );
  }

  /** Returns the lower and the upper end of the y axis. @returns {[number, number]} */
  range() {
    return [0, Math.max(...this.stacks.map(({ heap }) => heap.peakBytes), 1) * 1.06];
  }

  /** @param {number} width @param {number} _yMax @param {boolean} axis */
  mount(width, _yMax, axis) {
    const { app } = this;
    this.plot = new Plot(this.canvas, {
      width,
      height: this.height,
      name: this.name,
      yMax: 1,
      yMin: 0,
      view: app.view,
      axis,
      draw: (s) => {
        this.draw(s);
        for (const pin of app.pins) paint.upright(s, s.x(pin.at), colour('--accent'));
      },
      hover: (ns) => {
        this.cursor = ns;
        this.fillLegend();
      },
      click: (ns) => this.pin(Math.round(ns)),
      app,
    });
    this.update();
  }

  update() {
    this.measure();
    const [low, high] = this.range(),
      plot = /** @type {Plot} */ (this.plot);
    plot.options.yMin = low;
    plot.show(this.app.view, high);
    this.fillLegend();
  }

  redraw() {
    this.plot?.u.redraw(false);
  }

  ceiling() {
    return 1;
  }

  /** Draws A filled and B as a line. @param {paint.Surface} s */
  draw(s) {
    const [a, b] = [0, 1].map((i) => {
      const { to } = this.life(i),
        { max } = this.stacks[i].heap.spans;
      return { xs: this.xs.filter((x) => x <= to), ys: Array.from(this.spans[i], (span) => heldAt(max, span)), to };
    });
    paint.area(s, a.xs, a.ys, a.to, colour('--line'));
    paint.line(s, a.xs, a.ys, a.to, colour('--accent'), 1.2);
    paint.line(s, b.xs, b.ys, b.to, colour('--warn'), 1.4);
  }

  fillLegend() {
    const { label, of } = this.chosen();
    this.legend.replaceChildren(
      element('table', {}, element('caption', {}, label), element('tbody', {}, ...this.totalRows(of))),
    );
  }

  /** Returns the rows of both totals and their difference. @param {(number | null)[]} of */
  totalRows(of) {
    const [a, b] = of.map((span, i) => (span === null ? null : heldAt(this.stacks[i].heap.spans.max, span))),
      line = (/** @type {string} */ name, /** @type {number | null} */ bytes, signed = false) =>
        element(
          'tr',
          { class: signed ? 'total' : undefined },
          element('th', { scope: 'row' }, name),
          bytes === null
            ? element('td', {}, 'not running')
            : element(
                'td',
                { class: signed ? tone(bytes) : '', title: exactly(bytes, false) },
                amount(bytes, false, this.estimated, signed),
              ),
        );
    return [line('A', a), line('B', b), ...(a !== null && b !== null ? [line('B − A', b - a, true)] : [])];
  }

  destroy() {
    this.plot?.destroy();
  }
}

/** @param {number} bytes */
export const tone = (bytes) => (bytes > 0 ? 'more' : bytes < 0 ? 'less' : '');

/** @param {App} app @param {[Stack, Stack]} stacks @param {number} height */
export const overlay = (app, stacks, height) =>
  new CompareChart(app, stacks, height, 'overlay', 'A filled, B as a line');
