/** Lanes of ranges above the charts, on their axis: what ran when, and what each range added. */
import { solid } from './colours.js';
import { ONE } from './columns.js';
import { colour, element, row, table } from './dom.js';
import { amount, count, duration, exactly, time } from './format.js';
import { boxAt, boxName, boxesBetween, instancesOf, nextInstance, outOf, rowsOf } from './lanes.js';
import { bandName, isEstimated, pathName } from './model.js';
import * as paint from './paint.js';
import { LEFT, RIGHT } from './plot.js';
import { Sheet } from './sheet.js';
import { standsOut } from './steppanel.js';

/**
 * @typedef {import('./app.js').App} App
 * @typedef {import('./data.js').Log} Log
 * @typedef {{ log: Log, box: number }} Box
 */

const HEIGHT = 19, // of a row, CSS pixels
  OUT = 3, // of one that stands out, at least
  MOST = 8, // rows of a run; of two, half as many each
  REACH = 2; // pixels beside a box that count as it

export class LanePanel {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    const runs = app.runs();
    this.lanes = runs.map((log) => ({ log, ...rowsOf(log, MOST / runs.length) }));
    this.rows = this.lanes.flatMap(({ log, rows }) => rows.map((of) => ({ log, of })));
    /** @type {Box | null} */
    this.under = null;
    /** What a key or a click went to. @type {Box | null} */
    this.chosen = null;
    this.canvas = /** @type {HTMLCanvasElement} */ (
      element('canvas', { role: 'img', tabindex: 0, 'aria-label': this.describe() })
    );
    this.said = element('div', { class: 'legend' });
    this.root = element(
      'section',
      { class: 'panel lanes', 'data-panel': 'lanes' },
      element('div', { class: 'pair' }, element('div', { class: 'plot' }, this.canvas), this.said),
    );
    this.canvas.style.height = `${this.rows.length * HEIGHT}px`;
    this.sheet = new Sheet(this.canvas, () => this.draw());
    this.canvas.addEventListener('pointermove', (event) => this.hover(this.boxUnder(event)));
    this.canvas.addEventListener('pointerleave', () => this.hover(null));
    this.canvas.addEventListener('click', (event) => {
      const box = this.boxUnder(event);
      if (box) this.goTo(box);
    });
    this.fill();
  }

  describe() {
    const all = this.app.runs().map((log) => {
      const { repeat } = log;
      return repeat
        ? `${count(repeat.instances)} instances of ${repeat.range}`
        : `${count(log.lanes.from.length)} ranges`;
    });
    return `ranges over time: ${all.join(', ')}; N goes to the next one`;
  }

  // ---- where boxes are

  get width() {
    return this.sheet.width - LEFT - RIGHT;
  }

  /** @param {MouseEvent} event @returns {Box | null} */
  boxUnder(event) {
    const of = this.rows[Math.floor(event.offsetY / HEIGHT)];
    if (!of) return null;
    const scale = this.app.scaleOf(this.app.origin(of.log)),
      at = (/** @type {number} */ x) => scale.at((x - LEFT) / this.width),
      ns = at(event.offsetX),
      box = boxAt(of.log.lanes, of.of, ns, at(event.offsetX + REACH) - ns);
    return box < 0 ? null : { log: of.log, box };
  }

  // ---- what the user does

  /** @param {Box | null} box */
  hover(box) {
    if (box?.box === this.under?.box && box?.log === this.under?.log) return;
    this.under = box;
    this.canvas.style.cursor = box ? 'pointer' : '';
    this.draw();
    this.fill();
  }

  /** @param {Box} box */
  goTo({ log, box }) {
    const { from, to } = log.lanes,
      origin = this.app.origin(log),
      margin = (to[box] - from[box]) * 0.05;
    this.chosen = { log, box };
    this.app.setView(from[box] - margin - origin, to[box] + margin - origin);
    this.fill();
  }

  /** @param {number} by 1 or -1 */
  step(by) {
    const [log] = this.app.runs(),
      [from, to] = this.app.view.map((ns) => ns + this.app.origin(log)),
      box = nextInstance(log, from, to, by);
    if (box >= 0) this.goTo({ log, box });
  }

  /** The one that stands out most. @param {Log} log */
  goToWorst(log) {
    const begin = log.steps?.compared?.instance.begin ?? NaN,
      box = instancesOf(log).find((i) => log.lanes.from[i] <= begin && begin <= log.lanes.to[i]);
    if (box !== undefined) this.goTo({ log, box });
  }

  // ---- what is shown

  draw() {
    const { sheet } = this,
      begun = sheet.begin();
    if (!begun) return;
    const { c, ratio } = begun;
    const { share } = this.app.scaleOf(0);
    /** @type {paint.Surface} */
    const s = {
      c,
      ratio,
      left: LEFT * ratio,
      right: (sheet.width - RIGHT) * ratio,
      top: 0,
      bottom: sheet.height * ratio,
      x: (ns) => (LEFT + share(ns) * this.width) * ratio,
      y: () => 0,
    };
    this.rows.forEach(({ log, of }, i) => this.drawRow(s, log, of, i));
  }

  /** Boxes that are narrower than a pixel are drawn as one of a pixel: those that stand out, in any case.
   * @param {paint.Surface} s @param {Log} log @param {import('./lanes.js').Row} of @param {number} at */
  drawRow(s, log, of, at) {
    const { app } = this,
      origin = app.origin(log),
      { from, to } = log.lanes,
      top = at * HEIGHT * s.ratio,
      above = this.rows[at - 1];
    if (!above || above.log !== log || above.of.thread !== of.thread) {
      const name = log.threads[of.thread] ?? '',
        role = app.runs().length > 1 ? `${app.roleOf(log)} ` : '';
      paint.text(
        s,
        s.left - 6 * s.ratio,
        top + 13 * s.ratio,
        paint.shortened(s, role + name, (LEFT - 8) * s.ratio),
        colour('--faint'),
        'right',
      );
    }
    const seen = boxesBetween(log.lanes, of, app.view[0] + origin, app.view[1] + origin),
      out = seen.filter((i) => outOf(log, i).some((one) => one.out.byPeak)),
      isOut = new Set(out);
    let drawn = -Infinity;
    for (const i of [...seen, ...out]) {
      const left = Math.max(s.left, s.x(from[i] - origin)),
        least = (isOut.has(i) ? OUT : 1) * s.ratio,
        right = Math.min(s.right, Math.max(s.x(to[i] - origin), left + least));
      if (right - left < 2 * s.ratio && left < drawn + s.ratio && !isOut.has(i)) continue;
      drawn = left;
      this.drawBox(s, { log, box: i }, left, right, top, isOut.has(i));
    }
  }

  /** Of the band that the range's own blocks are in, in the first chart that has it. @param {Log} log @param {number} node */
  slot(log, node) {
    const { app } = this,
      band = { kind: ONE, node, thread: 0, size: 0, library: 0, python: 0, native: 0, atLeast: 0, pieces: [] },
      by = app.state.by === 'auto' ? 'auto' : 'range';
    const names = [
      ...log.heaps.map((heap) => bandName(log, heap, band, { ...app.grouping(), by })),
      pathName(log.paths[node]),
    ];
    return app.slotOf(names.find((name) => app.slots.has(name)) ?? '');
  }

  /** @param {paint.Surface} s @param {Box} box @param {number} left @param {number} right @param {number} top @param {boolean} out */
  drawBox(s, { log, box }, left, right, top, out) {
    const { c, ratio } = s,
      { app } = this,
      height = (HEIGHT - 3) * ratio,
      width = Math.max(ratio, right - left - (right - left > 4 * ratio ? ratio : 0)),
      lit = [this.under, this.chosen].some((one) => one?.box === box && one.log === log);
    c.fillStyle = colour(lit ? '--accent-ground' : out ? '--out' : '--grid');
    c.fillRect(left, top, width, height);
    c.fillStyle = out ? colour('--warn') : solid(this.slot(log, log.lanes.node[box]), app.dark);
    c.fillRect(left, top + height - 3 * ratio, width, 3 * ratio);
    if (width < 22 * ratio) return;
    const many = log.lanes.count[box] > 1 ? ` … ${count(log.lanes.count[box])} ranges` : '',
      label = paint.shortened(s, boxName(log, box) + many, width - 8 * ratio);
    if (label.length > 1) paint.text(s, left + 4 * ratio, top + 11.5 * ratio, label, colour(out ? '--warn' : '--ink'));
  }

  fill() {
    const box = this.under ?? this.chosen;
    this.said.replaceChildren(...(box ? this.aboutBox(box) : this.aboutAll()));
  }

  /** @param {Box} of */
  aboutBox({ log, box }) {
    const { lanes } = log,
      many = lanes.count[box] - 1,
      heaps = this.app.shownHeaps().flatMap((name) => {
        const taken = lanes.taken.get(name);
        return taken
          ? [{ name, begin: taken.begin_bytes[box], peak: taken.peak_bytes[box], end: taken.end_bytes[box] }]
          : [];
      });
    const bytes = (/** @type {string} */ name, /** @type {number} */ value, /** @type {boolean} */ signed) =>
      element('span', { title: exactly(value, false) }, amount(value, false, isEstimated({ name }), signed));
    const made = table(
      '',
      ['heap', 'added', 'peak', 'end'],
      heaps.slice(0, 5).map(({ name, begin, peak, end }) =>
        row([name, bytes(name, end - begin, true), bytes(name, peak, false), bytes(name, end, false)], {
          'data-heap': name,
        }),
      ),
    );
    made
      .querySelector('caption')
      ?.replaceChildren(
        element('b', {}, boxName(log, box)),
        many ? ` and ${count(many)} more, too short to stand apart` : '',
        `, ${duration(lanes.to[box] - lanes.from[box])} from ${time(lanes.from[box])}`,
        element('span', { class: 'more' }, this.aboutOut({ log, box })),
      );
    return [made];
  }

  /** @param {Box} of */
  aboutOut({ log, box }) {
    const all = outOf(log, box),
      told = (/** @type {string} */ what, /** @type {typeof all} */ by) =>
        by.length ? `; ${what} stands out: ${by.map(({ heap }) => heap).join(', ')}` : '';
    return (
      told(
        'its peak',
        all.filter(({ out }) => out.byPeak),
      ) +
      told(
        'what it kept',
        all.filter(({ out }) => out.byKept),
      )
    );
  }

  aboutAll() {
    return this.lanes.flatMap(({ log, threads }) => {
      const { repeat, lanes } = log,
        notes = [
          repeat ? `${count(repeat.instances)} × ${repeat.range}` : `${count(instancesOf(log).length)} ranges`,
          'a click or N goes to one',
          lanes.shortest ? `those shorter than ${duration(lanes.shortest)} stand together` : '',
          lanes.leftOut ? `${count(lanes.leftOut)} are not shown` : '',
          threads ? `${count(threads)} more threads have ranges` : '',
        ];
      const worst = standsOut(this.app, log, () => this.goToWorst(log));
      return [...(worst ? [worst] : []), element('p', { class: 'open' }, notes.filter(Boolean).join('; '))];
    });
  }
}

/** Null where no run has ranges. @param {App} app */
export const lanePanel = (app) => (app.runs().some((log) => log.lanes.from.length) ? new LanePanel(app) : null);
