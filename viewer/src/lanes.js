/**
 * Ranges in lanes: the boxes of each row, the box at a time, and the boxes that stand out.
 * @typedef {import('./data.js').Log} Log
 * @typedef {{ thread: number, depth: number, boxes: number[] }} Row boxes: their indices, in order of time
 */

import { count } from './format.js';
import { OUTSIDE } from './model.js';
import { threadOf } from './names.js';

/** Returns the first index of sorted numbers for which `below` is false. @param {number} count
 *  @param {(i: number) => boolean} below */
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

/** Returns the rows. Threads whose ranges were open longest come first, and the rows of a thread stay together.
 *  @param {Log} log @param {number} most maximum number of rows @returns {{ rows: Row[], threads: number }} threads:
 *  how many have no row */
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

/** Returns the box of a row that is open at a time, or -1. @param {import('./data.js').Lanes} lanes @param {Row} row
 *  @param {number} ns @param {number} [slack] tolerance, ns */
export function boxAt(lanes, { boxes }, ns, slack = 0) {
  const at = firstNot(boxes.length, (i) => lanes.from[boxes[i]] <= ns + slack) - 1;
  return at >= 0 && lanes.to[boxes[at]] >= ns - slack ? boxes[at] : -1;
}

/** Returns the boxes of a row that are open between two times. @param {import('./data.js').Lanes} lanes
 *  @param {Row} row @param {number} from @param {number} to */
export function boxesBetween(lanes, { boxes }, from, to) {
  const first = firstNot(boxes.length, (i) => lanes.to[boxes[i]] < from),
    end = firstNot(boxes.length, (i) => lanes.from[boxes[i]] <= to);
  return boxes.slice(first, end);
}

/** Returns the name of a box, as in the steps report. @param {Log} log @param {number} i */
export function boxName({ lanes, paths }, i) {
  const name = paths[lanes.node[i]].at(-1) ?? '';
  if (lanes.mixed[i]) return `${name} and others`;
  return lanes.number[i] ? `${name}:${lanes.number[i]}` : name;
}

/** Returns the names of the boxes that are open at a time and that `will` accepts, the outermost first.
 *  @param {Log} log @param {number} ns @param {(i: number) => boolean} will */
function openAt(log, ns, will) {
  const { lanes } = log;
  return [...lanes.from.keys()]
    .filter((i) => lanes.from[i] <= ns && lanes.to[i] >= ns && will(i))
    .map((i) => boxName(log, i) + (lanes.count[i] > 1 ? ` … ${count(lanes.count[i])} ranges` : ''))
    .join(' > ');
}

/** Returns the instances of ranges that were open in a thread at a time. @param {Log} log @param {number} thread
 *  @param {number} ns */
export const instanceAt = (log, thread, ns) => openAt(log, ns, (i) => log.lanes.thread[i] === thread) || OUTSIDE;

/** Returns the instance of the repeating range that was open at a time, on any thread, or an empty string.
 *  @param {Log} log @param {number} ns */
export const repeatAt = (log, ns) => openAt(log, ns, (i) => Boolean(log.lanes.outer[i]));

/** Returns the instances of the repeating range, or the outermost ranges if no range repeats. @param {Log} log
 *  @returns {number[]} */
export function instancesOf({ lanes, paths }) {
  const all = [...lanes.from.keys()],
    outer = all.filter((i) => lanes.outer[i]);
  return outer.length ? outer : all.filter((i) => paths[lanes.node[i]].length === 1);
}

/** Returns the begins of all instances of the repeating range, or null if the page does not have each as a box.
 *  @param {Log} log @returns {number[] | null} */
export function beginsOf({ lanes, repeat }) {
  const FEW = 3;
  if (!repeat || !lanes) return null;
  const outer = [...lanes.from.keys()].filter((i) => lanes.outer[i]),
    begins = outer.map((i) => lanes.from[i]),
    isWhole = outer.length === repeat.instances && outer.every((i) => lanes.count[i] === 1 && !lanes.mixed[i]);
  return isWhole && begins.length >= FEW && begins.every((ns, i) => i === 0 || ns > begins[i - 1]) ? begins : null;
}

/** Returns the instance before or after the view, or -1. @param {Log} log @param {number} from @param {number} to the
 *  view, in the log's time @param {number} by 1 or -1 */
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

/** Returns the heaps in which an instance stands out, and how, as in the steps report. @param {Log} log
 *  @param {number} i @returns {{ heap: string, out: import('./data.js').StandsOut }[]} */
export function outOf({ lanes, steps }, i) {
  if (!steps || !lanes.outer[i]) return [];
  return steps.heaps.flatMap(({ heap, out }) =>
    out.filter((one) => one.begin >= lanes.from[i] && one.begin <= lanes.to[i]).map((one) => ({ heap, out: one })),
  );
}

/** Returns the boxes of a row whose peaks stand out. @param {Log} log @param {Row} row */
export const peaksOut = (log, { boxes }) => new Set(boxes.filter((i) => outOf(log, i).some(({ out }) => out.byPeak)));

/** Returns as much of "python3 (2616)" as fits: all of it, otherwise the name if it is unique, otherwise the number.
 *  @param {string} thread @param {string[]} others @param {(text: string) => boolean} fits */
export function threadName(thread, others, fits) {
  const of = threadOf(thread);
  if (!of || fits(thread)) return thread;
  return others.every((other) => (threadOf(other)?.name ?? other) !== of.name) ? of.name : of.number;
}
