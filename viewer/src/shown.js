/** The page's state as it is shown: runs and heaps, their grouping, names and colours. */
import { origin } from './align.js';
import { REST, UNCLAIMED } from './colours.js';
import { callAlike, callDevices } from './devices.js';
import { comparedLog } from './differences.js';
import { INSIDE, NOBODY, foremost, isInside, stack } from './model.js';
import { pairs } from './pairs.js';
import { areOneRun, failedLog } from './ranks.js';
import { bestOf, colourAll } from './runs.js';
import { fromHash, initial, repaired } from './state.js';

/**
 * @typedef {import('./data.js').Log} Log
 * @typedef {import('./data.js').Heap} Heap
 * @typedef {import('./model.js').Stack} Stack
 */

const PAPER = matchMedia('print'),
  DARK = matchMedia('(prefers-color-scheme: dark)');

export class Shown {
  /** @param {Log[]} logs */
  constructor(logs) {
    this.logs = logs;
    this.first = initial();
    const compared = comparedLog(logs),
      failed = failedLog(logs);
    this.first.a = logs.find(({ opened }) => opened)?.index ?? 0;
    if (failed) this.first.a = failed.index;
    else if (compared) [this.first.a, this.first.b] = [compared.differsFrom, compared.index];
    else if (logs.length === 2 && !areOneRun(logs)) [this.first.a, this.first.b] = [0, 1];
    this.first.by = bestOf(logs);
    // a step that stands out is shown among the others
    if (logs[this.first.a]?.findings?.[0]?.key === 'instance') this.first.axis = 'instances';
    this.state = repaired(fromHash(location.hash, this.first), logs);
    /** @type {Map<string, Stack>} */
    this.stacks = new Map();
    /** For each heap, the names with their own band, by weight. @type {Map<Heap, Map<string, number>>} */
    this.foremost = new Map();
    /** @type {Map<string, number>} */
    this.slots = new Map();
    /** @type {string | null} */
    this.lit = null;
  }

  /** Computes names, bands and colours again. */
  name() {
    this.stacks.clear();
    this.foremost.clear();
    this.pairNames();
    this.slots = colourAll(this);
  }

  get dark() {
    const { theme } = this.state;
    if (PAPER.matches) return false;
    return theme ? theme === 'dark' : DARK.matches;
  }

  get pins() {
    return this.state.pins;
  }

  /** The selected span. @returns {{ from: number, to: number } | null} */
  get selection() {
    const [from, to] = this.state.span;
    return to === undefined ? null : { from, to };
  }

  /** @returns {import('./model.js').Grouping} */
  grouping() {
    return { by: this.state.by, depth: this.state.depth, unfolded: this.state.unfolded };
  }

  runs() {
    return [this.state.a, this.state.b].filter((i) => i >= 0).map((i) => this.logs[i]);
  }

  /** @param {Log} log */
  roleOf(log) {
    return log.index === this.state.a ? 'A' : log.index === this.state.b ? 'B' : '';
  }

  /** @param {Log} log */
  origin(log) {
    return this.state.b < 0 ? 0 : origin(log, this.state.align);
  }

  heapNames() {
    const most = new Map();
    for (const log of this.runs())
      for (const heap of log.heaps) most.set(heap.name, Math.max(most.get(heap.name) ?? 0, heap.peakBytes));
    return [...most].sort((a, b) => b[1] - a[1]).map(([name]) => name);
  }

  /** Returns the shown heaps, first the heap of the first run's first finding, otherwise the heap whose owners its card
   *  has. */
  heapsByVerdict() {
    const [{ findings, card }] = this.runs(),
      [first] = findings ?? [];
    const heap = first?.heap ?? card?.ownersOf ?? '';
    // a part of such a heap has no memory
    const leader = card?.asleep.some((of) => of.heap === heap) ? heap.replace('/torch', '/device') : heap,
      names = this.shownHeaps();
    return [...names.filter((name) => name === leader), ...names.filter((name) => name !== leader)];
  }

  shownHeaps() {
    const { heaps } = this.state;
    const names = this.heapNames().filter((name) =>
      heaps.endsWith('/') ? name.startsWith(heaps) : !heaps || name === heaps,
    );
    return names.length ? names : this.heapNames();
  }

  /** Returns the length of the longest path in the stacks. */
  deepest() {
    const inStacks = ['python', 'stack'].includes(this.state.by);
    return Math.max(0, ...this.runs().flatMap((log) => (inStacks ? log.stacks : log.paths).map((path) => path.length)));
  }

  /** Returns true if a stacked band has a call stack of this kind. @param {'python' | 'native'} kind */
  holds(kind) {
    return this.runs().some((log) => log.heaps.some((heap) => heap.bands.some((band) => band[kind] > 0)));
  }

  pairNames() {
    const [a, b] = this.runs();
    for (const log of this.logs) log.renamed.clear();
    for (const log of this.logs.filter(({ alikeAs }) => alikeAs)) {
      callDevices(log, new Map());
      log.alikeAs = '';
    }
    if (b) b.alikeAs = callAlike(a, b);
    if (b) b.renamed = pairs(a, b, this.grouping());
  }

  /** Returns a heap's stack in a shown run. @param {Log} log @param {string} name @returns {Stack | undefined} */
  stackOf(log, name) {
    const key = `${log.index} ${name}`,
      heap = log.heaps.find((h) => h.name === name);
    if (!this.stacks.has(key) && heap) this.stacks.set(key, this.stacked(log, heap));
    return this.stacks.get(key);
  }

  /** @param {Log} log @param {Heap} heap */
  stacked(log, heap) {
    return stack(log, heap, this.grouping(), this.bandsOf(log, heap), this.inside);
  }

  /** @param {Log} log @param {Heap} heap */
  foremostOf(log, heap) {
    const known = this.foremost.get(heap) ?? foremost(log, heap, this.grouping());
    this.foremost.set(heap, known);
    return known;
  }

  /** Returns the names with their own band. Two shown runs have the same ones, in A's order. @param {Log} log
   *  @param {Heap} heap */
  bandsOf(log, heap) {
    const runs = this.runs(),
      logs = runs.includes(log) ? runs : [log];
    return [
      ...new Set(
        logs.flatMap((of) => {
          const own = of.heaps.find(({ name }) => name === heap.name);
          return own ? [...this.foremostOf(of, own).keys()] : [];
        }),
      ),
    ];
  }

  /** @param {string} name */
  slotOf(name) {
    return NOBODY.includes(name) ? UNCLAIMED : (this.slots.get(name) ?? REST);
  }

  /** @param {import('./model.js').Group} group */
  slot(group) {
    return this.slotOf(group.name);
  }

  /** @param {string} name */
  visible(name) {
    const { only, hidden } = this.state;
    if (this.inside) return isInside(name, this.inside);
    return only ? name === only : !hidden.includes(name);
  }

  /** Returns the range that the charts are narrowed to, followed by " > ", or an empty string. */
  get inside() {
    const { only } = this.state;
    return only.endsWith(INSIDE) ? only : '';
  }

  allVisible() {
    return !this.state.only && !this.state.hidden.length;
  }

  /** Returns true if the search finds the name. @param {string} name */
  finds(name) {
    return this.state.search !== '' && !this.misses(name);
  }

  /** @param {string} name */
  misses(name) {
    return this.state.search !== '' && !name.toLowerCase().includes(this.state.search.toLowerCase());
  }
}
