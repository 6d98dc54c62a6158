/**
 * Draws steps, areas and flags on a canvas with given scales. Coordinates are canvas pixels.
 * @typedef {{ c: CanvasRenderingContext2D, x: (ns: number) => number, y: (bytes: number) => number, left: number,
 *   right: number, top: number, bottom: number, ratio: number }} Surface
 */

/**
 * Returns a function for the x of a time. Times outside the view are drawn at its edges.
 * @param {Surface} s
 * @returns {(ns: number) => number}
 */
const within = (s) => (ns) => Math.min(s.right, Math.max(s.left, s.x(ns)));

/**
 * Traces the outline of levels. Each level continues until the next x, and the last one until `end`.
 * @param {Surface} s
 * @param {ArrayLike<number>} xs
 * @param {ArrayLike<number>} ys bytes
 * @param {number} end ns
 * @param {number} [base] y, to close an area
 */
function steps(s, xs, ys, end, base) {
  const at = within(s);
  s.c.beginPath();
  if (!xs.length) return;
  let y = s.y(ys[0]);
  const first = at(xs[0]);
  if (base !== undefined) s.c.moveTo(first, base);
  s.c[base === undefined ? 'moveTo' : 'lineTo'](first, y);
  for (let i = 1; i < xs.length; i++) {
    const x = at(xs[i]);
    s.c.lineTo(x, y);
    y = s.y(ys[i]);
    s.c.lineTo(x, y);
  }
  const last = at(end);
  s.c.lineTo(last, y);
  if (base !== undefined) s.c.lineTo(last, base);
}

/**
 * @param {Surface} s
 * @param {ArrayLike<number>} xs
 * @param {ArrayLike<number>} ys
 * @param {number} end
 * @param {string | CanvasPattern} paint
 */
export function area(s, xs, ys, end, paint) {
  steps(s, xs, ys, end, Math.min(s.bottom, s.y(0)));
  s.c.fillStyle = paint;
  s.c.fill();
}

/**
 * @param {Surface} s
 * @param {ArrayLike<number>} xs
 * @param {ArrayLike<number>} ys
 * @param {number} end
 * @param {string} colour
 * @param {number} [width]
 * @param {number[]} [dash]
 */
export function line(s, xs, ys, end, colour, width = 1, dash = []) {
  steps(s, xs, ys, end);
  s.c.strokeStyle = colour;
  s.c.lineWidth = width * s.ratio;
  s.c.setLineDash(dash.map((d) => d * s.ratio));
  s.c.stroke();
  s.c.setLineDash([]);
}

/**
 * Draws sampled figures: the lines that join them, and a dot for each if there is room.
 * @typedef {{ x: number, y: number, looked: boolean, joined: boolean }} Figure looked: it was sampled at this time, and
 *   does not only continue the one before; joined: a line joins it with the one before
 * @param {Surface} s @param {Figure[]} figures @param {string} colour
 */
export function samples(s, figures, colour) {
  const APART = 7 * s.ratio,
    taken = figures.filter(({ looked }) => looked).map(({ x, y }) => ({ x: s.x(x), y: s.y(y) })),
    dots = taken.length < 2 || (taken[taken.length - 1].x - taken[0].x) / (taken.length - 1) >= APART;
  s.c.save();
  s.c.beginPath();
  s.c.rect(s.left, s.top, s.right - s.left, s.bottom - s.top);
  s.c.clip();
  s.c.strokeStyle = s.c.fillStyle = colour;
  s.c.lineWidth = 1.2 * s.ratio;
  s.c.setLineDash([2 * s.ratio, 3 * s.ratio]);
  s.c.beginPath();
  for (const { x, y, joined } of figures)
    if (joined) s.c.lineTo(s.x(x), s.y(y));
    else s.c.moveTo(s.x(x), s.y(y));
  s.c.stroke();
  s.c.beginPath();
  if (dots) for (const { x, y } of taken) s.c.rect(x - 1.5 * s.ratio, y - 1.5 * s.ratio, 3 * s.ratio, 3 * s.ratio);
  s.c.fill();
  s.c.restore();
}

/** @param {Surface} s @param {number} x canvas pixels @param {string} colour @param {number[]} [dash] */
export function upright(s, x, colour, dash = []) {
  s.c.strokeStyle = colour;
  s.c.lineWidth = s.ratio;
  s.c.setLineDash(dash.map((d) => d * s.ratio));
  s.c.beginPath();
  s.c.moveTo(x, s.top);
  s.c.lineTo(x, s.bottom);
  s.c.stroke();
  s.c.setLineDash([]);
}

const NARROW = 300; // CSS pixels: too narrow for more words next to the peak's label

/** Returns the first of `ends` at which words of this width do not overlap the taken places.
 *  @param {[number, number][]} taken by others @param {number} width @param {number[]} ends
 *  @returns {number | undefined} */
export const room = (taken, width, ends) =>
  ends.find((end) => taken.every(([from, to]) => end <= from || end - width >= to));

/** The area of a label on the canvas. @typedef {{ left: number, right: number, top: number, bottom: number }} Box */

/** @param {Surface} s @param {number} end of the words @param {number} y their baseline @param {number} width
 *  @returns {Box} */
export const boxOf = (s, end, y, width) => ({ left: end - width, right: end, top: y - 9 * s.ratio, bottom: y });

/** @param {Box} a @param {Box} b */
const meet = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;

/** Draws a horizontal line with a label. @param {Surface} s @param {number} y canvas pixels @param {string} colour
 *  @param {string} label "what: how much"; a narrow chart shows only the second part
 *  @param {[number, number][][]} [avoided] places that the label avoids: the first list if possible, otherwise the next
 *  one @returns {Box} the area of the label */
export function across(s, y, colour, label, avoided = []) {
  s.c.strokeStyle = colour;
  s.c.lineWidth = s.ratio;
  s.c.setLineDash([6 * s.ratio, 4 * s.ratio]);
  s.c.beginPath();
  s.c.moveTo(s.left, y);
  s.c.lineTo(s.right, y);
  s.c.stroke();
  s.c.setLineDash([]);
  const shownLabel = s.right - s.left < NARROW * s.ratio ? label.slice(label.lastIndexOf(': ') + 2) : label;
  const width = widthOf(s, shownLabel) + 12 * s.ratio,
    ends = [s.left + width, s.right],
    end = avoided.map((taken) => room(taken, width, ends)).find((at) => at !== undefined) ?? ends[0];
  text(s, end - 6 * s.ratio, y - 4 * s.ratio, shownLabel, colour, 'right');
  return boxOf(s, end, y - 4 * s.ratio, width);
}

/** @param {Surface} s */
const font = (s) => `${11 * s.ratio}px system-ui, sans-serif`;

/** @param {Surface} s @param {number} x @param {number} y @param {string} label @param {string} colour
 *  @param {CanvasTextAlign} [align] @param {string} [halo] */
export function text(s, x, y, label, colour, align = 'left', halo) {
  s.c.font = font(s);
  s.c.textAlign = align;
  s.c.textBaseline = 'alphabetic';
  if (halo) {
    s.c.strokeStyle = halo;
    s.c.lineWidth = 3 * s.ratio;
    s.c.lineJoin = 'round';
    s.c.strokeText(label, x, y);
  }
  s.c.fillStyle = colour;
  s.c.fillText(label, x, y);
}

/** The widths of texts in CSS pixels, because a frame needs the same ones as the frame before.
 *  @type {Map<string, number>} */
const widths = new Map();
const MOST_WIDTHS = 10_000;

/** @param {Surface} s @param {string} text */
export function widthOf(s, text) {
  const known = widths.get(text);
  if (known !== undefined) return known * s.ratio;
  s.c.font = font(s);
  const width = s.c.measureText(text).width;
  if (widths.size >= MOST_WIDTHS) widths.clear();
  widths.set(text, width / s.ratio);
  return width;
}

/** Draws a plate below words if a horizontal line would cross them. @param {Surface} s @param {number} right
 *  @param {number} y @param {number} width @param {number} line its y @param {string} colour */
export function plate(s, right, y, width, line, colour) {
  const top = y - 9 * s.ratio,
    height = 11 * s.ratio;
  if (line < top || line > top + height) return;
  s.c.fillStyle = colour;
  s.c.fillRect(right - width, top, width, height);
}

/** Returns as much of a text as fits. @param {Surface} s @param {string} text @param {number} room */
export function shortened(s, text, room) {
  const all = widthOf(s, text);
  return all <= room ? text : `${text.slice(0, Math.max(0, Math.floor((text.length * room) / all) - 1))}…`;
}

/**
 * Draws the peak's flag: a small triangle that points down at (x, y), and its label on a side that has room. If no side
 * has room, the label is left out, because the chart's head also shows the peak.
 * @param {Surface} s
 * @param {number} x
 * @param {number} y
 * @param {string} label
 * @param {string} colour
 * @param {string} halo
 * @param {Box[]} taken by other words
 */
export function flag(s, x, y, label, colour, halo, taken) {
  const r = 4.5 * s.ratio,
    top = Math.max(s.top, y - 2.2 * r);
  s.c.fillStyle = colour;
  s.c.beginPath();
  s.c.moveTo(x, top + 1.6 * r);
  s.c.lineTo(x - r, top);
  s.c.lineTo(x + r, top);
  s.c.fill();
  const width = widthOf(s, label),
    box = (/** @type {boolean} */ right) => boxOf(s, right ? x + 2 * r + width : x - 2 * r, top + 1.3 * r, width),
    first = isFlagRight(s, x),
    right = [first, !first].find((side) => {
      const { left, right: end } = box(side);
      return (side === first || (left >= s.left && end <= s.right)) && !taken.some((other) => meet(other, box(side)));
    });
  if (right === undefined) return;
  text(s, x + (right ? 2 : -2) * r, top + 1.3 * r, label, colour, right ? 'left' : 'right', halo);
}

/** @param {Surface} s @param {number} x */
const isFlagRight = (s, x) => x < (s.left + s.right) / 2;

const FLAG = 95; // CSS pixels of its label

/** Returns the horizontal room of the flag at x, with its label and without. @param {Surface} s @param {number} x
 *  @returns {[[number, number], [number, number]]} */
export function flagTakes(s, x) {
  const [label, flag] = [FLAG * s.ratio, 6 * s.ratio];
  return [isFlagRight(s, x) ? [x - flag, x + label] : [x - label, x + flag], [x - flag, x + flag]];
}

/** Draws a marker on the axis. @param {Surface} s @param {number} x @param {string} kind @param {string} colour */
export function marker(s, x, kind, colour) {
  const r = 3.5 * s.ratio,
    y = s.bottom - r - s.ratio;
  s.c.strokeStyle = s.c.fillStyle = colour;
  s.c.lineWidth = 1.6 * s.ratio;
  s.c.beginPath();
  if (kind === 'nvtx') {
    s.c.arc(x, y, r * 0.7, 0, 7);
    s.c.fill();
  } else if (kind === 'graph') {
    for (let a = 0; a < 3; a++) {
      const angle = (a * Math.PI) / 3;
      s.c.moveTo(x - r * Math.cos(angle), y - r * Math.sin(angle));
      s.c.lineTo(x + r * Math.cos(angle), y + r * Math.sin(angle));
    }
    s.c.stroke();
  } else {
    s.c.moveTo(x - r, y - r);
    s.c.lineTo(x + r, y + r);
    s.c.moveTo(x + r, y - r);
    s.c.lineTo(x - r, y + r);
    s.c.stroke();
  }
}

/** Fills the band between two levels. @param {Surface} s @param {ArrayLike<number>} xs @param {ArrayLike<number>} low
 *  @param {ArrayLike<number>} high @param {number} end @param {string | CanvasPattern} paint */
export function between(s, xs, low, high, end, paint) {
  if (!xs.length) return;
  const at = within(s),
    right = (/** @type {number} */ i) => at(i + 1 < xs.length ? xs[i + 1] : end);
  s.c.beginPath();
  for (let i = 0; i < xs.length; i++) {
    s.c.lineTo(at(xs[i]), s.y(high[i]));
    s.c.lineTo(right(i), s.y(high[i]));
  }
  for (let i = xs.length; i-- > 0; ) {
    s.c.lineTo(right(i), s.y(low[i]));
    s.c.lineTo(at(xs[i]), s.y(low[i]));
  }
  s.c.fillStyle = paint;
  s.c.fill();
}
