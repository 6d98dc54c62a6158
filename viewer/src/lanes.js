/**
 * Ranges in lanes: which boxes stand in which row, which one is where, and which of them stand out.
 * @typedef {import('./data.js').Log} Log
 * @typedef {{ thread: number, depth: number, boxes: number[] }} Row boxes: numbers, in order of time
 */

import { count } from './format.js';
import { OUTSIDE } from './model.js';
import { threadOf } from './names.js';

/** The lowest place in sorted numbers that is not below. @param {number} count @param {(i: number) => boolean} below */
function firstNot(count, below) {
  let low = 0,
    high = count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (below(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The threads that had ranges open longest come first, and keep their rows together. @param {Log} log
 *  @param {number} most rows @returns {{ rows: Row[], threads: number }} threads: that have no row */
export function rowsOf({ lanes, paths }, most) {
  /** @type {Map<number, Map<number, number[]>>} */
  const byThread = new Map();
  lanes.node.forEach((node, i) => {
    const thread = lanes.thread[i],
      depth = paths[node].length,
      rows = byThread.get(thread) ?? byThread.set(thread, new Map()).get(thread),
      row = rows?.get(depth) ?? rows?.set(depth, []).get(depth);
    row?.push(i);
  });
  const open = (/** @type {Map<number, number[]>} */ rows) =>
    (rows.get(Math.min(...rows.keys())) ?? []).reduce((sum, i) => sum + lanes.to[i] - lanes.from[i], 0);
  const threads = [...byThread].sort((a, b) => open(b[1]) - open(a[1])),
    all = threads.map(([thread, rows]) =>
      [...rows].sort((a, b) => a[0] - b[0]).map(([depth, boxes]) => ({ thread, depth, boxes })),
    );
  /** @type {Row[]} */
  const shown = [];
  let left = threads.length;
  for (const rows of all) {
    if (shown.length && shown.length + rows.length > most) break;
    shown.push(...rows.slice(0, most));
    left--;
  }
  return { rows: shown, threads: left };
}

/** The box of a row that is open then; -1: none is. @param {import('./data.js').Lanes} lanes @param {Row} row @param {number} ns
 *  @param {number} [slack] how far off it may be */
export function boxAt(lanes, { boxes }, ns, slack = 0) {
  const at = firstNot(boxes.length, (i) => lanes.from[boxes[i]] <= ns + slack) - 1;
  return at >= 0 && lanes.to[boxes[at]] >= ns - slack ? boxes[at] : -1;
}

/** Those of a row that are open between two times. @param {import('./data.js').Lanes} lanes @param {Row} row @param {number} from
 *  @param {number} to */
export function boxesBetween(lanes, { boxes }, from, to) {
  const first = firstNot(boxes.length, (i) => lanes.to[boxes[i]] < from),
    end = firstNot(boxes.length, (i) => lanes.from[boxes[i]] <= to);
  return boxes.slice(first, end);
}

/** As `steps` calls it. @param {Log} log @param {number} i */
export function boxName({ lanes, paths }, i) {
  const name = paths[lanes.node[i]].at(-1) ?? '';
  if (lanes.mixed[i]) return `${name} and others`;
  return lanes.number[i] ? `${name}:${lanes.number[i]}` : name;
}

/** Boxes that are open then and will do, the outermost first. @param {Log} log @param {number} ns @param {(i: number) => boolean} will */
function openAt(log, ns, will) {
  const { lanes } = log;
  return [...lanes.from.keys()]
    .filter((i) => lanes.from[i] <= ns && lanes.to[i] >= ns && will(i))
    .map((i) => boxName(log, i) + (lanes.count[i] > 1 ? ` … ${count(lanes.count[i])} ranges` : ''))
    .join(' > ');
}

/** The instances of ranges that a thread was in then. @param {Log} log @param {number} thread @param {number} ns */
export const instanceAt = (log, thread, ns) => openAt(log, ns, (i) => log.lanes.thread[i] === thread) || OUTSIDE;

/** The instance of the range that repeats that was open then, on whatever thread; empty: none was. @param {Log} log @param {number} ns */
export const repeatAt = (log, ns) => openAt(log, ns, (i) => Boolean(log.lanes.outer[i]));

/** The instances of the range that repeats; without one, the outermost ranges. @param {Log} log @returns {number[]} */
export function instancesOf({ lanes, paths }) {
  const all = [...lanes.from.keys()],
    outer = all.filter((i) => lanes.outer[i]);
  return outer.length ? outer : all.filter((i) => paths[lanes.node[i]].length === 1);
}

/** The instance before or behind what is shown; -1: none. @param {Log} log @param {number} from @param {number} to the view, in
 *  the log's time @param {number} by 1 or -1 */
export function nextInstance(log, from, to, by) {
  const { lanes } = log,
    all = instancesOf(log),
    middle = (from + to) / 2,
    now = all.find(
      (i) => lanes.from[i] <= middle && lanes.to[i] >= middle && lanes.to[i] - lanes.from[i] > (to - from) / 3,
    );
  if (now === undefined)
    return (by > 0 ? all.find((i) => lanes.from[i] >= from) : all.filter((i) => lanes.to[i] <= to).at(-1)) ?? -1;
  return all[all.indexOf(now) + by] ?? -1;
}

/** By what it stands out, as `steps` has it. @param {Log} log @param {number} i
 *  @returns {{ heap: string, out: import('./data.js').StandsOut }[]} */
export function outOf({ lanes, steps }, i) {
  if (!steps || !lanes.outer[i]) return [];
  return steps.heaps.flatMap(({ heap, out }) =>
    out.filter((one) => one.begin >= lanes.from[i] && one.begin <= lanes.to[i]).map((one) => ({ heap, out: one })),
  );
}

/** Those of a row whose peak stands out. @param {Log} log @param {Row} row */
export const peaksOut = (log, { boxes }) => new Set(boxes.filter((i) => outOf(log, i).some(({ out }) => out.byPeak)));

/** As much of "python3 (2616)" as fits: all, else the name if no other thread has it, else the number.
 *  @param {string} thread @param {string[]} others @param {(text: string) => boolean} fits */
export function threadName(thread, others, fits) {
  const of = threadOf(thread);
  if (!of || fits(thread)) return thread;
  return others.every((other) => (threadOf(other)?.name ?? other) !== of.name) ? of.name : of.number;
}
