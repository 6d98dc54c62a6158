/** The largest blocks that were live at an instant, and what the others held. */
import { fill } from './colours.js';
import { address, stacksOf } from './blocks.js';
import { element, nameText, row, swatch, table } from './dom.js';
import { count, duration, size, time } from './format.js';
import { bandOf, bestName, blockName, isExact } from './model.js';

/**
 * @typedef {import('./app.js').App} App
 * @typedef {import('./data.js').Heap} Heap
 */

/** Blocks of the heap behind a span. @param {Heap} heap @param {number} span */
function blocksAfter(heap, span) {
  let live = 0;
  for (let i = 0; i <= span; i++) live += heap.spans.allocs[i] - heap.spans.frees[i];
  return live;
}

/**
 * Of the blocks that are kept, those that are live at the span's state, largest first; the others are its rest.
 * @param {Heap} heap @param {number} span
 */
export function liveBlocks(heap, span) {
  const at = heap.spans.time[span],
    { from, to, live, size: bytes } = heap.blocks,
    found = Array.from(from.keys()).filter((i) => from[i] <= at && (to[i] > at || live[i] === 1));
  found.sort((a, b) => bytes[b] - bytes[a] || from[a] - from[b]);
  return {
    found,
    others: Math.max(0, blocksAfter(heap, span) - found.length),
    otherBytes: Math.max(0, heap.spans.max[span] - found.reduce((sum, i) => sum + bytes[i], 0)),
  };
}

/** Who asked for it: the innermost frame. @param {import('./data.js').Log} log @param {Heap} heap @param {number} i */
function caller(log, heap, i) {
  const stacks = stacksOf(log, heap.blocks, i);
  return element(
    'span',
    { title: stacks.map(({ name, frames }) => [`${name}, innermost first`, ...frames].join('\n')).join('\n\n') },
    stacks[0]?.frames[0] ?? '',
  );
}

/** @param {App} app @param {import('./data.js').Log} log @param {Heap} heap @param {number} i @param {number} at  ns */
function line(app, log, heap, i, at) {
  const { blocks } = heap,
    name = bestName(log, bandOf(blocks, i));
  return row([
    element(
      'span',
      { class: 'name', title: name },
      swatch(fill(app.slotOf(blockName(log, heap, i, app.grouping())), app.dark)),
      nameText(name),
    ),
    element('span', { title: `${count(blocks.size[i])} bytes` }, size(blocks.size[i])),
    address(blocks, i),
    time(blocks.from[i], 1e3),
    duration(at - blocks.from[i]),
    log.threads[blocks.thread[i]] ?? '',
    caller(log, heap, i),
  ]);
}

/** At the newest pin; null without one. @param {App} app */
export function liveBlocksPanel(app) {
  const SHOWN = 24,
    pin = app.pins.at(-1);
  const log = pin && app.logs[pin.log],
    heap = log?.heaps.find((h) => h.name === pin?.heap);
  if (!pin || !log || !heap?.blocks.from.length) return null;
  const span = app.pinSpan(log, heap, pin.at);
  if (span < 0) return null;
  const { found, others, otherBytes } = liveBlocks(heap, span),
    at = heap.spans.time[span],
    shown = found.slice(0, SHOWN);
  const left = found.slice(SHOWN).reduce((sum, i) => sum + heap.blocks.size[i], 0);
  const about = isExact(heap, span) ? '' : 'about ';
  const made = table(
    '',
    ['block of', 'size', 'address', 'allocated at', 'age', 'thread', 'call'],
    shown.map((i) => line(app, log, heap, i, at)),
  );
  made.append(
    element(
      'tfoot',
      {},
      row([
        `${about}${count(others + found.length - shown.length)} other blocks`,
        element('span', { class: 'total', title: `${count(otherBytes + left)} bytes` }, size(otherBytes + left)),
      ]),
    ),
  );
  return element(
    'section',
    { class: 'panel', 'data-panel': 'blocks', tabindex: 0 },
    element(
      'h2',
      {},
      `Largest blocks of ${heap.name} then`,
      element('span', { class: 'sub' }, `live at ${time(at, 1)}, of those that the page keeps`),
    ),
    made,
  );
}
