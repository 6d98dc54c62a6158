/** What the selected span of time holds, in the line at the bottom. */
import { element } from './dom.js';
import { count, duration, size } from './format.js';
import { isExact, spanAt } from './model.js';
import { StackChart } from './stackchart.js';

/**
 * @typedef {import('./app.js').App} App
 * @typedef {import('./model.js').Heap} Heap
 */

/**
 * Numbers of a span of time.
 * @param {Heap} heap
 * @param {number} from
 * @param {number} to in the log's time
 */
export function statistics(heap, from, to) {
  const s = heap.spans,
    first = Math.max(0, spanAt(s.start, from)),
    last = spanAt(s.start, to);
  let max = 0,
    min = Infinity,
    allocs = 0,
    frees = 0;
  for (let i = first; i <= last; i++) {
    if (i > first || s.start[i] >= from) {
      allocs += s.allocs[i];
      frees += s.frees[i];
      max = Math.max(max, s.max[i]);
      min = Math.min(min, s.min[i]);
    } else {
      max = Math.max(max, s.close[i]);
      min = Math.min(min, s.close[i]);
    }
  }
  const before = spanAt(s.start, from),
    exact = heap.width === 1 || [before, last].every((i) => i < 0 || isExact(heap, i)),
    start = before < 0 ? 0 : s.close[before],
    end = last < 0 ? 0 : s.close[last];
  return {
    length: to - from,
    max,
    min: last < 0 || min === Infinity ? 0 : min,
    start,
    end,
    allocs,
    frees,
    exact,
    width: heap.width,
  };
}

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
