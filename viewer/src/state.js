/**
 * A pinned instant. band: the band that was clicked; name: what the user calls the pin.
 * @typedef {{ heap: string, log: number, at: number, band?: string, name?: string }} Pin
 *
 * The state that the URL's hash keeps, so that a reload or a mailed link shows the same picture. only: a name, or a
 * range and everything in it if followed by " > ". span: the begin and end of the selection, or empty.
 * @typedef {{ a: number, b: number, by: import('./model.js').By, depth: number, compare: 'both' | 'overlay' |
 *   'difference', align: string, axis: Axes, from: number | null, to: number | null, pins: Pin[], hidden: string[], unfolded: string[], only: string, span: number[], heaps: string,
 *   search: string, filter: string, flame: string, flameAt: string, flameUp: boolean, flameOwn: boolean, legend: number, blocks: string, steady: boolean, heat: '' | 'time',
 *   theme: 'light' | 'dark' | '' }} State legend: width of the legends, CSS pixels, 0 for the default; flameUp: the flame graph begins with the innermost calls; flameOwn: it has
 *   only the program's own calls; heat: the columns in the picture of ranks: ranges, or slices of time
 */

import { VIEWS } from './columns.js';

/** @type {State['compare'][]} */
const COMPARISONS = ['both', 'overlay', 'difference'];
/** @typedef {'time' | 'events' | 'instances'} Axes */
/** @type {Axes[]} */
const AXES = ['time', 'events', 'instances'];
/** @type {State['theme'][]} */
const THEMES = ['light', 'dark', ''];

/** @returns {State} */
export const initial = () => ({
  a: 0,
  b: -1,
  by: 'range',
  depth: 0,
  compare: 'both',
  align: 'start',
  axis: 'time',
  from: null,
  to: null,
  pins: [],
  hidden: [],
  unfolded: [],
  only: '',
  span: [],
  heaps: '',
  search: '',
  filter: '',
  flame: '',
  flameAt: '',
  flameUp: false,
  flameOwn: false,
  legend: 0,
  blocks: '',
  steady: false,
  heat: '',
  theme: '',
});

/** Returns a hash of the fields that differ from the initial state. @param {State} state @param {State} [from] */
export function toHash(state, from = initial()) {
  /** @type {Record<string, any>} */
  const kept = {};
  for (const [key, value] of Object.entries(state)) {
    if (JSON.stringify(value) !== JSON.stringify(from[/** @type {keyof State} */ (key)])) kept[key] = value;
  }
  return Object.keys(kept).length ? '#' + encodeURIComponent(JSON.stringify(kept)) : '';
}

/** Returns true if a value has the type of the known one. @param {any} known null allows a number @param {any} given */
const isLike = (known, given) =>
  typeof given === (known === null ? 'number' : typeof known) && Array.isArray(given) === Array.isArray(known);

/** Reads a hash. A hash that is not ours changes nothing. @param {string} hash @param {State} [from]
 *  @returns {State} */
export function fromHash(hash, from = initial()) {
  try {
    const kept = JSON.parse(decodeURIComponent(hash.slice(1)));
    const state = { ...from };
    for (const key of /** @type {(keyof State)[]} */ (Object.keys(state))) {
      if (key in kept && isLike(from[key], kept[key])) /** @type {any} */ (state)[key] = kept[key];
    }
    return state;
  } catch {
    return { ...from };
  }
}

/** Returns the span if runs of that length can contain it, however they are aligned, otherwise an empty one.
 *  @param {number[]} span @param {number} length ns */
const spanOf = (span, length) =>
  span.length === 2 && span[0] < span[1] && span.every((ns) => Number.isFinite(ns) && Math.abs(ns) <= length)
    ? span
    : [];

/** Returns a state without runs, names and values that do not exist, because a hash may come from another page or be
 *  edited by hand. @param {State} state @param {import('./data.js').Log[]} logs @returns {State} */
export function repaired(state, logs) {
  const a = logs[state.a] ? state.a : 0,
    b = logs[state.b] && state.b !== a ? state.b : -1,
    there = (/** @type {any} */ pin) =>
      Number.isFinite(pin?.at) &&
      logs[pin.log] &&
      [a, b].includes(pin.log) &&
      [pin.heap, pin.band ?? '', pin.name ?? ''].every((text) => typeof text === 'string');
  return {
    ...state,
    a,
    b,
    by: VIEWS.includes(state.by) ? state.by : 'range',
    depth: Number.isInteger(state.depth) && state.depth > 0 ? state.depth : 0,
    axis: AXES.includes(state.axis) ? state.axis : 'time',
    compare: COMPARISONS.includes(state.compare) ? state.compare : 'both',
    from: Number.isFinite(state.from) ? state.from : null,
    to: Number.isFinite(state.to) ? state.to : null,
    pins: state.pins.filter(there).slice(0, 2),
    hidden: state.hidden.filter((name) => typeof name === 'string'),
    unfolded: state.unfolded.filter((name) => typeof name === 'string'),
    span: spanOf(state.span, Math.max(...[a, b].map((i) => logs[i]?.duration ?? 0))),
    legend: Number.isFinite(state.legend) ? Math.min(4000, Math.max(0, state.legend)) : 0,
    heat: state.heat === 'time' ? 'time' : '',
    theme: THEMES.includes(state.theme) ? state.theme : '',
  };
}
