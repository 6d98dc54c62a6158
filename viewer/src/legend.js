/** The table beside a chart: who holds how much at the instant under the cursor, pinned, or at the peak. */
import { fill } from './colours.js';
import { element, nameText, swatch } from './dom.js';
import { folder } from './folder.js';
import { amount, count, duration, exactly, share, size, time } from './format.js';
import { isEstimated, isExactAt, isLeast, isPiece, spanWidth } from './model.js';

/**
 * @typedef {import('./app.js').App} App
 * @typedef {import('./model.js').Stack} Stack
 */

export class Legend {
  /** @param {App} app @param {Stack} stack */
  constructor(app, stack) {
    this.app = app;
    this.stack = stack;
    this.rows = stack.groups.map((group) => this.row(group));
    this.total = element('td', { class: 'total' });
    this.when = element('span', {});
    this.badge = element('span', { class: 'badge' });
    this.root = element(
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
  }

  /** @param {import('./model.js').Group} group */
  row(group) {
    const { app } = this;
    const bytes = element('td', {}),
      part = element('td', {});
    const name = element(
      'button',
      { type: 'button', class: 'name', title: `${group.name}\nclick or Enter: hide, double click or Space: only this` },
      swatch(fill(app.slot(group), app.dark)),
      nameText(group.name),
    );
    const made = element(
      'tr',
      {
        'data-name': group.name,
        onmouseenter: () => app.light(group.name),
        onmouseleave: () => app.light(null),
        onfocusin: () => app.light(group.name),
        onfocusout: () => app.light(null),
        onclick: () => app.toggle(group.name),
        ondblclick: () => app.solo(group.name),
      },
      element('th', { scope: 'row' }, element('span', { class: 'named' }, name, folder(app, group.name))),
      bytes,
      part,
    );
    return { group, row: made, name, bytes, part };
  }

  /** @param {number} span -1: before the first @param {string} label what instant it is @param {number | null} asked the
   *  instant, ns; null: whatever the span shows */
  fill(span, label, asked) {
    const { heap } = this.stack,
      { app } = this,
      there = span >= 0 && heap.spans.start.length > 0;
    const total = there ? heap.spans.max[span] : 0;
    for (const { group, row, name, bytes, part } of this.rows) {
      const held = there ? group.bytes[span] : 0;
      const least = there && isLeast(this.stack, group, span);
      bytes.textContent = amount(held, least, isEstimated(heap));
      bytes.title = exactly(held, least);
      part.textContent = share(held, total);
      name.setAttribute('aria-pressed', String(app.visible(group.name)));
      row.classList.toggle('hidden-band', !app.visible(group.name));
      row.classList.toggle('lit', app.lit === group.name);
      row.classList.toggle('miss', app.misses(group.name));
    }
    this.when.textContent = there ? `${label}, ${time(heap.spans.time[span], 1)}` : 'before the first allocation';
    this.total.textContent = amount(total, false, isEstimated(heap));
    this.total.title = `${count(total)} bytes`;
    this.fillBadge(there, span, asked);
  }

  /** @param {boolean} there @param {number} span @param {number | null} asked */
  fillBadge(there, span, asked) {
    const { heap } = this.stack,
      { badge } = this;
    const exact = there && isExactAt(heap, span, asked);
    badge.className = `badge ${exact ? 'exact' : 'bucket'}`;
    badge.textContent = badge.title = '';
    if (!there) return;
    const within = duration(spanWidth(heap, span)),
      least = `least ${size(heap.spans.min[span])}`;
    const whole = this.rows.some(({ group }) => isLeast(this.stack, group, span)) ? 'exact sum' : 'exact';
    badge.textContent = isEstimated(heap) ? 'estimate' : exact ? whole : `bucket of ${within}`;
    if (isEstimated(heap)) badge.className = 'badge bucket';
    badge.title = isEstimated(heap)
      ? 'what a sample of the objects stands for'
      : exact
        ? 'the state at this instant, to the byte'
        : isPiece(heap, span)
          ? `one state, to the byte, of ${within} beside a time whose every change is kept; ${least}`
          : `the state, to the byte, when the heap was largest after a change within ${within}; ${least}`;
  }
}
