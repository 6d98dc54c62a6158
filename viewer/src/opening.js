/** Chooses the span of time that the charts open on: the run's activity, not the imports before it. */

/** @typedef {import('./data.js').Log} Log */

const MARGIN = 0.02, // share of the shown time, before the first device allocation
  NEARLY_ALL = 0.8; // share of the run from which all of it is shown

/** Returns the heaps at the top of the page: those on the host or the GPU of the largest one. @param {Log} log */
function mainHeaps(log) {
  const [first] = log.heaps;
  return first ? log.heaps.filter(({ name }) => name.split('/')[0] === first.name.split('/')[0]) : [];
}

/** Returns the time of all instances of the repeating range, and of one more before and after them, because a range
 *  that PyTorch marks is only a part of a step. @param {import('./data.js').Repeat} repeat
 *  @returns {[number, number]} */
function around({ from, to, instances }) {
  const each = (to - from) / Math.max(1, instances - 1);
  return [from - each, to + each];
}

/** Returns the span from shortly before the first device allocation to the end, or null without one. @param {Log} log
 *  @returns {[number, number] | null} */
function fromDevice({ heaps, duration }) {
  const first = Math.min(...heaps.filter(({ name }) => name.startsWith('gpu')).map(({ spans }) => spans.start[0]));
  return Number.isFinite(first) ? [first - MARGIN * (duration - first), duration] : null;
}

/** Returns the span in the log's time. It includes the peaks of the first charts and the last out-of-memory event.
 *  @param {Log} log @returns {[number, number]} */
export function opening(log) {
  const activity = log.repeat ? around(log.repeat) : fromDevice(log);
  if (!activity) return [0, log.duration];
  const seen = [...mainHeaps(log).map((heap) => heap.peakTime), ...(log.oom ? [log.oom.time] : [])],
    from = Math.max(0, Math.floor(Math.min(activity[0], ...seen))),
    to = Math.min(log.duration, Math.ceil(Math.max(activity[1], ...seen)));
  return to - from > NEARLY_ALL * log.duration ? [0, log.duration] : [from, to];
}
