/** One heap of one run: its stacked bands, and a table next to them that follows the cursor. */
import { fill } from './colours.js';
import { limitOf, seenOf, trackOf } from './context.js';
import { button, element, swatch } from './dom.js';
import { liveCount } from './flows.js';
import { amount, exactly, several, share, size, time } from './format.js';
import { Legend } from './legend.js';
import { shown } from './lod.js';
import { marksOf } from './marks.js';
import { NOBODY, hasAboutPeak, isAbout, isEstimated, isLeast, peakSpan, spanAt } from './model.js';
import { Plot } from './plot.js';
import { pair } from './split.js';
import { drawStack } from './stackpaint.js';
import { steadyOf } from './steady.js';
import { hideTooltip, showTooltip } from './tooltip.js';

/**
 * @typedef {import('./app.js').App} App
 * @typedef {import('./model.js').Stack} Stack
 */

const SAMPLED =
  'a sampled block counts for those that it represents; titles have the standard error; the sum of all bands is no estimate';

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
    /** For each group the hidden bytes, then their sum and the lower end of the axis. @type {number[]} */
    this.steady = [];
    this.base = this.low = 0;
    this.hidden = element('span', { class: 'sub' });
    this.legend = new Legend(app, stack);
    /** @type {number | null} where the cursor is */
    this.cursor = null;
    this.isPointed = false; // the tooltip describes one of its bands
    this.canvas = element('div', { class: 'plot', role: 'img', tabindex: 0, 'aria-label': this.describe() });
    this.root = this.build();
  }

  build() {
    const { heap, log } = this.stack,
      { app } = this,
      asleep = log.card?.asleep.find((of) => of.heap === heap.name),
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
      'h2',
      {},
      this.role && element('b', { class: `role role-${this.role}` }, this.role),
      heap.name,
      element(
        'span',
        { class: 'sub peak' },
        `peak ${amount(heap.peakBytes, false, hasAboutPeak(heap))} at ${time(heap.peakTime)}`,
      ),
      asleep
        ? element('span', { class: 'sub' }, `${size(asleep.bytes)} of it asleep (unmapped) at the peak of the GPU`)
        : null,
      heap.sampleMean > 0 &&
        !isEstimated(heap) &&
        element('span', { class: 'sub', title: SAMPLED }, 'call stacks are a sample: ~ marks estimates'),
      this.unnamed(),
      this.hidden,
    );
    return element(
      'section',
      { class: 'chart', 'data-heap': heap.name, 'data-role': this.role },
      blocks,
      head,
      pair(this.app, this.canvas, this.legend.root),
    );
  }

  /** Returns the share of the peak that has no name, with a button that stacks by size class, or null if most of it has
   *  one. */
  unnamed() {
    const MOST = 0.5,
      { app } = this,
      { heap, groups } = this.stack,
      bytes = groups.reduce((sum, { name, atPeak }) => sum + (NOBODY.includes(name) ? atPeak : 0), 0);
    if (bytes < MOST * heap.peakBytes || !bytes) return null;
    return element(
      'span',
      { class: 'sub unnamed' },
      `${share(bytes, heap.peakBytes)} of the peak without a name: `,
      button('size classes', 'one band per size class', () => app.change({ by: 'size', hidden: [], only: '' })),
    );
  }

  describe() {
    const { heap, groups } = this.stack;
    const top = groups
      .slice(0, 3)
      .map((g) => `${g.name} ${amount(g.atPeak, isLeast(this.stack, g, this.peak), isAbout(g, this.peak))}`)
      .join(', ');
    return `${heap.name} over time; peak ${amount(heap.peakBytes, false, hasAboutPeak(heap))} at ${time(heap.peakTime)}: ${top}`;
  }

  /** Returns the most bytes in view, of bands that are not hidden. */
  top() {
    const { groups, heap } = this.stack,
      all = groups.every((g) => this.app.visible(g.name)),
      [from, to] = this.app.view.map((ns) => spanAt(heap.spans.start, ns + this.origin));
    let most = 0;
    for (let i = Math.max(0, from); i <= to; i++) {
      let sum = all ? heap.spans.max[i] : 0;
      for (const g of all ? [] : groups) if (this.app.visible(g.name)) sum += g.bytes[i];
      if (sum > most) most = sum;
    }
    return most;
  }

  /** Hides the bytes that never change in view, if the state asks for it. Returns their sum. */
  hide() {
    const { groups, heap } = this.stack,
      { app } = this,
      [first, last] = app.view.map((ns) => spanAt(heap.spans.start, ns + this.origin));
    this.steady = app.state.steady
      ? steadyOf(groups, first, last).map((bytes, i) => (app.visible(groups[i].name) ? bytes : 0))
      : groups.map(() => 0);
    this.base = this.steady.reduce((sum, bytes) => sum + bytes, 0);
    this.hidden.textContent = this.base ? `hidden: ${size(this.base)} that never changes in view` : '';
    this.hidden.title = exactly(this.base, false);
    return this.base;
  }

  /** Returns the upper end of the axis for the view. */
  ceiling() {
    let top = this.top();
    const near = (/** @type {number} */ bytes, /** @type {number} */ most) =>
      bytes - this.low < (top - this.low) * most;
    if (this.limit && near(this.limit.bytes, 1.5)) top = Math.max(top, this.limit.bytes);
    if (this.track && this.app.allVisible()) {
      const most = seenOf(this).reduce((high, { y }) => Math.max(high, y), 0);
      if (near(most, 1.6)) top = Math.max(top, most);
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
      yMin: this.low,
      view: app.view,
      axis,
      draw: (s) => drawStack(this, s),
      hover: (ns) => this.hover(ns),
      click: (ns) => this.pin(Math.round(ns)),
      app,
    });
    this.update(yMax);
  }

  /** Redraws after a change of the view, the hidden bands or the size. @param {number} yMax */
  update(yMax) {
    const plot = /** @type {Plot} */ (this.plot);
    const [from, to] = this.app.view;
    const columns = Math.max(50, Math.floor(plot.u.bbox.width / (globalThis.devicePixelRatio || 1)) || 600);
    this.shown = shown(
      this.stack.heap.spans,
      from + this.origin,
      to + this.origin,
      columns,
      this.app.scaleOf(this.origin),
    );
    plot.options.yMin = this.low;
    plot.show(this.app.view, yMax);
    this.fillLegend();
    this.legend.fillShapes(this.shown.span);
  }

  redraw() {
    this.plot?.u.redraw(false);
  }

  /** Returns the bands' edges at the shown spans, the highest first. */
  edges() {
    const { groups } = this.stack;
    const { span } = this.shown;
    let below = new Float64Array(span.length).fill(this.base);
    /** @type {{ group: import('./model.js').Group, below: Float64Array, upper: Float64Array }[]} */
    const edges = [];
    groups.forEach((group, at) => {
      if (!this.app.visible(group.name)) return;
      const upper = new Float64Array(span.length);
      for (let i = 0; i < upper.length; i++) upper[i] = below[i] + group.bytes[span[i]] - this.steady[at];
      edges.push({ group, below, upper });
      below = upper;
    });
    return edges.reverse();
  }

  /** Returns the mark within a few pixels of a time. @param {number | null} ns */
  markNear(ns) {
    if (ns === null) return null;
    const { share } = this.app.scaleOf(0),
      reach = 6 / (this.plot?.u.over.clientWidth || 600);
    return this.marks.find((mark) => Math.abs(share(mark.time - this.origin) - share(ns)) <= reach) ?? null;
  }

  /** Returns the span that is drawn at a time, or -1 before the first. @param {number} ns */
  drawnAt(ns) {
    const { x, span } = this.shown;
    let found = -1;
    for (let low = 0, high = x.length - 1; low <= high; ) {
      const middle = (low + high) >> 1;
      if (x[middle] <= ns + this.origin) low = (found = middle) + 1;
      else high = middle - 1;
    }
    return found < 0 ? -1 : span[found];
  }

  /** Pins the state that is drawn at a time, and the band under the mouse. @param {number} ns */
  pin(ns) {
    const { log, heap } = this.stack,
      at = this.app.instantOf(log, heap, this.drawnAt(ns), ns),
      band = this.groupUnder(ns)?.group.name;
    this.app.addPin({ heap: heap.name, log: log.index, at, ...(band === undefined ? {} : { band }) });
  }

  /** @param {number | null} ns */
  hover(ns) {
    this.cursor = ns;
    const near = this.markNear(ns);
    if (near !== this.near) {
      this.near = near;
      this.redraw();
    }
    this.fillLegend();
    this.fillTooltip(ns);
  }

  /** Returns the group that is drawn under the mouse, or null. @param {number | null} ns */
  groupUnder(ns) {
    const { plot, app } = this,
      span = ns === null || !plot?.mouse ? -1 : this.drawnAt(ns);
    if (!plot || span < 0) return null;
    const bytes = plot.u.posToVal(plot.u.cursor.top ?? -1, 'y');
    let from = this.base;
    for (const [i, group] of this.stack.groups.entries()) {
      if (!app.visible(group.name)) continue;
      const to = from + group.bytes[span] - this.steady[i];
      if (bytes >= from && bytes < to) return { group, span };
      from = to;
    }
    return null;
  }

  /** Shows the group under the mouse in the tooltip, and marks it in the legend. @param {number | null} ns */
  fillTooltip(ns) {
    const under = this.groupUnder(ns),
      { mouse } = this.plot ?? {};
    this.legend.point(under?.group.name ?? null);
    if (under && mouse) showTooltip(mouse, ...this.tooltip(under));
    else if (this.isPointed) hideTooltip();
    this.isPointed = under !== null;
  }

  /** Describes a group at a span: its name, bytes, share and blocks. @param {{ group: import('./model.js').Group, span:
   *  number }} under */
  tooltip({ group, span }) {
    const { app, stack } = this,
      { heap } = stack,
      blocks = liveCount(heap, stack, group, span),
      bytes = amount(group.bytes[span], isLeast(stack, group, span), isAbout(group, span)),
      parts = [share(group.bytes[span], heap.spans.max[span]), ...(blocks === null ? [] : [several(blocks, 'block')])];
    return [
      element('div', { class: 'called' }, swatch(fill(app.slot(group), app.dark)), group.name),
      element('div', {}, element('b', {}, bytes), ` ${parts.join(', ')}`),
      element('div', { class: 'when' }, `${time(heap.spans.time[span])}, a click explains it`),
    ];
  }

  fillLegend() {
    const { log, heap } = this.stack,
      { pins } = this.app;
    if (this.cursor !== null) {
      this.legend.fill(this.drawnAt(this.cursor), 'under the cursor', null);
    } else if (pins.length) {
      const label = pins.length > 1 ? 'first pin' : 'pinned';
      this.legend.fill(this.app.pinSpan(log, heap, pins[0].at), label, pins[0].at + this.origin);
    } else this.legend.fill(this.peak, 'at the peak', heap.peakTime);
  }

  destroy() {
    if (this.isPointed) hideTooltip();
    this.plot?.destroy();
  }
}
