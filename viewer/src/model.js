/**
 * From bands to what is stacked: groups by their best name, range, Python or native call stack, thread, size class or library. *
 * @typedef {import('./data.js').Log} Log
 * @typedef {import('./data.js').Heap} Heap
 * @typedef {import('./columns.js').By} By
 * @typedef {{ by: By, depth: number, unfolded?: string[] }} Grouping depth 0: as the reports name it; unfolded: lines of which the parts are shown
 * @typedef {{ name: string, rest: boolean, partial: boolean, atPeak: number, largest: number, bytes: Float64Array }} Group
 *   bytes of each span; partial: small pieces of it lie in bands that do not say so
 * @typedef {{ heap: Heap, log: Log, groups: Group[], all: string[], groupOfBand: Int32Array, unnamed: Float64Array,
 *   folds: Map<string, import('./folds.js').Line> }} Stack
 *   folds: by name what it is a fold or a part of; unnamed: bytes of each span in bands that do not say whose they are
 */
import { FOLD, ONE, OTHER, SMALL, VIEWS } from './columns.js';
import { isFold, partOf } from './folds.js';
import { join, joinedOf } from './names.js';

export const OUTSIDE = 'outside any range',
  UNKNOWN = '(library not known)',
  NO_STACK = '(no call stack)',
  NO_PYTHON = '(no Python call stack)',
  NOT_SAMPLED = '(not in the sample)',
  ELSE = 'everything else',
  SEVERAL = 'several, small',
  SEVERAL_OF = 'several of ',
  INSIDE = ' > '; // behind a range: it and all in it

/** A depth that no path has. */
export const WHOLE = 999;

/** Names of what nobody is known to hold. */
export const NOBODY = [OUTSIDE, UNKNOWN, NO_STACK, NO_PYTHON, NOT_SAMPLED];

/** @param {string[]} path @param {number} [depth] @param {string} [none] */
export function pathName(path, depth = 0, none = OUTSIDE) {
  const shown = depth ? path.slice(0, depth) : path;
  return shown.length ? join(shown) : none;
}

/** The range, else the Python stack, else the native one or the library: as `peaks` names it. @param {Log} log
 *  @param {{ node: number, library: number, native: number, python: number }} of @param {number} [depth] */
export function bestName(log, of, depth) {
  if (of.node || of.python) return pathName(of.node ? log.paths[of.node] : log.stacks[of.python], depth);
  if (log.best === 'stack') return pathName(log.stacks[of.native], depth, NO_STACK);
  return log.libraries[of.library] || (log.best === 'library' ? UNKNOWN : OUTSIDE);
}

/** Whether a band leaves open whose its bytes are: render/html_data.c's pieces say the same. @param {Log} log
 *  @param {import('./data.js').Band} band @param {Grouping} grouping */
function isOpen(log, band, { by, depth }) {
  if (band.kind === FOLD) return by !== 'library' && (depth > 0 || !['auto', 'range'].includes(by));
  if (band.kind !== SMALL) return false;
  if (by === 'auto') return !band.node && !band.python && log.best === 'stack';
  return by === 'python' ? band.node > 0 : !['range', 'library'].includes(by);
}

/** By its path. @param {Log} log @param {import('./data.js').Band} band @param {Grouping} grouping */
function pathOf(log, band, { by, depth }) {
  if (by === 'auto') return bestName(log, band, depth);
  if (by === 'range') return pathName(log.paths[band.node], depth);
  if (by === 'library') return log.libraries[band.library] || UNKNOWN;
  if (by === 'python') return pathName(log.stacks[band.python], depth, NO_PYTHON);
  if (by === 'stack') return pathName(log.stacks[band.native], depth, NO_STACK);
  return by === 'thread' ? log.threads[band.thread] : log.sizes[band.size];
}

/** @param {Heap} heap @param {import('./data.js').Band} band @param {Grouping} grouping */
const partAt = (heap, band, { by, depth }) => (depth ? undefined : partOf(heap, by, band));

/** @param {import('./folds.js').Line} line @param {Grouping} grouping */
const isUnfolded = (line, { unfolded }) => isFold(line) && (unfolded ?? []).includes(line.name);

/** What the page calls it; of the second of two runs as the first has it. @param {Log} log @param {string} name */
export const shownName = (log, name) => log.renamed?.get(name) ?? name;

/** @param {Log} log @param {Heap} heap @param {import('./data.js').Band} band @param {Grouping} grouping */
export const bandName = (log, heap, band, grouping) => shownName(log, ownName(log, heap, band, grouping));

/** @param {import('./folds.js').Line} line */
const severalOf = ({ path: [first, ...others] }) => join([SEVERAL_OF + first, ...others]);

/** @param {Log} log @param {Heap} heap @param {import('./data.js').Band} band @param {Grouping} grouping */
function ownName(log, heap, band, grouping) {
  if (band.kind === OTHER) return ELSE;
  if (isOpen(log, band, grouping)) return SEVERAL;
  const part = partAt(heap, band, grouping);
  if (!part) return pathOf(log, band, grouping);
  if (!isUnfolded(part.line, grouping)) return part.line.name;
  return band.kind === FOLD ? severalOf(part.line) : (part.told ?? pathOf(log, band, grouping));
}

/** Whether there is more of the band's name elsewhere; its pieces are in the order of the views. @param {Heap} heap
 *  @param {import('./data.js').Band} band @param {Grouping} grouping */
function isPartial(heap, band, grouping) {
  const { by, depth } = grouping,
    line = partAt(heap, band, grouping)?.line,
    piece = band.pieces?.[VIEWS.indexOf(by)] ?? 0;
  if (line) return (isUnfolded(line, grouping) ? line.partsOpen : line.open) === 1;
  return (piece & 1) === 1 || (depth > 0 && piece >> 1 >= depth);
}

/** Whether its numbers are estimates: of a sample of small objects. @param {{ name: string }} heap */
export const isEstimated = (heap) => heap.name === 'host/python';

/** Whether its peak may be another. @param {{ name: string, about?: boolean }} heap */
export const hasAboutPeak = (heap) => isEstimated(heap) || heap.about === true;

/** Whether only a sample of a heap's small blocks has call stacks. @param {Log} log @param {Heap} heap */
export const hasSampledStacks = (log, heap) => log.sampled && heap.name === 'host/heap';

/** Whether a name is a call stack that only a sample of the small blocks has; of a band by itself the report knows. @param {Log} log @param {Heap} heap
 *  @param {import('./data.js').Band} band @param {string} by */
const isSampled = (log, heap, band, by) =>
  hasSampledStacks(log, heap) &&
  (band.kind !== ONE || band.atLeast !== 0) &&
  (log.hostSampled ||
    by === 'python' ||
    by === 'stack' ||
    (by === 'auto' && !band.node && band.python + band.native > 0));

/** Bands of that name do not say whose their bytes are. @param {string} name */
export const isUnnamed = (name) => name === ELSE || name === SEVERAL || name.startsWith(SEVERAL_OF);

/** A block as if it were a band. @param {import('./blocks.js').Blocks} blocks @param {number} i */
export const bandOf = (blocks, i) => ({
  kind: ONE,
  atLeast: 0,
  pieces: [],
  node: blocks.node[i],
  thread: blocks.thread[i],
  size: blocks.size[i] < 2 ? blocks.size[i] : Math.ceil(Math.log2(blocks.size[i])) + 1,
  library: blocks.library[i],
  python: blocks.python[i],
  native: blocks.native[i],
});

/** What a block is counted to. @param {Log} log @param {Heap} heap @param {number} i @param {Grouping} grouping */
export function blockName(log, heap, i, grouping) {
  return bandName(log, heap, bandOf(heap.blocks, i), grouping);
}

/** @param {string} name @param {string} range with " > " behind it */
export const isInside = (name, range) => (name + INSIDE).startsWith(range);

/** Calls each(span) with `sums` of all names brought up to date. @param {Heap} heap @param {Int32Array} nameOf
 *  @param {Float64Array} sums @param {(span: number) => void} each @param {number} [spans] so many, from the first on */
function walk(heap, nameOf, sums, each, spans = heap.spans.start.length) {
  const held = new Float64Array(heap.bands.length);
  let at = 0;
  for (let span = 0; span < spans; span++) {
    for (; at < heap.spans.end[span]; at++) {
      const band = heap.changeBand[at],
        bytes = heap.changeBytes[at];
      sums[nameOf[band]] += bytes - held[band];
      held[band] = bytes;
    }
    each(span);
  }
}

/** The span that holds the peak. @param {Heap} heap */
export function peakSpan(heap) {
  const { max } = heap.spans;
  let best = 0;
  for (let i = 1; i < max.length; i++) if (max[i] > max[best]) best = i;
  return best;
}

/** @param {Log} log @param {Heap} heap @param {Grouping} grouping */
function namesOf(log, heap, grouping) {
  /** @type {Map<string, number>} */
  const number = new Map();
  /** @type {Stack['folds']} */
  const folds = new Map();
  const nameOf = Int32Array.from(heap.bands, (band) => {
    const name = bandName(log, heap, band, grouping),
      line = partAt(heap, band, grouping)?.line;
    if (line && isFold(line) && name !== SEVERAL) folds.set(name, line);
    if (!number.has(name)) number.set(name, number.size);
    return /** @type {number} */ (number.get(name));
  });
  const names = [...number.keys()],
    partial = names.map(() => false);
  heap.bands.forEach((band, i) => {
    const name = names[nameOf[i]];
    if (isSampled(log, heap, band, grouping.by)) partial[nameOf[i]] = !NOBODY.includes(name) && !isUnnamed(name);
    else if (isPartial(heap, band, grouping)) partial[nameOf[i]] = !isUnnamed(name);
  });
  const nobodys = hasSampledStacks(log, heap),
    open = names.map((name) => isUnnamed(name) || (nobodys && NOBODY.includes(name)));
  return { names, nameOf, partial, open, folds };
}

/** What each name held at the peak, or half of its most at any time. @param {Heap} heap @param {Int32Array} nameOf
 *  @param {number} names */
function weights(heap, nameOf, names) {
  const { start, end } = heap.spans,
    { changeBand, changeBytes } = heap,
    peak = peakSpan(heap),
    held = new Float64Array(heap.bands.length),
    sums = new Float64Array(names),
    weight = new Float64Array(names);
  let at = 0;
  for (let span = 0; span < start.length; span++) {
    const first = at;
    for (; at < end[span]; at++) {
      const band = changeBand[at];
      sums[nameOf[band]] += changeBytes[at] - held[band];
      held[band] = changeBytes[at];
    }
    // those that have not changed since held as much at an earlier span
    for (let i = first; i < at; i++) {
      const name = nameOf[changeBand[i]];
      if (sums[name] > 2 * weight[name]) weight[name] = sums[name] / 2;
    }
    if (span !== peak) continue;
    for (let name = 0; name < names; name++) if (sums[name] > weight[name]) weight[name] = sums[name];
  }
  return weight;
}

/** The names that have a band of their own, the heaviest first: what they held at the peak, or half of their most at any time.
 *  @param {Log} log @param {Heap} heap @param {Grouping} grouping @param {number} [most] @returns {Map<string, number>} */
export function foremost(log, heap, grouping, most = 18) {
  const { names, nameOf } = namesOf(log, heap, grouping),
    weight = weights(heap, nameOf, names.length);
  const order = [...names.keys()]
    .filter((i) => names[i] !== ELSE)
    .sort((a, b) => weight[b] - weight[a] || (names[a] < names[b] ? -1 : 1));
  return new Map(order.slice(0, names.length - 1 <= most ? most + 1 : most).map((i) => [names[i], weight[i]]));
}

/** Of each span the bytes in bands that do not say whose they are. @param {Heap} heap @param {Int32Array} nameOf @param {boolean[]} open */
function unnamedOf(heap, nameOf, open) {
  const unnamed = new Float64Array(heap.spans.start.length),
    sums = new Float64Array(2);
  walk(
    heap,
    nameOf.map((name) => Number(open[name])),
    sums,
    (span) => (unnamed[span] = sums[1]),
  );
  return unnamed;
}

/**
 * The heap's stack: a group for each of the names that it has, in their order; the rest is one, and what of it is in a range another.
 * @param {Log} log @param {Heap} heap @param {Grouping} grouping @param {string[]} [wanted] @param {string} [inside] a range, with " > " behind it
 * @returns {Stack}
 */
export function stack(log, heap, grouping, wanted = [...foremost(log, heap, grouping).keys()], inside = '') {
  const { names, nameOf, partial, open, folds } = namesOf(log, heap, grouping),
    kept = wanted.map((name) => names.indexOf(name)).filter((i) => i >= 0),
    spans = heap.spans.start.length;
  const groupOf = (/** @type {string} */ name, /** @type {boolean} */ rest, /** @type {boolean} */ isPartial) => ({
    name,
    rest,
    partial: isPartial,
    atPeak: 0,
    largest: 0,
    bytes: new Float64Array(spans),
  });
  const groups = kept.map((i) => groupOf(names[i], false, partial[i]));
  const rests = new Map();
  const groupOfName = Int32Array.from(names, (name, i) => {
    if (kept.includes(i)) return kept.indexOf(i);
    const rest =
      inside && isInside(name, inside) ? join([...joinedOf(inside.slice(0, -INSIDE.length)).path, ELSE]) : ELSE;
    if (!rests.has(rest)) rests.set(rest, groups.push(groupOf(rest, true, false)) - 1);
    return rests.get(rest);
  });
  const groupOfBand = nameOf.map((name) => groupOfName[name]),
    held = new Float64Array(groups.length);
  walk(heap, groupOfBand, held, (span) => {
    for (let i = 0; i < held.length; i++) groups[i].bytes[span] = held[i];
  });
  const peak = peakSpan(heap);
  for (const group of groups) {
    group.atPeak = spans ? group.bytes[peak] : 0;
    group.largest = group.bytes.reduce((a, b) => Math.max(a, b), 0);
  }
  return { heap, log, groups, all: names, groupOfBand, unnamed: unnamedOf(heap, nameOf, open), folds };
}

/** @param {boolean[]} open @param {Float64Array} sums */
const sumOpen = (open, sums) => open.reduce((all, is, i) => all + (is ? sums[i] : 0), 0);

/** Whether a group's bytes at a span are a lower bound. @param {Stack} stack @param {Group} group @param {number} span */
export const isLeast = (stack, group, span) => group.partial && stack.unnamed[span] > 0;

/**
 * Every name's bytes at a span, none summed up.
 * @param {Log} log
 * @param {Heap} heap
 * @param {Grouping} grouping
 * @param {number} span
 * @returns {import('./lines.js').Side} of all names of the heap, those that held nothing then, too
 */
export function composition(log, heap, grouping, span) {
  const { names, nameOf, partial, open } = namesOf(log, heap, grouping);
  const sums = new Float64Array(names.length);
  /** @type {Map<string, { bytes: number, least: boolean }>} */
  const held = new Map();
  let more = false;
  /** @param {number} now */
  const look = (now) => {
    if (now !== span) return;
    more = sumOpen(open, sums) > 0;
    names.forEach((name, i) => held.set(name, { bytes: sums[i], least: partial[i] && more }));
  };
  walk(heap, nameOf, sums, look, Math.min(span + 1, heap.spans.start.length));
  return { held, more };
}

/** The last span that begins at or before the time; -1: none. @param {Float64Array} start @param {number} time */
export function spanAt(start, time) {
  let low = 0,
    high = start.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (start[middle] <= time) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** Whether every change has a span there. @param {Heap} heap @param {number} span */
const inWindow = (heap, span) =>
  heap.exact.some(([from, to]) => heap.spans.start[span] >= from && heap.spans.start[span] < to);

/** True when the span is one state, not the maximum of several. @param {Heap} heap @param {number} span */
export function isExact(heap, span) {
  const s = heap.spans;
  return heap.width === 1 || s.allocs[span] + s.frees[span] <= 1 || inWindow(heap, span);
}

/** True when the span is the state at an instant in it; null: at its own. @param {Heap} heap @param {number} span
 *  @param {number | null} at */
export function isExactAt(heap, span, at) {
  const of = heap.spans.time[span];
  return at === of || (isExact(heap, span) && (at === null || at >= of));
}

/** What a window has left of a bucket: its state need not be the largest. @param {Heap} heap @param {number} span */
export const isPiece = (heap, span) =>
  !inWindow(heap, span) && [span - 1, span + 1].some((i) => i >= 0 && i < heap.spans.start.length && inWindow(heap, i));

/** How long the changes are that a span stands for, ns. @param {Heap} heap @param {number} span */
export const spanWidth = (heap, span) =>
  Math.min(heap.width, (heap.spans.start[span + 1] ?? Infinity) - heap.spans.start[span]);
