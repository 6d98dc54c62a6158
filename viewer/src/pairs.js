/**
 * Pairs the names of two runs as `diff` does: by function and module, at any line of the source, and the remaining
 * names by function, in any file. B's names are shown as A's.
 */
import { bandName } from './model.js';
import { joinedOf } from './names.js';

/** @typedef {import('./data.js').Log} Log */

/** Replaces every frame of a name. @param {Map<string, string>} same @param {string} name @param {boolean} [alone]
 *  without its caller */
function replaced(same, name, alone) {
  const { path, caller } = joinedOf(name),
    of = (/** @type {string} */ frame) => same.get(frame) ?? frame;
  return [...(caller && !alone ? [caller] : []), ...path].map(of).join(' > ');
}

/** Returns the part of a name that is the same in every run. @param {Log} log @param {string} name */
const matchOf = (log, name) => replaced(log.matching, name);

/** Returns the same part without files. @param {Log} log @param {string} name */
const callOf = (log, name) => replaced(log.functions, name);

/** @param {Log} log @param {string} name */
const callAlone = (log, name) => replaced(log.functions, name, true);

/** @param {Log} log @param {import('./model.js').Grouping} grouping */
function namesOf(log, grouping) {
  const bands = log.heaps.flatMap((heap) => heap.bands.map((band) => bandName(log, heap, band, grouping)));
  return new Set([...bands, ...log.heaps.flatMap((heap) => heap.lines.auto.lines.map((line) => line.name))]);
}

/** Returns for each key the value of its names, or null if they have several. @param {Iterable<string>} names
 *  @param {(name: string) => string} keyOf @param {(name: string) => string} valueOf */
function single(names, keyOf, valueOf) {
  /** @type {Map<string, string | null>} */
  const values = new Map();
  for (const name of names) {
    const key = keyOf(name),
      value = valueOf(name);
    values.set(key, !values.has(key) || values.get(key) === value ? value : null);
  }
  return values;
}

/** Returns the name in A for each name in B. A name in B stays if it also exists in A, or if several names in A match.
 *  @param {Log} a @param {Log} b @param {import('./model.js').Grouping} grouping @returns {Map<string, string>} */
export function pairs(a, b, grouping) {
  const own = namesOf(a, grouping),
    others = namesOf(b, grouping),
    renamed = new Map();
  for (const keyOf of [matchOf, callAlone, callOf]) {
    const ofA = single(own, (name) => keyOf(a, name), String),
      ofB = single(
        others,
        (name) => keyOf(b, name),
        (name) => matchOf(b, name),
      );
    for (const name of others) {
      const key = keyOf(b, name);
      if (!own.has(name) && !renamed.has(name) && ofA.get(key) && ofB.get(key)) renamed.set(name, ofA.get(key));
    }
  }
  return renamed;
}
