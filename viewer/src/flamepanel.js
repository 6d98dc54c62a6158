/** A flame graph with its root at the top: the holders of memory at an instant, the blocks of a span of time, or the
 *  difference of two instants. */
import { solid } from './colours.js';
import { ARROWS, button, element, keepingFocus, nameText } from './dom.js';
import { amount, count, exactly, share, size, time } from './format.js';
import { layout, outermost, ownCalls, pathTo, piecesAt, piecesOf, places, side, tree } from './icicle.js';
import { DEEDS, flowed, isKnown, slicesOf } from './flows.js';
import { NOBODY, WHOLE, isEstimated, peakSpan } from './model.js';
import { join } from './names.js';
import { pairs } from './pairs.js';

/**
 * @typedef {import('./app.js').App} App
 * @typedef {import('./icicle.js').Box} Box
 * @typedef {{ log: import('./data.js').Log, heap: import('./data.js').Heap, span: number, what: string }} Instant
 * @typedef {{ root: Box, what: string, about: boolean }} Shown
 * @typedef {{ mode: string, text: string, title: string, shown: () => Shown | null }} Mode
 */

const TITLES = {
    allocated: 'blocks that were allocated in the selected span',
    freed: 'blocks that were freed in the selected span',
    kept: 'blocks that were allocated in the selected span and still there at its end',
  },
  TOLD = { allocated: 'allocated', freed: 'freed', kept: 'allocated and kept' };

const LEAST = 0.0015; // as a share of the panel's width

/** Returns true if the tree names no holder. @param {Box} root */
const isBare = ({ children }) => children.every((box) => !box.children.length && NOBODY.includes(box.name));

/** Returns the pinned instants. @param {App} app @returns {Instant[]} */
function pinned(app) {
  return app.pins.flatMap((pin) => {
    const log = app.logs[pin.log],
      heap = log?.heaps.find(({ name }) => name === pin.heap);
    if (!heap) return [];
    const span = app.pinSpan(log, heap, pin.at),
      at = span < 0 ? 0 : heap.spans.time[span];
    return [{ log, heap, span, what: `${roleOf(app, log)}${heap.name} at ${time(at)}` }];
  });
}

/** @param {App} app @param {import('./data.js').Log} log */
const roleOf = (app, log) => (app.runs().length > 1 ? `${app.roleOf(log)} ` : '');

/** Returns the largest heap's peak in each run. @param {App} app @returns {Instant[]} */
function peaks(app) {
  const [name] = app.shownHeaps();
  return app.runs().flatMap((log) => {
    const heap = log.heaps.find((one) => one.name === name);
    return heap ? [{ log, heap, span: peakSpan(heap), what: `${roleOf(app, log)}${name} at its peak` }] : [];
  });
}

export class FlamePanel {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    /** @type {import('./icicle.js').Laid[][]} */
    this.rows = [];
    /** @type {Shown | null} */
    this.shown = null;
    this.tools = element('div', { class: 'tools segmented', role: 'group', 'aria-label': 'what the boxes are' });
    this.sub = element('span', { class: 'sub' });
    this.matched = element('span', { class: 'matched', role: 'status' });
    this.order = element('div', { class: 'tools segmented', role: 'group', 'aria-label': 'order and choice of calls' });
    this.path = element('p', { class: 'open path' });
    this.graph = element('div', {
      class: 'icicle',
      role: 'group',
      'aria-label': 'holders of memory: ranges, below them calls',
    });
    this.root = element(
      'section',
      { class: 'panel', 'data-panel': 'flame' },
      this.tools,
      this.order,
      element('h2', {}, 'Flame graph', this.sub, this.matched),
      this.path,
      this.graph,
    );
    this.graph.addEventListener('keydown', (event) => this.walk(event));
    this.graph.addEventListener('mouseleave', () => app.light(null));
  }

  // ---- modes

  /** @returns {Mode[]} */
  modes() {
    const { app } = this,
      pins = pinned(app),
      first = pins.slice(-1).concat(peaks(app))[0],
      two = pins.length === 2 ? pins : peaks(app);
    /** @type {Mode[]} */
    const all = [];
    if (first)
      all.push({
        mode: 'live',
        text: 'live',
        title: 'holders of memory at that instant',
        shown: () => this.live(first),
      });
    if (two.length === 2)
      all.push({
        mode: 'difference',
        text: 'difference',
        title: 'what differs between two pins, or two runs at their peaks',
        shown: () => this.difference(two),
      });
    return first ? [...all, ...this.deeds(first)] : all;
  }

  /** Returns the lines that are expanded into their parts, or null if all are, because paths are cut to a depth. */
  unfolded() {
    const { depth, unfolded } = this.app.state;
    return depth ? null : unfolded;
  }

  /** @param {Instant} of @returns {Shown} */
  live({ log, heap, span, what }) {
    const pieces = piecesAt(log, heap, span, this.unfolded(), log.renamed);
    return { root: this.treeOf([side(this.calls(pieces, log))]), what, about: isEstimated(heap) };
  }

  /** Returns the modes for the selected span. @param {Instant} of @returns {Mode[]} */
  deeds({ log, heap }) {
    const { selection } = this.app;
    if (!selection || !isKnown(heap)) return [];
    return DEEDS.map((deed) => ({
      mode: deed,
      text: deed,
      title: TITLES[deed],
      shown: () => this.deed(log, heap, deed),
    }));
  }

  /** @param {import('./data.js').Log} log @param {import('./data.js').Heap} heap @param {import('./flows.js').Deed} deed @returns {Shown} */
  deed(log, heap, deed) {
    const { app } = this,
      { from, to } = app.selection ?? { from: 0, to: 0 },
      origin = app.origin(log),
      slices = slicesOf(heap.flows, from + origin, to + origin, log.duration),
      { bytes } = flowed(heap.flows, slices, deed, heap.bands.length),
      where = places(log, heap, this.unfolded(), log.renamed).map((place) => ({ ...place, least: () => true })),
      changes = heap.flows.changes > 1 ? `, to ${count(heap.flows.changes)} changes at its ends` : '',
      what = `${roleOf(app, log)}${heap.name}, ${TOLD[deed]} from ${time(slices.from, 1e3)} to ${time(slices.to, 1e3)}${changes}`;
    return { root: this.treeOf([side(this.calls(piecesOf(where, bytes), log))]), what, about: false };
  }

  /** @param {Instant[]} two @returns {Shown} */
  difference(two) {
    const unfolded = this.unfolded(),
      [a, b] = two,
      apart = a.log !== b.log,
      renamed = apart
        ? pairs(a.log, b.log, { by: 'range', depth: unfolded ? 0 : WHOLE, unfolded: unfolded ?? [] })
        : undefined;
    const sides = two.map(({ log, heap, span }) =>
      side(
        this.calls(piecesAt(log, heap, span, unfolded, log === a.log ? undefined : renamed), log),
        apart ? (frame) => log.matching.get(frame) ?? frame : undefined,
      ),
    );
    return {
      root: this.treeOf(sides),
      what: two.map(({ what }) => what).join('   →   '),
      about: two.some(({ heap }) => isEstimated(heap)),
    };
  }

  /** Returns the pieces with the calls that the user wants to see. @param {import('./icicle.js').Piece[]} pieces
   *  @param {import('./data.js').Log} log */
  calls(pieces, log) {
    return this.app.state.flameOwn ? ownCalls(pieces, log.foreign) : pieces;
  }

  /** @param {import('./icicle.js').Side[]} sides */
  treeOf(sides) {
    return tree(sides, this.app.state.flameUp);
  }

  /** Returns the buttons that turn the graph around and hide calls of libraries, if there are calls. */
  orders() {
    const { app } = this,
      { flameUp, flameOwn } = app.state,
      logs = app.runs();
    if (logs.every(({ stacks }) => stacks.length < 2)) return [];
    const turn = (/** @type {Partial<import('./state.js').State>} */ change) => {
      Object.assign(app.state, change, { flameAt: '' });
      this.fill();
      app.save();
    };
    return [
      button('bottom-up', 'begin with the innermost calls', () => turn({ flameUp: !flameUp }), flameUp),
      ...(logs.some(({ foreign }) => foreign.size)
        ? [
            button(
              'own code',
              "hide calls that are not the program's own",
              () => turn({ flameOwn: !flameOwn }),
              flameOwn,
            ),
          ]
        : []),
    ];
  }

  // ---- drawing

  fill() {
    const { app } = this,
      modes = this.modes(),
      wanted = app.state.flame || (app.selection ? 'kept' : app.pins.length === 2 ? 'difference' : ''),
      is = (/** @type {Mode} */ { mode }) => mode === wanted;
    let now = modes.find(is) ?? modes[0];
    this.root.hidden = !now;
    this.shown = now?.shown() ?? null;
    if (this.shown && wanted === 'kept' && !app.state.flame && !this.shown.root.bytes.some(Boolean)) {
      [now] = modes; // nothing was allocated in the span
      this.shown = now.shown();
    }
    if (this.shown && now.mode === 'live' && isBare(this.shown.root)) this.root.hidden = true;
    this.tools.replaceChildren(
      ...modes.map(({ mode, text, title }) => button(text, title, () => this.choose(mode), mode === now.mode)),
    );
    keepingFocus(() => this.order.replaceChildren(...this.orders()), [this.order]);
    this.draw();
  }

  /** @param {string} mode */
  choose(mode) {
    this.app.state.flame = mode;
    this.fill();
    this.app.save();
    /** @type {HTMLElement | null} */ (this.tools.querySelector('[aria-pressed="true"]'))?.focus();
  }

  draw() {
    const { shown } = this;
    if (!shown) return;
    const path = pathTo(shown.root, this.app.state.flameAt),
      top = path[path.length - 1],
      focused = this.focused();
    this.rows = layout(top, LEAST);
    const boxes = this.rows.flatMap((row, depth) => row.map((laid) => this.box(laid, depth)));
    this.graph.style.height = `${this.rows.length * 21}px`;
    this.graph.replaceChildren(...boxes);
    const again = boxes.find((box) => box.dataset.key === focused) ?? boxes[0];
    again.tabIndex = 0;
    if (focused !== null) again.focus({ preventScroll: true });
    this.sub.textContent = `${shown.what}: ${this.text(shown.root)}`;
    this.path.replaceChildren(
      ...path.slice(0, -1).flatMap((box) => [button(box.name, `back to ${box.name}`, () => this.zoom(box)), ' > ']),
      ...(path.length > 1 ? [join(top.frames)] : []),
    );
    this.mark();
  }

  /** @returns {string | null} the key of the box with the focus */
  focused() {
    const { activeElement } = document;
    return activeElement instanceof HTMLElement && this.graph.contains(activeElement)
      ? (activeElement.dataset.key ?? '')
      : null;
  }

  /** @param {Box} box */
  text({ bytes, least, about: estimated }) {
    const about = estimated || (this.shown?.about ?? false);
    if (bytes.length < 2) return amount(bytes[0], least[0], about);
    return `${least.some(Boolean) || about ? '≈ ' : ''}${size(bytes[1] - bytes[0], true)}`;
  }

  /** @param {Box} box */
  said(box) {
    const { bytes, least, frames } = box,
      whole = /** @type {Shown} */ (this.shown).root,
      about = box.about || this.shown?.about ? '~' : '';
    const numbers =
      bytes.length < 2
        ? `${about}${exactly(bytes[0], least[0], box.about ? box.error : 0)}, ${share(bytes[0], whole.bytes[0])}`
        : `${about}${exactly(bytes[0], least[0])} → ${exactly(bytes[1], least[1])}: ${this.text(box)}`;
    return `${frames.join('\n')}\n${numbers}`;
  }

  /** @param {import('./icicle.js').Laid} laid @param {number} row */
  box({ box, left, width }, row) {
    const { app } = this,
      change = box.bytes.length > 1 ? box.bytes[1] - box.bytes[0] : 0,
      named = app.slots.has(box.within) ? box.within : null;
    const made = /** @type {HTMLButtonElement} */ (
      element(
        'button',
        {
          type: 'button',
          tabindex: -1,
          title: this.said(box),
          'data-key': box.key,
          'data-bytes': box.bytes.join(),
          class: change > 0 ? 'grown' : change < 0 ? 'shrunk' : '',
          onclick: () => this.zoom(box),
          onmouseenter: () => app.light(named),
        },
        nameText(join(box.frames)),
        element('span', { class: 'amount' }, this.text(box)),
      )
    );
    Object.assign(made.style, { left: `${left * 100}%`, width: `${width * 100}%`, top: `${row * 21}px` });
    if (box.bytes.length < 2 && named !== null) {
      const tone = solid(app.slotOf(named), app.dark);
      made.style.borderBottomColor = tone;
      made.style.setProperty('--tone', `color-mix(in srgb, ${tone} ${box.range === null ? 12 : 28}%, var(--ground))`);
    }
    return made;
  }

  /** Highlights the boxes that match the search. All others fade. */
  mark() {
    const { app, shown } = this,
      wanted = app.state.search !== '';
    if (!shown) return;
    const is = (/** @type {Box} */ box) => box.frames.some((name) => !app.misses(name));
    this.rows.flat().forEach(({ box }, i) => this.graph.children[i].classList.toggle('found', wanted && is(box)));
    this.graph.classList.toggle('searched', wanted);
    const found = wanted ? outermost(shown.root, is) : [],
      sums = shown.root.bytes.map((_, s) => found.reduce((sum, box) => sum + box.bytes[s], 0));
    this.graph.dataset.found = wanted ? sums.join() : '';
    this.matched.textContent = wanted ? this.matchText(found, sums) : '';
  }

  /** Returns the bytes of the boxes that match the search. @param {Box[]} found @param {number[]} sums */
  matchText(found, sums) {
    const { root, about } = /** @type {Shown} */ (this.shown),
      isAbout = about || found.some((box) => box.about),
      least = found.some((box) => box.least.some(Boolean));
    if (sums.length > 1) return `matched: ${isAbout || least ? '≈ ' : ''}${size(sums[1] - sums[0], true)}`;
    return `matched: ${amount(sums[0], least, isAbout)}, ${share(sums[0], root.bytes[0])}`;
  }

  // ---- user actions

  /** Zooms into a box. The charts show only its range. @param {Box} box */
  zoom(box) {
    this.app.state.flameAt = box.key;
    const path = pathTo(/** @type {Shown} */ (this.shown).root, box.key),
      range = path.filter((one) => one.range !== null).at(-1)?.range ?? '';
    this.app.showUnder(range);
    this.app.flame?.draw();
  }

  /** Zooms into the outermost box of a name, otherwise searches for it. @param {string} name */
  goTo(name) {
    const { app, shown } = this,
      is = (/** @type {Box} */ box) => box.range === name || join(box.frames) === name,
      [box] = shown ? outermost(shown.root, is) : [];
    if (!box) return app.find(name);
    app.state.flameAt = box.key;
    this.draw();
    app.save();
  }

  /** @param {KeyboardEvent} event */
  walk(event) {
    const [down, right] = ARROWS[event.key] ?? [0, 0],
      key = this.focused();
    if (key === null || (!down && !right)) return;
    event.preventDefault();
    event.stopPropagation();
    const row = this.rows.findIndex((laid) => laid.some(({ box }) => box.key === key)),
      at = this.rows[row].findIndex(({ box }) => box.key === key),
      { left } = this.rows[row][at],
      beside = this.rows[row + down] ?? [],
      next = right ? beside[at + right] : (beside.filter((laid) => laid.left <= left + 1e-9).at(-1) ?? beside[0]);
    if (!next) return;
    for (const box of this.graph.children) {
      const mine = /** @type {HTMLElement} */ (box).dataset.key === next.box.key;
      /** @type {HTMLElement} */ (box).tabIndex = mine ? 0 : -1;
      if (mine) /** @type {HTMLElement} */ (box).focus();
    }
  }
}
