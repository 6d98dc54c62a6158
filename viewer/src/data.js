/**
 * The page's data: what render/html_data.c wrote. Times are ns since the process's start, sizes bytes. *
 * @typedef {import('./columns.js').SpanLevels & import('./columns.js').SpanDetails} Spans one entry a span; `end` is that of its changes; its details are
 *   there once the log is opened
 * @typedef {import('./columns.js').BandNumbers & { pieces: number[] }} Band node: its range; python: the node of
 *   its Python stack, where there is no range; pieces: by view, whether there is more of its name in bands that do not
 *   say so: bit 0 of the whole path, above it of the path's first so many names
 * @typedef {{ name: string, peakBytes: number, peakTime: number, peakBlocks: number, about: boolean, endBytes: number, allocations:
 *   number, frees: number, failures: number, width: number, exact: [number, number][], bands: Band[], spans: Spans, changeBand: Float64Array,
 *   changeBytes: Float64Array, holders: Holder[], estimates: Estimate[], lines: Record<string, import('./folds.js').View>, blocks:
 *   import('./blocks.js').Blocks, flows: import('./flows.js').Flows }} Heap
 *   about: its peak may be another; estimates: of what is sampled; blocks and flows are there once the log is opened; lines are read when they are asked for; width: of a span; from exact's first to before its second every instant has a span of its own
 * @typedef {{ name: string, bytes: number, error: number, blocks: number, about: boolean }} Estimate a line of the peaks report, where only a sample
 *   of the blocks has call stacks; error: one standard error; about: it is estimated
 * @typedef {import('./columns.js').Holder} Holder who held bytes at the heap's peak: a range or a Python stack, else a
 *   native stack or a library
 * @typedef {{ kind: string, time: number, bytes: number, graph?: Graph, node: number, thread: number, heap:
 *   string, text: string, free: number | null }} Mark
 * @typedef {{ instantiated: boolean, nodes: number, bytes: number, segment_bytes: number, executable_bytes: number,
 *   launch_bytes: number }} Graph as the graphs report has it; bytes: of the others the sum
 * @typedef {{ name: string, free: number, segments: number, blocks: number, bytes: number }} SegmentPin whose blocks keep split memory
 * @typedef {{ device: number, atOom: boolean, since: number, time: number, count: number, bytes: number, live: number, free: number[], outside: number, listed: Listed[], pins: SegmentPin[] }} SegmentsThen
 *   PyTorch's segments when memory ran out, at a device's peak, or at another instant, as the segments report has them: so they were from `since`, after its
 *   events, on; free: by state; listed and pins, those that are most, are there once the log is opened
 * @typedef {{ start: number, size: number, used: number, idle: number, largestHole: number, blocks: number, state: number }} Listed a segment
 * @typedef {{ device: number, time: number, bytes: number, needed: number, free: number | null, node: number }} Oom the newest
 *   lack of device memory that nobody got over; needed: of the driver
 * @typedef {{ range: string, instances: number, from: number, to: number }} Repeat the outermost range that repeats, from its
 *   first beginning to its last end
 * @typedef {{ name: string, begin: number, end: number, peak: number, peakTime: number, kept: number, byPeak: boolean, byKept:
 *   boolean }} StandsOut an instance, as the steps report has it
 * @typedef {{ key: string, where: string, bytes: number, about: boolean, what: string, change: string, see: string, heap: string,
 *   time: number }} Worth a finding, in the words of the insights report: bytes that its change would save at most; heap, time: where it was seen
 * @typedef {{ range: string, instances: number, heaps: { heap: string, medianPeak: number, peaksOut: number, out: StandsOut[] }[],
 *   compared: { heap: string, instance: StandsOut, median: StandsOut, paths: { path: string[], bytes: number, median: number }[],
 *   otherPaths: number, stacks: { name: string, bytes: number, estimated: boolean }[], otherStacks: number, cause: string, causeBytes: number,
 *   causeEstimated: boolean } | null }} Steps which instances stand out, and what the worst one holds at its peak that the median one does not
 * @typedef {import('./columns.js').Instances} Instances
 * @typedef {import('./columns.js').Boxes & { shortest: number, leftOut: number, taken: Map<string, import('./columns.js').Taken> }} Lanes
 *   the ranges, each a box; taken: by heap, live bytes as it began and ended, and the most in between; shortest: shorter ones may be one box, ns
 * @typedef {{ signal?: number, exit_status?: number, oom: string | null }} Death as the run's record has it
 * @typedef {import('./columns.js').Points & { name: string, limit: number }} Track
 * @typedef {{ index: number, label: string, short: string, rank: string, duration: number, incomplete: boolean, best: string, sampled: boolean, hostSampled: boolean, foldedUntil: number, matching: Map<string, string>, functions: Map<string, string>, renamed: Map<string, string>, differences: import('./differences.js').Account[], differsFrom: number, differsIn: string, alike: boolean, source: string,
 *   events: number, lost: number, threads: string[], sizes: string[], libraries: string[], stacks: string[][], paths:
 *   string[][], marks: Mark[], marksLeftOut: number, instances: Instances, lanes: Lanes, tracks: Track[], accounts: import('./accounts.js').Account[], devices: import('./devices.js').Device[], alikeAs: string, segments: SegmentsThen[], pinNames: string[], heldUntil: number[], oom: Oom | null, repeat: Repeat | null, steps: Steps | null, findings: Worth[] | null, comms: import('./comms.js').Comms[], end: string, death: Death | null, running: boolean, heaps: Heap[] }} Log
 *   sampled: only a sample of the small blocks has call stacks; hostSampled: of host/heap only a sample is there; foldedUntil: short-lived blocks before it are only counted; matching: of a name what is the same in other runs,
 *   where that is less; renamed: names as the other run that is shown has them; differences: from the log of the number differsFrom, -1: none; differsIn: of more than two logs, the heap in which they differ most;
 *   alike: of more than two logs it is one of those that are compared with each other; alikeAs: in words which of its devices are called as the other run's are; findings: null: of so many logs nobody asked; heldUntil: by capture - 1, when the last graph gave up what was made in it;
 *   lanes and the points of tracks are there once it is opened; stacks: frames, outermost first; 0 is the empty one; best: the grouping that names most, source: where its names are from
 */
import {
  ACCOUNT,
  BANDS,
  BLOCKS,
  BOXES,
  FLOWS,
  HOLDERS,
  INSTANCES,
  PINS,
  POINTS,
  SEGMENTS,
  SPANS,
  SPAN_DETAILS,
  TAKEN,
  THEN,
} from './columns.js';
import { readComms } from './comms.js';
import { readAccount, rowName } from './differences.js';
import { readLines } from './folds.js';
import { Columns, changed } from './leb.js';
import { readFrame, readThread } from './names.js';

/** @param {string} id @param {Document} page */
function part(id, page) {
  const element = page.getElementById(id);
  if (!element) throw new Error(`part ${id} is missing`);
  return element.textContent ?? '';
}

/** The browser's own way, where it has one. @type {(text: string) => Uint8Array<ArrayBuffer>} */
const fromBase64 =
  /** @type {any} */ (Uint8Array).fromBase64?.bind(Uint8Array) ??
  ((/** @type {string} */ text) => Uint8Array.from(atob(text), (byte) => byte.charCodeAt(0)));

/** @param {string} id @param {Document} page */
async function blob(id, page) {
  const packed = fromBase64(part(id, page));
  const { readable, writable } = new DecompressionStream('gzip'),
    // what is damaged is told to the reader, too
    written = new Response(packed).body?.pipeTo(writable).catch(() => {});
  const bytes = await new Response(readable).arrayBuffer();
  await written;
  return new Columns(new Uint8Array(bytes));
}

/**
 * How a column is read, by how it was written; of: the column that it is told by.
 * @type {Record<string, (c: Columns, count: number, of: Float64Array) => Float64Array>}
 */
const CODINGS = {
  PLAIN: (c, count) => c.plain(count),
  SUM: (c, count) => c.sums(count),
  SIGNED_SUM: (c, count) => c.signedSums(count),
  SINCE: (c, count, of) => changed(c.plain(count), (ns, i) => of[i] + ns),
  UNDER: (c, count, of) => changed(c.plain(count), (below, i) => of[i] - below),
  ABOUT: (c, count, of) => changed(c.signed(count), (more, i) => of[i] + more),
};

/** Before its columns stands how many rows a table has. @param {Columns} c @param {string[][]} columns @param {Record<string, Float64Array>} [read] those
 *  that there are, which these are told by @returns {any} with these */
function readColumns(c, columns, read = {}) {
  const count = c.number();
  for (const [name, coding, of] of columns) read[name] = CODINGS[coding](c, count, read[of]);
  return read;
}

/** The numbers of a row by their names: there are very many rows, which all have one shape. @param {string[]} names
 *  @returns {(row: number[]) => any} */
const named = (names) => (row) => {
  /** @type {Record<string, number>} */
  const of = {};
  for (let i = 0; i < names.length; i++) of[names[i]] = row[i];
  return of;
};
const readBandNumbers = named(BANDS),
  readThenNumbers = named(THEN);

/** @param {Columns} c @returns {any} Spans without their details */
export const readSpans = (c) => readColumns(c, SPANS);

/** @param {Columns} c @param {Spans} spans */
export const readSpanDetails = (c, spans) => readColumns(c, SPAN_DETAILS, spans);

/** @param {Columns} c @param {number} bands */
export function readChanges(c, bands) {
  const changeBand = c.plain(c.number()),
    last = new Float64Array(bands),
    changeBytes = changed(c.signed(changeBand.length), (more, i) => (last[changeBand[i]] += more));
  return { changeBand, changeBytes };
}

/** Behind its numbers come its pieces, by view. @param {number[]} row @returns {Band} */
const readBand = (row) => Object.assign(readBandNumbers(row), { pieces: row.slice(BANDS.length) });

/** @param {any} raw @param {string[]} frames @param {Columns} c */
function readHeap(raw, frames, c) {
  const spans = readSpans(c);
  const { changeBand, changeBytes } = readChanges(c, raw.bands.length);
  return {
    name: raw.heap,
    peakBytes: raw.peak_bytes,
    peakTime: raw.peak_time_ns,
    peakBlocks: raw.peak_blocks,
    about: raw.peak_is_about,
    endBytes: raw.end_bytes,
    allocations: raw.allocations,
    frees: raw.frees,
    failures: raw.failures,
    width: raw.width_ns,
    exact: raw.exact,
    bands: raw.bands.map(readBand),
    spans,
    changeBand,
    changeBytes,
    holders: raw.holders.map(named(HOLDERS)),
    lines: readLines(raw.lines, frames),
    estimates: raw.estimates.map((/** @type {any} */ row) => ({
      name: rowName(row),
      bytes: row.bytes,
      error: row.error_bytes,
      blocks: row.blocks,
      about: row.estimated,
    })),
  };
}

/** Every node's path, outermost first. @param {[number, import('./names.js').RawFrame][]} nodes */
function readPaths(nodes) {
  /** @type {string[][]} */
  const paths = [];
  nodes.forEach(([parent, frame], i) => paths.push(i ? [...paths[parent], readFrame(frame)] : []));
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

/** @param {any} raw @param {Columns} c @returns {import('./accounts.js').Account} */
function readDeviceAccount(raw, c) {
  const instants = readColumns(c, ACCOUNT);
  const parts = raw.parts.map((/** @type {[string, string]} */ [key, name]) => ({
    key,
    name,
    bytes: c.signedSums(instants.time.length),
  }));
  return { device: raw.device, total: raw.total_bytes ?? 0, ...instants, parts };
}

/** @param {any} raw @returns {StandsOut} */
const readInstance = (raw) => ({
  name: raw.name,
  begin: raw.begin_ns,
  end: raw.end_ns,
  peak: raw.peak_bytes,
  peakTime: raw.peak_time_ns,
  kept: raw.kept_bytes,
  byPeak: raw.by_peak,
  byKept: raw.by_kept,
});

/** @param {any} raw @returns {Steps} */
const readSteps = (raw) => ({
  range: raw.range,
  instances: raw.instances,
  heaps: raw.heaps.map((/** @type {any} */ heap) => ({
    heap: heap.heap,
    medianPeak: heap.median_peak_bytes,
    peaksOut: heap.peaks_out,
    out: heap.out.map(readInstance),
  })),
  compared: raw.compared && {
    heap: raw.compared.heap,
    instance: readInstance(raw.compared.instance),
    median: readInstance(raw.compared.median),
    paths: raw.compared.paths.map((/** @type {any} */ { path, bytes, median_bytes: median }) => ({
      path: path.map(readFrame),
      bytes,
      median,
    })),
    otherPaths: raw.compared.other_paths,
    stacks: raw.compared.stacks.map((/** @type {any} */ row) => ({
      name: rowName(row),
      bytes: row.more_bytes,
      estimated: row.estimated,
    })),
    otherStacks: raw.compared.other_stacks,
    cause: raw.compared.cause,
    causeBytes: raw.compared.cause_more_bytes,
    causeEstimated: raw.compared.cause_estimated,
  },
});

/** @param {any} raw @returns {Worth} */
const readWorth = (raw) => ({
  key: raw.finding,
  where: raw.where,
  bytes: raw.saves_at_most_bytes,
  about: raw.estimated,
  what: raw.what,
  change: raw.change,
  see: raw.see,
  heap: raw.heap,
  time: raw.time_ns,
});

/** @param {Columns} c @returns {import('./flows.js').Flows} */
function readFlows(c) {
  const changes = c.number(),
    time = c.sums(c.number());
  return { time, changes, rows: readColumns(c, FLOWS) };
}

/** @param {Columns} c @param {Heap[]} heaps @returns {Lanes} */
function readLanes(c, heaps) {
  const [shortest, leftOut] = c.plain(2),
    boxes = readColumns(c, BOXES);
  return { ...boxes, taken: new Map(heaps.map(({ name }) => [name, readColumns(c, TAKEN)])), shortest, leftOut };
}

/** @param {number[]} row @returns {SegmentsThen & { rows: number, pinRows: number }} without them */
function readThen(row) {
  const { atOom, split, releasable, graph, ...then } = readThenNumbers(row);
  return { ...then, atOom: atOom === 1, free: [split, releasable, graph], listed: [], pins: [] };
}

/** A segment of a row. @param {import('./columns.js').SegmentRows} rows @param {number} i @returns {Listed} */
const readSegment = ({ high, low, bytes, live, idle, largestHole, blocks, state }, i) => ({
  start: high[i] * 2 ** 32 + low[i],
  size: bytes[i],
  used: live[i],
  idle: idle[i],
  largestHole: largestHole[i],
  blocks: blocks[i],
  state: state[i],
});

/** Those of an instant are made when they are asked for: of all there are many. @param {Columns} c @param {any} log */
function readSegments(c, log) {
  const rows = readColumns(c, SEGMENTS),
    pins = readColumns(c, PINS);
  let row = 0,
    pin = 0;
  for (const then of log.segments) {
    const [first, firstPin] = [row, pin];
    Object.defineProperty(then, 'listed', {
      get: () => Array.from({ length: then.rows }, (_, i) => readSegment(rows, first + i)),
    });
    then.pins = Array.from({ length: then.pinRows }, (_, i) => ({
      name: log.pinNames[pins.path[firstPin + i]],
      free: pins.free[firstPin + i],
      segments: pins.segments[firstPin + i],
      blocks: pins.blocks[firstPin + i],
      bytes: pins.bytes[firstPin + i],
    }));
    row += then.rows;
    pin += then.pinRows;
  }
}

/** @param {Log} log @param {Document} page */
async function readDetails(log, page) {
  const c = await blob(`b${log.index}-details`, page);
  for (const track of log.tracks) Object.assign(track, readColumns(c, POINTS));
  for (const heap of log.heaps) {
    readSpanDetails(c, heap.spans);
    heap.blocks = readColumns(c, BLOCKS);
    heap.flows = readFlows(c);
  }
  log.lanes = readLanes(c, log.heaps);
  readSegments(c, log);
}

/** Reads what only logs that are shown need. @param {Log[]} logs @param {Document} page */
export async function openLogs(logs, page) {
  for (const log of logs) if (!log.lanes) await readDetails(log, page);
}

/** @param {number} index @param {Document} page @param {Promise<Columns>} levels its blob @returns {Promise<any>} a Log that is not opened */
async function readLog(index, page, levels) {
  const raw = JSON.parse(part(`b${index}`, page));
  if (raw.schema !== 'memprof.page/1') throw new Error(`data of ${raw.schema} is not known`);
  const c = await levels,
    frames = raw.frames.map(readFrame),
    heaps = raw.heaps.map((/** @type {any} */ heap) => readHeap(heap, frames, c)),
    instances = readColumns(c, INSTANCES),
    accounts = raw.accounts.map((/** @type {any} */ account) => readDeviceAccount(account, c));
  return {
    index,
    ...labels(raw.process, raw.path),
    rank: raw.process.rank ?? '',
    duration: raw.duration_ns,
    incomplete: raw.incomplete,
    best: raw.best,
    sampled: raw.sampled,
    hostSampled: raw.host_blocks === 'sample',
    foldedUntil: raw.folded_events ? raw.folded_until_ns : 0,
    matching: new Map(raw.matching.map((/** @type {string[]} */ [name, same]) => [name, same])),
    functions: new Map(raw.matching.map((/** @type {string[]} */ [name, , call]) => [name, call])),
    renamed: new Map(),
    differences: raw.differences.map(readAccount),
    devices: raw.accounts.map((/** @type {any} */ { device, name, uuid }) => ({ number: device, name, uuid })),
    alikeAs: '',
    differsFrom: raw.differs_from ?? -1,
    differsIn: raw.differs_in,
    alike: raw.alike,
    source: raw.ranges_from,
    events: raw.events,
    lost: raw.lost_events,
    threads: raw.threads.map(readThread),
    sizes: raw.sizes,
    libraries: raw.libraries.map(readFrame),
    stacks: raw.stacks.map((/** @type {number[]} */ stack) => stack.map((frame) => frames[frame])),
    paths: readPaths(raw.nodes),
    marks: raw.marks.map((/** @type {any} */ m) => ({
      ...m,
      time: m.time_ns,
      free: m.free_bytes,
    })),
    marksLeftOut: raw.marks_left_out,
    tracks: raw.tracks.map((/** @type {any} */ { name, limit }) => ({ name, limit })),
    accounts,
    segments: raw.segments.map(readThen),
    pinNames: raw.pin_paths.map(rowName),
    instances,
    heldUntil: raw.captures_held_until_ns.map((/** @type {number | null} */ ns) => ns ?? Infinity),
    oom: raw.oom && { ...raw.oom, time: raw.oom.time_ns, needed: raw.oom.needed_bytes, free: raw.oom.free_bytes },
    repeat: raw.repeat && { ...raw.repeat, from: raw.repeat.begin_ns, to: raw.repeat.end_ns },
    steps: raw.steps && readSteps(raw.steps),
    comms: raw.communicators.map(readComms),
    findings: raw.findings && raw.findings.map(readWorth),
    end: raw.end ?? '',
    death: raw.death ?? null,
    running: raw.running,
    heaps,
  };
}

/** So many are unpacked while one is read: no more, for what that takes is free again before the next. */
const AHEAD = 3;

/** One log after the other. @param {Document} page @returns {Promise<Log[]>} */
export async function readPage(page) {
  const logs = [],
    /** @type {Promise<Columns>[]} */
    levels = [];
  do {
    for (let i = levels.length; i <= logs.length + AHEAD && (i === 0 || page.getElementById(`b${i}`)); i++)
      levels.push(unpackLevels(i, page));
    logs.push(await readLog(logs.length, page, levels[logs.length]));
    delete levels[logs.length - 1];
  } while (page.getElementById(`b${logs.length}`));
  return logs;
}

/** Who waits for it is told of damage. @param {number} index @param {Document} page */
function unpackLevels(index, page) {
  const unpacked = blob(`b${index}-levels`, page);
  unpacked.catch(() => {});
  return unpacked;
}
