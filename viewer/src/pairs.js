/**
 * Names of two runs that are one: the same function and module, whatever line of the source they are at, as `diff`
 * pairs them. B's are shown as A has them.
 */
import { bandName } from './model.js';

/** @typedef {import('./data.js').Log} Log */

/** What of a name is the same from run to run. @param {Log} log @param {string} name */
const matchOf = (log, name) =>
  name
    .split(/( > | <- )/)
    .map((part) => log.matching.get(part) ?? part)
    .join('');

/** @param {Log} log @param {import('./model.js').Grouping} grouping */
function namesOf(log, grouping) {
  const bands = log.heaps.flatMap((heap) => heap.bands.map((band) => bandName(log, heap, band, grouping)));
  return new Set([...bands, ...log.heaps.flatMap((heap) => heap.lines.auto.lines.map((line) => line.name))]);
}

/** B's names by A's; one that A has, or that several of A's would be, stays. @param {Log} a @param {Log} b
 *  @param {import('./model.js').Grouping} grouping @returns {Map<string, string>} */
export function pairs(a, b, grouping) {
  const own = namesOf(a, grouping),
    /** @type {Map<string, string | null>} */
    byMatch = new Map(),
    renamed = new Map();
  for (const name of own) {
    const match = matchOf(a, name);
    byMatch.set(match, byMatch.has(match) ? null : name);
  }
  for (const name of namesOf(b, grouping)) {
    const found = own.has(name) ? null : byMatch.get(matchOf(b, name));
    if (found) renamed.set(name, found);
  }
  return renamed;
}
