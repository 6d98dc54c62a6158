/** Draws lanes of ranges: a row's boxes, with those that stand out on top of the others. */
import { solid } from './colours.js';
import { ONE } from './columns.js';
import { colour } from './dom.js';
import { count } from './format.js';
import { boxName, boxesBetween, threadName } from './lanes.js';
import { bandName, pathName } from './model.js';
import { cutApart } from './names.js';
import * as paint from './paint.js';
import { LEFT } from './plot.js';

/**
 * @typedef {import('./lanepanel.js').LanePanel} LanePanel
 * @typedef {import('./data.js').Log} Log
 */

export const HEIGHT = 19; // height of a row, CSS pixels
const OUT = 3, // minimum width of a box that stands out
  LINE = 3; // height of the line below a box, in its range's colour

/** @param {LanePanel} panel @param {paint.Surface} s */
export function drawLanes(panel, s) {
  panel.rows.forEach((_, at) => {
    drawName(panel, s, at);
    drawRow(panel, s, at);
  });
}

/** Draws the name of a thread in front of its first row. @param {LanePanel} panel @param {paint.Surface} s
 *  @param {number} at */
function drawName({ app, rows }, s, at) {
  const { log, of } = rows[at],
    above = rows[at - 1];
  if (above && above.log === log && above.of.thread === of.thread) return;
  const role = app.runs().length > 1 ? `${app.roleOf(log)} ` : '',
    others = rows.filter((row) => row.log === log && row.of.thread !== of.thread),
    name = threadName(
      log.threads[of.thread] ?? '',
      others.map((row) => log.threads[row.of.thread] ?? ''),
      (text) => paint.shortened(s, role + text, (LEFT - 8) * s.ratio) === role + text,
    );
  paint.text(
    s,
    s.left - 6 * s.ratio,
    (at * HEIGHT + 13) * s.ratio,
    paint.shortened(s, role + name, (LEFT - 8) * s.ratio),
    colour('--faint'),
    'right',
  );
}

/** Draws the boxes of a row. Boxes narrower than a pixel share one pixel, but those that stand out are always drawn.
 *  @param {LanePanel} panel @param {paint.Surface} s @param {number} at */
function drawRow(panel, s, at) {
  const { app } = panel,
    { log, of, out } = panel.rows[at],
    origin = app.origin(log),
    { from, to, node } = log.lanes,
    seen = boxesBetween(log.lanes, of, app.view[0] + origin, app.view[1] + origin),
    slivers = new Slivers(s, at * HEIGHT * s.ratio),
    draw = (/** @type {number} */ box, /** @type {number} */ least) => {
      const left = Math.max(s.left, s.x(from[box] - origin)),
        right = Math.min(s.right, Math.max(s.x(to[box] - origin), left + least * s.ratio)),
        lit = [panel.under, panel.chosen].some((one) => one?.box === box && one.log === log);
      if (right - left < 2 * s.ratio && !lit) slivers.add(left, inkOf(panel, log, node[box]));
      else drawBox(panel, s, { at, box, left, right, lit });
    };
  for (const box of seen) if (!out.has(box)) draw(box, 1);
  slivers.end();
  for (const box of seen) if (out.has(box)) draw(box, OUT);
}

/** Boxes of one pixel. There may be one at every pixel, so neighbours are drawn together. */
class Slivers {
  /** @param {paint.Surface} s @param {number} top */
  constructor(s, top) {
    this.s = s;
    this.top = top;
    this.last = -Infinity;
    this.ground = { from: 0, to: -Infinity, ink: '' };
    this.line = { from: 0, to: -Infinity, ink: '' };
  }

  /** Adds a box. Boxes must come from left to right. @param {number} left @param {string} ink */
  add(left, ink) {
    if (left < this.last + this.s.ratio) return;
    this.last = left;
    this.ground = this.stretched(this.ground, left, '');
    this.line = this.stretched(this.line, left, ink);
  }

  /** @param {Slivers['ground']} run @param {number} left @param {string} ink */
  stretched(run, left, ink) {
    const { ratio } = this.s,
      to = left + ratio;
    if (left - run.to < ratio && run.ink === ink) return { ...run, to };
    this.draw(run);
    return { from: left, to, ink };
  }

  /** @param {Slivers['ground']} run */
  draw({ from, to, ink }) {
    if (to < from) return;
    const { c, ratio } = this.s,
      [top, height] = ink ? [HEIGHT - 3 - LINE, LINE] : [0, HEIGHT - 3 - LINE];
    c.fillStyle = ink || colour('--grid');
    c.fillRect(from, this.top + top * ratio, to - from, height * ratio);
  }

  end() {
    this.draw(this.ground);
    this.draw(this.line);
  }
}

/** @param {LanePanel} panel @param {Log} log @param {number} node */
function inkOf(panel, log, node) {
  const known = panel.inks.get(log),
    ink = known?.get(node) ?? solid(slotOf(panel, log, node), panel.app.dark);
  known?.set(node, ink);
  return ink;
}

/** Returns the slot of the band that holds the range's own blocks, in the first chart that shows it.
 *  @param {LanePanel} panel @param {Log} log @param {number} node */
function slotOf({ app }, log, node) {
  const band = { kind: ONE, node, thread: 0, size: 0, library: 0, python: 0, native: 0, facts: 0, pieces: [] },
    by = app.state.by === 'auto' ? 'auto' : 'range';
  const names = [
    ...log.heaps.map((heap) => bandName(log, heap, band, { ...app.grouping(), by })),
    pathName(log.paths[node]),
  ];
  return app.slotOf(names.find((name) => app.slots.has(name)) ?? '');
}

/** @param {LanePanel} panel @param {paint.Surface} s @param {{ at: number, box: number, left: number, right: number, lit: boolean }} where */
function drawBox(panel, s, { at, box, left, right, lit }) {
  const { c, ratio } = s,
    { log, out: allOut, common } = panel.rows[at],
    out = allOut.has(box),
    top = at * HEIGHT * ratio,
    height = (HEIGHT - 3) * ratio,
    width = Math.max(ratio, right - left - (right - left > 4 * ratio ? ratio : 0));
  c.fillStyle = colour(lit ? '--accent-ground' : out ? '--out' : '--grid');
  c.fillRect(left, top, width, height);
  c.fillStyle = out ? colour('--warn') : inkOf(panel, log, log.lanes.node[box]);
  c.fillRect(left, top + height - LINE * ratio, width, LINE * ratio);
  if (width < 22 * ratio) return;
  const many = log.lanes.count[box] > 1 ? ` … ${count(log.lanes.count[box])} ranges` : '',
    name = boxName(log, box),
    label = cutApart(name + many, common.get(name) ?? 0, (text) => paint.shortened(s, text, width - 8 * ratio));
  if (label.length > 1) paint.text(s, left + 4 * ratio, top + 11.5 * ratio, label, colour(out ? '--warn' : '--ink'));
}
