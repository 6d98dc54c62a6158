/**
 * The holders of memory as a tree: ranges, and below each range its call stacks. It describes one instant or span, or
 * compares two.
 * @typedef {import('./data.js').Log} Log
 * @typedef {import('./data.js').Heap} Heap
 * @typedef {{ range: string[], stack: string[], whole: boolean, least: (depth: number) => boolean }} Place of a band;
 *   whole: all of its bytes have that stack; least: whether bands without a name hold more of the range's first `depth`
 *   names
 * @typedef {{ place: Place, bytes: number, error?: number, wholly?: boolean }} Piece error: one standard error of an
 *   estimate; wholly: it is also one of its ranges, because the rest of the blocks is not recorded
 * @typedef {{ pieces: Piece[], open: boolean, match?: (frame: string) => string }} Side open: the holder of some bytes
 *   is unknown; match: returns the part of a frame that is the same in another run
 * @typedef {{ name: string, frames: string[], range: string | null, within: string, key: string, depth: number, bytes:
 *   number[], least: boolean[], about: boolean, pieces: number, error: number, weight: number, children: Box[] }} Box error: of a
 *   single estimate, 0 if several pieces are in the box; range: the path of a range; within: the path of
 *   the innermost range; frames: all calls of a chain
 * @typedef {{ box: Box, left: number, width: number }} Laid left, width: shares of the whole
 */
import { FOLD, ONE, OTHER } from './columns.js';
import { Walk, estimate, hasSampledBlocks, isRest, partsOf, rolesOf, sumsOf } from './estimates.js';
import { isFold, partOf } from './folds.js';
import { ELSE, OUTSIDE, SEVERAL, SEVERAL_OF, peakSpan } from './model.js';
import { calledPath, join, joinedOf } from './names.js';

/** @param {Heap} heap @param {import('./data.js').Band} band @param {string[] | null} unfolded null if all lines are
 *  expanded */
function rangeOf(heap, band, unfolded) {
  const part = unfolded && partOf(heap, 'range', band);
  if (!part) return null;
  if (!isFold(part.line) || !unfolded.includes(part.line.name)) return { path: part.line.path, open: part.line.open };
  if (band.kind === FOLD) return { path: [SEVERAL_OF + part.line.name], open: 0 };
  return part.ownName === null ? null : { path: part.ownPath, open: part.line.partsOpen };
}

/** @param {Log} log @param {Heap} heap @param {string[] | null} unfolded @param {Map<string, string>} [renamed] ranges
 *  under the names of another run @param {import('./data.js').Band[]} [bands] @returns {Place[]} by band */
export function places(log, heap, unfolded, renamed, bands = heap.bands) {
  return bands.map((band) => {
    if (band.kind === OTHER) return { range: [ELSE], stack: [], whole: true, least: () => false };
    const line = rangeOf(heap, band, unfolded),
      own = line ? line.path : log.paths[band.node],
      name = renamed?.get(own.join(' > ')),
      path = name === undefined ? own : calledPath(joinedOf(name)),
      range = path.length ? path : [OUTSIDE],
      frames = log.stacks[band.python].length ? log.stacks[band.python] : log.stacks[band.native],
      piece = band.pieces?.[1] ?? 0;
    return {
      range,
      stack: band.kind === ONE ? frames : [SEVERAL],
      whole: band.kind === ONE,
      least: (depth) =>
        depth < range.length ? piece >> 1 >= (line ? 1 : depth) : line ? line.open === 1 : (piece & 1) === 1,
    };
  });
}

/** Returns the bytes of each band at a span. @param {Heap} heap @param {number} span */
export function held(heap, span) {
  const bytes = new Float64Array(heap.bands.length),
    end = span < 0 ? 0 : heap.spans.end[span];
  for (let i = 0; i < end; i++) bytes[heap.changeBand[i]] = heap.changeBytes[i];
  return bytes;
}

/** Returns the heap's places at its peak as bands. @param {Heap} heap @returns {import('./data.js').Band[]} */
const bandsAtPeak = ({ places: { kind, node, python, native, facts } }) =>
  Array.from(kind, (_, i) => ({
    kind: kind[i],
    node: node[i],
    python: python[i],
    native: native[i],
    facts: facts[i],
    thread: 0,
    size: 0,
    library: 0,
    pieces: [],
  }));

/** Returns the pieces of a heap at its peak, whose places are known: bands would hide small ones. @param {Log} log
 *  @param {Heap} heap @param {string[] | null} unfolded @param {Map<string, string>} [renamed] @returns {Piece[]} */
function piecesAtPeak(log, heap, unfolded, renamed) {
  const bands = bandsAtPeak(heap),
    all = places(log, heap, unfolded, renamed, bands).map((place) => ({ ...place, least: () => false })),
    { bytes, more, variance } = heap.places;
  if (!heap.sampleMean) return piecesOf(all, bytes);
  const isRestOf = (/** @type {import('./data.js').Band} */ band) =>
      band.kind !== OTHER && isRest(log, heap, band, 'flame'),
    parts = { own: bytes, more, variance, rest: bytes.map((own, i) => (isRestOf(bands[i]) ? own : 0)) },
    to = { bytes: new Float64Array(bands.length), errors: new Float64Array(bands.length) },
    wholly = hasSampledBlocks(log, heap);
  estimate(parts, sumsOf(parts), heap, to);
  if (!wholly) scaleByRange({ parts, ...to }, domains(bands), heap);
  return all.map((place, i) => ({ place, bytes: to.bytes[i], error: to.errors[i], wholly }));
}

/** Returns the range of each band, within which estimates are scaled, or -1 for all others.
 *  @param {import('./data.js').Band[]} bands */
const domains = (bands) => bands.map(({ kind, node }) => (kind === OTHER ? -1 : node));

/** Returns the pieces of a heap at a span. @param {Log} log @param {Heap} heap @param {number} span
 *  @param {string[] | null} unfolded @param {Map<string, string>} [renamed] @returns {Piece[]} */
export const piecesAt = (log, heap, span, unfolded, renamed) =>
  heap.places.bytes.length && span === peakSpan(heap)
    ? piecesAtPeak(log, heap, unfolded, renamed)
    : piecesOfBands(log, heap, places(log, heap, unfolded, renamed), span);

/** Returns the pieces of a heap at a span, by band. With sampled call stacks a range has all of its blocks, so the estimates of
 *  its stacks are scaled to the blocks of the range that have no stack. @param {Log} log @param {Heap} heap
 *  @param {Place[]} all @param {number} span @returns {Piece[]} */
function piecesOfBands(log, heap, all, span) {
  const roles = rolesOf(log, heap, 'flame'),
    bands = all.length;
  if (!roles || span < 0) return Array.from(held(heap, span), (bytes, i) => ({ place: all[i], bytes }));
  const walk = new Walk(heap, Int32Array.from(all.keys()), bands, roles),
    wholly = hasSampledBlocks(log, heap);
  walk.to(span);
  if (!wholly) scaleByRange(walk, domains(heap.bands), heap);
  return all.map((place, i) => ({ place, bytes: walk.bytes[i], error: walk.errors[i], wholly }));
}

/** Scales the estimates of each range's bands to the rest of that range. @param {{ parts: import('./estimates.js').Parts | null, bytes:
 *  Float64Array, errors: Float64Array }} all by band
 *  @param {number[]} nodes of the bands, -1 for all other bands @param {Heap} heap */
function scaleByRange({ parts, bytes, errors }, nodes, heap) {
  if (!parts) return;
  /** @type {Map<number, number[]>} */
  const bandsOf = new Map();
  nodes.forEach((node, band) => {
    const bands = bandsOf.get(node);
    if (bands) bands.push(band);
    else bandsOf.set(node, [band]);
  });
  for (const bands of bandsOf.values()) {
    const own = partsOf(bands.length),
      to = { bytes: new Float64Array(bands.length), errors: new Float64Array(bands.length) };
    for (const part of /** @type {(keyof typeof own)[]} */ (Object.keys(own)))
      bands.forEach((band, i) => (own[part][i] = parts[part][band]));
    estimate(own, sumsOf(own), heap, to);
    bands.forEach((band, i) => {
      bytes[band] = to.bytes[i];
      errors[band] = to.errors[i];
    });
  }
}

/** @param {Place[]} all @param {Float64Array} bytes by band @returns {Piece[]} */
export const piecesOf = (all, bytes) => all.map((place, i) => ({ place, bytes: bytes[i] }));

/** @param {Piece[]} all @param {(frame: string) => string} [match] @returns {Side} */
export function side(all, match) {
  const pieces = all.filter((piece) => piece.bytes > 0);
  return {
    pieces,
    match,
    open: pieces.some(({ place }) => place.range[0] === ELSE || place.range[0].startsWith(SEVERAL_OF)),
  };
}

/** @param {string} name @param {string | null} range @param {string} within @param {string} key @param {number} depth @param {number} sides @returns {Box} */
const boxOf = (name, range, within, key, depth, sides) => ({
  name,
  frames: [name],
  range,
  within,
  key,
  depth,
  bytes: Array(sides).fill(0),
  least: Array(sides).fill(false),
  about: false,
  pieces: 0,
  error: 0,
  weight: 0,
  children: [],
});

/** Removes the calls that are not the program's own. If no call is left, the
 *  innermost one stays. @param {Piece[]} pieces
 *  @param {Set<string>} foreign @returns {Piece[]} */
export const ownCalls = (pieces, foreign) =>
  pieces.map((piece) => {
    const { stack } = piece.place,
      own = stack.filter((frame) => !foreign.has(frame));
    return { ...piece, place: { ...piece.place, stack: own.length ? own : stack.slice(-1) } };
  });

/** @param {Side[]} sides @param {boolean} [isUp] whether the innermost calls come first, and their ranges last
 *  @returns {Box} */
export function tree(sides, isUp = false) {
  const root = boxOf('all', '', '', '', 0, sides.length),
    /** @type {Map<string, Box>} */
    made = new Map();
  /** @param {Box} parent @param {string} name @param {boolean} ranges @param {string} [same] */
  const child = (parent, name, ranges, same = name) => {
    const key = `${parent.key}${ranges ? '\n' : '\n\t'}${same}`;
    let found = made.get(key);
    if (!found) {
      const range = ranges ? `${parent.range && `${parent.range} > `}${name}` : null;
      found = boxOf(name, range, range ?? parent.within, key, parent.depth + 1, sides.length);
      made.set(key, found);
      parent.children.push(found);
    }
    return found;
  };
  sides.forEach(({ pieces, open, match }, s) => {
    const several = new Set(pieces.filter(({ place }) => !place.whole).map(({ place }) => place.range.join('\n')));
    for (const { place, bytes, error = 0, wholly = false } of pieces) {
      let at = root;
      const add = (/** @type {Box} */ box, /** @type {boolean} */ least) => {
        box.bytes[s] += bytes;
        if (least) box.least[s] = true;
        box.error = box.pieces++ ? 0 : error;
        if (error && (wholly || box.range === null)) box.about = true;
        at = box;
      };
      add(root, false);
      if (isUp && place.stack.length) {
        const isLeast = place.whole && (open || several.size > 0);
        for (const frame of [...place.stack].reverse()) add(child(at, frame, false, match?.(frame)), isLeast);
        add(child(at, join(place.range), false), isLeast);
        continue;
      }
      place.range.forEach((name, i) => add(child(at, name, true), open && place.least(i + 1)));
      const least = place.whole && ((open && place.least(place.range.length)) || several.has(place.range.join('\n')));
      for (const frame of place.stack) add(child(at, frame, false, match?.(frame)), least);
    }
  });
  weigh(root);
  return joined(root);
}

/** Sets and returns a box's weight, which becomes its width: its bytes, or with two sides the bytes that differ in it.
 *  @param {Box} box */
function weigh(box) {
  const inside = box.children.reduce((sum, child) => sum + weigh(child), 0),
    own = box.bytes.map((bytes, s) => bytes - box.children.reduce((sum, child) => sum + child.bytes[s], 0));
  box.weight = inside + Math.abs(own.length > 1 ? own[1] - own[0] : own[0]);
  const late = (/** @type {Box} */ { name }) => Number([ELSE, SEVERAL].includes(name) || name.startsWith(SEVERAL_OF));
  box.children.sort((a, b) => late(a) - late(b) || b.weight - a.weight || (a.name < b.name ? -1 : 1));
  return box.weight;
}

/** Merges calls that have one caller, one callee and the same bytes into one box. @param {Box} box @returns {Box} */
function joined(box) {
  const [only] = box.children,
    isChain = box.range === null && box.children.length === 1 && only.bytes.every((bytes, s) => bytes === box.bytes[s]);
  if (isChain) {
    const rest = joined({ ...only, depth: box.depth });
    return { ...rest, name: box.name, frames: [box.name, ...rest.frames], key: box.key };
  }
  return { ...box, children: box.children.map((child) => joined({ ...child, depth: box.depth + 1 })) };
}

/** Returns all boxes that are wide enough, each row from the left. @param {Box} top the box with the full width
 *  @param {number} least minimum share of the width @returns {Laid[][]} by row */
export function layout(top, least) {
  /** @type {Laid[][]} */
  const rows = [];
  const lay = (
    /** @type {Box} */ box,
    /** @type {number} */ left,
    /** @type {number} */ width,
    /** @type {number} */ row,
  ) => {
    (rows[row] ??= []).push({ box, left, width });
    for (const child of box.children) {
      const part = box.weight ? (width * child.weight) / box.weight : 0;
      if (part >= least) lay(child, left, part, row + 1);
      left += part;
    }
  };
  lay(top, 0, 1, 0);
  return rows;
}

/** Returns the boxes from the root to the box with a key, or only the root if no box matches. @param {Box} root
 *  @param {string} key */
export function pathTo(root, key) {
  const path = [root];
  for (let at = /** @type {Box | undefined} */ (root); at && at.key !== key; ) {
    at = at.children.find((child) => key === child.key || key.startsWith(`${child.key}\n`));
    if (!at) return [root];
    path.push(at);
  }
  return path;
}

/** Returns the outermost boxes that match. @param {Box} box @param {(box: Box) => boolean} is @returns {Box[]} */
export const outermost = (box, is) =>
  box.depth > 0 && is(box) ? [box] : box.children.flatMap((child) => outermost(child, is));
