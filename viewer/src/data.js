/**
 * The page's data: what render/html_data.c wrote. Times are ns since the process's start, sizes bytes. *
 * @typedef {{ start: Float64Array, time: Float64Array, max: Float64Array, min: Float64Array, close: Float64Array,
 *   allocs: Float64Array, frees: Float64Array, end: Float64Array }} Spans one entry a span; `end` is that of its
 *   changes
 * @typedef {{ kind: number, node: number, thread: number, size: number, library: number, python: number, native: number, pieces: number[] }} Band
 *   node: its range; python: the node of its Python stack, where there is no range; pieces: by view, whether there is
 *   more of its name in bands that do not say so: bit 0 of the whole path, above it of the path's first so many names
 * @typedef {{ name: string, peakBytes: number, peakTime: number, peakBlocks: number, endBytes: number, allocations:
 *   number, frees: number, failures: number, width: number, exact: [number, number][], bands: Band[], spans: Spans, changeBand: Float64Array,
 *   changeBytes: Float64Array, holders: Holder[], otherHolders: number, otherBytes: number, blocks:
 *   import('./blocks.js').Blocks }} Heap
 *   width: of a span; from exact's first to before its second every instant has a span of its own
 * @typedef {{ node: number, library: number, native: number, bytes: number, blocks: number, allocations: number }} Holder who
 *   held bytes at the heap's peak: a range or a Python stack, else a native stack or a library
 * @typedef {{ kind: string, time: number, bytes: number, graph?: Graph, node: number, thread: number, heap:
 *   string, text: string, free: number | null }} Mark
 * @typedef {{ instantiated: boolean, nodes: number, bytes: number, segment_bytes: number, executable_bytes: number,
 *   launch_bytes: number }} Graph as the graphs report has it; bytes: of the others the sum
 * @typedef {{ device: number, time: number, count: number, bytes: number, live: number, outside: number, listed: number[][] }} SegmentsThen
 *   PyTorch's segments at a device's peak, as the segments report has them; listed: of each the address's high and
 *   low half, size, live bytes, largest hole, blocks
 * @typedef {{ from: Float64Array, to: Float64Array, node: Float64Array, thread: Float64Array }} Instances
 * @typedef {{ name: string, limit: number, time: Float64Array, value: Float64Array }} Track
 * @typedef {{ index: number, label: string, short: string, rank: string, duration: number, incomplete: boolean, best: string, source: string,
 *   events: number, lost: number, threads: string[], sizes: string[], libraries: string[], stacks: string[][], paths:
 *   string[][], marks: Mark[], marksLeftOut: number, instances: Instances, tracks: Track[], segments: SegmentsThen[], heaps: Heap[] }} Log
 *   stacks: frames, outermost first; 0 is the empty one; best: the grouping that names most, source: where its names are from
 */
import { Columns } from './leb.js';

/** What a band is: exactly its labels; of a range, the small rest; everything that has no band. */
export const ONE = 0,
  SMALL = 1,
  OTHER = 2;

/** @param {string} id @param {Document} page */
async function blob(id, page) {
  const element = page.getElementById(id);
  if (!element) throw new Error(`part ${id} is missing`);
  const text = atob(element.textContent ?? '');
  const packed = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) packed[i] = text.charCodeAt(i);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Columns(new Uint8Array(await new Response(stream).arrayBuffer()));
}

/** @param {Columns} c @param {number} count @returns {Spans} */
export function readSpans(c, count) {
  const start = c.sums(count);
  const time = c.plain(count).map((ns, i) => start[i] + ns);
  const max = c.signedSums(count);
  const min = c.plain(count).map((below, i) => max[i] - below);
  const close = max.map((bytes) => bytes + c.signed());
  return { start, time, max, min, close, allocs: c.plain(count), frees: c.plain(count), end: c.sums(count) };
}

/** @param {Columns} c @param {number} bands @param {number} count */
export function readChanges(c, bands, count) {
  const changeBand = c.plain(count);
  const last = new Float64Array(bands);
  const changeBytes = changeBand.map((band) => (last[band] += c.signed()));
  return { changeBand, changeBytes };
}

/** @param {any} raw @param {Document} page @returns {Promise<import('./blocks.js').Blocks>} */
async function readBlocks(raw, page) {
  const c = await blob(raw.blocks_blob, page),
    n = raw.blocks;
  const from = c.sums(n),
    to = c.plain(n).map((ns, i) => from[i] + ns);
  return {
    from,
    to,
    size: c.plain(n),
    high: c.plain(n),
    low: c.plain(n),
    node: c.plain(n),
    thread: c.plain(n),
    library: c.plain(n),
    native: c.plain(n),
    python: c.plain(n),
    live: c.plain(n),
    mapped: c.plain(n),
  };
}

/** @param {any} raw @param {Document} page @returns {Promise<Heap>} */
async function readHeap(raw, page) {
  const c = await blob(raw.blob, page);
  const spans = readSpans(c, raw.spans);
  const { changeBand, changeBytes } = readChanges(c, raw.bands.length, raw.changes);
  return {
    name: raw.heap,
    peakBytes: raw.peak_bytes,
    peakTime: raw.peak_time_ns,
    peakBlocks: raw.peak_blocks,
    endBytes: raw.end_bytes,
    allocations: raw.allocations,
    frees: raw.frees,
    failures: raw.failures,
    width: raw.width_ns,
    exact: raw.exact,
    bands: raw.bands.map((/** @type {number[]} */ [kind, node, thread, size, library, python, native, ...pieces]) => ({
      kind,
      node,
      thread,
      size,
      library,
      python,
      native,
      pieces,
    })),
    spans,
    changeBand,
    changeBytes,
    holders: raw.holders.map((/** @type {number[]} */ [node, library, native, bytes, blocks, allocations]) => ({
      node,
      library,
      native,
      bytes,
      blocks,
      allocations,
    })),
    otherHolders: raw.other_holders,
    otherBytes: raw.other_bytes,
    blocks: await readBlocks(raw, page),
  };
}

/** Every node's path, outermost first. @param {[number, string][]} nodes */
function readPaths(nodes) {
  /** @type {string[][]} */
  const paths = [];
  nodes.forEach(([parent, label], i) => paths.push(i ? [...paths[parent], label] : []));
  return paths;
}

/** @param {string} path */
const lastPart = (path) => path.slice(path.lastIndexOf('/') + 1) || path;

/** @param {any} process @param {string} path */
function labels(process, path) {
  const program = process.command.length ? process.command.slice(0, 4).map(lastPart).join(' ') : path;
  const where = [process.rank !== null && `rank ${process.rank}`, process.host, process.pid && `pid ${process.pid}`];
  const file = lastPart(path).replace(/\.zst$/, '');
  return {
    label: [program, ...where.filter(Boolean)].join(', '),
    short: process.rank !== null ? `rank ${process.rank}` : file,
  };
}

/** @param {any} raw @param {Document} page @returns {Promise<Track>} */
async function readTrack(raw, page) {
  const c = await blob(raw.blob, page);
  return { name: raw.name, limit: raw.limit, time: c.sums(raw.points), value: c.signedSums(raw.points) };
}

/** @param {any} raw @param {Document} page @returns {Promise<Instances>} */
async function readInstances(raw, page) {
  const c = await blob(raw.instances_blob, page);
  const from = c.sums(raw.instances);
  const to = c.plain(raw.instances).map((ns, i) => from[i] + ns);
  return { from, to, node: c.plain(raw.instances), thread: c.plain(raw.instances) };
}

/** @param {any} raw @param {number} index @param {Document} page @returns {Promise<Log>} */
async function readLog(raw, index, page) {
  const [heaps, tracks, instances] = await Promise.all([
    Promise.all(raw.heaps.map((/** @type {any} */ heap) => readHeap(heap, page))),
    Promise.all(raw.tracks.map((/** @type {any} */ track) => readTrack(track, page))),
    readInstances(raw, page),
  ]);
  return {
    index,
    ...labels(raw.process, raw.path),
    rank: raw.process.rank ?? '',
    duration: raw.duration_ns,
    incomplete: raw.incomplete,
    best: raw.best,
    source: raw.ranges_from,
    events: raw.events,
    lost: raw.lost_events,
    threads: raw.threads,
    sizes: raw.sizes,
    libraries: raw.libraries,
    stacks: raw.stacks.map((/** @type {number[]} */ stack) => stack.map((frame) => raw.frames[frame])),
    paths: readPaths(raw.nodes),
    marks: raw.marks.map((/** @type {any} */ m) => ({
      ...m,
      time: m.time_ns,
      free: m.free_bytes,
    })),
    marksLeftOut: raw.marks_left_out,
    instances,
    tracks,
    segments: raw.segments.map((/** @type {any} */ s) => ({
      device: s.device,
      time: s.time_ns,
      count: s.segments,
      bytes: s.bytes,
      live: s.live_bytes,
      outside: s.outside_bytes,
      listed: s.listed,
    })),
    heaps,
  };
}

/** @param {Document} page @returns {Promise<Log[]>} */
export async function readPage(page) {
  const raw = JSON.parse(page.getElementById('data')?.textContent ?? '');
  if (raw.schema !== 'memprof.page/1') throw new Error(`data of ${raw.schema} is not known`);
  return Promise.all(raw.logs.map((/** @type {any} */ log, /** @type {number} */ i) => readLog(log, i, page)));
}
