/**
 * Converts times to positions on the charts' axis: by time, by the number of allocations and frees before that time, or
 * by the instances of the range that repeats.
 * @typedef {{ place: (ns: number) => number, time: (place: number) => number, least: number, title?: string, label?:
 *   (place: number) => string }} Axis times are those of the axis; least: the shortest view, in places; label: of a tick
 * @typedef {{ heap: import('./data.js').Heap, origin: number }} Counted
 */
import { count } from './format.js';
import { isExact, spanAt, spanWidth } from './model.js';

/** @type {Axis} */
export const BY_TIME = { place: (ns) => ns, time: (place) => place, least: 200 };

/** Spans without events need some width: the whole run gets this share of all events for its time alone. */
const LITTLE = 1e-6;

/** Converts `at` from one list to the other, linearly between two neighbours. @param {Float64Array} from
 *  @param {Float64Array} to @param {number} at */
function between(from, to, at) {
  const i = Math.min(from.length - 2, Math.max(0, spanAt(from, at)));
  return to[i] + ((to[i + 1] - to[i]) * (at - from[i])) / (from[i + 1] - from[i]);
}

/** Returns the events of a heap. Those of a bucket spread evenly over its time. A single change (to: null) spreads
 *  until the next change of any heap. @param {Counted} of
 *  @returns {{ from: number, to: number | null, events: number }[]} */
const spansOf = ({ heap, origin }) =>
  Array.from(heap.spans.start, (start, i) => ({
    from: start - origin,
    to: isExact(heap, i) ? null : start - origin + spanWidth(heap, i),
    events: heap.spans.allocs[i] + heap.spans.frees[i],
  }));

/** Returns the axis by the events of all these heaps. @param {Counted[]} heaps @param {[number, number]} whole
 *  @returns {Axis} */
export function byEvents(heaps, [low, high]) {
  const all = heaps.flatMap(spansOf),
    within = (/** @type {number} */ ns) => Math.min(high, Math.max(low, ns)),
    ends = all.flatMap(({ from, to }) => [within(from), within(to ?? from)]),
    times = Float64Array.from(new Set([low, high, ...ends])).sort(),
    number = new Map(Array.from(times, (ns, i) => [ns, i])),
    at = (/** @type {number} */ ns) => /** @type {number} */ (number.get(within(ns))),
    events = all.reduce((sum, span) => sum + span.events, 0);
  /** For each time: the events between it and the next time, and the change in events per ns. */
  const here = new Float64Array(times.length),
    rate = new Float64Array(times.length);
  for (const { from, to, events: count } of all) {
    if (to === null) here[at(from)] += count;
    else {
      rate[at(from)] += count / (to - from);
      rate[at(to)] -= count / (to - from);
    }
  }
  const places = new Float64Array(times.length);
  let now = (LITTLE * Math.max(1, events)) / (high - low);
  for (let i = 0; i + 1 < times.length; i++) {
    now += rate[i];
    places[i + 1] = places[i] + here[i] + now * (times[i + 1] - times[i]);
  }
  return {
    place: (ns) => between(times, places, ns),
    time: (place) => between(places, times, place),
    least: 1,
    title: 'allocations and frees',
  };
}

/** Returns the axis on which each instance of a range has the same width. The time before the first one and the time
 *  after the last one also have it. @param {string} range @param {number[]} begins @param {number} end of the last one
 *  @param {[number, number]} whole the run @returns {Axis} */
export function byInstances(range, begins, end, [low, high]) {
  const isEarly = low < begins[0],
    times = Float64Array.from([...(isEarly ? [low] : []), ...begins, ...(end < high ? [end] : []), high]),
    places = times.map((_, i) => i + (isEarly ? 0 : 1));
  return {
    place: (ns) => between(times, places, ns),
    time: (place) => between(places, times, place),
    least: 0.01,
    title: `instances of ${range}`,
    label: (place) => (place >= 1 && place <= begins.length ? count(place) : ''),
  };
}

/** Returns functions that convert between times and shares of the view. @param {Axis} axis
 *  @param {[number, number]} view @returns {{ share: (ns: number) => number, at: (share: number) => number }} */
export function scaled({ place, time }, [from, to]) {
  const [low, high] = [place(from), place(to)];
  return {
    share: (ns) => (place(ns) - low) / (high - low),
    at: (share) => time(low + share * (high - low)),
  };
}
