/** The base of all charts: a uPlot with our axes, on the page's one time axis, drawn by a hook. */
import uPlot from 'uplot';
import { colour } from './dom.js';
import { BY_TIME, scaled } from './axis.js';
import { byteStep, count, eventTicks, sizeTick, timeTick, timeTicks } from './format.js';
import { listenToTouch } from './touch.js';

/**
 * @typedef {{ width: number, height: number, name: string, title?: string, yMax: number, yMin?: number, view: [number, number], axis:
 *   boolean, draw: (surface: import('./paint.js').Surface) => void, hover: (ns: number | null) => void, click: (ns:
 *   number) => void, app: import('./app.js').App }} PlotOptions title: of the y axis; app: selection, zoom and pan apply to all charts
 */

const TITLE = 14; // CSS pixels of an axis title

/** Returns the title of the x axis. @param {import('./app.js').App} app */
const titleOf = ({ axis, state }) =>
  axis.title ?? (state.b >= 0 && state.align !== 'start' ? 'time, aligned' : 'time since the start');

export const LEFT = 78,
  RIGHT = 42; // half of the last time's label

const TWICE = 500; // ms: a second click within this time in the same place is a double click

/** @param {PlotOptions} o */
function axes(o) {
  const font = '11px system-ui, sans-serif';
  const stroke = () => colour('--faint'),
    grid = { stroke: () => colour('--grid'), width: 1 };
  let step = 1,
    high = 1;
  return [
    {
      show: o.axis,
      size: 24,
      label: titleOf(o.app),
      labelSize: TITLE,
      labelFont: font,
      font,
      stroke,
      grid,
      ticks: { ...grid, size: 4 },
      splits: (
        /** @type {uPlot} */ u,
        /** @type {number} */ _,
        /** @type {number} */ min,
        /** @type {number} */ max,
      ) => {
        const { axis } = o.app,
          room = axis.label ? 45 : 130, // CSS pixels of a label
          found = (axis === BY_TIME ? timeTicks : eventTicks)(min, max, Math.max(2, u.width / room));
        step = found.step;
        return found.ticks;
      },
      values: (/** @type {uPlot} */ _, /** @type {number[]} */ ticks) =>
        ticks.map((t) => (o.app.axis === BY_TIME ? timeTick(t, step, o.app.view[1]) : (o.app.axis.label ?? count)(t))),
    },
    {
      size: LEFT - TITLE,
      label: o.title ?? 'live bytes',
      labelSize: TITLE,
      labelFont: font,
      font,
      stroke,
      grid,
      ticks: { show: false },
      splits: (
        /** @type {uPlot} */ u,
        /** @type {number} */ _,
        /** @type {number} */ min,
        /** @type {number} */ max,
      ) => {
        const by = byteStep(max - min, Math.max(2, u.height / 55)),
          ticks = [];
        high = by;
        for (let y = Math.ceil(min / by) * by; y <= max; y += by) ticks.push(y);
        return ticks;
      },
      values: (/** @type {uPlot} */ _, /** @type {number[]} */ ticks) => ticks.map((y) => sizeTick(y, high)),
    },
  ];
}

export class Plot {
  /** @param {HTMLElement} parent @param {PlotOptions} options */
  constructor(parent, options) {
    this.options = options;
    this.u = new uPlot(
      /** @type {any} */ ({
        width: options.width,
        height: options.height,
        legend: { show: false },
        padding: [12, RIGHT, 0, 0],
        scales: {
          x: { time: false, range: () => this.places() },
          y: { range: () => [options.yMin ?? 0, options.yMax] },
        },
        series: [{}, { show: true, stroke: 'transparent', points: { show: false }, paths: () => null }],
        axes: axes(options),
        cursor: {
          y: false,
          points: { show: false },
          drag: { x: true, y: false, setScale: false, dist: 4 },
          sync: { key: 'memprof', scales: ['x', null] },
        },
        hooks: {
          draw: [() => this.draw()],
          setCursor: [(/** @type {uPlot} */ u) => this.hovered(u)],
          setSelect: [(/** @type {uPlot} */ u) => this.selected(u)],
        },
      }),
      [this.places(), [0, 0]],
      parent,
    );
    /** The mouse's position in the window, while it is over the chart. @type {import('./tooltip.js').Point | null} */
    this.mouse = null;
    this.follow(this.u.over);
    this.listen(this.u.over);
    listenToTouch(this.u.over, options.app);
  }

  /** Keeps the position of the mouse, before uPlot moves its cursor. @param {HTMLElement} over */
  follow(over) {
    const move = (/** @type {MouseEvent} */ event) => {
      this.mouse = { x: event.clientX, y: event.clientY };
    };
    over.addEventListener('mouseenter', move, { capture: true });
    over.addEventListener('mousemove', move, { capture: true });
    over.addEventListener('mouseleave', () => (this.mouse = null), { capture: true });
  }

  /** @param {HTMLElement} over */
  listen(over) {
    const { options, u } = this,
      { app } = options;
    /** Returns the x of an event, more precisely than offsetX, which is a whole number. @param {MouseEvent} event */
    const at = (event) => event.clientX - over.getBoundingClientRect().left;
    over.addEventListener(
      'wheel',
      (event) => {
        const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY),
          zooms = event.ctrlKey || event.metaKey; // a pinch also sets ctrlKey
        if (!sideways && !zooms) return;
        event.preventDefault();
        if (sideways) app.pan(event.deltaX / over.clientWidth);
        else app.zoom(at(event) / over.clientWidth, Math.exp(Math.max(-240, Math.min(240, event.deltaY)) * 0.002));
      },
      { passive: false },
    );
    let down = -1,
      last = 0,
      panning = false;
    over.addEventListener(
      'mousedown',
      (event) => {
        down = last = at(event);
        panning = event.shiftKey;
        if (panning) event.stopImmediatePropagation();
      },
      { capture: true },
    );
    over.addEventListener('mousemove', (event) => {
      app.forgetCursor();
      if (!panning) return;
      app.pan((last - at(event)) / over.clientWidth);
      last = at(event);
    });
    addEventListener('mouseup', () => {
      panning = false;
    });
    let clicked = { x: NaN, time: NaN };
    over.addEventListener('click', (event) => {
      const x = at(event),
        time = event.timeStamp,
        again = Math.abs(x - clicked.x) < 4 && time - clicked.time < TWICE; // browsers count clicks differently
      clicked = { x, time };
      if (Math.abs(x - down) < 4 && !again) options.click(this.time(x));
    });
  }

  /** Returns the view in the units of the scale: times, or events. @returns {[number, number]} */
  places() {
    const { app, view } = this.options;
    return [app.axis.place(view[0]), app.axis.place(view[1])];
  }

  /** @param {number} pixel of CSS */
  time(pixel) {
    return this.options.app.axis.time(this.u.posToVal(pixel, 'x'));
  }

  /** @param {uPlot} u */
  hovered(u) {
    const left = u.cursor.left ?? -1;
    this.options.hover(left < 0 ? null : this.time(left));
  }

  /** @param {uPlot} u */
  selected(u) {
    const { left, width } = u.select;
    if (width <= 3) return;
    this.options.app.forgetCursor();
    this.options.app.select(this.time(left), this.time(left + width));
  }

  draw() {
    const { u, options } = this;
    const { left, top, width, height } = u.bbox;
    const ratio = globalThis.devicePixelRatio || 1;
    const { share } = scaled(options.app.axis, options.view),
      low = options.yMin ?? 0;
    u.ctx.save();
    u.ctx.beginPath();
    u.ctx.rect(left - 6 * ratio, top - 12 * ratio, width + 12 * ratio, height + 12 * ratio);
    u.ctx.clip();
    options.draw({
      c: u.ctx,
      ratio,
      left,
      top,
      right: left + width,
      bottom: top + height,
      x: (ns) => left + share(ns) * width,
      y: (bytes) => top + height - ((bytes - low) / (options.yMax - low)) * height,
    });
    u.ctx.restore();
  }

  /** @param {[number, number]} view @param {number} [yMax] */
  show(view, yMax = this.options.yMax) {
    this.options.view = view;
    this.options.yMax = yMax;
    this.u.setData([this.places(), [0, 0]], true);
  }

  /** Returns the width of the drawing area, in CSS pixels. */
  get width() {
    return this.u.bbox.width / (globalThis.devicePixelRatio || 1);
  }

  /** Returns the x of a time, in CSS pixels. @param {number} ns */
  pixel(ns) {
    return scaled(this.options.app.axis, this.options.view).share(ns) * this.width;
  }

  /** Moves the cursor to a time, as the mouse does. @param {number | null} ns */
  point(ns) {
    this.u.setCursor({ left: ns === null ? -10 : this.pixel(ns), top: ns === null ? -10 : 0 });
  }

  /** Shows the selection. @param {{ from: number, to: number } | null} chosen */
  choose(chosen) {
    const { width } = this,
      height = this.u.bbox.height / (globalThis.devicePixelRatio || 1),
      edge = (/** @type {number} */ ns) => Math.min(width, Math.max(0, this.pixel(ns))),
      [left, right] = chosen ? [edge(chosen.from), edge(chosen.to)] : [0, 0];
    this.u.setSelect({ left, top: 0, width: right - left, height: chosen ? height : 0 }, false);
  }

  /** @param {number} width @param {number} height */
  resize(width, height) {
    this.u.setSize({ width, height });
  }

  destroy() {
    this.u.destroy();
  }
}
