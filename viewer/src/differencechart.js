/** The difference of a heap between A and B by band: above the line if B holds more, below it if B holds less. */
import { bandRow, holdsText, placed } from './bandrow.js';
import { fill } from './colours.js';
import { CompareChart, tone } from './comparechart.js';
import { colour, element } from './dom.js';
import { edges } from './edges.js';
import { count, size } from './format.js';
import { heldAt } from './lod.js';
import { isAbout, isLeast, isUnnamed } from './model.js';
import * as paint from './paint.js';

/**
 * @typedef {import('./app.js').App} App
 * @typedef {import('./model.js').Stack} Stack
 * @typedef {{ name: string, sides: (import('./model.js').Group | undefined)[] }} Pair of bands; undefined if the run
 *   has no band of that name
 */

/** Returns the bands of both runs, in the order of their charts. @param {Stack[]} stacks @returns {Pair[]} */
function pairsOf(stacks) {
  const of = (/** @type {boolean} */ rest) =>
      stacks.flatMap(({ groups }) => groups.filter((group) => group.rest === rest).map(({ name }) => name)),
    names = [...new Set([...of(false), ...of(true)])];
  return names.map((name) => ({
    name,
    sides: stacks.map(({ groups }) => groups.find((group) => group.name === name)),
  }));
}

export class DifferenceChart extends CompareChart {
  /** @param {App} app @param {[Stack, Stack]} stacks @param {number} height */
  constructor(app, stacks, height) {
    super(app, stacks, height, 'difference', 'B minus A: above the line what B holds more, below it what A does');
    const pairs = pairsOf(stacks),
      among = pairs.map(({ name }) => name);
    this.rows = pairs.map((pair) => {
      const bytes = element('td', {});
      return { ...pair, bytes, ...bandRow(app, pair.name, among, [], [bytes]) };
    });
    this.when = element('caption', {});
    this.body = element('tbody', {}, ...this.rows.map(({ row }) => row));
    this.sums = element('tfoot', {});
    this.legend.append(element('table', { class: 'bands' }, this.when, this.body, this.sums));
    this.stacked = this.stackOf([]);
  }

  measure() {
    super.measure();
    this.stacked = this.stackOf([...this.xs.keys()].filter((at) => this.runs(0, at) && this.runs(1, at)));
  }

  /** Stacks the bands that are not hidden, and their sum, for columns in which both runs are running.
   *  @param {number[]} columns */
  stackOf(columns) {
    const bands = this.rows
      .filter(({ name }) => this.app.visible(name))
      .map(({ name, sides }) => ({
        name,
        bytes: Float64Array.from(columns, (at) => this.change(sides, [this.spans[0][at], this.spans[1][at]])),
      }));
    return {
      xs: columns.map((at) => this.xs[at]),
      edges: edges(bands, columns.length),
      sum: columns.map((_, i) => bands.reduce((sum, { bytes }) => sum + bytes[i], 0)),
    };
  }

  /** Returns how many more bytes B's band holds than A's. @param {Pair['sides']} sides @param {number[]} spans */
  change(sides, spans) {
    const [a, b] = sides.map((group, i) => (group ? heldAt(group.bytes, spans[i]) : 0));
    return b - a;
  }

  /** Returns the differences of the bands that are not hidden in a column, without those that are zero. Empty unless
   *  both runs are running. @param {number} at @returns {{ name: string, about: boolean, bytes: number }[]} */
  changesAt(at) {
    const spans = [this.spans[0][at], this.spans[1][at]];
    if (!this.runs(0, at) || !this.runs(1, at)) return [];
    return this.rows
      .filter(({ name }) => this.app.visible(name))
      .map((pair) => ({
        name: pair.name,
        about: this.estimated || this.isAbout(pair, spans),
        bytes: this.change(pair.sides, spans),
      }))
      .filter(({ bytes }) => bytes);
  }

  /** Returns true if a side is an estimate, or bands without a name may hold more of this name. @param {Pair} pair @param {number[]} spans */
  isAbout({ name, sides }, spans) {
    return sides.some((group, i) => {
      const stack = this.stacks[i];
      if (spans[i] < 0) return false;
      if (group && isAbout(group, spans[i])) return true;
      return group ? isLeast(stack, group, spans[i]) : stack.unnamed[spans[i]] > 0 && !isUnnamed(name);
    });
  }

  range() {
    const all = this.stacked.edges.flatMap(({ edge }) => [...edge]),
      low = all.reduce((least, bytes) => Math.min(least, bytes), 0),
      high = all.reduce((most, bytes) => Math.max(most, bytes), 1);
    return /** @type {[number, number]} */ ([low * 1.1, high * 1.1]);
  }

  /** @param {paint.Surface} s */
  draw(s) {
    const { app } = this,
      { xs, edges, sum } = this.stacked,
      end = Math.min(this.life(0).to, this.life(1).to),
      lit = edges.some(({ part }) => part.name === app.lit);
    for (const { part, below, edge } of edges) {
      s.c.globalAlpha = lit && part.name !== app.lit ? 0.3 : 1;
      paint.between(s, xs, below, edge, end, fill(app.slotOf(part.name), app.dark));
    }
    s.c.globalAlpha = 1;
    paint.line(s, [app.view[0]], [0], app.view[1], colour('--faint'));
    paint.line(s, xs, sum, end, colour('--ink'), 1.2);
  }

  fillLegend() {
    const { label, of } = this.chosen(),
      [a, b] = of,
      spans = a === null || b === null ? null : [a, b],
      held = new Map(this.rows.map(({ name, sides }) => [name, spans ? this.change(sides, spans) : 0])),
      heldOf = (/** @type {string} */ name) => held.get(name) ?? 0,
      order = [...this.rows].sort((x, y) => Math.abs(heldOf(y.name)) - Math.abs(heldOf(x.name)));
    for (const { name, sides, bytes, row, mark } of this.rows) {
      const change = heldOf(name),
        about = spans !== null && (this.estimated || this.isAbout({ name, sides }, spans)) ? '≈ ' : '',
        there = change || this.app.state.hidden.includes(name) || row.contains(document.activeElement);
      row.hidden = !there || !holdsText(name, this.app.state.filter);
      bytes.className = tone(change);
      bytes.textContent = about + size(change, true);
      bytes.title = `${about}${count(change)} bytes`;
      mark();
    }
    placed(
      this.body,
      order.map(({ row }) => row),
    );
    this.when.textContent = label;
    this.sums.replaceChildren(...this.totalRows(of));
  }
}
