/** The page: builds the charts, and keeps them, the tables and the URL in step. */
import { origin } from './align.js';
import { BY_TIME, byEvents, scaled } from './axis.js';
import { bar } from './bar.js';
import { BlockChart } from './blockchart.js';
import { HEIGHTS, ceilings, makeCharts } from './charts.js';
import { REST, UNCLAIMED } from './colours.js';
import { openLogs } from './data.js';
import { callAlike, callDevices } from './devices.js';
import { comparedLog, differencesPanel } from './differences.js';
import { element, keepingFocus, setTheme } from './dom.js';
import { strips } from './findings.js';
import { FlamePanel } from './flamepanel.js';
import { DEEDS } from './flows.js';
import { graphPanel } from './graphpanel.js';
import { lanePanel } from './lanepanel.js';
import { keptBlocksPanel, liveBlocksPanel } from './liveblocks.js';
import { markPanel } from './marks.js';
import { Minimap } from './minimap.js';
import { ELSE, INSIDE, NOBODY, OUTSIDE, foremost, isExact, isInside, isUnnamed, spanAt, stack } from './model.js';
import { opening } from './opening.js';
import { pairs } from './pairs.js';
import { killedLog, ranksPanel } from './ranks.js';
import { bestOf, colourAll, nothing, runList } from './runs.js';
import { segmentPanel } from './segments.js';
import { selectionLines } from './selection.js';
import { StackChart } from './stackchart.js';
import { stepPanel } from './steppanel.js';
import { fromHash, initial, repaired, toHash } from './state.js';
import { peakPanel, pinPanel } from './tables.js';
import { complain } from './trouble.js';

/**
 * @typedef {import('./data.js').Log} Log
 * @typedef {import('./data.js').Heap} Heap
 * @typedef {import('./model.js').Stack} Stack
 * @typedef {import('./charts.js').Chart} Chart
 */

const PAPER = matchMedia('print'),
  DARK = matchMedia('(prefers-color-scheme: dark)'),
  STILL = 200, // ms
  SHORTEST = 200; // ns: the least that the axis shows

export class App {
  /** @param {Log[]} logs */
  constructor(logs) {
    this.logs = logs;
    this.first = initial();
    const compared = comparedLog(logs),
      killed = killedLog(logs);
    if (killed) this.first.a = killed.index;
    else if (compared) [this.first.a, this.first.b] = [compared.differsFrom, compared.index];
    else if (logs.length === 2) this.first.b = 1;
    this.first.by = bestOf(logs);
    this.state = repaired(fromHash(location.hash, this.first), logs);
    /** @type {Chart[]} */
    this.charts = [];
    /** @type {Map<string, Stack>} */
    this.stacks = new Map();
    /** Of each heap the names with a band of their own, by weight. @type {Map<Heap, Map<string, number>>} */
    this.foremost = new Map();
    /** @type {Map<string, number>} */
    this.slots = new Map();
    /** @type {string | null} */
    this.lit = null;
    /** @type {HTMLInputElement | null} */
    this.searchBox = null;
    /** @type {[number, number]} */
    this.whole = [0, 1];
    /** @type {[number, number]} */
    this.view = [0, 1];
    /** What it was, or would be, as the page opened. @type {[number, number]} */
    this.opened = [0, 1];
    /** @type {import('./axis.js').Axis} */
    this.axis = BY_TIME;
    this.root = /** @type {HTMLElement} */ (document.getElementById('app'));
    this.head = /** @type {HTMLElement} */ (document.getElementById('bar'));
    this.minimap = new Minimap(this);
    /** @type {import('./lanepanel.js').LanePanel | null} */
    this.lanes = null;
    /** @type {FlamePanel | null} */
    this.flame = null;
    this.pinned = element('div', {});
    this.kept = element('div', {});
    this.status = element('div', { class: 'status', role: 'status', hidden: true });
    this.side = element('div', {});
    /** The keyboard's, in all charts. @type {number | null} */
    this.cursor = null;
    /** Where it began to choose a span. @type {number | null} */
    this.anchor = null;
    /** The one of ranks and ranges that was told last. @type {{ row: number, column: number } | null} */
    this.cell = null;
    this.frame = 0;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.saving = undefined;
    addEventListener('pagehide', () => this.save());
  }

  // ---- what is shown

  get dark() {
    const { theme } = this.state;
    if (PAPER.matches) return false;
    return theme ? theme === 'dark' : DARK.matches;
  }

  get pins() {
    return this.state.pins;
  }

  /** The span that is chosen. @returns {{ from: number, to: number } | null} */
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

  shownHeaps() {
    const { heaps } = this.state;
    const names = this.heapNames().filter((name) =>
      heaps.endsWith('/') ? name.startsWith(heaps) : !heaps || name === heaps,
    );
    return names.length ? names : this.heapNames();
  }

  /** The longest path of what is stacked. */
  deepest() {
    const inStacks = ['python', 'stack'].includes(this.state.by);
    return Math.max(0, ...this.runs().flatMap((log) => (inStacks ? log.stacks : log.paths).map((path) => path.length)));
  }

  /** Whether anything that is stacked has such a call stack. @param {'python' | 'native'} kind */
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

  /** Of a run that is shown. @param {Log} log @param {string} name @returns {Stack | undefined} */
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

  /** Names with a band of their own: of two runs that are shown the same ones, in A's order. @param {Log} log @param {Heap} heap */
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

  /** The range that charts show alone, with " > " behind it. */
  get inside() {
    const { only } = this.state;
    return only.endsWith(INSIDE) ? only : '';
  }

  allVisible() {
    return !this.state.only && !this.state.hidden.length;
  }

  /** @param {string} name */
  misses(name) {
    return this.state.search !== '' && !name.toLowerCase().includes(this.state.search.toLowerCase());
  }

  // ---- building

  /** Everything anew: another run, grouping, theme. */
  build() {
    keepingFocus(() => this.rebuild());
  }

  rebuild() {
    setTheme(this.dark ? 'dark' : 'light');
    for (const chart of this.charts) chart.destroy();
    this.stacks.clear();
    this.foremost.clear();
    this.pairNames();
    this.slots = colourAll(this);
    this.whole = this.extent(this.runs());
    this.axis = this.axisOf();
    this.opened = this.within(...this.opening());
    const { from, to } = this.state;
    this.view = from !== null && to !== null && from < to ? this.within(from, to) : this.opened;
    this.head.replaceChildren(...bar(this));
    this.head.hidden = false;
    this.charts = makeCharts(this);
    this.lanes = lanePanel(this);
    this.flame = new FlamePanel(this);
    this.root.replaceChildren(
      runList(this),
      ...strips(this),
      ...[ranksPanel(this), differencesPanel(this)].filter((panel) => panel !== null),
      this.minimap.root,
      ...(this.lanes ? [this.lanes.root] : []),
      ...(this.charts.length ? this.charts.map((chart) => chart.root) : [nothing()]),
      this.pinned,
      this.flame.root,
      this.kept,
      this.side,
      this.status,
    );
    this.root.style.setProperty('--legend', `${HEIGHTS[0]}px`);
    const width = this.chartWidth(),
      tops = ceilings(this.charts);
    this.charts.forEach((chart) => chart.mount(width, tops.get(chart) ?? 1, true));
    this.fillSide();
    this.fillPins();
    this.minimap.drawAnew();
    this.lanes?.draw();
    this.fillStatus();
    this.showChosen();
  }

  chartWidth() {
    const plot = this.root.querySelector('.plot');
    return Math.max(280, plot ? plot.clientWidth : 800);
  }

  /** From the first begin to the last end. @param {Log[]} logs @returns {[number, number]} */
  extent(logs) {
    const from = Math.min(...logs.map((log) => 0 - this.origin(log)));
    const to = Math.max(...logs.map((log) => log.duration - this.origin(log)));
    return [from, Math.max(to, from + SHORTEST)];
  }

  axisOf() {
    const heaps = this.runs().flatMap((log) => log.heaps.map((heap) => ({ heap, origin: this.origin(log) })));
    return this.state.axis === 'events' ? byEvents(heaps, this.whole) : BY_TIME;
  }

  /** Where in the view a time of a log lies. @param {number} origin the log's */
  scaleOf(origin) {
    const { share, at } = scaled(this.axis, this.view);
    return {
      share: (/** @type {number} */ ns) => share(ns - origin),
      at: (/** @type {number} */ part) => at(part) + origin,
    };
  }

  /** What the runs that are shown open on. @returns {[number, number]} */
  opening() {
    const spans = this.runs().map((log) => opening(log).map((ns) => ns - this.origin(log)));
    return [Math.min(...spans.map(([from]) => from)), Math.max(...spans.map(([, to]) => to))];
  }

  fillSide() {
    const names = this.shownHeaps();
    const panels = names.slice(0, 6).map((name) => peakPanel(this, name));
    const marks = markPanel(this);
    const steps = this.runs().flatMap((log) => stepPanel(this, log) ?? []),
      graphs = this.runs().flatMap((log) => graphPanel(this, log) ?? []);
    this.side.replaceChildren(
      ...steps,
      ...graphs,
      ...(marks ? [marks] : []),
      element('div', { class: 'two' }, ...panels),
    );
  }

  fillPins() {
    keepingFocus(() => this.fillPinned(), [this.pinned]);
    this.fillSpan();
  }

  fillPinned() {
    const gpus = [...new Set(this.shownHeaps().map((name) => name.split('/')[0]))]
      .filter((side) => side.startsWith('gpu'))
      .sort();
    const panels = [pinPanel(this), liveBlocksPanel(this), ...gpus.map((gpu) => segmentPanel(this, gpu))];
    this.pinned.replaceChildren(...panels.filter((panel) => panel !== null));
  }

  /** What the selection did, or the pins show. */
  fillSpan() {
    keepingFocus(() => {
      const kept = keptBlocksPanel(this);
      this.flame?.fill();
      this.kept.replaceChildren(...(kept ? [kept] : []));
    }, [this.kept, ...(this.flame ? [this.flame.root] : [])]);
  }

  // ---- the view

  /** What of a span of time can be shown. @param {number} from @param {number} to @returns {[number, number]} */
  within(from, to) {
    const [low, high] = this.whole,
      length = Math.min(high - low, Math.max(SHORTEST, to - from)),
      start = Math.min(high - length, Math.max(low, from));
    return [start, start + length];
  }

  /** @param {number} from @param {number} to */
  setView(from, to) {
    this.view = this.within(from, to);
    const asOpened = this.view.every((ns, i) => ns === this.opened[i]);
    [this.state.from, this.state.to] = asOpened ? [null, null] : this.view;
    this.later();
  }

  /** One update a frame. */
  later() {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.redraw();
      this.saveSoon();
    });
  }

  update() {
    this.redraw();
    this.save();
  }

  redraw() {
    const tops = ceilings(this.charts);
    for (const chart of this.charts) chart.update(tops.get(chart) ?? 1);
    this.showChosen();
    this.minimap.draw();
    this.lanes?.draw();
  }

  /** Once the view has been still for a moment: a browser takes so many changes of the link in a time, and no more. */
  saveSoon() {
    clearTimeout(this.saving);
    this.saving = setTimeout(() => this.save(), STILL);
  }

  /** Into the link. */
  save() {
    clearTimeout(this.saving);
    const hash = toHash(this.state, this.first);
    if (hash !== location.hash) history.replaceState(null, '', hash || location.pathname + location.search);
  }

  /** @param {number} share where in the view the time stays, 0 to 1 @param {number} factor */
  zoom(share, factor) {
    const { place, time } = this.axis,
      [from, to] = this.view.map(place),
      [low, high] = this.whole.map(place),
      length = Math.min(high - low, Math.max(this.axis === BY_TIME ? SHORTEST : 1, (to - from) * factor)),
      start = Math.min(high - length, Math.max(low, from + share * (to - from - length)));
    this.setView(time(start), time(start + length));
  }

  /** As the keys do: the newest pin stays where it is, else the middle. @param {number} factor */
  zoomIn(factor) {
    const share = this.scaleOf(0).share(this.pins.at(-1)?.at ?? NaN);
    this.zoom(share >= 0 && share <= 1 ? share : 0.5, factor);
  }

  /** @param {number} by of the view's length */
  pan(by) {
    const { place, time } = this.axis,
      [from, to] = this.view.map(place),
      [low, high] = this.whole.map(place),
      start = Math.min(high - (to - from), Math.max(low, from + by * (to - from)));
    this.setView(time(start), time(start + to - from));
  }

  fit() {
    this.setView(...this.whole);
  }

  reopen() {
    this.setView(...this.opened);
  }

  /** @param {number} at @param {number} length */
  centre(at, length) {
    this.setView(at - length / 2, at + length / 2);
  }

  // ---- what the user does

  /** @param {Partial<import('./state.js').State>} change */
  change(change) {
    Object.assign(this.state, change);
    this.build();
    this.save();
  }

  /** Shows what a state says. @param {import('./state.js').State} state */
  async open(state) {
    await this.openLogs([state.a, state.b]);
    this.state = state;
    this.build();
  }

  /** @param {number[]} numbers */
  openLogs(numbers) {
    return openLogs(
      this.logs.filter(({ index }) => numbers.includes(index)),
      document,
    );
  }

  /** @param {'a' | 'b'} side @param {number} log -1: none */
  async choose(side, log) {
    const anew = { from: null, to: null, pins: [], span: [] };
    try {
      await this.openLogs([log]);
      const { a, b } = this.state;
      this.change(side === 'a' ? { a: log, b: b === log ? a : b, ...anew } : { b: log === a ? -1 : log, ...anew });
    } catch (error) {
      complain(error);
    }
  }

  /** @param {string | null} name */
  light(name) {
    if (this.lit === name) return;
    this.lit = name;
    for (const line of this.root.querySelectorAll('tr[data-name]'))
      line.classList.toggle('lit', name !== null && /** @type {HTMLElement} */ (line).dataset.name === name);
    for (const chart of this.charts) chart.redraw();
  }

  /** @param {string} name */
  toggle(name) {
    const { only, hidden } = this.state;
    if (only) this.showOnly('');
    else {
      this.state.hidden = hidden.includes(name) ? hidden.filter((other) => other !== name) : [...hidden, name];
      this.update();
    }
  }

  /** @param {string} name */
  solo(name) {
    if (this.inside && name === this.inside + ELSE) return;
    this.state.hidden = [];
    this.showOnly(this.state.only === name ? '' : name);
  }

  /** @param {string} only as in the state */
  showOnly(only) {
    const before = this.inside;
    this.state.only = only;
    if (this.inside === before) this.update();
    else this.change({}); // of a range all is shown, what is small in it, too
  }

  /** Charts show a range and all in it alone, where one has a name in it; else no range. @param {string} range */
  showUnder(range) {
    const { by, depth } = this.state,
      only = range + INSIDE,
      stacks = this.charts.flatMap((chart) =>
        'stacks' in chart ? chart.stacks : 'stack' in chart ? [chart.stack] : [],
      ),
      names = stacks.flatMap(({ all }) => all),
      is = by === 'range' || (by === 'auto' && range !== OUTSIDE), // of these some have a better name
      there = is && !depth && !isUnnamed(range) && names.some((name) => isInside(name, only));
    if (range && there) this.showOnly(only);
    else this.showOnly(this.inside ? '' : this.state.only);
  }

  /** @param {string} text */
  find(text) {
    this.state.search = text;
    const hits = text ? new Set([...this.slots.keys()].filter((name) => !this.misses(name))) : new Set();
    this.light(hits.size === 1 ? [...hits][0] : null);
    this.flame?.mark();
    this.update();
  }

  /** Legends list the names that hold the text. @param {string} text */
  filter(text) {
    this.state.filter = text;
    this.update();
  }

  /** Charts and tables show what was then. @param {import('./state.js').State['pins']} pins */
  pin(pins) {
    this.state.pins = pins;
    this.fillPins();
    this.update();
  }

  /** Behind the one that there is; a third begins anew. @param {App['pins'][0]} pin */
  addPin(pin) {
    this.pin(this.pins.length === 1 ? [this.pins[0], pin] : [pin]);
  }

  /** The span of an instant on the axis; -1 before the first. @param {Log} log @param {Heap} heap @param {number} at */
  pinSpan(log, heap, at) {
    return spanAt(heap.spans.start, at + this.origin(log));
  }

  /** When the state was that is drawn at a time: what a click there pins. @param {Log} log @param {Heap} heap
   *  @param {number} span that is drawn @param {number} ns */
  instantOf(log, heap, span, ns) {
    const itself = span < 0 || (span === this.pinSpan(log, heap, ns) && isExact(heap, span));
    return itself ? ns : heap.spans.time[span] - this.origin(log);
  }

  /** @param {number} from @param {number} to */
  select(from, to) {
    this.state.span = [from, to];
    if (!DEEDS.some((deed) => deed === this.state.flame)) this.state.flame = '';
    this.fillStatus();
    this.fillSpan();
    this.showChosen();
    this.saveSoon();
  }

  /** The selection and the keyboard's cursor, in every chart. */
  showChosen() {
    for (const { plot } of this.charts) {
      plot?.choose(this.selection);
      if (this.cursor !== null) plot?.point(this.cursor);
    }
  }

  /** The mouse has taken over. */
  forgetCursor() {
    this.cursor = this.anchor = null;
  }

  /** @param {number} by of the view's length @param {boolean} choosing a span: from where it was to where it is */
  moveCursor(by, choosing) {
    const [from, to] = this.view,
      [low, high] = this.whole,
      pin = this.pins.at(-1)?.at ?? NaN,
      start = this.cursor ?? (pin >= from && pin <= to ? pin : (from + to) / 2),
      { share, at: timeAt } = this.scaleOf(0),
      at = Math.min(high, Math.max(low, timeAt(share(start) + by)));
    this.anchor = choosing ? (this.anchor ?? start) : null;
    this.cursor = at;
    if (at < from || at > to) this.pan(by);
    if (this.anchor !== null) this.select(Math.min(this.anchor, at), Math.max(this.anchor, at));
    else this.showChosen();
  }

  /** In the chart that has the focus, else the first one. */
  pinCursor() {
    const charts = this.charts.flatMap((chart) => (chart instanceof BlockChart ? [] : [chart])),
      chart = charts.find(({ root }) => root.contains(document.activeElement)) ?? charts[0];
    if (chart && this.cursor !== null) chart.pin(Math.round(this.cursor));
  }

  /** The next of the largest blocks at the cursor, the pin or the peak. */
  nextBlock() {
    const open = () => this.charts.find((chart) => chart instanceof BlockChart),
      has = this.shownHeaps().find((name) =>
        this.runs().some((log) => log.heaps.some((heap) => heap.name === name && heap.blocks.from.length)),
      );
    if (!open() && has) this.change({ blocks: has });
    const chart = open();
    if (!(chart instanceof BlockChart)) return;
    chart.next(this.cursor ?? this.pins.at(-1)?.at ?? null);
    chart.root.scrollIntoView({ block: 'nearest' });
  }

  /** One block's life, in the chart of blocks. @param {Log} log @param {Heap} heap @param {number} block */
  showBlock(log, heap, block) {
    if (this.state.blocks !== heap.name) this.change({ blocks: heap.name });
    const chart = this.charts.find((one) => one instanceof BlockChart && one.heap === heap && one.log === log);
    if (!(chart instanceof BlockChart)) return;
    chart.tell(block);
    chart.root.scrollIntoView({ block: 'nearest' });
  }

  fillStatus() {
    this.status.hidden = !this.selection;
    this.status.replaceChildren(...selectionLines(this));
  }

  clear() {
    const narrowed = this.inside;
    this.state.pins = [];
    this.state.search = this.state.filter = '';
    this.state.hidden = [];
    this.state.only = this.state.flame = this.state.flameAt = '';
    this.state.span = [];
    this.cursor = this.anchor = null;
    if (this.searchBox) this.searchBox.value = '';
    for (const { plot } of this.charts) plot?.point(null);
    this.light(null);
    if (narrowed) return this.change({});
    this.fillPins();
    this.fillStatus();
    this.update();
  }

  turnAxis() {
    this.change({ axis: this.state.axis === 'events' ? 'time' : 'events' });
  }

  turn() {
    this.change({ theme: this.dark ? 'light' : 'dark' });
  }
}
