/** Marks of events that are not allocations: a sign on the charts, and here their text. */
import { element, row, table } from './dom.js';
import { count, size, time } from './format.js';
import { pathName } from './model.js';

/**
 * @typedef {import('./app.js').App} App
 * @typedef {import('./data.js').Log} Log
 * @typedef {import('./data.js').Mark} Mark
 */

/** @type {Record<string, string>} */
const KIND = {
  nvtx: 'mark',
  failed: 'failed allocation',
  refused: 'driver allocation failed',
  oom: 'out of memory',
  graph: 'CUDA graph',
};

/** @param {Mark} mark */
export const isBad = (mark) => mark.kind !== 'nvtx' && mark.kind !== 'graph';

/** @param {import('./data.js').Graph} graph */
function graphWords(graph) {
  const parts = [
    ['segments', graph.segment_bytes],
    ['executable', graph.executable_bytes],
    ['first launch', graph.launch_bytes],
  ];
  const texts = parts.filter(([, bytes]) => bytes).map(([part, bytes]) => `${part} ${size(Number(bytes))}`);
  const nodes = graph.instantiated ? `${count(graph.nodes)} nodes` : 'not instantiated';
  return `${nodes}, ${size(graph.bytes)}${texts.length ? `: ${texts.join(', ')}` : ''}`;
}

/** @param {Mark} mark */
function what(mark) {
  if (mark.kind === 'nvtx') return mark.text;
  if (mark.graph) return graphWords(mark.graph);
  return `asked ${size(mark.bytes)}${mark.free === null ? '' : `, ${size(mark.free)} free`}`;
}

/** Describes a mark in one line. @param {Log} log @param {Mark} mark */
export const describe = (log, mark) => `${KIND[mark.kind]}: ${what(mark)}, in ${pathName(log.paths[mark.node])}`;

/** Returns the marks that concern a heap. @param {Log} log @param {string} heap */
export function marksOf(log, heap) {
  const side = heap.split('/')[0];
  return log.marks.filter((mark) => !mark.heap || mark.heap.split('/')[0] === side);
}

/** Goes to a mark. If it belongs to a heap, pins the instant, which shows the holders of the memory. @param {App} app
 *  @param {Log} log @param {{ heap: string, time: number }} mark */
export function show(app, log, { heap, time: ns }) {
  const at = ns - app.origin(log);
  app.step(() => {
    app.centre(at, (app.whole[1] - app.whole[0]) / 20);
    if (log.heaps.some(({ name }) => name === heap)) app.pin([{ heap, log: log.index, at }]);
    else app.update();
  });
}

/** Returns the panel of marks, failures first, or null without marks. @param {App} app */
export function markPanel(app) {
  const SHOWN = 60;
  const all = app.runs().flatMap((log) => log.marks.map((mark) => ({ log, mark })));
  if (!all.length) return null;
  all.sort((a, b) => Number(isBad(b.mark)) - Number(isBad(a.mark)) || a.mark.time - b.mark.time);
  const rows = all.slice(0, SHOWN).map(({ log, mark }) =>
    row([
      element(
        'button',
        {
          type: 'button',
          class: 'name',
          onclick: () => show(app, log, mark),
        },
        app.runs().length > 1 ? element('b', { class: `role role-${app.roleOf(log)}` }, app.roleOf(log)) : null,
        time(mark.time),
      ),
      element('span', { class: isBad(mark) ? 'more' : '' }, KIND[mark.kind]),
      what(mark),
      pathName(log.paths[mark.node]),
      log.threads[mark.thread] ?? '',
    ]),
  );
  const left = all.length - rows.length + app.runs().reduce((sum, log) => sum + log.marksLeftOut, 0);
  return element(
    'section',
    { class: 'panel wide', 'data-panel': 'marks' },
    element('h2', {}, 'Marks, failures and graphs'),
    table(left ? `${count(left)} more are not listed` : '', ['at', 'kind', 'what', 'range', 'thread'], rows),
  );
}
