/** The blocks that live at an instant, by age and size, both logarithmic: old large blocks are at the top right. A filled
 *  point is a block that is never freed. The table of the panel has the same blocks for screen readers. */
import { solid } from './colours.js';
import { colour, element } from './dom.js';
import { duration, several, size, time } from './format.js';
import { bestName, bandOf, blockName } from './model.js';
import * as paint from './paint.js';
import { Sheet } from './sheet.js';
import { hideTooltip, showTooltip } from './tooltip.js';

/**
 * @typedef {import('./app.js').App} App
 * @typedef {import('./data.js').Log} Log
 * @typedef {import('./data.js').Heap} Heap
 * @typedef {{ block: number, age: number, bytes: number, isKept: boolean, tone: string }} Point age: ns; isKept: it is
 *   never freed
 */

const HEIGHT = 180,
  LEFT = 70,
  BOTTOM = 24,
  RADIUS = 4,
  REACH = 9; // pixels around a point that select it

/** Returns the share of a logarithmic axis at which a value is, and the axis's ticks. @param {number[]} values
 *  @param {number} base of the ticks */
export function logAxis(values, base) {
  const [low, high] = [Math.min(...values), Math.max(...values)].map((value) => Math.log(Math.max(1, value))),
    room = Math.max(0.7, 0.08 * (high - low)),
    from = Math.max(0, low - room),
    to = high + room,
    ticks = [];
  for (let power = Math.ceil(from / Math.log(base)); power * Math.log(base) <= to; power++) ticks.push(base ** power);
  return { ticks, share: (/** @type {number} */ value) => (Math.log(Math.max(1, value)) - from) / (to - from) };
}

export class AgePicture {
  /** @param {App} app @param {Log} log @param {Heap} heap @param {number[]} found the blocks @param {number} at ns */
  constructor(app, log, heap, found, at) {
    const { blocks } = heap;
    this.app = app;
    this.log = log;
    this.heap = heap;
    /** @type {Point[]} */
    this.points = found.map((block) => ({
      block,
      age: at - blocks.from[block],
      bytes: blocks.size[block],
      isKept: blocks.live[block] === 1,
      tone: solid(app.slotOf(blockName(log, heap, block, app.grouping())), app.dark),
    }));
    this.ages = logAxis(
      this.points.map(({ age }) => age),
      10,
    );
    this.sizes = logAxis(
      this.points.map(({ bytes }) => bytes),
      4,
    );
    this.canvas = /** @type {HTMLCanvasElement} */ (
      element('canvas', {
        class: 'ages',
        role: 'img',
        'aria-label': `${several(found.length, 'block')} by age and size`,
      })
    );
    this.canvas.style.height = `${HEIGHT}px`;
    this.sheet = new Sheet(this.canvas, () => this.draw());
    this.canvas.addEventListener('mousemove', (event) => this.hover(event));
    this.canvas.addEventListener('mouseleave', hideTooltip);
    this.canvas.addEventListener('click', (event) => {
      const point = this.pointAt(event);
      hideTooltip();
      if (point) app.showBlock(log, heap, point.block);
    });
  }

  /** Returns the place of a point, in CSS pixels. @param {Point} point */
  place({ age, bytes }) {
    return {
      x: LEFT + this.ages.share(age) * (this.sheet.width - LEFT - RADIUS),
      y: (1 - this.sizes.share(bytes)) * (HEIGHT - BOTTOM),
    };
  }

  draw() {
    const begun = this.sheet.begin();
    if (!begun) return;
    const { c, ratio } = begun,
      { width } = this.sheet,
      s = {
        c,
        ratio,
        left: LEFT * ratio,
        right: width * ratio,
        top: 0,
        bottom: (HEIGHT - BOTTOM) * ratio,
        x: (/** @type {number} */ x) => x,
        y: (/** @type {number} */ y) => y,
      };
    this.drawAxes(s);
    for (const point of this.points) {
      const { x, y } = this.place(point);
      c.beginPath();
      c.arc(x * ratio, y * ratio, RADIUS * ratio, 0, 7);
      c.fillStyle = point.isKept ? point.tone : colour('--ground');
      c.fill();
      c.lineWidth = 1.6 * ratio;
      c.strokeStyle = point.tone;
      c.stroke();
    }
  }

  /** @param {paint.Surface} s */
  drawAxes(s) {
    const { ratio } = s,
      line = colour('--grid'),
      faint = colour('--faint');
    for (const bytes of this.sizes.ticks) {
      const y = (1 - this.sizes.share(bytes)) * s.bottom;
      paint.line({ ...s, y: () => y }, [s.left], [0], s.right, line);
      if (y > 8 * ratio)
        paint.text(s, s.left - 6 * ratio, y + 4 * ratio, size(bytes).replace('.00', ''), faint, 'right');
    }
    for (const age of this.ages.ticks) {
      const x = s.left + this.ages.share(age) * (s.right - s.left - RADIUS * ratio);
      paint.upright(s, x, line);
      paint.text(s, x, s.bottom + 13 * ratio, duration(age), faint, 'center');
    }
    paint.text(s, s.right - 2 * ratio, s.bottom - 5 * ratio, 'age', faint, 'right', colour('--ground'));
    paint.text(s, s.left + 4 * ratio, 10 * ratio, 'size', faint, 'left', colour('--ground'));
  }

  /** Returns the point under the mouse, or undefined. @param {MouseEvent} event */
  pointAt({ offsetX, offsetY }) {
    const far = (/** @type {Point} */ point) => {
      const { x, y } = this.place(point);
      return Math.hypot(x - offsetX, y - offsetY);
    };
    const [near] = this.points.map((point) => ({ point, far: far(point) })).sort((a, b) => a.far - b.far);
    return near && near.far <= REACH ? near.point : undefined;
  }

  /** @param {MouseEvent} event */
  hover(event) {
    const { log, heap } = this,
      point = this.pointAt(event);
    if (!point) return hideTooltip();
    const { blocks } = heap,
      end = point.isKept ? 'never freed' : `freed at ${time(blocks.to[point.block])}`;
    showTooltip(
      { x: event.clientX, y: event.clientY },
      element('div', { class: 'called' }, bestName(log, bandOf(blocks, point.block))),
      element('div', {}, element('b', {}, size(point.bytes)), ` ${duration(point.age)} old, ${end}`),
      element('div', { class: 'when' }, 'a click shows its life'),
    );
  }
}
