/**
 * Names and their parts. The page's data has calls and threads as fields. This module turns them into texts and path
 * names, and finds the parts of a name from its text.
 * @typedef {string | [string, string, number]} RawFrame a text, or a call with its file and line
 * @typedef {string | [string, number]} RawThread a text, or a thread with the kernel's number
 * @typedef {{ path: string[], caller: string }} Joined caller: of the path's first call, or empty
 * @typedef {{ begin: string, tell: string, last: string }} Parts of a name, in their order. If there is too little
 *   room, begin is cut first and tell never; tell: empty if the end of the name distinguishes it
 */

import { count } from './format.js';

const INTO = ' > ',
  SEEN = 12, // minimum characters of an end
  SHORT = 16,
  MOST = 32; // maximum characters of `tell`

/** @type {Map<string, Joined>} */
const joined = new Map();
/** For the text of a call: its place, " (t.py:12)", and the end of that place, ":12)".
 *  @type {Map<string, { place: string, line: string }>} */
const places = new Map();
/** @type {Map<string, { name: string, number: string }>} */
const threads = new Map();
/** For the name of several threads: its end, " (8 threads)". @type {Map<string, string>} */
const pools = new Map();

/** Returns the text of a frame. @param {RawFrame} raw */
export function readFrame(raw) {
  if (typeof raw === 'string') return raw;
  const [name, file, line] = raw,
    place = ` (${file}:${line})`;
  places.set(name + place, { place, line: `:${line})` });
  return name + place;
}

/** Returns the text of a thread. @param {RawThread} raw */
export function readThread(raw) {
  if (typeof raw === 'string') return raw;
  const [name, number] = raw,
    text = `${name} (${number})`;
  threads.set(text, { name, number: String(number) });
  return text;
}

/** Returns a thread's name and number, if it has a number. @param {string} text */
export const threadOf = (text) => threads.get(text);

/** Notes the name of a line of several threads. The reports end such a name with the number of threads.
 *  @param {string} name @param {number} rows */
export function notePool(name, rows) {
  const last = ` (${count(rows)} threads)`;
  if (rows > 1 && name.endsWith(last)) pools.set(name, last);
}

/** Returns the parts of a name: the caller, if there is one, and the path. @param {Joined} of */
const allParts = ({ path, caller }) => (caller ? [caller, ...path] : path);

/** Returns the name of a path. @param {string[]} path @param {string} [caller] */
export function join(path, caller = '') {
  const name = allParts({ path, caller }).join(INTO);
  if ((path.length > 1 || caller) && !joined.has(name)) joined.set(name, { path, caller });
  return name;
}

/** Returns the path and the caller that a name was made from. @param {string} name @returns {Joined} */
export const joinedOf = (name) => joined.get(name) ?? { path: [name], caller: '' };

/** Returns a path with the caller as a part of its first name. @param {Joined} of */
export const calledPath = ({ path, caller }) =>
  path.map((name, i) => (caller && i === 0 ? `${caller}${INTO}${name}` : name));

/** Returns the positions of the separators in a name. @param {string} name */
function separators(name) {
  let at = -INTO.length;
  return allParts(joinedOf(name))
    .slice(0, -1)
    .map((frame) => (at += INTO.length + frame.length));
}

/** @param {string} a @param {string} b */
function differsAt(a, b) {
  let i = 0;
  while (i < a.length && a[i] === b[i]) i++;
  return i;
}

/** Returns the beginning of the word at a position. @param {string} name @param {number} at */
function wordAt(name, at) {
  let from = at;
  while (from > 0 && at - from < SHORT && /[\w.]/.test(name[from - 1])) from--;
  return from;
}

/** Returns the part of a name around a position: a frame with the separator before it, or only the word if the frame is
 *  long. @param {string} name @param {number[]} separators @param {number} at */
function partAt(name, separators, at) {
  const begin = separators.filter((separator) => separator <= at).at(-1) ?? 0,
    next = separators.find((separator) => separator >= Math.max(at, begin + INTO.length)),
    end = next ?? name.length;
  if (end - begin <= SHORT) return { from: begin, to: end };
  return {
    from: at - begin <= SHORT ? begin : wordAt(name, at),
    to: at + 1 + name.slice(at + 1, end).search(/[^\w.]|$/),
  };
}

/** Returns the last position at which a differs from b, compared from their ends. If b is an end of a, returns the
 *  position before it. @param {string} a @param {number[]} separators of a @param {string} b */
function lastDifference(a, separators, b) {
  let i = a.length - 1;
  for (let k = b.length - 1; i > 0 && a[i] === b[k]; k--) i--;
  const separator = i + 1 - INTO.length;
  return separators.includes(separator) ? separator - 1 : i;
}

/** @param {string} name @param {Iterable<string>} among the names that are shown with it @returns {Parts} */
export function partsOf(name, among) {
  const pool = pools.get(name);
  if (pool) return { begin: '', tell: name.slice(0, -pool.length), last: pool };
  const all = separators(name),
    last = all.at(-1) ?? 0,
    end = name.slice(Math.max(last, name.length - SEEN, 0)),
    differences = [...among]
      .filter((other) => other !== name && other.endsWith(end))
      .map((other) => lastDifference(name, all, other));
  if (!differences.length) return { begin: name.slice(0, last), tell: '', last: name.slice(last) };
  const { from: first } = partAt(name, all, Math.min(...differences)),
    { from: most, to } = partAt(name, all, Math.max(...differences)),
    from = to - first <= MOST ? first : most;
  return { begin: name.slice(0, from), tell: name.slice(from, to), last: name.slice(to) };
}

/** @param {string} name */
function placeOf(name) {
  const { path, caller } = joinedOf(name),
    call = caller ? places.get(path[path.length - 1]) : undefined;
  return call && { ...call, caller };
}

/** Returns the parts of a call with its caller. If there is too little room, the caller is cut first, then the
 *  function's name. The line is never cut, nor the file if another call has the same line number. Returns null if the
 *  name is not such a call, or if another call has the same line of the same file. @param {string} name
 *  @param {Iterable<string>} among the names that are shown with it
 *  @returns {{ caller: string, head: string, tell: string } | null} */
export function callParts(name, among) {
  const call = placeOf(name);
  if (!call) return null;
  const others = [...among].filter((other) => other !== name).map(placeOf),
    keys = /** @type {const} */ (['line', 'place']),
    key = keys.find((key) => !others.some((other) => other?.[key] === call[key])),
    tell = key && call[key];
  return tell ? { caller: call.caller, head: name.slice(call.caller.length, -tell.length), tell } : null;
}

/** Returns how many characters each name has in common with another one. @param {Iterable<string>} names
 *  @returns {Map<string, number>} */
export function commonBegins(names) {
  const all = [...new Set(names)].sort(),
    common = all.map((name, i) => (i + 1 < all.length ? differsAt(name, all[i + 1]) : 0));
  return new Map(all.map((name, i) => [name, Math.max(common[i], common[i - 1] ?? 0)]));
}

/**
 * Returns a text that is cut at its end, or before the part that distinguishes it, or an empty one if it would look
 * like another.
 * @param {string} text @param {number} common how many characters it has in common with another one
 * @param {(text: string) => string} cut returns as much of a text as fits
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
