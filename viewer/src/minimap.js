/** The whole run in a strip. The view is a window that can be dragged, resized or drawn. */
import { colour, element } from './dom.js';
import { timeTick, timeTicks } from './format.js';
import { totals } from './lod.js';
import { isBad } from './marks.js';
import * as paint from './paint.js';
import { LEFT, RIGHT } from './plot.js';
import { Sheet } from './sheet.js';

/** @typedef {import('./app.js').App} App */

const TIMES = 13; // CSS pixels above the run

export class Minimap {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    this.canvas = /** @type {HTMLCanvasElement} */ (
      element('canvas', { 'aria-label': 'the whole run; drag to choose the span that is shown', role: 'img' })
    );
    this.sheet = new Sheet(this.canvas, () => this.drawAnew());
    /** The picture without the window. Only the window changes with the view. */
    this.run = /** @type {HTMLCanvasElement} */ (element('canvas'));
    this.root = element('div', { class: 'panel minimap' }, this.canvas);
    this.canvas.addEventListener('pointerdown', (event) => this.grab(event));
    this.canvas.addEventListener('dblclick', () => app.fit());
  }

  /** Returns the x of a time, in CSS pixels. @param {number} ns */
  x(ns) {
    const [from, to] = this.app.whole,
      width = this.sheet.width - LEFT - RIGHT;
    return LEFT + ((ns - from) / (to - from)) * width;
  }

  /** @param {number} x */
  ns(x) {
    const [from, to] = this.app.whole,
      width = this.sheet.width - LEFT - RIGHT;
    return Math.min(to, Math.max(from, from + ((x - LEFT) / width) * (to - from)));
  }

  /** @param {PointerEvent} event */
  grab(event) {
    const { app } = this,
      at = event.offsetX,
      [from, to] = app.view.map((ns) => this.x(ns));
    const whole = app.view[0] <= app.whole[0] && app.view[1] >= app.whole[1];
    const edge = Math.abs(at - from) < 6 ? 0 : Math.abs(at - to) < 6 ? 1 : -1;
    const inside = at > from && at < to && !whole;
    const start = this.ns(at),
      view = [...app.view];
    const move = (/** @type {PointerEvent} */ e) => {
      const now = this.ns(e.offsetX);
      if (edge === 0) app.setView(Math.min(now, view[1]), view[1]);
      else if (edge === 1) app.setView(view[0], Math.max(now, view[0]));
      else if (inside) app.setView(view[0] + now - start, view[1] + now - start);
      else if (Math.abs(e.offsetX - at) > 3) app.setView(Math.min(start, now), Math.max(start, now));
    };
    this.canvas.setPointerCapture(event.pointerId);
    this.canvas.addEventListener('pointermove', move);
    this.canvas.addEventListener('pointerup', () => this.canvas.removeEventListener('pointermove', move), {
      once: true,
    });
  }

  /** Returns the surface for drawing. @param {CanvasRenderingContext2D} c @param {number} ratio
   *  @returns {paint.Surface} */
  surface(c, ratio) {
    const { width, height } = this.sheet;
    return {
      c,
      ratio,
      left: LEFT * ratio,
      right: (width - RIGHT) * ratio,
      top: 0,
      bottom: height * ratio,
      x: (ns) => this.x(ns) * ratio,
      y: () => 0,
    };
  }

  /** Redraws after a change of the view. */
  draw() {
    const begun = this.sheet.begin(),
      { width, height } = this.canvas;
    if (!begun) return;
    if (this.run.width !== width || this.run.height !== height) this.drawRun(begun.ratio);
    begun.c.drawImage(this.run, 0, 0);
    this.drawWindow(this.surface(begun.c, begun.ratio));
  }

  /** Redraws after a change of the run, the colours or the size. */
  drawAnew() {
    this.run.width = 0;
    this.draw();
  }

  /** @param {number} ratio */
  drawRun(ratio) {
    const c = this.run.getContext('2d');
    [this.run.width, this.run.height] = [this.canvas.width, this.canvas.height];
    if (!c) return;
    this.drawTotals(this.surface(c, ratio), ...this.app.whole);
    this.drawMarks(this.surface(c, ratio));
    this.drawTimes(this.surface(c, ratio));
  }

  /** @param {paint.Surface} s */
  drawTimes(s) {
    const ROOM = 130, // CSS pixels per label
      [from, to] = this.app.whole,
      { ticks, step } = timeTicks(from, to, Math.max(2, (s.right - s.left) / s.ratio / ROOM));
    for (const ns of ticks)
      paint.text(
        s,
        s.x(ns),
        s.top + 9 * s.ratio,
        timeTick(ns, step, to),
        colour('--faint'),
        'center',
        colour('--ground'),
      );
  }

  /** @param {paint.Surface} s @param {number} from @param {number} to */
  drawTotals(s, from, to) {
    const { app } = this,
      columns = Math.floor((s.right - s.left) / s.ratio);
    const runs = app.runs().filter((log) => log.heaps.length);
    const most = Math.max(1, ...runs.map((log) => log.heaps[0].peakBytes));
    runs.forEach((log, i) => {
      const origin = app.origin(log),
        end = Math.min(to, log.duration - origin);
      const xs = Array.from({ length: columns }, (_, k) => from + ((to - from) * k) / columns).filter((x) => x <= end);
      const ys = totals(log.heaps[0].spans, from + origin, to + origin, columns);
      const surface = {
        ...s,
        y: (/** @type {number} */ bytes) =>
          s.bottom - 3 * s.ratio - (bytes / most) * (s.bottom - (TIMES + 3) * s.ratio),
      };
      if (i === 0) paint.area(surface, xs, ys, end, colour('--line'));
      else paint.line(surface, xs, ys, end, colour('--warn'), 1);
    });
  }

  /** @param {paint.Surface} s */
  drawMarks(s) {
    const log = this.app.runs()[0];
    for (const mark of log.marks) {
      paint.marker(
        s,
        s.x(mark.time - this.app.origin(log)),
        mark.kind,
        isBad(mark) ? colour('--warn') : colour('--faint'),
      );
    }
  }

  /** @param {paint.Surface} s */
  drawWindow(s) {
    const [from, to] = this.app.view.map((ns) => Math.min(s.right, Math.max(s.left, s.x(ns))));
    s.c.fillStyle = colour('--accent');
    s.c.globalAlpha = 0.1;
    s.c.fillRect(from, 0, to - from, s.bottom);
    s.c.globalAlpha = 0.8;
    for (const x of [from, to]) s.c.fillRect(x - s.ratio, 0, 2 * s.ratio, s.bottom);
    s.c.globalAlpha = 1;
  }
}
