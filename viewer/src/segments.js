/**
 * Segments of a GPU at an instant: the memory that the driver handed out, PyTorch's live blocks inside, and the holes
 * between them. Mapped pieces of memory that follow each other without a gap are one expandable segment.
 * @typedef {import('./blocks.js').Blocks} Blocks
 * @typedef {{ offset: number, size: number, index: number }} Inner index: into the torch heap's blocks
 * @typedef {{ start: number, size: number, pieces: number, owned: boolean, inner: Inner[], used: number, idle: number,
 *   largestHole: number, blocks: number, state: number }} Segment idle: bytes of pieces without blocks; state: index
 *   into STATES
 * @typedef {{ at: number, segments: Segment[], count: number, held: number, used: number, free: number[], elsewhere:
 *   number, whole: boolean, pins: import('./data.js').SegmentsThen['pins'] }} Then free: bytes by state; whole: no
 *   block is missing, otherwise memory that looks free may hold blocks that the page has not kept
 */
import { address, stacksOf } from './blocks.js';
import { fill } from './colours.js';
import { button, colour, element, folded, swatch } from './dom.js';
import { count, duration, share, size, time } from './format.js';
import { blockName, isExactAt, pathName, spanAt } from './model.js';
import { pinTable, segmentMap } from './segmentmap.js';

/** @typedef {import('./app.js').App} App */

/** The kinds of a segment's free bytes, in the order of segments.h. CSS colours have these names. */
export const STATES = ['split', 'releasable', 'graph'];
const [SPLIT, RELEASABLE, GRAPH] = STATES.keys();

/** @param {Blocks} b @param {number} i */
const start = (b, i) => b.high[i] * 2 ** 32 + b.low[i];

/** Returns the indices of the blocks that are live at a time, by address. @param {Blocks} b @param {number} at */
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
 * Returns the bytes of pieces without blocks. PyTorch can return each of these pieces to the driver.
 * @param {Inner[]} inner @param {number[]} pieces  their sizes
 */
function idleBytes(inner, pieces) {
  let from = 0,
    idle = 0,
    next = 0;
  for (const bytes of pieces) {
    while (next < inner.length && inner[next].offset + inner[next].size <= from) next++;
    if (next === inner.length || inner[next].offset >= from + bytes) idle += bytes;
    from += bytes;
  }
  return idle;
}

/**
 * Returns the places of the segments at an instant, by address.
 * @param {Blocks} device @param {number} at  ns
 */
function extents(device, at) {
  /** @type {{ start: number, size: number, pieces: number[], mapped: boolean, segment: boolean, capture: number }[]} */
  const found = [];
  for (const i of liveAt(device, at)) {
    const last = found.at(-1),
      mapped = device.mapped[i] === 1,
      segment = device.segment[i] === 1,
      capture = device.capture[i];
    const alike = last?.mapped && mapped && last.segment === segment && last.capture === capture;
    if (alike && last.start + last.size === start(device, i)) {
      last.size += device.size[i];
      last.pieces.push(device.size[i]);
    } else {
      found.push({
        start: start(device, i),
        size: device.size[i],
        pieces: [device.size[i]],
        mapped,
        segment,
        capture,
      });
    }
  }
  return found;
}

/**
 * Returns the segments of PyTorch's allocator and other memory that holds its blocks, the most free bytes first.
 * @param {Blocks} device @param {Blocks} torch @param {number} at  ns
 * @param {{ heldUntil: number[] }} log @returns {Segment[]}
 */
export function segmentsAt(device, torch, at, { heldUntil }) {
  const inside = liveAt(torch, at);
  let next = 0;
  const found = extents(device, at).map(({ start: from, size: bytes, pieces, segment, capture }) => {
    /** @type {Inner[]} */
    const inner = [];
    while (next < inside.length && start(torch, inside[next]) < from) next++;
    for (; next < inside.length && start(torch, inside[next]) < from + bytes; next++)
      inner.push({ offset: start(torch, inside[next]) - from, size: torch.size[inside[next]], index: inside[next] });
    const used = inner.reduce((sum, block) => sum + block.size, 0);
    const owned = segment || inner.length > 0;
    const blocks = inner.length,
      held = capture > 0 && heldUntil[capture - 1] > at;
    const state = held ? GRAPH : blocks ? SPLIT : RELEASABLE;
    return {
      start: from,
      size: bytes,
      pieces: pieces.length,
      owned,
      inner,
      used,
      idle: held ? 0 : idleBytes(inner, pieces),
      largestHole: largestHole(inner, bytes),
      blocks,
      state,
    };
  });
  return found.filter((segment) => segment.owned).sort(byFree);
}

/** Sorts by free bytes, the most first. @param {Segment} a @param {Segment} b */
const byFree = (a, b) => b.size - b.used - (a.size - a.used) || a.start - b.start;

/** @param {Blocks} b @param {number} at */
const liveBytes = (b, at) => liveAt(b, at).reduce((all, i) => all + b.size[i], 0);

/** Returns true if the page has kept every block that was live at a time. A block that is allocated and freed within
 *  the same nanosecond is part of a span's largest state, but is not among the blocks of its time.
 *  @param {import('./data.js').Heap} heap @param {number} at */
function isWhole(heap, at) {
  const { start, max, close } = heap.spans,
    span = spanAt(start, at);
  if (span < 0) return true;
  const live = liveBytes(heap.blocks, at);
  return isExactAt(heap, span, at) && (live === max[span] || (at === start[span] && live === close[span]));
}

/** Returns true if nothing has changed between two times. @param {import('./data.js').Heap} heap @param {number} a
 *  @param {number} b */
function isSameState(heap, a, b) {
  const [from, to] = [a, b].map((ns) => spanAt(heap.spans.start, ns));
  return a === b || (from === to && (from < 0 || [a, b].every((ns) => isExactAt(heap, from, ns))));
}

/** Computes the segments from the kept blocks. @param {import('./data.js').Log} log
 *  @param {import('./data.js').Heap} device @param {import('./data.js').Heap} torch @param {number} at
 *  @returns {Then} */
function keptThen(log, device, torch, at) {
  const segments = segmentsAt(device.blocks, torch.blocks, at, log),
    sum = (/** @type {(s: Segment) => number} */ of) => segments.reduce((all, s) => all + of(s), 0);
  const held = sum((s) => s.size),
    used = sum((s) => s.used),
    left = (/** @type {number} */ state) => sum((s) => (s.state === state ? s.size - s.used - s.idle : 0)),
    free = [left(SPLIT), sum((s) => s.idle), left(GRAPH)];
  const whole = isWhole(device, at) && isWhole(torch, at),
    elsewhere = liveBytes(torch.blocks, at) - used;
  return { at, segments, count: segments.length, held, used, free, elsewhere, whole, pins: [] };
}

/** Returns the segments with the numbers of the segments report, and with those of their blocks that are kept.
 *  @param {import('./data.js').SegmentsThen} then @param {Then} kept @returns {Then} */
function reported(then, kept) {
  const known = new Map(kept.segments.map((segment) => [segment.start, segment]));
  const segments = then.listed.map((listed) => {
    const { pieces, inner } = known.get(listed.start) ?? { pieces: 1, inner: [] };
    return { ...listed, pieces, inner, owned: true };
  });
  segments.sort(byFree);
  const { time: at, count, bytes: held, live: used, free, outside: elsewhere, pins } = then;
  return { at, segments, count, held, used, free, elsewhere, whole: true, pins };
}

/** Returns true if the page has all blocks of a segment. @param {Then} then @param {Segment} segment */
const isKnown = ({ whole }, { inner, blocks }) => whole && inner.length >= blocks;

/** @param {Segment} segment */
const kind = (segment) => (segment.pieces > 1 ? `expandable segment of ${count(segment.pieces)} pieces` : 'segment');

/** Describes a block. @param {import('./data.js').Log} log @param {Blocks} b @param {number} i @param {number} now
 *  ns */
function say(log, b, i, now) {
  const FRAMES = 10;
  return [
    `${size(b.size[i])} (${count(b.size[i])} B) at ${address(b, i)}`,
    pathName(log.paths[b.node[i]]),
    `allocated at ${time(b.from[i], 1e3)}, ${duration(now - b.from[i])} old`,
    `thread ${log.threads[b.thread[i]] ?? ''}`,
    ...(b.library[i] ? [`library ${log.libraries[b.library[i]]}`] : []),
    ...stacksOf(log, b, i).flatMap(({ name, frames }) => ['', `${name}, innermost first`, ...frames.slice(0, FRAMES)]),
  ].join('\n');
}

/**
 * @param {App} app
 * @param {import('./data.js').Log} log
 * @param {import('./data.js').Heap} torch
 * @param {Then} then
 * @param {Segment} segment
 * @param {number} most
 */
function bar(app, log, torch, then, segment, most) {
  const WIDTH = 1200,
    HEIGHT = 24;
  const canvas = /** @type {HTMLCanvasElement} */ (
    element('canvas', {
      width: WIDTH,
      height: HEIGHT,
      role: 'img',
      'aria-label': `${kind(segment)} of ${size(segment.size)}: ${segment.blocks} blocks hold ${size(segment.used)}`,
    })
  );
  const c = canvas.getContext('2d');
  if (!c) return canvas;
  const between = isKnown(then, segment) ? 'free' : 'free, or a block that the page does not keep';
  const length = WIDTH * Math.max(0.04, Math.sqrt(segment.size / most)),
    scale = length / segment.size;
  c.fillStyle = colour(`--${STATES[segment.state]}`);
  c.fillRect(0, 0, length, HEIGHT);
  for (const block of segment.inner) {
    c.fillStyle = fill(app.slotOf(blockName(log, torch, block.index, app.grouping())), app.dark, 2);
    c.fillRect(block.offset * scale, 0, Math.max(1.5, block.size * scale - 1), HEIGHT);
  }
  canvas.addEventListener('mousemove', (event) => {
    const at = ((event.offsetX / canvas.clientWidth) * WIDTH) / scale;
    const block = segment.inner.find((b) => at >= b.offset && at < b.offset + b.size);
    canvas.title = block ? say(log, torch.blocks, block.index, then.at) : at < segment.size ? between : '';
  });
  return canvas;
}

/** @param {number} state */
const stateName = (state) => (state === GRAPH ? 'graph pools' : state === SPLIT ? 'split' : 'releasable');

/** Returns the state of a segment. If blocks are missing, a segment that seems empty may be split, so its state is left
 *  out. @param {Segment} segment @param {boolean} whole */
const stateWord = ({ state, used, size: bytes }, whole) =>
  used === bytes || (state === RELEASABLE && !whole) ? '' : state === GRAPH ? "a graph's pool" : STATES[state];

/** @param {string} name @param {number} free @param {boolean} whole */
const freeCell = (name, free, whole) =>
  element(name, { title: `${count(free)} bytes`, class: 'free' }, `${whole ? '' : '≤ '}${size(free)}`);

/** Returns the free bytes of each state, or nothing if blocks are missing. @param {Then} then */
const freeByState = ({ free, whole }) =>
  whole
    ? free.map((bytes, state) =>
        element(
          'span',
          { class: 'state', title: `${count(bytes)} bytes`, 'data-state': STATES[state] },
          swatch(colour(`--${STATES[state]}`)),
          `${stateName(state)} ${size(bytes)}`,
        ),
      )
    : [];

/** Returns the totals of all segments. @param {Then} then */
function sums(then) {
  const { held, used, elsewhere, whole } = then;
  return element(
    'span',
    { class: 'sub' },
    freeCell('span', held - used, whole),
    ' of ',
    element('span', { title: `${count(held)} bytes`, class: 'held' }, `${whole ? '' : '≥ '}${size(held)}`),
    ` free${whole ? `, ${share(held - used, held)}:` : ': of the blocks then, the page keeps the largest'}`,
    ...freeByState(then),
    elsewhere ? `; ${size(elsewhere)} are outside these segments` : '',
  );
}

/**
 * Returns the segments at the pinned instant, otherwise when memory ran out or at the device's peak, as in the report.
 * The report's peak is the instant with most used bytes. If that needed a new segment, the peak of the device's heap is
 * slightly earlier: when the segment was made, before its block.
 * @param {App} app @param {import('./data.js').Log} log @param {import('./data.js').Heap} device
 * @param {import('./data.js').Heap} torch @param {import('./data.js').SegmentsThen[]} instants
 */
const thenOf = (app, log, device, torch, instants) =>
  thenAt(log, device, torch, instants, app.pins.length ? app.pins[0].at + app.origin(log) : instants[0].time);

/** Returns the segments at a time, those of the report if it has them. @param {import('./data.js').Log} log
 *  @param {import('./data.js').Heap} device @param {import('./data.js').Heap} torch
 *  @param {import('./data.js').SegmentsThen[]} instants @param {number} at */
function thenAt(log, device, torch, instants, at) {
  const peak = at === device.peakTime ? instants.find((then) => !then.atOom) : undefined,
    isSame = (/** @type {number} */ of) => [device, torch].every((heap) => isSameState(heap, of, at)),
    within = instants.find(({ since, time: of }) => at > since && at < of),
    then = within ? { ...within, time: at } : (instants.find(({ time: of }) => isSame(of)) ?? peak);
  return then ? reported(then, keptThen(log, device, torch, then.time)) : keptThen(log, device, torch, at);
}

/** Returns how far a time is from the period of a recorded state, ns. @param {import('./data.js').SegmentsThen} instants
 *  @param {number} at */
const farFrom = ({ since, time: to }, at) => (at > to ? at - to : Math.max(0, since - at));

/** Returns a button to the nearest instant with all blocks, or null if the current one has them. @param {App} app
 *  @param {import('./data.js').Log} log @param {import('./data.js').Heap} torch
 *  @param {import('./data.js').SegmentsThen[]} instants @param {Then} then */
function nearest(app, log, torch, instants, { at, whole }) {
  if (whole) return null;
  const { time: to } = instants.reduce((best, of) => (farFrom(of, at) < farFrom(best, at) ? of : best)),
    text = `all of them at ${time(to)}`;
  return button(text, `${text}: the nearest instant that the page has them of`, () =>
    app.pin([{ heap: torch.name, log: log.index, at: to - app.origin(log) }]),
  );
}

/** Returns a function that describes the segment of a block at a time: its size, and its free bytes if the page knows
 *  all of its blocks. @param {import('./data.js').Log} log @param {import('./data.js').Heap} torch @param {number} at */
export function segmentOf(log, torch, at) {
  const gpu = torch.name.split('/')[0],
    device = log.heaps.find(({ name }) => name === `${gpu}/device`),
    instants = log.segments.filter((s) => `gpu${s.device}` === gpu),
    then = device && thenAt(log, device, torch, instants, at);
  return (/** @type {Blocks} */ blocks, /** @type {number} */ i) => {
    const from = start(blocks, i),
      found = then?.segments.find((segment) => from >= segment.start && from < segment.start + segment.size);
    if (!then || !found) return '';
    const free = isKnown(then, found) || then.whole ? `, ${size(found.size - found.used)} free` : '';
    return `${size(found.size)}${free}`;
  };
}

const SHOWN = 24;

/** Returns the table of single segments. @param {App} app @param {import('./data.js').Log} log
 *  @param {import('./data.js').Heap} torch @param {Then} then */
function listed(app, log, torch, then) {
  const most = Math.max(...then.segments.map((s) => s.size));
  const shown = then.segments.slice(0, SHOWN),
    blocks = shown.every((s) => isKnown(then, s)) ? 'its blocks' : 'those of its blocks that the page keeps';
  const rows = shown.map((s) =>
    element(
      'tr',
      { 'data-state': STATES[s.state] },
      element('th', { scope: 'row' }, bar(app, log, torch, then, s, most)),
      element('td', { title: `${count(s.size)} bytes` }, size(s.size)),
      freeCell('td', s.size - s.used, then.whole),
      element('td', {}, `${then.whole ? '' : '≤ '}${size(s.largestHole)}`),
      element('td', {}, stateWord(s, then.whole)),
      element('td', {}, count(s.blocks)),
    ),
  );
  const head = ['segment', 'size', 'free', 'largest hole', 'free as', 'blocks'].map((text) =>
    element('th', { scope: 'col' }, text),
  );
  return [
    element(
      'table',
      { class: 'listed' },
      element('caption', {}, `each segment with ${blocks}, most free bytes first; bar length: square root of size`),
      element('thead', {}, element('tr', {}, ...head)),
      element('tbody', {}, ...rows),
    ),
    ...(then.count > rows.length ? [element('p', {}, `${count(then.count - rows.length)} more segments`)] : []),
  ];
}

/** Returns the run that the panels show: the one of the first pin. @param {App} app */
const runOf = (app) => app.runs().find(({ index }) => index === app.pins[0]?.log) ?? app.runs()[0];

/**
 * Returns the panel of a GPU in that run, or null if there is nothing to show.
 * @param {App} app
 * @param {string} gpu "gpu0"
 */
export function segmentPanel(app, gpu) {
  const log = runOf(app),
    role = app.runs().length > 1 && element('b', { class: `role role-${app.roleOf(log)}` }, app.roleOf(log)),
    instants = log.segments.filter((s) => `gpu${s.device}` === gpu);
  const device = log.heaps.find((h) => h.name === `${gpu}/device`),
    torch = log.heaps.find((h) => h.name === `${gpu}/torch`);
  if (!device || !torch || !instants.length) return null;
  const then = thenOf(app, log, device, torch, instants);
  if (!then.segments.length) return null;
  const which = app.pins.length > 1 ? ', the first pin' : '',
    map = then.whole ? [pinTable(then), segmentMap(then)] : [],
    list = () => listed(app, log, torch, then);
  return element(
    'section',
    { class: 'panel segments', 'data-panel': 'segments', 'data-gpu': gpu, 'data-log': log.index, tabindex: 0 },
    element(
      'h2',
      {},
      role,
      `${gpu}: segments of PyTorch's allocator at ${time(then.at)}${which}`,
      sums(then),
      nearest(app, log, torch, instants, then),
    ),
    ...map,
    ...(then.count > SHOWN && map.length ? [folded('one by one', list)] : list()),
  );
}
