/** The panel of CUDA graphs: one bar per capture, the largest first, as in the graphs report. */
import { element, nameText, row, table } from './dom.js';
import { csv } from './csv.js';
import { count, size, time } from './format.js';
import { show } from './marks.js';
import { pathName } from './model.js';
import { panel } from './panel.js';

/**
 * @typedef {import('./app.js').App} App
 * @typedef {import('./data.js').Log} Log
 * @typedef {{ name: string, at: number, heap: string, bytes: number, parts: number[] }} Graph
 */

const PARTS = ['segments', 'executable', 'first launch'],
  SHOWN = 40;

/** Returns the graphs, the largest first. @param {Log} log @returns {Graph[]} */
export function graphsOf(log) {
  const all = log.marks.flatMap(({ graph, node, time: at, heap }) =>
    graph
      ? [
          {
            name: pathName(log.paths[node]),
            at,
            heap,
            bytes: graph.bytes,
            parts: [graph.segment_bytes, graph.executable_bytes, graph.launch_bytes],
          },
        ]
      : [],
  );
  return all.sort((a, b) => b.bytes - a.bytes || a.at - b.at);
}

/** Returns the sum of several graphs. @param {Graph[]} graphs @param {string} name @returns {Graph} */
const sumOf = (graphs, name) => ({
  name,
  at: NaN,
  heap: '',
  bytes: graphs.reduce((sum, { bytes }) => sum + bytes, 0),
  parts: PARTS.map((_, i) => graphs.reduce((sum, { parts }) => sum + parts[i], 0)),
});

/** Returns a bar whose full width is the largest graph. @param {Graph} graph @param {number} most */
function bar({ parts }, most) {
  const pieces = parts.map((bytes, i) => {
    const piece = element('span', { class: `part part-${i}`, title: `${PARTS[i]} ${size(bytes)}` });
    piece.style.width = `${(100 * Math.max(0, bytes)) / Math.max(1, most)}%`;
    return piece;
  });
  return element('span', { class: 'parts', 'aria-hidden': 'true' }, ...pieces);
}

/** @param {Graph} graph @param {number} most @param {Node | string} name */
function line(graph, most, name) {
  const bytes = (/** @type {number} */ value) => element('span', { title: `${count(value)} bytes` }, size(value));
  return row([name, bar(graph, most), ...graph.parts.map(bytes), bytes(graph.bytes)]);
}

/** Returns the panel, or null without graphs. @param {App} app @param {Log} log */
export function graphPanel(app, log) {
  const graphs = graphsOf(log);
  if (!graphs.length) return null;
  const shown = graphs.slice(0, SHOWN),
    others = graphs.slice(SHOWN),
    most = graphs[0].bytes,
    all = sumOf(graphs, `all ${count(graphs.length)}`),
    go = (/** @type {Graph} */ { name, heap, at }) =>
      element(
        'button',
        {
          type: 'button',
          class: 'name',
          title: `${name}, at ${time(at)}`,
          onclick: () => show(app, log, { heap, time: at }),
        },
        nameText(name),
      );
  const made = table(
    '',
    ['graph', 'parts', ...PARTS, 'all'],
    [
      ...(graphs.length > 1 ? [line(all, all.bytes, element('b', {}, all.name))] : []),
      ...shown.map((graph) => line(graph, most, go(graph))),
      ...(others.length ? [line(sumOf(others, ''), most, `${count(others.length)} more`)] : []),
    ],
  );
  made
    .querySelector('caption')
    ?.append(
      ...PARTS.flatMap((part, i) => [element('span', { class: `key part-${i}`, 'aria-hidden': 'true' }), ` ${part}  `]),
    );
  const heads = ['graph', 'at ns', ...PARTS.map((part) => `${part} bytes`), 'bytes'],
    records = () => graphs.map(({ name, at, parts, bytes }) => [name, at, ...parts, bytes]);
  return panel(
    { class: 'graphs', 'data-panel': 'graphs', 'data-log': log.index },
    { name: 'graphs', text: () => csv([heads, ...records()]) },
    [
      `CUDA graphs: ${log.marksLeftOut ? '≥ ' : ''}${size(all.bytes)}`,
      element('span', { class: 'sub' }, 'each graph: what its capture, its executable and its first launch took'),
    ],
    made,
  );
}
