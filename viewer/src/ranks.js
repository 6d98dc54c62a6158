/** Every log as a small chart on one scale. The ranks that differ come first and are outlined, and a text explains the
 *  largest difference. */
import { comparedLog, mostOf } from './differences.js';
import { fill } from './colours.js';
import { element, folded } from './dom.js';
import { ending } from './endings.js';
import { amount } from './format.js';
import { heatMap } from './heatmap.js';
import { median } from './heatranges.js';
import { shown } from './lod.js';
import { isEstimated } from './model.js';
import * as paint from './paint.js';

/** @typedef {import('./app.js').App} App */

/** Returns the logs that differ, in their order, then the others by rank, and last the logs that are not compared.
 *  @param {import('./data.js').Log[]} logs @param {number[]} odd */
const inOrder = (logs, odd) => {
  const place = (/** @type {import('./data.js').Log} */ log) =>
    odd.includes(log.index) ? odd.indexOf(log.index) : odd.length + Number(!log.alike);
  return [...logs].sort((a, b) => place(a) - place(b) || Number(a.rank) - Number(b.rank) || a.index - b.index);
};

/** Returns the kind of a heap: "gpu3/device" and "gpu0/device" are the same kind, because each rank has its own GPU.
 *  @param {string} name */
const kindOf = (name) => name.replace(/^gpu\d+\//, '/');

/** @param {import('./data.js').Log} log @param {string} name */
const heapOf = (log, name) =>
  log.heaps.find((heap) => heap.name === name) ?? log.heaps.find((heap) => kindOf(heap.name) === kindOf(name));

/** Returns the heap that the panel shows: the chosen one, otherwise the one in which the ranks differ most.
 *  @param {App} app */
const heapName = (app) => {
  const shown = app.shownHeaps();
  return app.state.heaps && shown.length ? shown[0] : comparedLog(app.logs)?.differsIn || shown[0];
};

/** Explains the difference of the log that differs most, with the rows of diff. @param {App} app */
function caption(app) {
  const SHOWN = 3,
    odd = comparedLog(app.logs);
  if (!odd?.differences.length) return null;
  const { differences, differsIn, differsFrom } = odd,
    account = differences.find(({ name }) => kindOf(name) === kindOf(differsIn)) ?? mostOf(differences),
    rows = account.rows
      .slice(0, SHOWN)
      .map((row) => `${row.name} ${amount(row.now - row.base, false, row.estimated, true)}`),
    more = account.rows.length + account.others.count - rows.length;
  return element(
    'p',
    { class: 'differs' },
    element('b', {}, odd.short),
    ` differs most from ${app.logs[differsFrom].short}, the median: `,
    element('b', {}, `${account.name} ${amount(account.now - account.base, false, isEstimated(account), true)}`),
    `: ${rows.join('; ')}${more > 0 ? `; ${more} more` : ''}`,
  );
}

/** Up to MANY logs are all shown. If there are more, the FIRST ones, which differ most, are shown, and the others after
 *  a click. */
const MANY = 16,
  FIRST = 10;

/** Returns the log whose process ran out of memory, which the page opens with, if there are more than two logs.
 *  @param {import('./data.js').Log[]} logs */
export const failedLog = (logs) =>
  logs.length > 2 ? logs.find(({ opened, death, oom }) => opened && (death?.oom || oom)) : undefined;

/** Returns true if one of two processes started or became the other one. @param {import('./data.js').Log[]} logs */
export const areOneRun = (logs) => logs.some(({ parent, imageOf }) => parent >= 0 || imageOf >= 0);

/** Returns the relation to another process of the run, or null. @param {App} app
 *  @param {import('./data.js').Log} log */
function relation(app, { parent, imageOf }) {
  if (imageOf >= 0) return element('span', { class: 'sub' }, `executed by ${app.logs[imageOf].short}`);
  return parent >= 0 ? element('span', { class: 'sub' }, `started by ${app.logs[parent].short}`) : null;
}

/** Returns how the process died, or null if it ended as it should. @param {import('./data.js').Log} log */
const deathOf = (log) => (log.death && ending(log).bad ? element('b', { class: 'more' }, ending(log).text) : null);

/** Returns the panel of more than two logs, or null if there are fewer or no heap was used. @param {App} app */
export function ranksPanel(app) {
  const name = heapName(app);
  if (app.logs.length <= 2 || !name) return null;
  const peaks = app.logs.map((log) => heapOf(log, name)?.peakBytes ?? 0);
  const alike = app.logs.map((log) => log.alike),
    placeOf = (/** @type {import('./data.js').Log} */ { outlierPlaces }) => outlierPlaces.get(name) ?? 0,
    odd = app.logs
      .filter(placeOf)
      .sort((a, b) => placeOf(a) - placeOf(b))
      .map(({ index }) => index),
    middle = median(peaks.filter((_, i) => alike[i])),
    most = Math.max(...peaks, 1),
    span = app.extent(app.logs),
    logs = inOrder(app.logs, odd),
    many = logs.length > MANY,
    said = (/** @type {number} */ bytes, signed = false) => amount(bytes, false, isEstimated({ name }), signed);
  const cardOf = (/** @type {import('./data.js').Log} */ log) => {
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
        'data-key': `log ${i}`,
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
          said(peaks[i]),
          odd.includes(i) &&
            element('b', { class: 'more' }, ` ${said(peaks[i] - middle, true)}${i === odd[0] ? ', differs most' : ''}`),
        ),
      ),
      relation(app, log),
      deathOf(log),
      canvas,
    );
    drawSmall(app, canvas, log, heapOf(log, name), most, span);
    return card;
  };
  const first = many ? FIRST : MANY,
    others = logs.slice(first),
    row = (/** @type {typeof logs} */ of) => element('div', { class: 'ranks' }, ...of.map(cardOf));
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
        `one scale, up to ${said(most)}`,
        alike.includes(true) && `; median ${said(middle)}`,
        odd.length > 0 && `, ${odd.length} more than 5 % away`,
        alike.includes(true) && alike.includes(false) && `; of ${alike.filter(Boolean).length} that are alike`,
      ),
    ),
    caption(app),
    many &&
      heatMap(
        app,
        logs.filter((log) => log.alike),
        (log) => heapOf(log, name),
      ),
    row(logs.slice(0, first)),
    many && folded(`${others.length} more`, () => [row(others)]),
  );
}

/**
 * @param {App} app
 * @param {HTMLCanvasElement} canvas
 * @param {import('./data.js').Log} log
 * @param {import('./data.js').Heap | undefined} heap
 * @param {number} most
 * @param {[number, number]} span of the axis
 */
function drawSmall(app, canvas, log, heap, most, [from, to]) {
  const c = canvas.getContext('2d');
  if (!heap || !c) return;
  const stack = app.stacked(log, heap),
    origin = app.origin(log),
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
