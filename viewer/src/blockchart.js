/** Live allocations: the largest blocks of a heap as rectangles under its chart. */
import { address, place, stacksOf } from './blocks.js';
import { fill } from './colours.js';
import { colour, element } from './dom.js';
import { count, duration, size, time } from './format.js';
import { instanceAt, repeatAt } from './lanes.js';
import { liveBlocks } from './liveblocks.js';
import { blockName, isEstimated, pathName, peakSpan, spanAt } from './model.js';
import { Plot } from './plot.js';
import { pair } from './split.js';

/** @typedef {import('./app.js').App} App */

export class BlockChart {
  /** @param {App} app @param {import('./model.js').Stack} stack @param {string} role @param {number} height */
  constructor(app, stack, role, height) {
    this.app = app;
    this.log = stack.log;
    this.heap = stack.heap;
    this.height = height;
    this.origin = app.origin(stack.log);
    this.base = place(stack.heap.blocks);
    this.most = this.base.reduce((most, base, i) => Math.max(most, base + stack.heap.blocks.size[i]), 1);
    this.names = Array.from(this.base, (_, i) => blockName(stack.log, stack.heap, i, app.grouping()));
    this.lit = this.under = -1;
    this.held = false; // a click keeps the description of a block
    const { found, others, otherBytes } = liveBlocks(stack.heap, peakSpan(stack.heap));
    this.canvas = element('div', {
      class: 'plot',
      role: 'img',
      tabindex: 0,
      'aria-label': `${count(this.base.length)} ${isEstimated(stack.heap) ? 'sampled ' : ''}blocks of ${stack.heap.name}, the largest of any time`,
    });
    this.said = element('div', { class: 'legend said' });
    this.root = element(
      'section',
      { class: 'chart', 'data-blocks': stack.heap.name, 'data-role': role },
      element(
        'h2',
        {},
        role && element('b', { class: `role role-${role}` }, role),
        `${stack.heap.name}, ${isEstimated(stack.heap) ? 'sampled' : 'largest'} blocks`,
        element(
          'span',
          { class: 'sub' },
          `${count(this.base.length)} that stand out at some time; at the peak ${count(found.length)} of them hold ` +
            (isEstimated(stack.heap)
              ? `${size(stack.heap.peakBytes - otherBytes)}, and stand for ~${size(stack.heap.peakBytes)}`
              : `${size(stack.heap.peakBytes - otherBytes)}, ${count(others)} others ${size(otherBytes)}`),
        ),
      ),
      pair(app, this.canvas, this.said),
    );
  }

  ceiling() {
    return this.most;
  }

  /** @param {number} width @param {number} _yMax @param {boolean} axis */
  mount(width, _yMax, axis) {
    const { app } = this;
    this.plot = new Plot(this.canvas, {
      width,
      height: this.height,
      name: this.heap.name,
      title: 'bytes of these blocks',
      yMax: this.most * 1.04,
      view: app.view,
      axis,
      draw: (s) => this.draw(s),
      hover: (ns) => this.hover(ns),
      click: () => this.hold(),
      app,
    });
    this.fill();
  }

  update() {
    /** @type {Plot} */ (this.plot).show(this.app.view);
  }

  redraw() {
    this.plot?.u.redraw(false);
  }

  /** @param {import('./paint.js').Surface} s */
  draw(s) {
    const { blocks } = this.heap,
      { app } = this;
    for (let i = 0; i < this.base.length; i++) {
      if (!app.visible(this.names[i])) continue;
      const left = Math.max(s.left, s.x(blocks.from[i] - this.origin)),
        right = Math.min(s.right, s.x(blocks.to[i] - this.origin));
      if (right < s.left || left > s.right) continue;
      const bottom = s.y(this.base[i]),
        top = s.y(this.base[i] + blocks.size[i]);
      const wide = Math.max(s.ratio, right - left),
        high = bottom - top;
      s.c.fillStyle = fill(app.slotOf(this.names[i]), app.dark);
      s.c.globalAlpha = i === this.lit || this.lit < 0 ? 1 : 0.45;
      s.c.fillRect(left, top, wide, Math.max(high, 0.6));
      if (high > 5 * s.ratio && wide > 5 * s.ratio) {
        s.c.strokeStyle = colour('--ground');
        s.c.lineWidth = s.ratio;
        s.c.strokeRect(left, top, wide, high);
      }
    }
    s.c.globalAlpha = 1;
  }

  /** Returns the block under the cursor, or -1. @param {number} ns @param {number} bytes */
  at(ns, bytes) {
    const { blocks } = this.heap,
      now = ns + this.origin;
    for (let i = 0; i < this.base.length; i++) {
      if (
        blocks.from[i] <= now &&
        blocks.to[i] >= now &&
        this.base[i] <= bytes &&
        bytes < this.base[i] + blocks.size[i]
      )
        return i;
    }
    return -1;
  }

  /** @param {number | null} ns */
  hover(ns) {
    const u = this.plot?.u,
      top = u?.cursor.top ?? -1;
    const mine = ns !== null && u && u.over.matches(':hover') && top >= 0;
    const found = mine ? this.at(ns, u.posToVal(top, 'y')) : -1;
    this.under = found;
    if (found === this.lit || this.held) return;
    this.lit = found;
    this.redraw();
    this.fill();
  }

  /** Keeps the description of the block under the cursor, or releases it if it is already kept. */
  hold() {
    this.held = this.under >= 0 && !(this.held && this.under === this.lit);
    if (this.lit === this.under) return;
    this.lit = this.under;
    this.redraw();
    this.fill();
  }

  /** Describes a block and keeps the description. @param {number} i */
  describe(i) {
    this.lit = i;
    this.held = i >= 0;
    this.redraw();
    this.fill();
  }

  /** Describes the next of the blocks that are live at a time, largest first. @param {number | null} ns or null for the
   *  peak */
  next(ns) {
    const { heap } = this,
      span = ns === null ? peakSpan(heap) : spanAt(heap.spans.start, ns + this.origin),
      found = span < 0 ? [] : liveBlocks(heap, span).found;
    this.describe(found[(found.indexOf(this.lit) + 1) % found.length] ?? -1);
  }

  fill() {
    const { blocks } = this.heap,
      i = this.lit;
    if (i < 0) {
      this.said.textContent =
        'Each rectangle is one block, as wide as it lived and as high as it is large. Point at one; a click keeps it.';
      return;
    }
    const line = (/** @type {string} */ name, /** @type {string} */ text) =>
      element('tr', {}, element('th', { scope: 'row' }, name), element('td', {}, text));
    const bornIn = repeatAt(this.log, blocks.from[i]),
      freedIn = blocks.live[i] ? '' : repeatAt(this.log, blocks.to[i]),
      freer = blocks.freer[i] - 1; // -1 if unknown
    this.said.replaceChildren(
      element(
        'table',
        {},
        element('caption', {}, this.names[i]),
        element(
          'tbody',
          {},
          line('size', `${size(blocks.size[i])} (${count(blocks.size[i])} B)`),
          line('address', address(blocks, i)),
          line('allocated', time(blocks.from[i], 1e3)),
          line('freed', blocks.live[i] ? 'never' : time(blocks.to[i], 1e3)),
          line('lived', duration(blocks.to[i] - blocks.from[i])),
          line('range', pathName(this.log.paths[blocks.node[i]])),
          line('born in', instanceAt(this.log, blocks.thread[i], blocks.from[i])),
          bornIn !== '' && line('born during', bornIn),
          freer >= 0 && line('freed in', instanceAt(this.log, freer, blocks.to[i])),
          freedIn !== '' && line('freed during', freedIn),
          line('thread', this.log.threads[blocks.thread[i]] ?? ''),
          freer >= 0 && freer !== blocks.thread[i] && line('freed by', this.log.threads[freer] ?? ''),
          blocks.library[i] > 0 && line('library', this.log.libraries[blocks.library[i]]),
        ),
      ),
      ...stacksOf(this.log, blocks, i).map(({ name, frames }) =>
        element(
          'div',
          { class: 'stack' },
          element('span', {}, `${name}, innermost first`),
          element('ol', {}, ...frames.map((frame) => element('li', {}, frame))),
        ),
      ),
    );
  }

  destroy() {
    this.plot?.destroy();
  }
}
