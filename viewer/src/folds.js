/**
 * Lines as the reports group them: rows with the same name, or with names that differ only in a number, are one line.
 * The report does the grouping. This module reads the lines and finds the line of a row.
 * @typedef {Record<'node' | 'python' | 'native', number> & { thread?: number }} Who
 * @typedef {import('./columns.js').LineNumbers & { name: string, path: string[] }} Line path: its name in parts; least,
 *   most: bytes of the siblings that it is listed apart from; open: bands without a name hold some of it; partsOpen:
 *   the same, or bands that do not name one of its rows
 * @typedef {{ line: Line, ownName: string | null, ownPath: string[] }} Part ownName: its name if the line is expanded, or
 *   null for its whole path
 * @typedef {{ lines: Line[], parts: Map<number, Part> }} View
 */
import { LINES, LINE_VIEWS } from './columns.js';
import { calledPath, join, notePool } from './names.js';

const KINDS = 4,
  HOWS = 3,
  ITSELF = 2; // the others are named by their whole path, because no shorter name is unique

/** @param {number[]} packed @param {string[]} frames @param {Line} line @param {Map<number, Part>} parts */
function readParts(packed, frames, line, parts) {
  for (let i = 0; i < packed.length; ) {
    const kind = packed[i] % KINDS,
      how = Math.floor(packed[i] / KINDS) % HOWS,
      number = Math.floor(packed[i++] / (KINDS * HOWS));
    /** @type {import('./names.js').Joined | null} */
    let own = null;
    if (how === ITSELF) {
      const [caller, depth] = packed.slice(i, i + 2);
      own = {
        path: packed.slice(i + 2, i + 2 + depth).map((frame) => frames[frame]),
        caller: frames[caller - 1] ?? '',
      };
      i += 2 + depth;
    }
    parts.set(number * KINDS + kind, {
      line,
      ownName: own && join(own.path, own.caller),
      ownPath: own ? calledPath(own) : [],
    });
  }
}

/** @param {any[]} raw of a view @param {string[]} frames @returns {View} */
function readView(raw, frames) {
  /** @type {Map<number, Part>} */
  const parts = new Map();
  const lines = raw.map(([numbers, path, packed]) => {
    const line = /** @type {Line} */ (Object.fromEntries(LINES.map((name, i) => [name, numbers[i]])));
    const of = {
      path: path.map((/** @type {number} */ frame) => frames[frame]),
      caller: frames[line.caller - 1] ?? '',
    };
    line.path = calledPath(of);
    line.name = join(of.path, of.caller);
    notePool(line.name, line.rows);
    readParts(packed, frames, line, parts);
    return line;
  });
  return { lines, parts };
}

/** Reads each view when it is first used, because most logs need only one. @param {any[]} raw by view
 *  @param {string[]} frames @returns {Record<string, View>} */
export function readLines(raw, frames) {
  const views = /** @type {Record<string, View>} */ ({});
  LINE_VIEWS.forEach((view, v) => {
    /** @type {View | undefined} */
    let read;
    Object.defineProperty(views, view, { enumerable: true, get: () => (read ??= readView(raw[v], frames)) });
  });
  return views;
}

/** Returns the key of a band or a block in a view. @param {Who} who @param {string} by */
function keyOf({ node, python, native, thread = -1 }, by) {
  if (by === 'range') return node * KINDS;
  if (by === 'python') return python * KINDS + 1;
  if (by === 'stack') return native * KINDS + 2;
  if (by === 'thread') return thread * KINDS + 3;
  return node ? node * KINDS : python ? python * KINDS + 1 : native * KINDS + 2;
}

/** Returns the part of a line that a band or block belongs to, or undefined if its whole path is its name.
 *  @param {{ lines?: Record<string, View> }} heap @param {string} by @param {Who} who */
export const partOf = (heap, by, who) => heap.lines?.[by]?.parts.get(keyOf(who, by));

/** Returns true if the line can be expanded. @param {Line} line */
export const isFold = (line) => line.rows > 1;
