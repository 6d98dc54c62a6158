/** The table next to a chart: the bytes of each band at the instant under the cursor, at the pinned one, or at the
 *  peak. */
import { bandRow, holdsText, placed } from './bandrow.js';
import { element, timeText } from './dom.js';
import { amount, count, duration, exactly, share, size } from './format.js';
import { INSIDE, hasAboutPeak, isAbout, isEstimated, isExactAt, isLeast, isPiece, spanWidth } from './model.js';
import { sparkline } from './sparkline.js';

/**
 * @typedef {import('./app.js').App} App
 * @typedef {import('./model.js').Stack} Stack
 */

const FEW = 8; // up to this many rows need no filter

/** Scrolls a box so far that a row is in it, without scrolling the page. @param {HTMLElement} box
 *  @param {HTMLElement} row */
function scrollWithin(box, row) {
  const FOOT = 26, // CSS pixels: the sum below the rows
    outer = box.getBoundingClientRect(),
    inner = row.getBoundingClientRect();
  if (inner.top < outer.top) box.scrollTop -= outer.top - inner.top;
  else if (inner.bottom > outer.bottom - FOOT) box.scrollTop += inner.bottom - outer.bottom + FOOT;
}

export class Legend {
  /** @param {App} app @param {Stack} stack */
  constructor(app, stack) {
    this.app = app;
    this.stack = stack;
    this.names = stack.groups.map(({ name }) => name);
    this.rows = stack.groups.map((group) => this.row(group));
    /** @type {number[]} that the sparklines show */
    this.spans = [];
    /** A key of the table's content: the table is written only if the key changes, because every write costs a
     *  layout. */
    this.filled = '';
    /** The band under the mouse. @type {string | null} */
    this.pointed = null;
    this.total = element('td', { class: 'total' });
    this.when = element('span', {});
    this.badge = element('span', { class: 'badge' });
    this.matching = element('th', { scope: 'row' });
    this.sum = element('td', { class: 'sum' });
    this.matches = element('tr', { hidden: true }, this.matching, this.sum, element('td', {}));
    this.filter = /** @type {HTMLInputElement} */ (
      element('input', {
        type: 'search',
        class: 'filter',
        placeholder: 'filter',
        'aria-label': `only names with this text, ${stack.heap.name} ${app.runs().length > 1 ? app.roleOf(stack.log) : ''}`,
        value: app.state.filter,
        hidden: stack.groups.length <= FEW,
        oninput: () => app.filter(this.filter.value),
      })
    );
    this.body = element('tbody', {}, ...this.rows.map((r) => r.row));
    this.root = element(
      'div',
      { class: 'legend' },
      this.filter,
      element(
        'table',
        { class: 'bands' },
        element('caption', {}, this.when, ' ', this.badge),
        this.body,
        element(
          'tfoot',
          {},
          this.matches,
          element('tr', {}, element('th', { scope: 'row' }, 'all'), this.total, element('td', {})),
        ),
      ),
    );
  }

  /** @param {import('./model.js').Group} group */
  row(group) {
    const bytes = element('td', {}),
      part = element('td', {}),
      shape = /** @type {HTMLCanvasElement} */ (element('canvas', { class: 'shape', 'aria-hidden': 'true' }));
    return { group, bytes, part, shape, ...bandRow(this.app, group.name, this.names, [shape], [bytes, part]) };
  }

  /** Marks the row of a band that is under the mouse, and scrolls the legend to it. @param {string | null} name */
  point(name) {
    if (name === this.pointed) return;
    this.pointed = name;
    for (const { group, row } of this.rows) {
      const isIt = group.name === name;
      row.classList.toggle('pointed', isIt);
      if (isIt) scrollWithin(this.root, row);
    }
  }

  /** @param {number[]} spans that the chart shows */
  fillShapes(spans) {
    this.spans = spans;
    for (const { group, row, shape } of this.rows) if (!row.hidden) sparkline(shape, group.bytes, spans);
  }

  /** Sorts the rows by bytes. Rows without bytes are hidden, except those of hidden bands and the row with the focus.
   *  @param {(group: import('./model.js').Group) => number} held
   *  @param {(group: import('./model.js').Group) => boolean} least @param {(group: import('./model.js').Group) =>
   *  boolean} about @param {boolean} unnamed whether the holder of some bytes is unknown */
  sort(held, least, about, unnamed) {
    const { app } = this,
      { filter, hidden } = app.state,
      range = app.inside.slice(0, -INSIDE.length),
      order = [...this.rows].sort(
        (a, b) => Number(a.group.rest) - Number(b.group.rest) || held(b.group) - held(a.group),
      ),
      matches = order.filter(({ group }) => holdsText(group.name, filter) && (!range || app.visible(group.name)));
    for (const { group, row, shape } of this.rows) {
      const was = row.hidden,
        there = held(group) || hidden.includes(group.name) || row.contains(document.activeElement);
      row.hidden = !there || !holdsText(group.name, filter);
      if (was && !row.hidden) sparkline(shape, group.bytes, this.spans);
    }
    placed(
      this.body,
      order.map(({ row }) => row),
    );
    const sum = matches.reduce((all, { group }) => all + held(group), 0),
      more = unnamed || matches.some(({ group }) => least(group)) || (filter !== '' && this.restHolds(filter, held));
    this.matches.hidden = !filter && !range;
    this.matching.textContent = [
      `${count(matches.filter(({ row }) => !row.hidden).length)}${range && ` in ${range}`}`,
      ...(filter ? [`with “${filter}”`] : []),
    ].join(' ');
    this.sum.textContent = amount(
      sum,
      more,
      matches.some(({ group }) => about(group)),
    );
    this.sum.title = exactly(sum, more);
    if (this.filter.value !== filter) this.filter.value = filter;
  }

  /** Returns true if the band of all other names may contain a name with the text. @param {string} text
   *  @param {(group: import('./model.js').Group) => number} held */
  restHolds(text, held) {
    const { groups, all } = this.stack,
      own = new Set(groups.map(({ name }) => name));
    return (
      groups.some((group) => group.rest && held(group)) && all.some((name) => !own.has(name) && holdsText(name, text))
    );
  }

  /** Returns a key of everything that the rows depend on. @param {...(number | string | null)} instant */
  news(...instant) {
    const { filter, search, hidden, only } = this.app.state;
    return JSON.stringify([instant, filter, search, hidden, only, this.body.contains(document.activeElement)]);
  }

  /** @param {number} span or -1 before the first @param {string} label of the instant @param {number | null} asked the
   *  instant in ns, or null for the instant that the span shows */
  fill(span, label, asked) {
    const filled = this.news(span, label, asked);
    if (filled === this.filled) return;
    this.filled = filled;
    const { heap } = this.stack,
      there = span >= 0 && heap.spans.start.length > 0;
    const total = there ? heap.spans.max[span] : 0;
    const heldBy = (/** @type {import('./model.js').Group} */ group) => (there ? group.bytes[span] : 0),
      isBound = (/** @type {import('./model.js').Group} */ group) => there && isLeast(this.stack, group, span),
      isEstimate = (/** @type {import('./model.js').Group} */ group) => there && isAbout(group, span);
    this.sort(heldBy, isBound, isEstimate, there && this.stack.unnamed[span] > 0);
    for (const { group, bytes, part, mark } of this.rows) {
      const held = heldBy(group),
        least = isBound(group);
      bytes.textContent = amount(held, least, isEstimate(group));
      bytes.title = exactly(held, least, there ? group.errors[span] : 0);
      part.textContent = share(held, total);
      mark();
    }
    this.when.replaceChildren(
      ...(there ? [`${label}, `, timeText(heap.spans.time[span])] : ['before the first allocation']),
    );
    this.total.textContent = amount(total, false, hasAboutPeak(heap));
    this.total.title = `${count(total)} bytes`;
    this.fillBadge(there, span, asked);
  }

  /** @param {boolean} there @param {number} span @param {number | null} asked */
  fillBadge(there, span, asked) {
    const { heap } = this.stack,
      { badge } = this;
    const exact = there && isExactAt(heap, span, asked) && !hasAboutPeak(heap);
    badge.className = `badge ${exact ? 'exact' : 'bucket'}`;
    badge.textContent = badge.title = '';
    if (!there) return;
    const within = duration(spanWidth(heap, span)),
      least = `least ${size(heap.spans.min[span])}`;
    const parts = this.rows.some(({ group }) => isLeast(this.stack, group, span) || isAbout(group, span)),
      about = isEstimated(heap)
        ? 'what a sample of the objects represents'
        : hasAboutPeak(heap) && 'small blocks are only counted from time to time';
    badge.textContent = about ? 'estimate' : exact ? (parts ? 'exact sum' : 'exact') : `bucket of ${within}`;
    badge.title = about
      ? about
      : exact
        ? `the ${parts ? 'sum' : 'state'} at this instant, to the byte`
        : isPiece(heap, span)
          ? `one state, to the byte, of ${within} beside a time whose every change is kept; ${least}`
          : `the state, to the byte, when the heap was largest after a change within ${within}; ${least}`;
  }
}
