/** One heap of one run: stacked bands, the minimum, limit and peak, and the table beside it, live under the cursor. */
import { fill } from './colours.js';
import { button, colour, element, swatch } from './dom.js';
import { count, duration, share, size, time } from './format.js';
import { shown } from './lod.js';
import { describe, isBad, marksOf } from './marks.js';
import { fineness, isExact, isPiece, peakSpan, spanAt, spanWidth } from './model.js';
import * as paint from './paint.js';
import { Plot } from './plot.js';

/**
 * @typedef {import('./app.js').App} App
 * @typedef {import('./model.js').Stack} Stack
 */

/** Kernel's or driver's figures that stand beside a heap. @param {Stack} stack */
function trackOf(stack) {
  const { name } = stack.heap,
    { tracks } = stack.log;
  if (name.startsWith('gpu'))
    return name.endsWith('/device') ? tracks.find((t) => t.name === `${name.split('/')[0]}/used`) : undefined;
  return name === 'host/heap' ? tracks.find((t) => t.name === 'RSS') : undefined;
}

/** @param {Stack} stack */
function limitOf(stack) {
  const { name } = stack.heap,
    { tracks } = stack.log;
  const track = name.startsWith('gpu')
    ? tracks.find((t) => t.name === `${name.split('/')[0]}/used`)
    : tracks.find((t) => t.name === 'cgroup');
  return track && track.limit > 0 && track.limit < 2 ** 50
    ? { bytes: track.limit, label: name.startsWith('gpu') ? 'memory of the GPU' : 'limit of the cgroup' }
    : null;
}

export class StackChart {
  /** @param {App} app @param {Stack} stack @param {string} role "A", "B" or "" @param {number} height */
  constructor(app, stack, role, height) {
    this.app = app;
    this.stack = stack;
    this.role = role;
    this.height = height;
    this.origin = app.origin(stack.log);
    this.peak = peakSpan(stack.heap);
    this.track = trackOf(stack);
    this.limit = limitOf(stack);
    this.marks = marksOf(stack.log, stack.heap.name);
    /** @type {import('./data.js').Mark | null} */
    this.near = null;
    /** @type {import('./lod.js').Shown} */
    this.shown = { x: [], span: [], min: [] };
    this.span = this.peak;
    this.rows = stack.groups.map((group) => this.legendRow(group));
    this.hovering = false;
    this.total = element('td', { class: 'total' });
    this.when = element('span', {});
    this.badge = element('span', { class: 'badge' });
    this.canvas = element('div', { class: 'plot', role: 'img', 'aria-label': this.describe() });
    this.root = this.build();
  }

  build() {
    const { heap } = this.stack,
      { app } = this,
      open = app.state.blocks === heap.name;
    const blocks =
      heap.blocks.from.length > 0 &&
      element(
        'div',
        { class: 'tools' },
        button(
          'blocks',
          'the largest blocks of any time, one by one',
          () => app.change({ blocks: open ? '' : heap.name }),
          open,
        ),
      );
    const head = element(
      'h3',
      {},
      this.role && element('b', { class: `role role-${this.role}` }, this.role),
      heap.name,
      element('span', { class: 'sub' }, `peak ${size(heap.peakBytes)} at ${time(heap.peakTime)}`),
    );
    const legend = element(
      'div',
      { class: 'legend' },
      element(
        'table',
        { class: 'bands' },
        element('caption', {}, this.when, ' ', this.badge),
        element('tbody', {}, ...this.rows.map((r) => r.row)),
        element('tfoot', {}, element('tr', {}, element('th', { scope: 'row' }, 'all'), this.total, element('td', {}))),
      ),
    );
    return element(
      'section',
      { class: 'chart', 'data-heap': heap.name, 'data-role': this.role },
      blocks,
      head,
      element('div', { class: 'pair' }, this.canvas, legend),
    );
  }

  describe() {
    const { heap, groups } = this.stack;
    const top = groups
      .slice(0, 3)
      .map((g) => `${g.name} ${size(g.atPeak)}`)
      .join(', ');
    return `${heap.name} over time; peak ${size(heap.peakBytes)} at ${time(heap.peakTime)}: ${top}`;
  }

  /** @param {import('./model.js').Group} group */
  legendRow(group) {
    const { app } = this;
    const bytes = element('td', {}),
      part = element('td', {});
    const name = element(
      'button',
      { type: 'button', class: 'name', title: `${group.name}\nclick: hide, double click: only this` },
      swatch(fill(app.slot(group), app.dark)),
      element('span', {}, element('bdi', {}, group.name)),
    );
    const made = element(
      'tr',
      {
        'data-name': group.name,
        onmouseenter: () => app.light(group.name),
        onmouseleave: () => app.light(null),
        onclick: () => app.toggle(group.name),
        ondblclick: () => app.solo(group.name),
      },
      element('th', { scope: 'row' }, name),
      bytes,
      part,
    );
    return { group, row: made, bytes, part };
  }

  /** Highest bytes of what is not hidden, in the view. */
  top() {
    const { groups, heap } = this.stack;
    if (groups.every((g) => this.app.visible(g.name))) return heap.peakBytes;
    let most = 0;
    for (let i = 0; i < heap.spans.start.length; i++) {
      let sum = 0;
      for (const g of groups) if (this.app.visible(g.name)) sum += g.bytes[i];
      if (sum > most) most = sum;
    }
    return most;
  }

  /** What the axis has to hold. */
  ceiling() {
    let top = this.top();
    if (this.limit && this.limit.bytes < top * 1.5) top = Math.max(top, this.limit.bytes);
    if (this.track && this.app.allVisible()) {
      const most = this.track.value.reduce((a, b) => Math.max(a, b), 0);
      if (most < top * 1.6) top = Math.max(top, most);
    }
    return top;
  }

  /** @param {number} width @param {number} yMax @param {boolean} axis */
  mount(width, yMax, axis) {
    const { app } = this;
    this.plot = new Plot(this.canvas, {
      width,
      height: this.height,
      name: this.stack.heap.name,
      yMax,
      view: app.view,
      axis,
      draw: (s) => this.draw(s),
      hover: (ns) => this.hover(ns),
      click: (ns, event) => app.pinAt(this, ns, event),
      select: (from, to) => app.select(this, from, to),
      zoom: (share, factor) => app.zoom(share, factor),
      pan: (by) => app.pan(by),
    });
    this.update(yMax);
  }

  /** After the view, what is hidden or the size has changed. @param {number} yMax */
  update(yMax) {
    const plot = /** @type {Plot} */ (this.plot);
    const [from, to] = this.app.view;
    const columns = Math.max(50, Math.floor(plot.u.bbox.width / (globalThis.devicePixelRatio || 1)) || 600);
    this.shown = shown(this.stack.heap.spans, from + this.origin, to + this.origin, columns);
    plot.show(this.app.view, yMax);
    this.fillLegend();
  }

  redraw() {
    this.plot?.u.redraw(false);
  }

  /** The bands' upper edges at the shown spans, highest first. */
  edges() {
    const { groups } = this.stack;
    const sum = new Float64Array(this.shown.span.length);
    const edges = [];
    for (const group of groups) {
      if (!this.app.visible(group.name)) continue;
      const below = sum.slice();
      this.shown.span.forEach((span, i) => {
        sum[i] += group.bytes[span];
      });
      edges.push({ group, below, upper: sum.slice() });
    }
    return edges.reverse();
  }

  /** @param {paint.Surface} s */
  draw(s) {
    const { app, origin } = this,
      { heap, log } = this.stack;
    const xs = this.shown.x.map((x) => x - origin),
      end = log.duration - origin;
    const edges = this.edges();
    for (const { group, upper } of edges) paint.area(s, xs, upper, end, fill(app.slot(group), app.dark));
    const lit = edges.find(({ group }) => group.name === app.lit);
    if (lit) this.drawLit(s, xs, end, lit);
    if (heap.width > 1 && app.allVisible())
      paint.line(s, xs, this.shown.min, end, app.dark ? 'rgba(255,255,255,.5)' : 'rgba(0,0,0,.35)');
    this.drawContext(s);
    this.drawMarks(s);
    if (app.allVisible()) {
      const x = s.x(heap.spans.time[this.peak] - origin);
      if (x >= s.left && x <= s.right)
        paint.flag(s, x, s.y(heap.peakBytes), size(heap.peakBytes), colour('--ink'), colour('--ground'));
    }
    for (const pin of app.pins) paint.upright(s, s.x(pin.at), colour('--accent'), pin === app.pins[0] ? [] : [4, 3]);
  }

  /** One band stands out, the others fade. @param {paint.Surface} s @param {number[]} xs @param {number} end
   *  @param {{ group: import('./model.js').Group, below: Float64Array, upper: Float64Array }} lit */
  drawLit(s, xs, end, lit) {
    const { app } = this;
    s.c.save();
    s.c.globalAlpha = 0.66;
    s.c.fillStyle = colour('--ground');
    s.c.fillRect(s.left, s.top, s.right - s.left, s.bottom - s.top);
    s.c.restore();
    paint.between(s, xs, lit.below, lit.upper, end, fill(app.slot(lit.group), app.dark));
  }

  /** @param {paint.Surface} s */
  drawContext(s) {
    const { track, limit, origin } = this;
    if (track && this.app.allVisible()) {
      const from = this.app.view[0] + origin,
        to = this.app.view[1] + origin,
        xs = [],
        ys = [];
      for (let i = 0; i < track.time.length; i++) {
        if (i + 1 < track.time.length && track.time[i + 1] < from) continue;
        if (track.time[i] > to) break;
        xs.push(track.time[i] - origin);
        ys.push(track.value[i]);
      }
      paint.line(s, xs, ys, this.stack.log.duration - origin, colour('--faint'), 1.2, [2, 3]);
      this.nameTrack(s, xs, ys, track.name === 'RSS' ? 'RSS' : 'used, as the driver says');
    }
    if (limit && s.y(limit.bytes) >= s.top - 1)
      paint.across(s, s.y(limit.bytes), colour('--warn'), `${limit.label}: ${size(limit.bytes)}`);
  }

  /** At the track's right end, in the middle, or left of the peak's flag: where the flag leaves room.
   *  @param {paint.Surface} s @param {number[]} xs @param {number[]} ys @param {string} name */
  nameTrack(s, xs, ys, name) {
    const WIDTH = 150 * s.ratio,
      FLAG = 95 * s.ratio,
      peak = s.x(this.stack.heap.peakTime - this.origin),
      end = Math.min(s.right, s.x(this.stack.log.duration - this.origin)) - 6 * s.ratio;
    const x = [end, (s.left + end) / 2, peak - FLAG].find(
      (at) => at - WIDTH >= s.left && (at <= peak - FLAG || at - WIDTH >= peak + FLAG),
    );
    if (x === undefined) return;
    const at = spanAt(Float64Array.from(xs, s.x), x);
    if (at < 0 || s.y(ys[at]) <= s.top) return;
    paint.text(s, x, s.y(ys[at]) - 4 * s.ratio, name, colour('--faint'), 'right', colour('--ground'));
  }

  /** @param {paint.Surface} s */
  drawMarks(s) {
    for (const mark of this.marks) {
      const x = s.x(mark.time - this.origin),
        bad = isBad(mark);
      if (x < s.left || x > s.right) continue;
      if (bad) paint.upright(s, x, colour('--warn'), [2, 3]);
      paint.marker(s, x, mark.kind, bad ? colour('--warn') : colour('--ink'));
    }
    if (!this.near) return;
    const x = s.x(this.near.time - this.origin),
      right = x < (s.left + s.right) / 2;
    paint.text(
      s,
      x + (right ? 7 : -7) * s.ratio,
      s.bottom - 16 * s.ratio,
      describe(this.stack.log, this.near),
      colour('--ink'),
      right ? 'left' : 'right',
      colour('--ground'),
    );
  }

  /** The mark within a few pixels of a time. @param {number | null} ns */
  markNear(ns) {
    if (ns === null) return null;
    const reach = ((this.app.view[1] - this.app.view[0]) / (this.plot?.u.over.clientWidth || 600)) * 6;
    return this.marks.find((mark) => Math.abs(mark.time - this.origin - ns) <= reach) ?? null;
  }

  /** The span that is drawn at a time; -1 before the first. @param {number} ns */
  drawnAt(ns) {
    const { x, span } = this.shown;
    let found = -1;
    for (let low = 0, high = x.length - 1; low <= high;) {
      const middle = (low + high) >> 1;
      if (x[middle] <= ns + this.origin) low = (found = middle) + 1;
      else high = middle - 1;
    }
    return found < 0 ? -1 : span[found];
  }

  /** @param {number | null} ns */
  hover(ns) {
    this.span = ns === null ? (this.app.pins.length ? this.drawnAt(this.app.pins[0].at) : this.peak) : this.drawnAt(ns);
    this.hovering = ns !== null;
    const near = this.markNear(ns);
    if (near !== this.near) {
      this.near = near;
      this.redraw();
    }
    this.fillLegend();
  }

  fillLegend() {
    const { heap } = this.stack,
      { span } = this,
      there = span >= 0 && heap.spans.start.length > 0;
    const total = there ? heap.spans.max[span] : 0;
    for (const { group, row: line, bytes, part } of this.rows) {
      const held = there ? group.bytes[span] : 0;
      bytes.textContent = size(held);
      bytes.title = `${count(held)} bytes`;
      part.textContent = share(held, total);
      line.classList.toggle('hidden-band', !this.app.visible(group.name));
      line.classList.toggle('lit', this.app.lit === group.name);
      line.classList.toggle('miss', this.app.misses(group.name));
    }
    const label = this.hovering ? 'under the cursor' : this.app.pins.length ? 'pinned' : 'at the peak';
    this.when.textContent = there
      ? `${label}, ${time(heap.spans.time[span], span === this.peak ? 1e3 : fineness(heap, span))}`
      : 'before the first allocation';
    this.total.textContent = size(total);
    this.total.title = `${count(total)} bytes`;
    this.fillBadge(there, span);
  }

  /** @param {boolean} there @param {number} span */
  fillBadge(there, span) {
    const { heap } = this.stack,
      { badge } = this;
    const exact = there && (isExact(heap, span) || span === this.peak);
    if (there) {
      const within = duration(spanWidth(heap, span)),
        least = `least ${size(heap.spans.min[span])}`;
      badge.textContent = exact ? 'exact' : `bucket of ${within}`;
      badge.title = exact
        ? 'the state at this instant, to the byte'
        : isPiece(heap, span)
          ? `one state, to the byte, of ${within} beside a time whose every change is kept; ${least}`
          : `the state, to the byte, when the heap was largest within ${within}; ${least}`;
    } else badge.textContent = badge.title = '';
    badge.className = `badge ${exact ? 'exact' : 'bucket'}`;
  }

  destroy() {
    this.plot?.destroy();
  }
}
