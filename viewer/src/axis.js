/**
 * Where a time lies on the axis of the charts: by time, or by how many allocations and frees there were up to then.
 *
 * @typedef {{ place: (ns: number) => number, time: (place: number) => number }} Axis in the time of the axis
 * @typedef {{ heap: import('./data.js').Heap, origin: number }} Counted
 */
import { spanAt } from './model.js';

/** @type {Axis} */
export const BY_TIME = { place: (ns) => ns, time: (place) => place };

/** Of all events, so many as the whole run is long: where nothing happens time still goes on. */
const LITTLE = 1e-6;

/** Between two neighbours of one list as between those of another. @param {Float64Array} from @param {Float64Array} to @param {number} at */
function between(from, to, at) {
  const i = Math.min(from.length - 2, Math.max(0, spanAt(from, at)));
  return to[i] + ((to[i + 1] - to[i]) * (at - from[i])) / (from[i + 1] - from[i]);
}

/** By the events of all these heaps: those of a span come while it lasts. @param {Counted[]} heaps @param {[number, number]} whole
 *  @returns {Axis} */
export function byEvents(heaps, [low, high]) {
  /** @type {Map<number, number>} */
  const events = new Map([
    [low, 0],
    [high, 0],
  ]);
  for (const { heap, origin } of heaps)
    heap.spans.start.forEach((start, i) => {
      const at = Math.min(high, Math.max(low, start - origin));
      events.set(at, (events.get(at) ?? 0) + heap.spans.allocs[i] + heap.spans.frees[i]);
    });
  const times = Float64Array.from(events.keys()).sort(),
    places = new Float64Array(times.length);
  let sum = 0;
  for (const count of events.values()) sum += count;
  for (let i = 1; i < times.length; i++)
    places[i] =
      places[i - 1] +
      (events.get(times[i - 1]) ?? 0) +
      (LITTLE * Math.max(1, sum) * (times[i] - times[i - 1])) / (high - low);
  return { place: (ns) => between(times, places, ns), time: (place) => between(places, times, place) };
}

/** Shares of a view. @param {Axis} axis @param {[number, number]} view @returns {{ share: (ns: number) => number, at: (share: number) => number }} */
export function scaled({ place, time }, [from, to]) {
  const [low, high] = [place(from), place(to)];
  return {
    share: (ns) => (place(ns) - low) / (high - low),
    at: (share) => time(low + share * (high - low)),
  };
}
