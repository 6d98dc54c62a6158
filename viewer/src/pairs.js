/**
 * Names of two runs that are one, as `diff` pairs them: the same function and module, whatever line of the source they
 * are at, and of what is left the same function, whatever its file is called. B's are shown as A has them.
 */
import { bandName } from './model.js';
import { joinedOf } from './names.js';

/** @typedef {import('./data.js').Log} Log */

/** A name with each frame as `same` has it. @param {Map<string, string>} same @param {string} name @param {boolean} [alone] without its caller */
function replaced(same, name, alone) {
  const { path, caller } = joinedOf(name),
    of = (/** @type {string} */ frame) => same.get(frame) ?? frame;
  return path.map(of).join(' > ') + (caller && !alone ? ` <- ${of(caller)}` : '');
}

/** What of a name is the same from run to run. @param {Log} log @param {string} name */
const matchOf = (log, name) => replaced(log.matching, name);

/** The same without files. @param {Log} log @param {string} name */
const callOf = (log, name) => replaced(log.functions, name);

/** @param {Log} log @param {string} name */
const callAlone = (log, name) => replaced(log.functions, name, true);

/** @param {Log} log @param {import('./model.js').Grouping} grouping */
function namesOf(log, grouping) {
  const bands = log.heaps.flatMap((heap) => heap.bands.map((band) => bandName(log, heap, band, grouping)));
  return new Set([...bands, ...log.heaps.flatMap((heap) => heap.lines.auto.lines.map((line) => line.name))]);
}

/** The value of all names of a key; null: they have several. @param {Iterable<string>} names
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

/** B's names by A's; one that A has, or that several of A's would be, stays. @param {Log} a @param {Log} b
 *  @param {import('./model.js').Grouping} grouping @returns {Map<string, string>} */
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
