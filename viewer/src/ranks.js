/** Every log as a small chart with one scale: the ranks that differ are outlined. */
import { fill } from './colours.js';
import { element } from './dom.js';
import { size } from './format.js';
import { shown } from './lod.js';
import * as paint from './paint.js';

/** @typedef {import('./app.js').App} App */

/** @param {number[]} values */
const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1];

/** The logs whose peaks are more than a twentieth away from the median, farthest first. @param {number[]} peaks */
export function outliers(peaks) {
  const middle = median(peaks),
    away = peaks.map((peak) => Math.abs(peak - middle));
  return [...peaks.keys()].filter((i) => away[i] > middle * 0.05).sort((a, b) => away[b] - away[a] || a - b);
}

/** @param {import('./data.js').Log[]} logs */
const byRank = (logs) => [...logs].sort((a, b) => Number(a.rank) - Number(b.rank) || a.index - b.index);

/** @param {App} app @param {string} name the heap */
export function ranksPanel(app, name) {
  const peaks = app.logs.map((log) => log.heaps.find((heap) => heap.name === name)?.peakBytes ?? 0);
  const odd = outliers(peaks),
    middle = median(peaks),
    most = Math.max(...peaks, 1),
    span = app.extent(app.logs);
  const cards = byRank(app.logs).map((log) => {
    const i = log.index;
    const canvas = /** @type {HTMLCanvasElement} */ (
      element('canvas', { 'aria-hidden': 'true', width: 420, height: 128 })
    );
    const chosen = app.runs().includes(log);
    const card = element(
      'button',
      {
        type: 'button',
        class: `${odd.includes(i) ? 'outlier' : ''} ${chosen ? 'chosen' : ''}`,
        'aria-pressed': String(chosen),
        'data-log': i,
        title: `${log.label}\nclick: show as A, shift and click: compare as B`,
        onclick: (/** @type {MouseEvent} */ event) => app.choose(event.shiftKey ? 'b' : 'a', i),
      },
      element(
        'span',
        {},
        chosen && app.runs().length > 1
          ? element('b', { class: `role role-${app.roleOf(log)}` }, app.roleOf(log))
          : null,
        log.short,
        element(
          'span',
          { class: 'sub' },
          size(peaks[i]),
          odd.includes(i) &&
            element('b', { class: 'more' }, ` ${size(peaks[i] - middle, true)}${i === odd[0] ? ', differs most' : ''}`),
        ),
      ),
      canvas,
    );
    drawSmall(app, canvas, log, name, most, span);
    return card;
  });
  return element(
    'section',
    { class: 'panel', 'data-panel': 'ranks', 'data-heap': name },
    element(
      'h2',
      {},
      `${name} of all ${app.logs.length} logs`,
      element(
        'span',
        { class: 'sub' },
        `one scale, up to ${size(most)}; median ${size(middle)}`,
        odd.length > 0 && `, ${odd.length} more than 5 % away`,
      ),
    ),
    element('div', { class: 'ranks' }, ...cards),
  );
}

/**
 * @param {App} app
 * @param {HTMLCanvasElement} canvas
 * @param {import('./data.js').Log} log
 * @param {string} name
 * @param {number} most
 * @param {[number, number]} span of the axis
 */
function drawSmall(app, canvas, log, name, most, [from, to]) {
  const stack = app.stackOf(log, name),
    c = canvas.getContext('2d');
  if (!stack || !c) return;
  const origin = app.origin(log),
    { width, height } = canvas;
  const { x, span } = shown(stack.heap.spans, from + origin, to + origin, width / 2);
  const surface = {
    c,
    ratio: 2,
    left: 0,
    right: width,
    top: 0,
    bottom: height,
    x: (/** @type {number} */ ns) => ((ns - from) / (to - from)) * width,
    y: (/** @type {number} */ bytes) => height - (bytes / (most * 1.05)) * height,
  };
  const xs = x.map((ns) => ns - origin),
    sum = new Float64Array(span.length),
    edges = [];
  for (const group of stack.groups) {
    span.forEach((s, i) => {
      sum[i] += group.bytes[s];
    });
    edges.push({ group, upper: sum.slice() });
  }
  for (const { group, upper } of edges.reverse())
    paint.area(surface, xs, upper, log.duration - origin, fill(app.slot(group), app.dark, 2));
}
