/**
 * Segments of a GPU at an instant: what the driver handed out, PyTorch's live blocks inside, and the holes between
 * them. *
 * @typedef {import('./blocks.js').Blocks} Blocks
 * @typedef {{ offset: number, size: number, index: number }} Inner index: in the torch heap's blocks
 * @typedef {{ start: number, size: number, index: number, inner: Inner[], used: number, largestHole: number }}
 *   Segment
 */
import { fill } from './colours.js';
import { colour, element } from './dom.js';
import { count, share, size, time } from './format.js';
import { pathName } from './model.js';

/** @typedef {import('./app.js').App} App */

/** @param {Blocks} b @param {number} i */
const start = (b, i) => b.high[i] * 2 ** 32 + b.low[i];

/** Indices of the blocks that live at a time, by address. @param {Blocks} b @param {number} at */
function liveAt(b, at) {
  /** @type {number[]} */
  const live = [];
  for (let i = 0; i < b.from.length; i++) if (b.from[i] <= at && (b.to[i] > at || b.live[i] === 1)) live.push(i);
  return live.sort((x, y) => start(b, x) - start(b, y));
}

/** @param {Inner[]} inner @param {number} size */
function largestHole(inner, size) {
  let end = 0,
    most = 0;
  for (const block of inner) {
    most = Math.max(most, block.offset - end);
    end = Math.max(end, block.offset + block.size);
  }
  return Math.max(most, size - end);
}

/**
 * Segments that hold torch's blocks, the one with most free bytes first.
 * @param {Blocks} device @param {Blocks} torch @param {number} at  ns @returns {Segment[]}
 */
export function segmentsAt(device, torch, at) {
  const inside = liveAt(torch, at);
  let next = 0;
  const found = liveAt(device, at).map((index) => {
    const from = start(device, index),
      to = from + device.size[index];
    /** @type {Inner[]} */
    const inner = [];
    while (next < inside.length && start(torch, inside[next]) < from) next++;
    for (; next < inside.length && start(torch, inside[next]) < to; next++)
      inner.push({ offset: start(torch, inside[next]) - from, size: torch.size[inside[next]], index: inside[next] });
    const used = inner.reduce((sum, block) => sum + block.size, 0);
    return {
      start: from,
      size: device.size[index],
      index,
      inner,
      used,
      largestHole: largestHole(inner, device.size[index]),
    };
  });
  return found
    .filter((segment) => segment.inner.length)
    .sort((a, b) => b.size - b.used - (a.size - a.used) || a.start - b.start);
}

/**
 * @param {App} app
 * @param {import('./data.js').Log} log
 * @param {import('./data.js').Heap} torch
 * @param {Segment} segment
 * @param {number} most
 */
function bar(app, log, torch, segment, most) {
  const WIDTH = 1200,
    HEIGHT = 24;
  const canvas = /** @type {HTMLCanvasElement} */ (
    element('canvas', {
      width: WIDTH,
      height: HEIGHT,
      role: 'img',
      'aria-label': `segment of ${size(segment.size)}: ${segment.inner.length} blocks hold ${size(segment.used)}`,
    })
  );
  const c = canvas.getContext('2d');
  if (!c) return canvas;
  const scale = WIDTH / most;
  c.fillStyle = colour('--grid');
  c.fillRect(0, 0, Math.max(2, segment.size * scale), HEIGHT);
  for (const block of segment.inner) {
    c.fillStyle = fill(app.slotOf(pathName(log.paths[torch.blocks.node[block.index]], app.state.depth)), app.dark, 2);
    c.fillRect(block.offset * scale, 0, Math.max(1.5, block.size * scale - 1), HEIGHT);
  }
  const rangeOf = (/** @type {Inner} */ block) => pathName(log.paths[torch.blocks.node[block.index]]);
  canvas.addEventListener('mousemove', (event) => {
    const at = (event.offsetX / canvas.clientWidth) * most;
    const block = segment.inner.find((b) => at >= b.offset && at < b.offset + b.size);
    canvas.title = block
      ? `${size(block.size)} of ${rangeOf(block)}, since ${time(torch.blocks.from[block.index])}`
      : at < segment.size
        ? 'free'
        : '';
  });
  return canvas;
}

/**
 * Of the first run's GPU of that name, at the pinned instant or the device's peak; null: nothing to show.
 * @param {App} app
 * @param {string} gpu "gpu0"
 */
export function segmentPanel(app, gpu) {
  const SHOWN = 24,
    log = app.runs()[0];
  const device = log.heaps.find((h) => h.name === `${gpu}/device`),
    torch = log.heaps.find((h) => h.name === `${gpu}/torch`);
  if (!device || !torch) return null;
  const at = app.pins.length ? app.pins[0].at + app.origin(log) : device.peakTime;
  const segments = segmentsAt(device.blocks, torch.blocks, at);
  if (!segments.length) return null;
  const most = Math.max(...segments.map((s) => s.size)),
    sum = (/** @type {(s: Segment) => number} */ of) => segments.reduce((all, s) => all + of(s), 0);
  const held = sum((s) => s.size),
    used = sum((s) => s.used);
  const elsewhere = liveAt(torch.blocks, at).reduce((all, i) => all + torch.blocks.size[i], 0) - used;
  const rows = segments
    .slice(0, SHOWN)
    .map((s) =>
      element(
        'tr',
        {},
        element('th', { scope: 'row' }, bar(app, log, torch, s, most)),
        element('td', { title: `${count(s.size)} bytes` }, size(s.size)),
        element('td', { title: `${count(s.size - s.used)} bytes` }, size(s.size - s.used)),
        element('td', {}, size(s.largestHole)),
        element('td', {}, count(s.inner.length)),
      ),
    );
  const head = ['segment, with its blocks', 'size', 'free', 'largest hole', 'blocks'].map((text) =>
    element('th', { scope: 'col' }, text),
  );
  return element(
    'section',
    { class: 'panel segments', 'data-panel': 'segments', 'data-gpu': gpu },
    element(
      'h3',
      {},
      `${gpu}: segments of PyTorch's allocator at ${time(at)}`,
      element(
        'span',
        { class: 'sub' },
        `${size(held - used)} of ${size(held)} free, ${share(held - used, held)}; ` +
          'most free first, among the largest blocks that are kept',
        elsewhere ? `; ${size(elsewhere)} lie in mapped memory (expandable segments), not here` : '',
      ),
    ),
    element('table', {}, element('thead', {}, element('tr', {}, ...head)), element('tbody', {}, ...rows)),
    segments.length > SHOWN && element('p', {}, `${count(segments.length - SHOWN)} more segments`),
  );
}
