/** The chart of a device's account: the parts of its used memory over time, up to its limit, with a table of one
 *  instant. */
import { begins, fills, instantAt, isKnownAt, nearestTo, peakOf, spread } from './accounts.js';
import { colour, element, swatch, timeText } from './dom.js';
import { edges } from './edges.js';
import { count, several, share, size, time } from './format.js';
import { isBad, marksOf } from './marks.js';
import * as paint from './paint.js';
import { spanAt } from './model.js';
import { Plot } from './plot.js';
import { pair } from './split.js';

/**
 * @typedef {import('./app.js').App} App
 * @typedef {import('./data.js').Log} Log
 * @typedef {import('./accounts.js').Account} Account
 */

export class AccountChart {
  /** @param {App} app @param {Log} log @param {Account} account @param {string} role "A", "B" or "" @param {number} height */
  constructor(app, log, account, role, height) {
    this.app = app;
    this.log = log;
    this.account = account;
    this.role = role;
    this.height = height;
    this.gpu = `gpu${account.device}`;
    this.origin = app.origin(log);
    this.begins = begins(account);
    this.edges = edges(account.parts, account.used.length);
    this.marks = marksOf(log, `${this.gpu}/`);
    this.fill = fills(
      app.logs.flatMap((of) => of.accounts),
      app.dark,
    );
    /** @type {number | null} where the cursor is */
    this.cursor = null;
    this.peak = peakOf(account);
    /** The lower end of the y axis, which is the same in both runs. */
    this.low = 0;
    this.canvas = element('div', { class: 'plot', role: 'img', tabindex: 0, 'aria-label': this.describe() });
    this.when = element('span', {});
    this.badge = element('span', { class: 'badge' });
    this.rows = element('tbody', {});
    /** A key of the table's content: the table is written again only if the key changes. */
    this.filled = '';
    this.sum = element('td', { class: 'total' });
    this.root = this.build();
  }

  build() {
    const { account, role } = this,
      number = spread(account);
    const head = element(
      'h2',
      {},
      role && element('b', { class: `role role-${role}` }, role),
      `${this.gpu}: memory by kind`,
      element('span', { class: 'sub' }, `exact at ${several(number, 'instant')}; values between them are not known`),
    );
    const legend = element(
      'div',
      {
        class: 'legend',
        role: 'region',
        tabindex: 0,
        'aria-label': `the account of ${this.gpu}${role && ` of ${role}`}`,
      },
      element(
        'table',
        { class: 'account' },
        element('caption', {}, this.when, ' ', this.badge),
        this.rows,
        element('tfoot', {}, element('tr', {}, element('th', { scope: 'row' }, 'all'), this.sum, element('td', {}))),
      ),
    );
    return element(
      'section',
      { class: 'chart', 'data-account': this.gpu, 'data-role': role },
      head,
      pair(this.app, this.canvas, legend),
    );
  }

  describe() {
    const { account, peak } = this,
      largest = [...account.parts].sort((a, b) => b.bytes[peak] - a.bytes[peak]).slice(0, 3);
    const parts = peak < 0 ? [] : largest.map((part) => `${part.name} ${size(part.bytes[peak])}`);
    return `memory of ${this.gpu} by kind, over time; at the peak: ${parts.join(', ')}`;
  }

  /** Returns the lowest and the highest edge of the parts at the instants in view. */
  bounds() {
    const [from, to] = this.app.view.map((ns) => ns + this.origin),
      first = Math.max(0, spanAt(this.begins, from)),
      last = spanAt(this.begins, to);
    let low = 0,
      high = 1;
    for (const { edge } of this.edges)
      for (let i = first; i <= last; i++) {
        if (edge[i] < low) low = edge[i];
        if (edge[i] > high) high = edge[i];
      }
    return [low, high];
  }

  /** Returns the lower end that the axis would have for this run alone. */
  bottom() {
    return this.bounds()[0] * 1.06;
  }

  /** Returns the upper end of the axis: the highest edge in view, or the device's memory if that is not much more. */
  ceiling() {
    const [, high] = this.bounds(),
      { total } = this.account;
    return total && total < high * 1.5 ? Math.max(high, total) : high;
  }

  /** @param {number} width @param {number} yMax @param {boolean} axis */
  mount(width, yMax, axis) {
    const { app } = this;
    this.plot = new Plot(this.canvas, {
      width,
      height: this.height,
      name: this.gpu,
      title: 'used bytes',
      yMax,
      yMin: 0,
      view: app.view,
      axis,
      draw: (s) => this.draw(s),
      hover: (ns) => this.hover(ns),
      click: (ns) => this.pin(Math.round(ns)),
      app,
    });
    this.update(yMax);
  }

  /** @param {number} yMax */
  update(yMax) {
    const plot = /** @type {Plot} */ (this.plot);
    plot.options.yMin = this.low;
    plot.show(this.app.view, yMax);
    this.fillLegend();
  }

  redraw() {
    this.plot?.u.redraw(false);
  }

  /** @param {paint.Surface} s */
  draw(s) {
    const { app, origin, account } = this,
      xs = this.begins.map((ns) => ns - origin),
      end = this.log.duration - origin;
    for (const { part, edge } of this.edges) paint.area(s, xs, edge, end, this.fill(part));
    if (account.total && s.y(account.total) >= s.top - 1)
      paint.across(s, s.y(account.total), colour('--warn'), `memory of the GPU: ${size(account.total)}`);
    for (const mark of this.marks)
      paint.marker(s, s.x(mark.time - origin), mark.kind, isBad(mark) ? colour('--warn') : colour('--faint'));
    for (const pin of app.pins) paint.upright(s, s.x(pin.at), colour('--accent'), pin === app.pins[0] ? [] : [4, 3]);
  }

  /** @param {number | null} ns */
  hover(ns) {
    this.cursor = ns;
    this.fillLegend();
  }

  /** Pins the instant that is drawn at the time, because its numbers are exact. @param {number} ns */
  pin(ns) {
    const i = instantAt(this.account, ns + this.origin),
      heap = this.log.heaps.find(({ name }) => name.startsWith(`${this.gpu}/`));
    if (i < 0 || !heap) return;
    const at = isKnownAt(this.account, i, ns + this.origin) ? ns : this.account.time[i] - this.origin;
    this.app.addPin({ heap: heap.name, log: this.log.index, at });
  }

  /** Returns the index, the time and the label of the instant that the table shows. */
  chosen() {
    const { app, account, origin } = this,
      [pin] = app.pins;
    if (this.cursor === null && !pin)
      return { i: this.peak, ns: account.time[this.peak], label: 'at the peak of the device' };
    const ns = Math.round(this.cursor ?? pin.at) + origin,
      label = this.cursor !== null ? 'under the cursor' : app.pins.length > 1 ? 'first pin' : 'pinned';
    return { i: this.cursor !== null ? instantAt(account, ns) : nearestTo(account, ns), ns, label };
  }

  fillLegend() {
    const { account, badge } = this,
      { i, ns, label } = this.chosen(),
      isKnown = i >= 0 && isKnownAt(account, i, ns),
      filled = `${label} ${i} ${isKnown ? ns : ''}`;
    if (filled === this.filled) return;
    this.filled = filled;
    this.when.replaceChildren(
      ...(i < 0
        ? ['before the first instant']
        : isKnown
          ? [`${label}, `, timeText(ns)]
          : [`no values ${label}; nearest: `, timeText(account.time[i])]),
    );
    badge.className = `badge ${isKnown ? 'exact' : 'bucket'}`;
    badge.textContent = i < 0 ? '' : isKnown ? 'exact' : 'nearest instant';
    badge.title =
      i < 0
        ? ''
        : isKnown
          ? 'the memory by kind then, as in peaks --at'
          : 'these values are exact at the time that is shown';
    this.rows.replaceChildren(...this.partsAt(i).map((part) => this.row(part, i)));
    const sum = i < 0 ? 0 : account.used[i];
    this.sum.textContent = size(sum);
    this.sum.title = `${count(sum)} bytes`;
  }

  /** Returns the parts at an instant, the largest first. At the peak and when memory ran out, other processes that have a
   *  log are named. @param {number} i @returns {{ key: string, name: string, bytes: number, note: string }[]} */
  partsAt(i) {
    const { account, log } = this,
      named = log.card?.shared.find(({ device, time: at }) => device === account.device && at === account.time[i]),
      parts = named
        ? named.parts.map(({ use, ...part }) => ({ ...part, key: use ?? 'other_processes' }))
        : account.parts.map(({ key, name, bytes }) => ({ key, name, bytes: bytes[i], note: '' }));
    return parts.filter(({ bytes }) => bytes).sort((a, b) => b.bytes - a.bytes);
  }

  /** @param {{ key: string, name: string, bytes: number, note: string }} part @param {number} i */
  row(part, i) {
    const { bytes, note } = part;
    return element(
      'tr',
      { 'data-part': part.key, title: note || undefined },
      element(
        'th',
        { scope: 'row' },
        element('span', { class: 'name' }, swatch(this.fill(part)), element('bdi', {}, part.name)),
      ),
      element('td', { title: `${count(bytes)} bytes` }, size(bytes)),
      element('td', {}, bytes < 0 ? '' : share(bytes, this.account.used[i])),
    );
  }

  destroy() {
    this.plot?.destroy();
  }
}

/** Returns the charts of a device's account, one per run. @param {App} app @param {string} gpu
 *  @param {number} height */
export const accountCharts = (app, gpu, height) =>
  app
    .runs()
    .flatMap((log) =>
      log.accounts
        .filter(({ device, time }) => `gpu${device}` === gpu && time.length)
        .map((account) => new AccountChart(app, log, account, app.state.b < 0 ? '' : app.roleOf(log), height)),
    );
