/**
 * What the URL's hash keeps, so that a reload or a mailed link shows the same picture. *
 * @typedef {{ a: number, b: number, by: import('./model.js').By, depth: number, compare: 'both'
 *   | 'overlay' | 'difference', align: string, from: number | null, to: number | null, pins: { heap: string, log: number, at:
 *   number }[], hidden: string[], only: string, heaps: string, search: string, blocks: string, theme: 'light' |
 *   'dark' | '' }} State
 */

/** @returns {State} */
export const initial = () => ({
  a: 0,
  b: -1,
  by: 'range',
  depth: 0,
  compare: 'both',
  align: 'start',
  from: null,
  to: null,
  pins: [],
  hidden: [],
  only: '',
  heaps: '',
  search: '',
  blocks: '',
  theme: '',
});

/** Only what differs from the beginning. @param {State} state @param {State} [from] */
export function toHash(state, from = initial()) {
  /** @type {Record<string, any>} */
  const kept = {};
  for (const [key, value] of Object.entries(state)) {
    if (JSON.stringify(value) !== JSON.stringify(from[/** @type {keyof State} */ (key)])) kept[key] = value;
  }
  return Object.keys(kept).length ? '#' + encodeURIComponent(JSON.stringify(kept)) : '';
}

/** A hash that is not ours changes nothing. @param {string} hash @param {State} [from] @returns {State} */
export function fromHash(hash, from = initial()) {
  try {
    const kept = JSON.parse(decodeURIComponent(hash.slice(1)));
    const state = { ...from };
    for (const key of /** @type {(keyof State)[]} */ (Object.keys(state))) {
      if (key in kept && (from[key] === null ? typeof kept[key] === 'number' : typeof kept[key] === typeof from[key])) {
        /** @type {any} */ (state)[key] = kept[key];
      }
    }
    return state;
  } catch {
    return { ...from };
  }
}
