/** Lanes of ranges above the charts, on their axis: when each range ran, and how many bytes it added. */
import { element, keepingFocus, row, table } from './dom.js';
import { amount, count, duration, exactly, several, time } from './format.js';
import { HEIGHT, drawLanes } from './lanepaint.js';
import { boxAt, boxName, instancesOf, nextInstance, outOf, peaksOut, rowsOf } from './lanes.js';
import { isEstimated } from './model.js';
import { commonBegins } from './names.js';
import { LEFT, RIGHT } from './plot.js';
import { Sheet } from './sheet.js';
import { pair } from './split.js';
import { standsOut } from './steppanel.js';

/**
 * @typedef {import('./app.js').App} App
 * @typedef {import('./data.js').Log} Log
 * @typedef {{ log: Log, box: number }} Box
 */

const MOST = 8, // rows of a run, or of two runs together
  REACH = 2; // pixels next to a box that still select it

export class LanePanel {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    const runs = app.runs();
    this.lanes = runs.map((log) => ({ log, ...rowsOf(log, MOST / runs.length) }));
    this.rows = this.lanes.flatMap(({ log, rows }) =>
      rows.map((of) => ({
        log,
        of,
        out: peaksOut(log, of),
        common: commonBegins(of.boxes.map((box) => boxName(log, box))),
      })),
    );
    /** For each run and range, the colour of the line below its boxes. @type {Map<Log, Map<number, string>>} */
    this.inks = new Map(runs.map((log) => [log, new Map()]));
    /** @type {Box | null} */
    this.under = null;
    /** The box that a key or a click selected. @type {Box | null} */
    this.chosen = null;
    this.canvas = /** @type {HTMLCanvasElement} */ (
      element('canvas', { role: 'img', tabindex: 0, 'aria-label': this.describe() })
    );
    this.said = element('div', { class: 'legend' });
    this.root = element(
      'section',
      { class: 'panel lanes', 'data-panel': 'lanes' },
      pair(app, element('div', { class: 'plot' }, this.canvas), this.said),
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

  // ---- positions

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

  // ---- user actions

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

  /** Goes to the instance that stands out most. @param {Log} log */
  goToWorst(log) {
    this.goToInstance(log, log.steps?.compared?.instance.begin ?? NaN);
  }

  /** Goes to the instance that is open at a time. @param {Log} log @param {number} at ns */
  goToInstance(log, at) {
    const box = instancesOf(log).find((i) => log.lanes.from[i] <= at && at <= log.lanes.to[i]);
    if (box !== undefined) this.goTo({ log, box });
  }

  // ---- drawing

  draw() {
    const { sheet } = this,
      begun = sheet.begin();
    if (!begun) return;
    const { c, ratio } = begun;
    const { share } = this.app.scaleOf(0);
    /** @type {import('./paint.js').Surface} */
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
    drawLanes(this, s);
  }

  /** Fills the description. The box under the mouse is described on top of the rest, so that nothing moves. */
  fill() {
    const { under, chosen } = this,
      same = under?.box === chosen?.box && under?.log === chosen?.log,
      card = under && !same ? [element('div', { class: 'card' }, ...this.aboutBox(under))] : [];
    keepingFocus(
      () =>
        this.said.replaceChildren(
          ...card,
          element('div', { class: 'about' }, ...(chosen ? this.aboutBox(chosen) : this.aboutAll())),
        ),
      [this.said],
    );
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
      clause = (/** @type {string} */ what, /** @type {typeof all} */ by) =>
        by.length ? `; ${what} stands out: ${by.map(({ heap }) => heap).join(', ')}` : '';
    return (
      clause(
        'its peak',
        all.filter(({ out }) => out.byPeak),
      ) +
      clause(
        'what it kept',
        all.filter(({ out }) => out.byKept),
      )
    );
  }

  aboutAll() {
    return this.lanes.flatMap(({ log, threads }) => {
      const { repeat, lanes } = log,
        notes = [
          repeat ? `${count(repeat.instances)} × ${repeat.range}` : several(instancesOf(log).length, 'range'),
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

/** Returns the panel, or null if no run has ranges. @param {App} app */
export const lanePanel = (app) => (app.runs().some((log) => log.lanes.from.length) ? new LanePanel(app) : null);
