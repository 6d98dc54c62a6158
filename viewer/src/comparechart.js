/** One heap of two runs in one chart: both totals, or what B holds more (or less) than A. */
import { colour, element } from './dom.js';
import { amount } from './format.js';
import { totals } from './lod.js';
import { isEstimated } from './model.js';
import * as paint from './paint.js';
import { Plot } from './plot.js';

/**
 * @typedef {import('./app.js').App} App
 * @typedef {import('./model.js').Log} Log
 * @typedef {import('./model.js').Heap} Heap
 */

export class CompareChart {
  /**
   * @param {App} app
   * @param {[Log, Log]} logs
   * @param {[Heap, Heap]} heaps
   * @param {'overlay' | 'difference'} mode
   * @param {number} height
   */
  constructor(app, logs, heaps, mode, height) {
    this.app = app;
    this.logs = logs;
    this.heaps = heaps;
    this.mode = mode;
    this.height = height;
    /** @type {Float64Array[]} */
    this.levels = [];
    /** @type {number[]} */
    this.xs = [];
    this.canvas = element('div', {
      class: 'plot',
      role: 'img',
      tabindex: 0,
      'aria-label': `${heaps[0].name}: A and B, ${mode}`,
    });
    this.said = element('div', { class: 'legend' });
    this.root = element(
      'section',
      { class: 'chart', 'data-heap': heaps[0].name, 'data-mode': mode },
      element(
        'h2',
        {},
        heaps[0].name,
        element(
          'span',
          { class: 'sub' },
          mode === 'overlay' ? 'A filled, B as a line' : 'B minus A: above the line B holds more',
        ),
      ),
      element('div', { class: 'pair' }, this.canvas, this.said),
    );
  }

  measure() {
    const [from, to] = this.app.view;
    const columns = Math.max(50, Math.floor((this.plot?.u.bbox.width ?? 600) / (globalThis.devicePixelRatio || 1)));
    this.levels = this.heaps.map((heap, i) => {
      const origin = this.app.origin(this.logs[i]);
      return totals(heap.spans, from + origin, to + origin, columns, this.app.scaleOf(origin));
    });
    const { at } = this.app.scaleOf(0);
    this.xs = Array.from({ length: columns }, (_, i) => at(i / columns));
  }

  /** When a run was there. @param {number} i */
  life(i) {
    const origin = this.app.origin(this.logs[i]);
    return { from: 0 - origin, to: this.logs[i].duration - origin };
  }

  /** What a run held in a column; null: it was not there. @param {number} i @param {number} column */
  bytes = (i, column) => {
    const { from, to } = this.life(i),
      end = this.xs[column + 1] ?? this.app.view[1];
    return end > from && this.xs[column] <= to ? this.levels[i][column] : null;
  };

  /** B minus A, where both run. */
  difference() {
    const both = [...this.xs.keys()].filter((at) => this.bytes(0, at) !== null && this.bytes(1, at) !== null);
    return {
      xs: both.map((at) => this.xs[at]),
      bytes: both.map((at) => this.levels[1][at] - this.levels[0][at]),
      end: Math.min(this.life(0).to, this.life(1).to),
    };
  }

  range() {
    const most = Math.max(...this.heaps.map((heap) => heap.peakBytes), 1);
    if (this.mode === 'overlay') return [0, most * 1.06];
    const { bytes } = this.difference(),
      low = bytes.reduce((least, byte) => Math.min(least, byte), 0),
      high = bytes.reduce((most, byte) => Math.max(most, byte), 1);
    return [low * 1.1, high * 1.1];
  }

  /** @param {number} width @param {number} _yMax @param {boolean} axis */
  mount(width, _yMax, axis) {
    const { app } = this;
    this.plot = new Plot(this.canvas, {
      width,
      height: this.height,
      name: this.heaps[0].name,
      yMax: 1,
      yMin: 0,
      view: app.view,
      axis,
      draw: (s) => this.draw(s),
      hover: (ns) => this.hover(ns),
      click: () => {},
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
    this.hover(null);
  }

  redraw() {
    this.plot?.u.redraw(false);
  }

  ceiling() {
    return 1;
  }

  /** @param {paint.Surface} s */
  draw(s) {
    if (this.mode === 'overlay') {
      const [a, b] = [0, 1].map((i) => {
        const { to } = this.life(i);
        return { xs: this.xs.filter((x) => x <= to), ys: this.levels[i], to };
      });
      paint.area(s, a.xs, a.ys, a.to, colour('--line'));
      paint.line(s, a.xs, a.ys, a.to, colour('--accent'), 1.2);
      paint.line(s, b.xs, b.ys, b.to, colour('--warn'), 1.4);
      return;
    }
    const { xs, bytes, end } = this.difference();
    s.c.globalAlpha = 0.75;
    paint.area(
      s,
      xs,
      bytes.map((byte) => Math.max(0, byte)),
      end,
      colour('--more'),
    );
    paint.area(
      s,
      xs,
      bytes.map((byte) => Math.min(0, byte)),
      end,
      colour('--less'),
    );
    s.c.globalAlpha = 1;
    paint.line(s, [this.xs[0]], [0], this.app.view[1], colour('--faint'));
  }

  /** @param {number | null} ns */
  hover(ns) {
    const at =
      ns === null ? -1 : Math.min(this.xs.length - 1, Math.floor(this.app.scaleOf(0).share(ns) * this.xs.length));
    const [a, b] = this.heaps.map((heap, i) => (at < 0 ? heap.peakBytes : this.bytes(i, at)));
    const told = (/** @type {number} */ bytes, signed = false) =>
        amount(bytes, false, isEstimated(this.heaps[0]), signed),
      said = (/** @type {number | null} */ bytes) => (bytes === null ? 'not running' : told(bytes));
    const line = (/** @type {string} */ name, /** @type {string} */ text, tone = '') =>
      element('tr', {}, element('th', { scope: 'row' }, name), element('td', { class: tone }, text));
    this.said.replaceChildren(
      element(
        'table',
        {},
        element('caption', {}, at < 0 ? 'peaks' : 'under the cursor'),
        element(
          'tbody',
          {},
          line('A', said(a)),
          line('B', said(b)),
          a !== null && b !== null && line('B − A', told(b - a, true), b > a ? 'more' : 'less'),
        ),
      ),
    );
  }

  destroy() {
    this.plot?.destroy();
  }
}
