/** The largest blocks that were live at an instant, and the total of the others. */
import { AgePicture } from './ages.js';
import { fill } from './colours.js';
import { address, stacksOf } from './blocks.js';
import { element, nameText, row, swatch, table } from './dom.js';
import { amount, count, duration, size, time } from './format.js';
import { flowed, isKnown, slicesOf } from './flows.js';
import { bandOf, bestName, blockName, isEstimated, isExact } from './model.js';

/**
 * @typedef {import('./app.js').App} App
 * @typedef {import('./data.js').Heap} Heap
 * @typedef {{ log: import('./data.js').Log, heap: Heap }} Of
 */

/** Returns how many blocks of the heap are live after a span. @param {Heap} heap @param {number} span */
function blocksAfter(heap, span) {
  let live = 0;
  for (let i = 0; i <= span; i++) live += heap.spans.allocs[i] - heap.spans.frees[i];
  return live;
}

/**
 * Returns the kept blocks that are live at the span's state, the largest first, and the number and bytes of all others.
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

/** Returns the caller that allocated the block: its innermost frame. @param {import('./data.js').Log} log
 *  @param {Heap} heap @param {number} i */
function caller(log, heap, i) {
  const stacks = stacksOf(log, heap.blocks, i);
  return element(
    'span',
    { title: stacks.map(({ name, frames }) => [`${name}, innermost first`, ...frames].join('\n')).join('\n\n') },
    stacks[0]?.frames[0] ?? '',
  );
}

/** Returns the holder of a block. @param {import('./data.js').Log} log @param {Heap} heap @param {number} i */
const holder = (log, { blocks }, i) => bestName(log, bandOf(blocks, i));

/** Returns the row of a block. @param {App} app @param {Of} of @param {number} i @param {number} at ns, for its age
 *  @param {string[]} among the names of the table */
function line(app, { log, heap }, i, at, among) {
  const { blocks } = heap,
    name = holder(log, heap, i);
  return row([
    element(
      'button',
      {
        type: 'button',
        class: 'name',
        title: `${name}\nits life, stacks and ranges`,
        onclick: () => app.showBlock(log, heap, i),
      },
      swatch(fill(app.slotOf(blockName(log, heap, i, app.grouping())), app.dark)),
      nameText(name, among),
    ),
    element('span', { title: `${count(blocks.size[i])} bytes` }, size(blocks.size[i])),
    address(blocks, i),
    time(blocks.from[i], 1e3),
    duration(at - blocks.from[i]),
    log.threads[blocks.thread[i]] ?? '',
    caller(log, heap, i),
  ]);
}

const SHOWN = 24;

/** Returns a table of the largest kept blocks and the total of the others. @param {App} app @param {Of} of
 *  @param {number[]} found @param {number} at @param {{ blocks: number, bytes: number, about: string } | null} others
 *  or null if unknown */
function blockTable(app, of, found, at, others) {
  const left = found.slice(SHOWN),
    among = found.slice(0, SHOWN).map((i) => holder(of.log, of.heap, i)),
    bytes = left.reduce((sum, i) => sum + of.heap.blocks.size[i], others?.bytes ?? 0),
    made = table(
      '',
      ['block of', 'size', 'address', 'allocated at', 'age', 'thread', 'call'],
      found.slice(0, SHOWN).map((i) => line(app, of, i, at, among)),
    );
  const sampled = isEstimated(of.heap),
    label = sampled
      ? 'what no sample is of'
      : others
        ? `${others.about}${count(others.blocks + left.length)} other blocks`
        : `${count(left.length)} other blocks that the page keeps`;
  const total = { class: 'total', title: `${count(bytes)} bytes` };
  made.append(element('tfoot', {}, row([label, element('span', total, amount(bytes, false, sampled))])));
  return made;
}

/** @param {string} name @param {string} title @param {string} sub @param {...HTMLElement} content */
const panelOf = (name, title, sub, ...content) =>
  element(
    'section',
    { class: 'panel', 'data-panel': name, tabindex: 0 },
    element('h2', {}, title, element('span', { class: 'sub' }, sub)),
    ...content,
  );

const FEW = 3; // up to this many blocks need no picture

/** Returns the panel of the newest pin, or null without a pin. @param {App} app */
export function liveBlocksPanel(app) {
  const pin = app.pins.at(-1);
  const log = pin && app.logs[pin.log],
    heap = log?.heaps.find((h) => h.name === pin?.heap);
  if (!pin || !log || !heap?.blocks.from.length) return null;
  const span = app.pinSpan(log, heap, pin.at);
  if (span < 0) return null;
  const { found, others, otherBytes } = liveBlocks(heap, span),
    at = heap.spans.time[span],
    about = isExact(heap, span) ? '' : 'about ';
  return panelOf(
    'blocks',
    `${isEstimated(heap) ? 'Samples of the' : 'Largest'} blocks of ${heap.name} then`,
    `live at ${time(at)}, of those that the page keeps; a filled point is never freed`,
    ...(found.length > FEW ? [new AgePicture(app, log, heap, found, at).canvas] : []),
    blockTable(app, { log, heap }, found, at, { blocks: others, bytes: otherBytes, about }),
  );
}

/** Returns the panel of blocks that were allocated in the selected span and still live at its end, or null if no span
 *  is selected. @param {App} app */
export function keptBlocksPanel(app) {
  const { selection } = app,
    pin = app.pins.at(-1),
    log = app.logs[pin?.log ?? app.state.a],
    heap = log.heaps.find(({ name }) => name === (pin?.heap ?? app.shownHeaps()[0]));
  if (!selection || !heap?.blocks.from.length) return null;
  const origin = app.origin(log),
    known = isKnown(heap),
    asked = { from: selection.from + origin, to: selection.to + origin },
    slices = known ? slicesOf(heap.flows, asked.from, asked.to, log.duration) : null,
    { from, to } = slices ?? asked,
    { blocks } = heap,
    found = Array.from(blocks.from.keys()).filter(
      (i) => blocks.from[i] >= from && blocks.from[i] <= to && (blocks.to[i] > to || blocks.live[i] === 1),
    );
  found.sort((a, b) => blocks.size[b] - blocks.size[a] || blocks.from[a] - blocks.from[b]);
  const all = slices && flowed(heap.flows, slices, 'kept', heap.bands.length),
    sum = (/** @type {Float64Array} */ of) => of.reduce((a, b) => a + b, 0),
    bytes = all ? sum(all.bytes) : 0;
  const others = all && {
    blocks: Math.max(0, sum(all.blocks) - found.length),
    bytes: Math.max(0, bytes - found.reduce((most, i) => most + blocks.size[i], 0)),
    about: '',
  };
  return panelOf(
    'kept',
    `Blocks of ${heap.name} that the selection kept${all ? `: ${size(bytes)}` : ''}`,
    `allocated from ${time(from, 1e3)} to ${time(to, 1e3)} and still there at its end`,
    blockTable(app, { log, heap }, found, to, others),
  );
}
