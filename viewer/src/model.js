/**
 * Groups bands into stacks: by their best name, range, Python or native call stack, thread, size class or library.
 * @typedef {import('./data.js').Log} Log
 * @typedef {import('./data.js').Heap} Heap
 * @typedef {import('./columns.js').By} By
 * @typedef {{ by: By, depth: number, unfolded?: string[] }} Grouping depth 0: names as in the reports; unfolded: lines
 *   that are expanded into their parts
 * @typedef {{ name: string, rest: boolean, partial: boolean, about: boolean, atPeak: number, largest: number, bytes:
 *   Float64Array, errors: Float64Array }} Group bytes, errors: of each span; partial: bands without a name hold small
 *   pieces of it; about: some of its bytes are estimates
 * @typedef {{ heap: Heap, log: Log, groups: Group[], all: string[], groupOfBand: Int32Array, unnamed: Float64Array,
 *   folds: Map<string, import('./folds.js').Line> }} Stack folds: by name, the line that it is or belongs to; unnamed:
 *   bytes of each span in bands without a name
 */
import { COUNTED, FOLD, ONE, OTHER, SAMPLED, SMALL, VIEWS } from './columns.js';
import { Walk, isRest, rolesOf } from './estimates.js';
import { isFold, partOf } from './folds.js';
import { join, joinedOf } from './names.js';

const NO_ERRORS = new Float64Array(0);

export const OUTSIDE = 'outside any range',
  UNKNOWN = '(library not known)',
  NO_STACK = '(no call stack)',
  NO_PYTHON = '(no Python call stack)',
  NOT_SAMPLED = '(not in the sample)',
  ELSE = 'everything else',
  SEVERAL = 'several, small',
  SEVERAL_OF = 'several of ',
  INSIDE = ' > '; // after a range: the range and everything in it

/** A depth that no path reaches. */
export const WHOLE = 999;

/** The names for bytes without a known holder. */
export const NOBODY = [OUTSIDE, UNKNOWN, NO_STACK, NO_PYTHON, NOT_SAMPLED];

/** Returns true if none of the names is that of a holder. @param {Iterable<string>} names */
export const isNobody = (names) => [...names].every((name) => NOBODY.includes(name));

/** @param {string[]} path @param {number} [depth] @param {string} [none] */
export function pathName(path, depth = 0, none = OUTSIDE) {
  const shown = depth ? path.slice(0, depth) : path;
  return shown.length ? join(shown) : none;
}

/** Returns the name that `peaks` uses: the range, otherwise the Python stack, otherwise the native stack or the
 *  library. @param {Log} log @param {{ node: number, library: number, native: number, python: number }} of
 *  @param {number} [depth] */
export function bestName(log, of, depth) {
  if (of.node || of.python) return pathName(of.node ? log.paths[of.node] : log.stacks[of.python], depth);
  if (log.best === 'stack') return pathName(log.stacks[of.native], depth, NO_STACK);
  return log.libraries[of.library] || (log.best === 'library' ? UNKNOWN : OUTSIDE);
}

/** Returns true if a band does not name the holder of its bytes. The pieces that render/html_data.c writes follow the
 *  same rule. @param {Log} log @param {import('./data.js').Band} band @param {Grouping} grouping */
function isOpen(log, band, { by, depth }) {
  if (band.kind === FOLD) return by !== 'library' && (depth > 0 || !['auto', 'range'].includes(by));
  if (band.kind !== SMALL) return false;
  if (by === 'auto') return !band.node && !band.python && log.best === 'stack';
  return by === 'python' ? band.node > 0 : !['range', 'library'].includes(by);
}

/** Returns the name that a band's path gives it. @param {Log} log @param {import('./data.js').Band} band
 *  @param {Grouping} grouping */
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

/** Returns a name as the page shows it: names of the second run are shown as in the first. @param {Log} log
 *  @param {string} name */
export const shownName = (log, name) => log.renamed?.get(name) ?? name;

/** @param {Log} log @param {Heap} heap @param {import('./data.js').Band} band @param {Grouping} grouping */
export const bandName = (log, heap, band, grouping) => shownName(log, ownName(log, heap, band, grouping));

/** @param {import('./folds.js').Line} line */
const severalOf = ({ path: [first, ...others] }) => join([SEVERAL_OF + first, ...others]);

/** @param {Log} log @param {Heap} heap @param {import('./data.js').Band} band @param {Grouping} grouping */
function ownName(log, heap, band, grouping) {
  if (band.kind !== ONE && isRest(log, heap, band, grouping.by)) return pathOf(log, band, grouping);
  if (band.kind === OTHER) return ELSE;
  if (isOpen(log, band, grouping)) return SEVERAL;
  const part = partAt(heap, band, grouping);
  if (!part) return pathOf(log, band, grouping);
  if (!isUnfolded(part.line, grouping)) return part.line.name;
  return band.kind === FOLD ? severalOf(part.line) : (part.ownName ?? pathOf(log, band, grouping));
}

/** Returns true if other bands hold more of the band's name. Its pieces are in the order of the views.
 *  @param {Heap} heap @param {import('./data.js').Band} band @param {Grouping} grouping */
function isPartial(heap, band, grouping) {
  const { by, depth } = grouping,
    line = partAt(heap, band, grouping)?.line,
    piece = band.pieces?.[VIEWS.indexOf(by)] ?? 0;
  if (line) return (isUnfolded(line, grouping) ? line.partsOpen : line.open) === 1;
  return (piece & 1) === 1 || (depth > 0 && piece >> 1 >= depth);
}

/** Returns true if the heap's numbers are estimates from a sample of small objects. @param {{ name: string }} heap */
export const isEstimated = (heap) => heap.name === 'host/python';

/** Returns true if the heap's peak is approximate. @param {{ name: string, about?: boolean }} heap */
export const hasAboutPeak = (heap) => isEstimated(heap) || heap.about === true;

/** Returns true if bands of this name do not name the holder of their bytes. @param {string} name */
export const isUnnamed = (name) => name === ELSE || name === SEVERAL || name.startsWith(SEVERAL_OF);

/** Returns a block as a band. @param {import('./blocks.js').Blocks} blocks @param {number} i */
export const bandOf = (blocks, i) => ({
  kind: ONE,
  facts: 0,
  pieces: [],
  node: blocks.node[i],
  thread: blocks.thread[i],
  size: blocks.size[i] < 2 ? blocks.size[i] : Math.ceil(Math.log2(blocks.size[i])) + 1,
  library: blocks.library[i],
  python: blocks.python[i],
  native: blocks.native[i],
});

/** Returns the name that a block is counted under. @param {Log} log @param {Heap} heap @param {number} i
 *  @param {Grouping} grouping */
export function blockName(log, heap, i, grouping) {
  return bandName(log, heap, bandOf(heap.blocks, i), grouping);
}

/** Returns true if a name is a range or a name in it. A range whose own name contains " > " is one part of a path.
 *  @param {string} name @param {string} range followed by " > " */
export function isInside(name, range) {
  let begin = '';
  return joinedOf(name).path.some((part) => (begin += part + INSIDE) === range);
}

/** Returns the span that holds the peak. @param {Heap} heap */
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
    partial = names.map(() => false),
    about = names.map(() => isEstimated(heap)),
    roles = rolesOf(log, heap, grouping.by);
  heap.bands.forEach((band, i) => {
    const name = nameOf[i],
      rest = roles?.rest[i] ?? false;
    if (band.facts & COUNTED || (roles?.weighed[i] && band.facts & SAMPLED)) about[name] = true;
    if (!rest && isPartial(heap, band, grouping)) partial[name] = !isUnnamed(names[name]);
  });
  return { names, nameOf, partial, about, open: names.map(isUnnamed), folds, roles };
}

/** Returns for each name its bytes at the peak, or half of its maximum if that is more. @param {Heap} heap
 *  @param {ReturnType<typeof namesOf>} named */
function weights(heap, { names, nameOf, roles }) {
  const peak = peakSpan(heap),
    walk = new Walk(heap, nameOf, names.length, roles),
    weight = new Float64Array(names.length),
    weigh = (/** @type {number} */ name, /** @type {number} */ bytes) => {
      if (bytes > weight[name]) weight[name] = bytes;
    };
  for (let span = 0, at = 0; span < heap.spans.start.length; span++) {
    walk.skipTo(span);
    // names that have not changed since held as many bytes at an earlier span
    for (; at < walk.at; at++) weigh(nameOf[heap.changeBand[at]], walk.nearly(nameOf[heap.changeBand[at]]) / 2);
    if (span !== peak) continue;
    walk.to(span);
    for (let name = 0; name < names.length; name++) weigh(name, walk.bytes[name]);
  }
  return weight;
}

/** Returns the names that get their own band, the heaviest first. A weight is the bytes at the peak, or half of the
 *  maximum if that is more. @param {Log} log @param {Heap} heap @param {Grouping} grouping @param {number} [most]
 *  @returns {Map<string, number>} */
export function foremost(log, heap, grouping, most = 18) {
  const named = namesOf(log, heap, grouping),
    { names } = named,
    weight = weights(heap, named);
  const order = [...names.keys()]
    .filter((i) => names[i] !== ELSE)
    .sort((a, b) => weight[b] - weight[a] || (names[a] < names[b] ? -1 : 1));
  return new Map(order.slice(0, names.length - 1 <= most ? most + 1 : most).map((i) => [names[i], weight[i]]));
}

/** Returns for each span the bytes in bands without a name. @param {Heap} heap
 *  @param {ReturnType<typeof namesOf>} named */
function unnamedOf(heap, { nameOf, open }) {
  const unnamed = new Float64Array(heap.spans.start.length),
    walk = new Walk(
      heap,
      nameOf.map((name) => Number(open[name])),
      2,
      null,
    );
  for (let span = 0; span < unnamed.length; span++) {
    walk.to(span);
    unnamed[span] = walk.bytes[1];
  }
  return unnamed;
}

/**
 * Returns the heap's stack: one group for each wanted name that it has, in their order. All other names form one more
 * group, and those of them in the range `inside` another.
 * @param {Log} log @param {Heap} heap @param {Grouping} grouping @param {string[]} [wanted] @param {string} [inside] a
 *   range followed by " > "
 * @returns {Stack}
 */
export function stack(log, heap, grouping, wanted = [...foremost(log, heap, grouping).keys()], inside = '') {
  const named = namesOf(log, heap, grouping),
    { names, nameOf, partial, about, folds, roles } = named,
    kept = wanted.map((name) => names.indexOf(name)).filter((i) => i >= 0),
    spans = heap.spans.start.length;
  const groupOf = (/** @type {string} */ name, /** @type {boolean} */ rest, /** @type {boolean} */ isPartial) => ({
    name,
    rest,
    partial: isPartial,
    about: false,
    atPeak: 0,
    largest: 0,
    bytes: new Float64Array(spans),
    errors: roles ? new Float64Array(spans) : NO_ERRORS,
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
  about.forEach((is, name) => (groups[groupOfName[name]].about ||= is));
  const groupOfBand = nameOf.map((name) => groupOfName[name]),
    walk = new Walk(heap, groupOfBand, groups.length, roles);
  for (let span = 0; span < spans; span++) {
    walk.to(span);
    for (let i = 0; i < groups.length; i++) groups[i].bytes[span] = walk.bytes[i];
    if (roles) for (let i = 0; i < groups.length; i++) groups[i].errors[span] = walk.errors[i];
  }
  const peak = peakSpan(heap);
  for (const group of groups) {
    group.atPeak = spans ? group.bytes[peak] : 0;
    group.largest = group.bytes.reduce((a, b) => Math.max(a, b), 0);
  }
  return { heap, log, groups, all: names, groupOfBand, unnamed: unnamedOf(heap, named), folds };
}

/** Returns true if a group's bytes at a span are an estimate. @param {Group} group @param {number} span */
export const isAbout = (group, span) => group.about || (group.errors[span] ?? 0) > 0;

/** @param {boolean[]} open @param {Float64Array} sums */
const sumOpen = (open, sums) => open.reduce((all, is, i) => all + (is ? sums[i] : 0), 0);

/** Returns true if a group's bytes at a span are a lower bound. @param {Stack} stack @param {Group} group
 *  @param {number} span */
export const isLeast = (stack, group, span) => group.partial && stack.unnamed[span] > 0;

/**
 * Returns the bytes of every single name at a span.
 * @param {Log} log
 * @param {Heap} heap
 * @param {Grouping} grouping
 * @param {number} span
 * @returns {import('./lines.js').Side} all names of the heap, including those without bytes
 */
export function composition(log, heap, grouping, span) {
  const { names, nameOf, partial, about, open, roles } = namesOf(log, heap, grouping),
    walk = new Walk(heap, nameOf, names.length, roles);
  if (span < 0 || span >= heap.spans.start.length) return { held: new Map(), more: false };
  walk.to(span);
  const more = sumOpen(open, walk.bytes) > 0;
  const held = new Map(
    names.map((name, i) => {
      const error = walk.errors[i];
      return [name, { bytes: walk.bytes[i], least: partial[i] && more, about: about[i] || error > 0, error }];
    }),
  );
  return { held, more };
}

/** Returns the bytes of each size class at the heap's peak, as `peaks --by size` has them. @param {Log} log
 *  @param {Heap} heap */
export const sizesAtPeak = (log, heap) => composition(log, heap, { by: 'size', depth: 0 }, peakSpan(heap));

/** Returns the last span that begins at or before the time, or -1. @param {Float64Array} start @param {number} time */
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

/** Returns true if every change near this span has its own span. @param {Heap} heap @param {number} span */
const inWindow = (heap, span) =>
  heap.exact.some(([from, to]) => heap.spans.start[span] >= from && heap.spans.start[span] < to);

/** Returns true if the span is one state, not the maximum of several. @param {Heap} heap @param {number} span */
export function isExact(heap, span) {
  const s = heap.spans;
  return heap.width === 1 || s.allocs[span] + s.frees[span] <= 1 || inWindow(heap, span);
}

/** Returns true if the span is the exact state at an instant in it. If `at` is null, the instant is the span's own
 *  time. @param {Heap} heap @param {number} span @param {number | null} at */
export function isExactAt(heap, span, at) {
  const of = heap.spans.time[span];
  return at === of || (isExact(heap, span) && (at === null || at >= of));
}

/** Returns true if the span is the rest of a bucket next to a window of exact spans. Its state need not be the largest
 *  one. @param {Heap} heap @param {number} span */
export const isPiece = (heap, span) =>
  !inWindow(heap, span) && [span - 1, span + 1].some((i) => i >= 0 && i < heap.spans.start.length && inWindow(heap, i));

/** Returns how much time the changes of a span cover, ns. @param {Heap} heap @param {number} span */
export const spanWidth = (heap, span) =>
  Math.min(heap.width, (heap.spans.start[span + 1] ?? Infinity) - heap.spans.start[span]);
