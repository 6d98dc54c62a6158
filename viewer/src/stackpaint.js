/** Draws a stack: its bands, the minimum, the peak's flag, markers and pins. */
import { fill } from './colours.js';
import { drawContext } from './context.js';
import { colour } from './dom.js';
import { amount } from './format.js';
import { describe, isBad } from './marks.js';
import { hasAboutPeak } from './model.js';
import * as paint from './paint.js';

/** @typedef {import('./stackchart.js').StackChart} StackChart */

/** @param {StackChart} chart @param {paint.Surface} s */
export function drawStack(chart, s) {
  const { app, origin } = chart,
    { heap, log } = chart.stack;
  /** All bands share their positions, which are computed once. */
  const placed = { ...s, x: (/** @type {number} */ x) => x },
    xs = chart.shown.x.map((x) => s.x(x - origin)),
    end = s.x(log.duration - origin),
    { dark } = app;
  const edges = chart.edges();
  for (const { group, upper } of edges) paint.area(placed, xs, upper, end, fill(app.slot(group), dark));
  const lit = edges.filter(({ group }) => (app.lit === null ? app.finds(group.name) : group.name === app.lit));
  if (lit.length) fade(s);
  for (const edge of lit) drawLit(chart, placed, xs, end, edge);
  if (heap.width > 1 && app.allVisible())
    paint.line(
      placed,
      xs,
      chart.shown.min.map((bytes) => Math.max(chart.low, bytes)),
      end,
      dark ? 'rgba(255,255,255,.5)' : 'rgba(0,0,0,.35)',
    );
  const words = drawContext(chart, s);
  drawMarks(chart, s);
  if (app.allVisible()) {
    const x = s.x(heap.spans.time[chart.peak] - origin);
    if (x >= s.left && x <= s.right)
      paint.flag(
        s,
        x,
        s.y(heap.peakBytes),
        amount(heap.peakBytes, false, hasAboutPeak(heap)),
        colour('--ink'),
        colour('--ground'),
        words,
      );
  }
  for (const pin of app.pins) drawPin(chart, s, pin);
}

/** Draws a pin, with its name if it has one. @param {StackChart} chart @param {paint.Surface} s
 *  @param {import('./state.js').Pin} pin */
function drawPin({ app }, s, pin) {
  const x = s.x(pin.at),
    isRight = x < (s.left + s.right) / 2;
  paint.upright(s, x, colour('--accent'), pin === app.pins[0] ? [] : [4, 3]);
  if (pin.name && x >= s.left && x <= s.right)
    paint.text(
      s,
      x + (isRight ? 5 : -5) * s.ratio,
      s.bottom - 30 * s.ratio,
      pin.name,
      colour('--accent'),
      isRight ? 'left' : 'right',
      colour('--ground'),
    );
}

/** Fades all bands. @param {paint.Surface} s */
function fade(s) {
  s.c.save();
  s.c.globalAlpha = 0.66;
  s.c.fillStyle = colour('--ground');
  s.c.fillRect(s.left, s.top, s.right - s.left, s.bottom - s.top);
  s.c.restore();
}

/** Draws a highlighted band. Dashed lines are one standard error away. @param {StackChart} chart @param {paint.Surface} s @param {number[]} xs
 *  @param {number} end @param {{ group: import('./model.js').Group, below: Float64Array, upper: Float64Array }} lit */
function drawLit(chart, s, xs, end, lit) {
  const { app } = chart;
  paint.between(s, xs, lit.below, lit.upper, end, fill(app.slot(lit.group), app.dark));
  const { errors } = lit.group;
  for (const sign of errors.length ? [-1, 1] : []) {
    const edge = lit.upper.map((bytes, i) => Math.max(lit.below[i], bytes + sign * errors[chart.shown.span[i]]));
    paint.line(s, xs, edge, end, colour('--ink'), 1, [3, 3]);
  }
}

/** @param {StackChart} chart @param {paint.Surface} s */
function drawMarks(chart, s) {
  for (const mark of chart.marks) {
    const x = s.x(mark.time - chart.origin),
      bad = isBad(mark);
    if (x < s.left || x > s.right) continue;
    if (bad) paint.upright(s, x, colour('--warn'), [2, 3]);
    paint.marker(s, x, mark.kind, bad ? colour('--warn') : colour('--ink'));
  }
  if (!chart.near) return;
  const x = s.x(chart.near.time - chart.origin),
    right = x < (s.left + s.right) / 2,
    room = (right ? s.right - x : x - s.left) - 14 * s.ratio;
  paint.text(
    s,
    x + (right ? 7 : -7) * s.ratio,
    s.bottom - 16 * s.ratio,
    paint.shortened(s, describe(chart.stack.log, chart.near), room),
    colour('--ink'),
    right ? 'left' : 'right',
    colour('--ground'),
  );
}
