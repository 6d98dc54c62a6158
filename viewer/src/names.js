/**
 * What of a long name has to be seen: where it differs from those beside it that would look like it.
 *
 * @typedef {{ begin: string, tell: string, last: string }} Parts of a name, in their order. Where there is no room for it, begin is
 *   cut first and tell never; tell: empty where the name's end tells it
 */

const INTO = ' > ',
  POOL = / \([\d,]+ threads\)$/, // as the reports fold threads
  SEEN = 12, // characters of an end, at least
  SHORT = 16,
  MOST = 32; // of what tells a name

/** @param {string} a @param {string} b */
function differsAt(a, b) {
  let i = 0;
  while (i < a.length && a[i] === b[i]) i++;
  return i;
}

/** Where the word begins that a place is in. @param {string} name @param {number} at */
function wordAt(name, at) {
  let from = at;
  while (from > 0 && at - from < SHORT && /[\w.]/.test(name[from - 1])) from--;
  return from;
}

/** The part that a place is in: a range or call with what stands before it; of a long one the word.
 *  @param {string} name @param {number} at */
function partAt(name, at) {
  const begin = Math.max(0, name.lastIndexOf(INTO, at)),
    next = name.indexOf(INTO, Math.max(at, begin + INTO.length)),
    end = next < 0 ? name.length : next;
  if (end - begin <= SHORT) return { from: begin, to: end };
  return {
    from: at - begin <= SHORT ? begin : wordAt(name, at),
    to: at + 1 + name.slice(at + 1, end).search(/[^\w.]|$/),
  };
}

/** The last character that is not the same from there to the end; of what stands before all of the other its own end.
 *  @param {string} a @param {string} b */
function lastDifference(a, b) {
  let i = a.length - 1;
  for (let k = b.length - 1; i > 0 && a[i] === b[k]; k--) i--;
  return a.slice(0, i + 1).endsWith(INTO) ? i - INTO.length : i;
}

/** @param {string} name @param {Iterable<string>} among the names that it stands beside @returns {Parts} */
export function partsOf(name, among) {
  const pool = name.search(POOL);
  if (pool > 0) return { begin: '', tell: name.slice(0, pool), last: name.slice(pool) };
  const end = name.slice(Math.max(name.lastIndexOf(INTO), name.length - SEEN, 0)),
    places = [...among]
      .filter((other) => other !== name && other.endsWith(end))
      .map((other) => lastDifference(name, other));
  if (!places.length) {
    const last = Math.max(0, name.lastIndexOf(INTO));
    return { begin: name.slice(0, last), tell: '', last: name.slice(last) };
  }
  const { from: first } = partAt(name, Math.min(...places)),
    { from: most, to } = partAt(name, Math.max(...places)),
    from = to - first <= MOST ? first : most;
  return { begin: name.slice(0, from), tell: name.slice(from, to), last: name.slice(to) };
}

const CALL = /^(.*?)( \(.*(:\d+\)))( <- .*)$/;

/** Of a call that is told with its caller: this goes first where there is no room, then the end of the function's name; never its
 *  line, with the file where others have a line of that number.  null: no such call, or others are of that line.
 *  @param {string} name @param {Iterable<string>} among the names that it stands beside
 *  @returns {{ head: string, tell: string, caller: string } | null} */
export function callParts(name, among) {
  const call = CALL.exec(name);
  if (!call) return null;
  const [, , place, line, caller] = call,
    others = [...among].filter((other) => other !== name).map((other) => CALL.exec(other)),
    tell = [line, place].find((part, i) => !others.some((other) => other?.[3 - i] === part));
  return tell ? { head: name.slice(0, -(tell + caller).length), tell, caller } : null;
}

/** How many characters each name has in common with another one. @param {Iterable<string>} names @returns {Map<string, number>} */
export function commonBegins(names) {
  const all = [...new Set(names)].sort(),
    common = all.map((name, i) => (i + 1 < all.length ? differsAt(name, all[i + 1]) : 0));
  return new Map(all.map((name, i) => [name, Math.max(common[i], common[i - 1] ?? 0)]));
}

/**
 * A text that is cut at its end, else before what tells it from others; nothing where it would look like one of them.
 * @param {string} text @param {number} common how many characters it has in common with another one
 * @param {(text: string) => string} cut what there is room for
 */
export function cutApart(text, common, cut) {
  const first = cut(text);
  if (first === text || first.length - 1 > common) return first;
  const from = wordAt(text, common),
    without = (/** @type {number} */ kept) => `${text.slice(0, kept)}…${text.slice(from)}`;
  for (let kept = from - 1; kept >= 0; kept--) if (cut(without(kept)) === without(kept)) return without(kept);
  const last = cut(without(0));
  return from > 0 && last.length - 2 > common - from ? last : '';
}
