// Made by viewer/columns.mjs from postproc/render/page.def and postproc/analysis/timeline/timeline.h. Change those.

/** @typedef {Record<'start' | 'max' | 'min' | 'end', Float64Array>} SpanLevels */
export const SPANS = [
  ['start', 'SUM'],
  ['max', 'SIGNED_SUM'],
  ['min', 'UNDER', 'max'],
  ['end', 'SUM'],
];

/** @typedef {Record<'time' | 'close' | 'allocs' | 'frees', Float64Array>} SpanDetails */
export const SPAN_DETAILS = [
  ['time', 'SINCE', 'start'],
  ['close', 'ABOUT', 'max'],
  ['allocs', 'PLAIN'],
  ['frees', 'PLAIN'],
];

/** @typedef {Record<'from' | 'to' | 'size' | 'high' | 'low' | 'node' | 'thread' | 'library' | 'freer' | 'native' | 'python' | 'live' | 'capture' | 'segment' | 'mapped', Float64Array>} Blocks */
export const BLOCKS = [
  ['from', 'SUM'],
  ['to', 'SINCE', 'from'],
  ['size', 'PLAIN'],
  ['high', 'PLAIN'],
  ['low', 'PLAIN'],
  ['node', 'PLAIN'],
  ['thread', 'PLAIN'],
  ['library', 'PLAIN'],
  ['freer', 'PLAIN'],
  ['native', 'PLAIN'],
  ['python', 'PLAIN'],
  ['live', 'PLAIN'],
  ['capture', 'PLAIN'],
  ['segment', 'PLAIN'],
  ['mapped', 'PLAIN'],
];

/** @typedef {Record<'born' | 'life' | 'band' | 'bytes' | 'blocks', Float64Array>} Flows */
export const FLOWS = [
  ['born', 'SUM'],
  ['life', 'PLAIN'],
  ['band', 'PLAIN'],
  ['bytes', 'PLAIN'],
  ['blocks', 'PLAIN'],
];

/** @typedef {Record<'from' | 'to' | 'node' | 'thread', Float64Array>} Instances */
export const INSTANCES = [
  ['from', 'SUM'],
  ['to', 'SINCE', 'from'],
  ['node', 'PLAIN'],
  ['thread', 'PLAIN'],
];

/** @typedef {Record<'from' | 'to' | 'count' | 'number' | 'outer' | 'mixed' | 'node' | 'thread', Float64Array>} Boxes */
export const BOXES = [
  ['from', 'SUM'],
  ['to', 'SINCE', 'from'],
  ['count', 'PLAIN'],
  ['number', 'PLAIN'],
  ['outer', 'PLAIN'],
  ['mixed', 'PLAIN'],
  ['node', 'PLAIN'],
  ['thread', 'PLAIN'],
];

/** @typedef {Record<'begin_bytes' | 'peak_bytes' | 'end_bytes', Float64Array>} Taken */
export const TAKEN = [
  ['begin_bytes', 'SIGNED_SUM'],
  ['peak_bytes', 'ABOUT', 'begin_bytes'],
  ['end_bytes', 'ABOUT', 'begin_bytes'],
];

/** @typedef {Record<'time' | 'value', Float64Array>} Points */
export const POINTS = [
  ['time', 'SUM'],
  ['value', 'SIGNED_SUM'],
];

/** @typedef {Record<'time' | 'since' | 'kind' | 'used' | 'measured', Float64Array>} AccountInstants */
export const ACCOUNT = [
  ['time', 'SUM'],
  ['since', 'UNDER', 'time'],
  ['kind', 'PLAIN'],
  ['used', 'SIGNED_SUM'],
  ['measured', 'PLAIN'],
];

/** @typedef {Record<'high' | 'low' | 'bytes' | 'live' | 'idle' | 'largestHole' | 'blocks' | 'state', Float64Array>} SegmentRows */
export const SEGMENTS = [
  ['high', 'SIGNED_SUM'],
  ['low', 'SIGNED_SUM'],
  ['bytes', 'PLAIN'],
  ['live', 'ABOUT', 'bytes'],
  ['idle', 'PLAIN'],
  ['largestHole', 'PLAIN'],
  ['blocks', 'PLAIN'],
  ['state', 'PLAIN'],
];

/** @typedef {Record<'path' | 'free' | 'segments' | 'blocks' | 'bytes', Float64Array>} PinRows */
export const PINS = [
  ['path', 'PLAIN'],
  ['free', 'PLAIN'],
  ['segments', 'PLAIN'],
  ['blocks', 'PLAIN'],
  ['bytes', 'PLAIN'],
];

/** @typedef {Record<'node' | 'library' | 'python' | 'native' | 'bytes' | 'blocks' | 'allocations' | 'about' | 'error', Float64Array>} HolderRows */
export const HOLDERS = [
  ['node', 'PLAIN'],
  ['library', 'PLAIN'],
  ['python', 'PLAIN'],
  ['native', 'PLAIN'],
  ['bytes', 'SIGNED_SUM'],
  ['blocks', 'PLAIN'],
  ['allocations', 'PLAIN'],
  ['about', 'PLAIN'],
  ['error', 'PLAIN'],
];

/** @typedef {Record<'kind' | 'node' | 'python' | 'native' | 'facts' | 'bytes' | 'more' | 'variance', Float64Array>} Places */
export const PLACES = [
  ['kind', 'PLAIN'],
  ['node', 'PLAIN'],
  ['python', 'PLAIN'],
  ['native', 'PLAIN'],
  ['facts', 'PLAIN'],
  ['bytes', 'PLAIN'],
  ['more', 'PLAIN'],
  ['variance', 'PLAIN'],
];

/** @typedef {Record<'kind' | 'node' | 'thread' | 'size' | 'library' | 'python' | 'native' | 'facts', number>} BandNumbers */
export const BANDS = ['kind', 'node', 'thread', 'size', 'library', 'python', 'native', 'facts'];

/** @typedef {Record<'device' | 'atOom' | 'since' | 'time' | 'count' | 'bytes' | 'live' | 'split' | 'releasable' | 'graph' | 'outside' | 'rows' | 'pinRows', number>} ThenNumbers */
export const THEN = [
  'device',
  'atOom',
  'since',
  'time',
  'count',
  'bytes',
  'live',
  'split',
  'releasable',
  'graph',
  'outside',
  'rows',
  'pinRows',
];

/** @typedef {Record<'rows' | 'bytes' | 'blocks' | 'least' | 'most' | 'open' | 'partsOpen' | 'caller' | 'about' | 'error', number>} LineNumbers */
export const LINES = ['rows', 'bytes', 'blocks', 'least', 'most', 'open', 'partsOpen', 'caller', 'about', 'error'];

/** @typedef {'auto' | 'range' | 'python' | 'stack' | 'thread' | 'size' | 'library'} By */
/** @type {By[]} */
export const VIEWS = ['auto', 'range', 'python', 'stack', 'thread', 'size', 'library'];
/** The views whose rows are grouped into lines by memprof-report. */
export const LINE_VIEWS = VIEWS.slice(0, VIEWS.indexOf('size'));

/** The kinds of instants of a device's account. */
export const ACCOUNT_KINDS = ['spread', 'peak', 'oom'];

export const ONE = 0,
  SMALL = 1,
  FOLD = 2,
  OTHER = 3;

/** Facts about a band, as bits. */
export const IN_RANGE = 1,
  HAS_PYTHON = 2,
  HAS_NATIVE = 4,
  HAS_LIBRARY = 8,
  COUNTED = 16,
  SAMPLED = 32;
