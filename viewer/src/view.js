/** The span of time that is in view. Positions in it are by time or by events. */
import { BY_TIME, byEvents, byInstances, scaled } from './axis.js';
import { beginsOf } from './lanes.js';
import { isExact, spanAt } from './model.js';
import { opening } from './opening.js';
import { Shown } from './shown.js';

/**
 * @typedef {import('./data.js').Log} Log
 * @typedef {import('./data.js').Heap} Heap
 */

const SHORTEST = 200; // ns: the shortest span that the axis shows

export class View extends Shown {
  /** @param {Log[]} logs */
  constructor(logs) {
    super(logs);
    /** @type {[number, number]} */
    this.whole = [0, 1];
    /** @type {[number, number]} */
    this.view = [0, 1];
    /** The view that the page opens on. @type {[number, number]} */
    this.opened = [0, 1];
    /** @type {import('./axis.js').Axis} */
    this.axis = BY_TIME;
  }

  /** Called after a change of the view. The subclass redraws. */
  later() {}

  /** Sets the view from the state, or to the span that the page opens on. */
  lookAgain() {
    this.whole = this.extent(this.runs());
    this.axis = this.axisOf();
    this.opened = this.within(...this.opening());
    const { from, to } = this.state;
    this.view = from !== null && to !== null && from < to ? this.within(from, to) : this.opened;
  }

  /** Returns the span from the first begin to the last end. @param {Log[]} logs @returns {[number, number]} */
  extent(logs) {
    const from = Math.min(...logs.map((log) => 0 - this.origin(log)));
    const to = Math.max(...logs.map((log) => log.duration - this.origin(log)));
    return [from, Math.max(to, from + SHORTEST)];
  }

  axisOf() {
    const runs = this.runs(),
      heaps = runs.flatMap((log) => log.heaps.map((heap) => ({ heap, origin: this.origin(log) }))),
      begins = this.begins();
    if (this.state.axis === 'events') return byEvents(heaps, this.whole);
    const { repeat } = runs[0];
    return this.state.axis === 'instances' && begins && repeat
      ? byInstances(repeat.range, begins, repeat.to, this.whole)
      : BY_TIME;
  }

  /** Returns the begins of the instances of the repeating range, or null if they are not all known, or two runs are
   *  shown. */
  begins() {
    const [log, other] = this.runs();
    return other ? null : beginsOf(log);
  }

  /** Returns functions that convert between times of a log and shares of the view. @param {number} origin the log's */
  scaleOf(origin) {
    const { share, at } = scaled(this.axis, this.view);
    return {
      share: (/** @type {number} */ ns) => share(ns - origin),
      at: (/** @type {number} */ part) => at(part) + origin,
    };
  }

  /** Returns the span that the shown runs open on. @returns {[number, number]} */
  opening() {
    const spans = this.runs().map((log) => opening(log).map((ns) => ns - this.origin(log)));
    return [Math.min(...spans.map(([from]) => from)), Math.max(...spans.map(([, to]) => to))];
  }

  /** Limits a span of time to one that can be shown. @param {number} from @param {number} to
   *  @returns {[number, number]} */
  within(from, to) {
    const [low, high] = this.whole,
      length = Math.min(high - low, Math.max(SHORTEST, to - from)),
      start = Math.min(high - length, Math.max(low, from));
    return [start, start + length];
  }

  /** @param {number} from @param {number} to */
  setView(from, to) {
    this.view = this.within(from, to);
    const asOpened = this.view.every((ns, i) => ns === this.opened[i]);
    [this.state.from, this.state.to] = asOpened ? [null, null] : this.view;
    this.later();
  }

  /** @param {number} share the position in the view that stays fixed, 0 to 1 @param {number} factor */
  zoom(share, factor) {
    const { place, time } = this.axis,
      [from, to] = this.view.map(place),
      [low, high] = this.whole.map(place),
      length = Math.min(high - low, Math.max(this.axis.least, (to - from) * factor)),
      start = Math.min(high - length, Math.max(low, from + share * (to - from - length)));
    this.setView(time(start), time(start + length));
  }

  /** Zooms as the keys do: around the newest pin if it is in view, otherwise around the middle.
   *  @param {number} factor */
  zoomIn(factor) {
    const share = this.scaleOf(0).share(this.pins.at(-1)?.at ?? NaN);
    this.zoom(share >= 0 && share <= 1 ? share : 0.5, factor);
  }

  /** @param {number} by of the view's length */
  pan(by) {
    const { place, time } = this.axis,
      [from, to] = this.view.map(place),
      [low, high] = this.whole.map(place),
      start = Math.min(high - (to - from), Math.max(low, from + by * (to - from)));
    this.setView(time(start), time(start + to - from));
  }

  fit() {
    this.setView(...this.whole);
  }

  reopen() {
    this.setView(...this.opened);
  }

  /** @param {number} at @param {number} length */
  centre(at, length) {
    this.setView(at - length / 2, at + length / 2);
  }

  /** Returns the span of an instant on the axis, or -1 before the first. @param {Log} log @param {Heap} heap
   *  @param {number} at */
  pinSpan(log, heap, at) {
    return spanAt(heap.spans.start, at + this.origin(log));
  }

  /** Returns the time that a click pins: the time of the state that is drawn there. @param {Log} log @param {Heap} heap
   *  @param {number} span that is drawn @param {number} ns */
  instantOf(log, heap, span, ns) {
    const itself = span < 0 || (span === this.pinSpan(log, heap, ns) && isExact(heap, span));
    return itself ? ns : heap.spans.time[span] - this.origin(log);
  }
}
