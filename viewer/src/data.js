/**
 * The page's data, as render/html_data.c writes it. Times are ns since the process started, sizes are bytes.
 * @typedef {import('./columns.js').SpanLevels & import('./columns.js').SpanDetails} Spans one entry per span; end:
 *   index after its last change; its details exist once the log is opened
 * @typedef {import('./columns.js').BandNumbers & { pieces: number[] }} Band node: its range; python: its Python stack,
 *   if it has no range; pieces: by view, whether bands without a name hold more of its name: bit 0 for the whole path,
 *   the bits above it for the number of its first names
 * @typedef {{ name: string, peakBytes: number, peakTime: number, peakBlocks: number, about: boolean, endBytes: number,
 *   allocations: number, frees: number, failures: number, width: number, exact: [number, number][], bands: Band[],
 *   spans: Spans, changeBand: Float64Array, changeBytes: Float64Array, sampleMean: number, sumIsEstimated: boolean,
 *   linesAtPeak: number, places: import('./columns.js').Places, changeMore: Float64Array, changeVariance: Float64Array, holders: Holder[], lines:
 *   Record<string, import('./folds.js').View>, blocks: import('./blocks.js').Blocks, flows: import('./flows.js').Flows
 *   }} Heap about: its peak is approximate; sampleMean: bytes between samples, 0 without estimates;
 *   sumIsEstimated: its sum is that of the samples;
 *   places: at the peak, ranges with their call stacks; linesAtPeak: how many lines have bytes then;
 *   changeMore, changeVariance: bytes that the samples of a band represent, and their variance (estimates.js); blocks and flows exist once the log is
 *   opened; lines are read on first use; width: of a span; exact: from the first time to before the second, every
 *   change has its own span
 * @typedef {Record<keyof import('./columns.js').HolderRows, number>} Holder holds bytes at the heap's peak: a range or a Python stack, otherwise
 *   a native stack or a library
 * @typedef {{ kind: string, time: number, bytes: number, graph?: Graph, node: number, thread: number, heap: string,
 *   text: string, free: number | null }} Mark
 * @typedef {{ instantiated: boolean, nodes: number, bytes: number, segment_bytes: number, executable_bytes: number,
 *   launch_bytes: number }} Graph as in the graphs report; bytes: the sum of the other byte counts
 * @typedef {{ name: string, free: number, segments: number, blocks: number, bytes: number }} SegmentPin the holder of
 *   blocks that keep memory split
 * @typedef {{ device: number, atOom: boolean, since: number, time: number, count: number, bytes: number, live: number,
 *   free: number[], outside: number, listed: Listed[], pins: SegmentPin[] }} SegmentsThen PyTorch's segments when
 *   memory ran out, at a device's peak, or at another instant, as in the segments report; since: the state holds from
 *   after the events of this time; free: by state; listed, pins: the largest ones, which exist once the log is opened
 * @typedef {{ start: number, size: number, used: number, idle: number, largestHole: number, blocks: number, state:
 *   number }} Listed a segment
 * @typedef {{ device: number, time: number, bytes: number, needed: number, free: number | null, node: number }} Oom the
 *   last out-of-memory event of a device from which the program did not recover; needed: bytes that the driver would
 *   have had to give
 * @typedef {{ range: string, instances: number, from: number, to: number }} Repeat the outermost repeating range, from
 *   its first begin to its last end
 * @typedef {{ name: string, begin: number, end: number, peak: number, peakTime: number, kept: number, byPeak: boolean,
 *   byKept: boolean }} StandsOut an instance that stands out, as in the steps report
 * @typedef {{ key: string, where: string, bytes: number, about: boolean, makesRoom: boolean, what: string, change:
 *   string, see: string, heap: string, time: number }} Worth a finding, in the words of the insights report; bytes: the
 *   most that its change would save; makesRoom: the request that failed would have fit; heap, time: where it was seen
 * @typedef {{ range: string, instances: number, heaps: { heap: string, medianPeak: number, peaksOut: number, out:
 *   StandsOut[] }[], compared: { heap: string, instance: StandsOut, median: StandsOut, paths: { path: string[], bytes:
 *   number, median: number }[], otherPaths: number, stacks: { name: string, bytes: number, estimated: boolean }[],
 *   otherStacks: number, cause: string, causeBytes: number, causeEstimated: boolean } | null }} Steps the instances
 *   that stand out, and the difference between the worst one and the median one at their peaks
 * @typedef {import('./columns.js').Instances} Instances
 * @typedef {import('./columns.js').Boxes & { shortest: number, leftOut: number, taken: Map<string,
 *   import('./columns.js').Taken> }} Lanes the ranges, one box each; taken: by heap, live bytes at its begin and end,
 *   and its peak; shortest: ranges shorter than this, in ns, may share a box
 * @typedef {{ signal?: number, exit_status?: number, oom: string | null }} Death from the record of the run
 * @typedef {import('./columns.js').Points & { name: string, limit: number }} Track
 * @typedef {{ index: number, file: string, label: string, short: string, rank: string, duration: number, incomplete: boolean, best:
 *   string, hostSampled: boolean, notes: [string, boolean][], foldedUntil: number, matching: Map<string, string>, functions:
 *   Map<string, string>, renamed: Map<string, string>, differences: import('./differences.js').Account[], verdict:
 *   import('./differences.js').Verdict | null, differsFrom: number, differsIn: string, alike: boolean, opened: boolean, parent: number, imageOf: number, outlierPlaces: Map<string, number>, source: string,
 *   events: number, lost: number, threads: string[], sizes: string[], libraries: string[], stacks: string[][], foreign: Set<string>, paths:
 *   string[][], marks: Mark[], marksLeftOut: number, instances: Instances, lanes: Lanes, tracks: Track[], accounts:
 *   import('./accounts.js').Account[], devices: import('./devices.js').Device[], alikeAs: string, segments:
 *   SegmentsThen[], pinNames: string[], heldUntil: number[], oom: Oom | null, repeat: Repeat | null, steps: Steps |
 *   null, card: import('./card.js').Card | null, findings: Worth[] | null, comms: import('./comms.js').Comms[], end: string, death: Death | null, running:
 *   boolean, heaps: Heap[] }} Log hostSampled: host/heap itself is only a sample; notes: sentences on what was not
 *   recorded, and, if true, commands that record it; foldedUntil: short-lived blocks before this time are only counted; matching: the part of a
 *   name that is the same in other runs, if shorter; renamed: names as in the other shown run; differences: from the
 *   log with the index differsFrom (or -1); verdict: on these two logs, or null; differsIn: the heap in which more than
 *   two logs differ most; alike: one of the logs that are compared if there are more than two; opened: the page opens with it; parent, imageOf: index of the log of the process that started it, and of the program that executed it, or -1; outlierPlaces: by heap, its place among the logs whose peaks differ, 1 for the farthest; alikeAs: a text that
 *   lists the devices shown under other numbers; card, findings: null if not computed, because there are many logs;
 *   heldUntil: by capture - 1, when the last graph released the memory of this capture; lanes and the points of tracks
 *   exist once the log is opened; stacks: frames, outermost first, and an empty stack at index 0; foreign: frames that are not the program's own; best: the grouping
 *   that names most bytes; source: where its names come from
 */
import { readCard } from './card.js';
import {
  ACCOUNT,
  BANDS,
  BLOCKS,
  BOXES,
  FLOWS,
  HOLDERS,
  INSTANCES,
  PINS,
  PLACES,
  POINTS,
  SEGMENTS,
  SPANS,
  SPAN_DETAILS,
  TAKEN,
  THEN,
} from './columns.js';
import { readComms } from './comms.js';
import { readAccount, readVerdict, rowName } from './differences.js';
import { readLines } from './folds.js';
import { Columns, changed } from './leb.js';
import { readFrame, readThread } from './names.js';

/** @param {string} id @param {Document} page */
function part(id, page) {
  const element = page.getElementById(id);
  if (!element) throw new Error(`part ${id} is missing`);
  return element.textContent ?? '';
}

/** The browser's own decoder, if it has one. @type {(text: string) => Uint8Array<ArrayBuffer>} */
const fromBase64 =
  /** @type {any} */ (Uint8Array).fromBase64?.bind(Uint8Array) ??
  ((/** @type {string} */ text) => Uint8Array.from(atob(text), (byte) => byte.charCodeAt(0)));

/** @param {string} id @param {Document} page */
async function blob(id, page) {
  const packed = fromBase64(part(id, page));
  const { readable, writable } = new DecompressionStream('gzip'),
    // damage is also reported where the bytes are read
    written = new Response(packed).body?.pipeTo(writable).catch(() => {});
  const bytes = await new Response(readable).arrayBuffer();
  await written;
  return new Columns(new Uint8Array(bytes));
}

/**
 * Decoders of a column, by its coding. `of` is the column that it is relative to.
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

/** Reads a table: its number of rows, then its columns. @param {Columns} c @param {string[][]} columns
 *  @param {Record<string, Float64Array>} [read] existing columns, which new ones may be relative to @returns {any}
 *  `read`, with the new columns */
function readColumns(c, columns, read = {}) {
  const count = c.number();
  for (const [name, coding, of] of columns) read[name] = CODINGS[coding](c, count, read[of]);
  return read;
}

/** Returns a function that names the numbers of a row. There are very many rows, so all of them get the same shape.
 *  @param {string[]} names @returns {(row: number[]) => any} */
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

/** Reads the bytes that the samples of each change's band represent, and their variance: the differences from those that
 *  they would have if all blocks of the band had the same size. @param {Columns} c @param {{ changeBand: Float64Array,
 *  changeBytes: Float64Array }} changes @param {[number, number, number][]} sampling by band: bytes, represented ones,
 *  and variance of one state */
export function readEstimates(c, { changeBand, changeBytes }, sampling) {
  const expected = (/** @type {number} */ bytes, /** @type {number} */ number, /** @type {number} */ of) =>
    of ? Math.floor(bytes * (number / of)) : 0;
  const changeMore = changed(c.signed(changeBand.length), (difference, i) => {
    const [bytes, more] = sampling[changeBand[i]];
    return difference + expected(changeBytes[i], more, bytes);
  });
  const changeVariance = changed(c.signed(changeBand.length), (difference, i) => {
    const [bytes, more, variance] = sampling[changeBand[i]];
    return difference + (more ? expected(changeMore[i], variance, more) : expected(changeBytes[i], variance, bytes));
  });
  return { changeMore, changeVariance };
}

const NONE = new Float64Array(0);

/** Reads a band: its numbers, then its pieces by view. @param {number[]} row @returns {Band} */
const readBand = (row) => Object.assign(readBandNumbers(row), { pieces: row.slice(BANDS.length) });

/** @param {Columns} c @returns {Holder[]} */
function readHolders(c) {
  /** @type {import('./columns.js').HolderRows} */
  const rows = readColumns(c, HOLDERS),
    names = /** @type {(keyof typeof rows)[]} */ (Object.keys(rows));
  return Array.from(
    rows.node,
    (_, i) => /** @type {Holder} */ (Object.fromEntries(names.map((name) => [name, rows[name][i]]))),
  );
}

/** Reads the call stacks: the depth of each, and then the frames of all. @param {Columns} c @param {string[]} frames */
function readStacks(c, frames) {
  const depths = c.plain(c.number()),
    all = c.plain(depths.reduce((sum, depth) => sum + depth, 0));
  let at = 0;
  return Array.from(depths, (depth) => Array.from(all.subarray(at, (at += depth)), (frame) => frames[frame]));
}

/** @param {any} raw @param {string[]} frames @param {Columns} c @param {boolean} hostIsEstimated */
function readHeap(raw, frames, c, hostIsEstimated) {
  const spans = readSpans(c);
  const changes = readChanges(c, raw.bands.length),
    estimates = raw.sampling ? readEstimates(c, changes, raw.sampling) : { changeMore: NONE, changeVariance: NONE };
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
    sampleMean: raw.sample_mean,
    sumIsEstimated: hostIsEstimated && raw.heap === 'host/heap',
    linesAtPeak: raw.lines_at_peak,
    ...changes,
    ...estimates,
    holders: readHolders(c),
    lines: readLines(raw.lines, frames),
  };
}

/** Returns every node's path, outermost first. @param {[number, import('./names.js').RawFrame][]} nodes */
function readPaths(nodes) {
  /** @type {string[][]} */
  const paths = [];
  nodes.forEach(([parent, frame], i) => paths.push(i ? [...paths[parent], readFrame(frame)] : []));
  return paths;
}

/** @param {string} path */
const lastPart = (path) => path.slice(path.lastIndexOf('/') + 1) || path;

const ARGUMENT = 40; // characters

/** Returns a word of a command: the last part of a path, or the beginning of a long text. @param {string} word */
function shortWord(word) {
  const short = /\s/.test(word) ? word : lastPart(word);
  return short.length > ARGUMENT ? `${short.slice(0, ARGUMENT - 1)}…` : short;
}

/** @param {any} process @param {string} path */
function labels(process, path) {
  const program = process.command.length ? process.command.slice(0, 4).map(shortWord).join(' ') : path;
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
  makesRoom: raw.makes_room,
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

/** @param {number[]} row @returns {SegmentsThen & { rows: number, pinRows: number }} with empty lists */
function readThen(row) {
  const { atOom, split, releasable, graph, ...then } = readThenNumbers(row);
  return { ...then, atOom: atOom === 1, free: [split, releasable, graph], listed: [], pins: [] };
}

/** Reads one segment from the columns. @param {import('./columns.js').SegmentRows} rows @param {number} i
 *  @returns {Listed} */
const readSegment = ({ high, low, bytes, live, idle, largestHole, blocks, state }, i) => ({
  start: high[i] * 2 ** 32 + low[i],
  size: bytes[i],
  used: live[i],
  idle: idle[i],
  largestHole: largestHole[i],
  blocks: blocks[i],
  state: state[i],
});

/** Reads the segments of all instants. The list of one instant is made when it is used, because there are many in all.
 *  @param {Columns} c @param {any} log */
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
    heap.places = readColumns(c, PLACES);
    heap.blocks = readColumns(c, BLOCKS);
    heap.flows = readFlows(c);
  }
  log.lanes = readLanes(c, log.heaps);
  readSegments(c, log);
}

/** Reads the details, which only shown logs need. @param {Log[]} logs @param {Document} page */
export async function openLogs(logs, page) {
  for (const log of logs) if (!log.lanes) await readDetails(log, page);
}

/** @param {number} index @param {Document} page @param {Promise<Columns>} levels its blob @returns {Promise<any>} a Log
 *  without details */
async function readLog(index, page, levels) {
  const raw = JSON.parse(part(`b${index}`, page));
  if (raw.schema !== 'memprof.page/1') throw new Error(`data of ${raw.schema} is not known`);
  const c = await levels,
    frames = raw.frames.map(readFrame),
    heaps = raw.heaps.map((/** @type {any} */ heap) => readHeap(heap, frames, c, raw.host_sums === 'estimated')),
    instances = readColumns(c, INSTANCES),
    accounts = raw.accounts.map((/** @type {any} */ account) => readDeviceAccount(account, c)),
    stacks = readStacks(c, frames);
  return {
    index,
    file: raw.path,
    ...labels(raw.process, raw.path),
    rank: raw.process.rank ?? '',
    duration: raw.duration_ns,
    incomplete: raw.incomplete,
    best: raw.best,
    hostSampled: raw.host_blocks === 'sample',
    notes: raw.notes,
    foldedUntil: raw.folded_events ? raw.folded_until_ns : 0,
    matching: new Map(raw.matching.map((/** @type {string[]} */ [name, same]) => [name, same])),
    functions: new Map(raw.matching.map((/** @type {string[]} */ [name, , call]) => [name, call])),
    renamed: new Map(),
    differences: raw.differences.map(readAccount),
    verdict: raw.verdict && readVerdict(raw.verdict),
    devices: raw.accounts.map((/** @type {any} */ { device, name, uuid }) => ({ number: device, name, uuid })),
    alikeAs: '',
    differsFrom: raw.differs_from ?? -1,
    differsIn: raw.differs_in,
    alike: raw.alike,
    opened: raw.opened,
    parent: raw.parent ?? -1,
    imageOf: raw.image_of ?? -1,
    outlierPlaces: new Map(raw.outlier_places),
    source: raw.ranges_from,
    events: raw.events,
    lost: raw.lost_events,
    threads: raw.threads.map(readThread),
    sizes: raw.sizes,
    libraries: raw.libraries.map(readFrame),
    stacks,
    foreign: new Set((raw.foreign_frames ?? []).map((/** @type {number} */ frame) => frames[frame])),
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
    card: raw.card && readCard(raw.card, raw.job),
    findings: raw.findings && raw.findings.map(readWorth),
    end: raw.end ?? '',
    death: raw.death ?? null,
    running: raw.running,
    heaps,
  };
}

/** The number of logs that are unpacked while one is read. It is small, because the memory of each is free again before
 *  the next. */
const AHEAD = 3;

/** Reads one log after the other. @param {Document} page @returns {Promise<Log[]>} */
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

/** Unpacks the levels of a log. An error is reported when the result is awaited. @param {number} index
 *  @param {Document} page */
function unpackLevels(index, page) {
  const unpacked = blob(`b${index}-levels`, page);
  unpacked.catch(() => {});
  return unpacked;
}
