/** Describes the selected span of time in the line at the bottom. */
import { button, element } from './dom.js';
import { amount, count, duration, size } from './format.js';
import { StackChart } from './stackchart.js';
import { statistics } from './statistics.js';

/**
 * @typedef {import('./app.js').App} App
 */

/** @param {ReturnType<typeof statistics>} s */
const badge = (s) => (s.about ? 'estimate' : s.exact ? 'exact' : `to ${duration(s.width)} at its ends`);

/** @param {string} name @param {ReturnType<typeof statistics>} s */
function statisticsLine(name, s) {
  const held = (/** @type {number} */ bytes) => amount(bytes, false, s.about);
  const part = (/** @type {string} */ label, /** @type {string} */ value) =>
    element('span', {}, `${label} `, element('b', {}, value));
  return element(
    'div',
    { class: 'statistics', 'data-heap': name },
    element('b', {}, name),
    ' ',
    part('Δt', duration(s.length)),
    ' ',
    part('largest', held(s.max)),
    ' ',
    part('least', held(s.min)),
    ' ',
    part('start', held(s.start)),
    ' ',
    part('end', held(s.end)),
    ' ',
    part('change', `${s.about ? '~' : ''}${size(s.end - s.start, true)}`),
    ' ',
    part(`${s.sampled ? 'sampled ' : ''}allocations`, count(s.allocs)),
    ' ',
    part(`${s.sampled ? 'sampled ' : ''}frees`, count(s.frees)),
    ' ',
    element('span', { class: `badge ${s.exact && !s.about ? 'exact' : 'bucket'}` }, badge(s)),
  );
}

/** Returns one line per chart, or nothing without a selection. @param {App} app */
export function selectionLines(app) {
  const { selection } = app;
  if (!selection) return [];
  const lines = app.charts
    .flatMap((chart) => (chart instanceof StackChart ? [chart] : []))
    .slice(0, 4)
    .map(({ role, origin, stack: { heap } }) =>
      statisticsLine(
        `${role ? `${role} ` : ''}${heap.name}`,
        statistics(heap, selection.from + origin, selection.to + origin),
      ),
    );
  return [
    ...lines,
    element(
      'div',
      {},
      button('zoom', 'zoom to the selected span (Z)', () => app.zoomToSelection()),
    ),
  ];
}
