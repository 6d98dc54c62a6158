/** What the selected span of time holds, in the line at the bottom. */
import { element } from './dom.js';
import { count, duration, size } from './format.js';
import { StackChart } from './stackchart.js';
import { statistics } from './statistics.js';

/**
 * @typedef {import('./app.js').App} App
 */

/** @param {string} name @param {ReturnType<typeof statistics>} s */
function statisticsLine(name, s) {
  const part = (/** @type {string} */ label, /** @type {string} */ value) =>
    element('span', {}, `${label} `, element('b', {}, value));
  return element(
    'div',
    { class: 'statistics', 'data-heap': name },
    element('b', {}, name),
    ' ',
    part('Δt', duration(s.length)),
    ' ',
    part('largest', size(s.max)),
    ' ',
    part('least', size(s.min)),
    ' ',
    part('start', size(s.start)),
    ' ',
    part('end', size(s.end)),
    ' ',
    part('change', size(s.end - s.start, true)),
    ' ',
    part('allocations', count(s.allocs)),
    ' ',
    part('frees', count(s.frees)),
    ' ',
    element(
      'span',
      { class: `badge ${s.exact ? 'exact' : 'bucket'}` },
      s.exact ? 'exact' : `to ${duration(s.width)} at its ends`,
    ),
  );
}

/** One line a chart; none without a selection. @param {App} app */
export function selectionLines(app) {
  const { selection } = app;
  if (!selection) return [];
  return app.charts
    .flatMap((chart) => (chart instanceof StackChart ? [chart] : []))
    .slice(0, 4)
    .map(({ role, origin, stack: { heap } }) =>
      statisticsLine(
        `${role ? `${role} ` : ''}${heap.name}`,
        statistics(heap, selection.from + origin, selection.to + origin),
      ),
    );
}
