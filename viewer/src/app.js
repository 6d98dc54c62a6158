/** The page: builds the charts, and keeps the charts, the tables and the URL in step. */
import { bar } from './bar.js';
import { jobCard } from './card.js';
import { BlockChart } from './blockchart.js';
import { HEIGHTS, ceilings, makeCharts, smallHeaps } from './charts.js';
import { commPanel } from './comms.js';
import { openLogs } from './data.js';
import { differencesPanel, verdictCard } from './differences.js';
import { element, isNarrow, keepingFocus, setTheme } from './dom.js';
import { explainPanel } from './explain.js';
import { cards } from './findings.js';
import { FlamePanel } from './flamepanel.js';
import { DEEDS } from './flows.js';
import { graphPanel } from './graphpanel.js';
import { lanePanel } from './lanepanel.js';
import { keptBlocksPanel, liveBlocksPanel } from './liveblocks.js';
import { markPanel } from './marks.js';
import { Minimap } from './minimap.js';
import { ELSE, INSIDE, OUTSIDE, isInside, isUnnamed } from './model.js';
import { ranksPanel } from './ranks.js';
import { nothing } from './runs.js';
import { segmentPanel } from './segments.js';
import { selectionLines } from './selection.js';
import { setLegendWidth } from './split.js';
import { StackChart } from './stackchart.js';
import { stepPanel } from './steppanel.js';
import { toHash } from './state.js';
import { peakPanel, pinPanel } from './tables.js';
import { complain } from './trouble.js';
import { View } from './view.js';

/**
 * @typedef {import('./data.js').Log} Log
 * @typedef {import('./data.js').Heap} Heap
 * @typedef {import('./charts.js').Chart} Chart
 */

/** The findings that a panel shows in detail. @type {[RegExp, (app: App, log: Log) => HTMLElement | null][]} */
const DETAILS = [
  [/communicators/, commPanel],
  [/graph/, graphPanel],
];

/** Returns the panels of graphs and communicators. @param {App} app @param {Log} log @param {boolean} isLead whether
 *  those that the first finding is about, or all others */
const detailPanels = (app, log, isLead) =>
  DETAILS.filter(([key]) => isLead === key.test(log.findings?.[0]?.key ?? '')).flatMap(
    ([, panel]) => panel(app, log) ?? [],
  );

const STILL = 200; // ms

export class App extends View {
  /** @param {Log[]} logs */
  constructor(logs) {
    super(logs);
    /** @type {Chart[]} */
    this.charts = [];
    /** @type {HTMLInputElement | null} */
    this.searchBox = null;
    this.root = /** @type {HTMLElement} */ (document.getElementById('app'));
    this.head = /** @type {HTMLElement} */ (document.getElementById('bar'));
    this.minimap = new Minimap(this);
    /** @type {import('./lanepanel.js').LanePanel | null} */
    this.lanes = null;
    /** @type {FlamePanel | null} */
    this.flame = null;
    this.pinned = element('div', {});
    /** Below the chart of the newest pin. */
    this.explained = element('div', {});
    this.kept = element('div', {});
    this.status = element('div', { class: 'status', role: 'status', hidden: true });
    this.side = element('div', {});
    /** The panels that show what the first finding is about. */
    this.lead = element('div', {});
    /** The position of the keyboard's cursor in all charts. @type {number | null} */
    this.cursor = null;
    /** The time at which the keyboard began to select a span. @type {number | null} */
    this.anchor = null;
    /** The cell that the picture of ranks described last. @type {{ row: number, column: number } | null} */
    this.cell = null;
    this.frame = 0;
    this.isStepping = false;
    this.resizing = 0;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.saving = undefined;
    addEventListener('pagehide', () => this.save());
  }

  // ---- building

  /** Builds everything again, after a change of the run, the grouping or the theme. */
  build() {
    keepingFocus(() => this.rebuild());
  }

  rebuild() {
    setTheme(this.dark ? 'dark' : 'light');
    for (const chart of this.charts) chart.destroy();
    this.name();
    this.lookAgain();
    this.head.replaceChildren(...bar(this));
    this.head.hidden = false;
    this.charts = makeCharts(this);
    this.lanes = lanePanel(this);
    this.flame = new FlamePanel(this);
    const charts = this.charts.length ? this.charts.map((chart) => chart.root) : [nothing()],
      overview = [this.minimap.root, ...(this.lanes ? [this.lanes.root] : [])],
      // a small screen has room for the card and one chart
      first = isNarrow() ? charts.splice(0, 1) : [],
      ofComms = /communicators/.test(this.runs()[0].findings?.[0]?.key ?? ''); // the panel is low
    const verdict = verdictCard(this),
      // the verdict on two runs says more than their cards
      ordered = verdict ? [verdict, ...first, cards(this)] : [cards(this), ...first];
    this.root.replaceChildren(
      ...[jobCard(this), ...ordered, ranksPanel(this), differencesPanel(this)].filter((panel) => panel !== null),
      ...(ofComms ? [this.lead] : []),
      ...overview,
      ...charts.splice(0, first.length ? 0 : 1),
      ...(ofComms ? [] : [this.lead]),
      ...smallHeaps(this, charts),
      this.pinned,
      this.flame.root,
      this.kept,
      this.side,
      this.status,
    );
    this.root.style.setProperty('--legend', `${HEIGHTS[0]}px`);
    setLegendWidth(this, this.state.legend);
    const width = this.chartWidth(),
      tops = ceilings(this.charts);
    // chartWidth() has just computed the layout, so measuring costs nothing here
    this.minimap.drawAnew();
    this.lanes?.draw();
    this.charts.forEach((chart) => chart.mount(width, tops.get(chart) ?? 1, true));
    this.fillSide();
    this.fillPins();
    this.fillStatus();
    this.showChosen();
  }

  chartWidth() {
    const plot = this.root.querySelector('.plot');
    return Math.max(280, plot ? plot.clientWidth : 800);
  }

  /** Fits the charts to the width of their places, once per frame. */
  resize() {
    cancelAnimationFrame(this.resizing);
    this.resizing = requestAnimationFrame(() => {
      const width = this.chartWidth();
      for (const chart of this.charts) chart.plot?.resize(width, chart.height);
      this.later();
    });
  }

  fillSide() {
    const names = this.shownHeaps();
    const panels = names.slice(0, 6).map((name) => peakPanel(this, name)),
      marks = markPanel(this),
      steps = this.runs().flatMap((log) => stepPanel(this, log) ?? []),
      details = (/** @type {boolean} */ isLead) => this.runs().flatMap((log) => detailPanels(this, log, isLead));
    this.lead.replaceChildren(...details(true));
    this.side.replaceChildren(
      ...steps,
      ...details(false),
      ...(marks ? [marks] : []),
      element('div', { class: 'two' }, ...panels),
    );
  }

  fillPins() {
    keepingFocus(() => {
      this.fillExplained();
      this.fillPinned();
    }, [this.explained, this.pinned]);
    this.fillSpan();
  }

  fillExplained() {
    const pin = this.pins.at(-1),
      explained = explainPanel(this),
      chart = this.charts.find(
        (one) => one instanceof StackChart && one.stack.heap.name === pin?.heap && one.stack.log.index === pin.log,
      );
    this.explained.replaceChildren(...(explained ? [explained] : []));
    chart?.root.after(this.explained);
  }

  fillPinned() {
    const gpus = [...new Set(this.shownHeaps().map((name) => name.split('/')[0]))]
      .filter((side) => side.startsWith('gpu'))
      .sort();
    const panels = [pinPanel(this), liveBlocksPanel(this), ...gpus.map((gpu) => segmentPanel(this, gpu))];
    this.pinned.replaceChildren(...panels.filter((panel) => panel !== null));
  }

  /** Fills the panels of the selected span and the pins. */
  fillSpan() {
    keepingFocus(() => {
      const kept = keptBlocksPanel(this);
      this.flame?.fill();
      this.kept.replaceChildren(...(kept ? [kept] : []));
    }, [this.kept, ...(this.flame ? [this.flame.root] : [])]);
  }

  // ---- frames and the link

  /** Schedules one update per frame. */
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

  /** Saves the state once the view has been still for a moment, because browsers limit how often the link may
   *  change. */
  saveSoon() {
    clearTimeout(this.saving);
    this.saving = setTimeout(() => this.save(), STILL);
  }

  /** Writes the state into the link. @param {boolean} [isStep] whether the browser's back button returns to the state
   *  before it */
  save(isStep = false) {
    clearTimeout(this.saving);
    if (this.isStepping) return;
    const hash = toHash(this.state, this.first);
    if (hash === location.hash) return;
    const link = hash || location.pathname + location.search;
    if (isStep) history.pushState(null, '', link);
    else history.replaceState(null, '', link);
  }

  /** Runs an action, after which the browser's back button returns to the state before it. @param {() => void} action */
  step(action) {
    if (this.isStepping) return action();
    this.save(); // the view may have moved since the last step
    this.isStepping = true;
    action();
    this.isStepping = false;
    this.save(true);
  }

  // ---- user actions

  /** @param {Partial<import('./state.js').State>} change */
  change(change) {
    this.step(() => {
      Object.assign(this.state, change);
      this.build();
    });
  }

  /** Shows the page in a given state. @param {import('./state.js').State} state */
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

  /** @param {'a' | 'b'} side @param {number} log its index, or -1 for none */
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
    else this.change({}); // charts of a range also show its small names
  }

  /** Narrows the charts to a range if one of them has a name in it. Otherwise shows all ranges again.
   *  @param {string} range */
  showUnder(range) {
    const { by, depth } = this.state,
      only = range + INSIDE,
      stacks = this.charts.flatMap((chart) =>
        'stacks' in chart ? chart.stacks : 'stack' in chart ? [chart.stack] : [],
      ),
      names = stacks.flatMap(({ all }) => all),
      is = by === 'range' || (by === 'auto' && range !== OUTSIDE), // outside of ranges there are better names
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

  /** Limits the legends to the names that contain the text. @param {string} text */
  filter(text) {
    this.state.filter = text;
    this.update();
  }

  /** Pins instants, which charts and tables show. @param {import('./state.js').State['pins']} pins */
  pin(pins) {
    this.step(() => {
      this.state.pins = pins;
      this.fillPins();
      this.redraw();
    });
  }

  /** Names a pin. @param {App['pins'][0]} pin @param {string} name */
  namePin(pin, name) {
    this.state.pins = this.pins.map((one) => (one === pin ? { ...pin, name: name || undefined } : one));
    this.fillPins();
    this.update();
  }

  /** Zooms to the selected span. */
  zoomToSelection() {
    if (!this.selection) return;
    const { from, to } = this.selection;
    this.step(() => {
      this.state.span = [];
      this.fillStatus();
      this.fillSpan();
      this.setView(from, to);
    });
  }

  /** Adds a second pin to a single one. Otherwise the new pin replaces all others. @param {App['pins'][0]} pin */
  addPin(pin) {
    this.pin(this.pins.length === 1 ? [this.pins[0], pin] : [pin]);
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

  /** Shows the selection and the keyboard's cursor in every chart. */
  showChosen() {
    for (const { plot } of this.charts) {
      plot?.choose(this.selection);
      if (this.cursor !== null) plot?.point(this.cursor);
    }
  }

  /** Drops the keyboard's cursor, because the mouse has taken over. */
  forgetCursor() {
    this.cursor = this.anchor = null;
  }

  /** Shows one block's life in the chart of blocks. @param {Log} log @param {Heap} heap @param {number} block */
  showBlock(log, heap, block) {
    if (this.state.blocks !== heap.name) this.change({ blocks: heap.name });
    const chart = this.charts.find((one) => one instanceof BlockChart && one.heap === heap && one.log === log);
    if (!(chart instanceof BlockChart)) return;
    chart.describe(block);
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

  /** Switches between the axis of time and another one. @param {'events' | 'instances'} to */
  turnAxis(to) {
    this.change({ axis: this.state.axis === to ? 'time' : to });
  }

  turn() {
    this.change({ theme: this.dark ? 'light' : 'dark' });
  }
}
