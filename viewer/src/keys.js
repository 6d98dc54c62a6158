/** The keyboard does everything that the mouse does. */
import { moveCursor, nextBlock, pinCursor } from './cursor.js';
import { button, element } from './dom.js';
import { toMark, toPeak } from './steps.js';

/** @typedef {import('./app.js').App} App */

const STEP = 0.01; // of the view

/** @type {[string[], string, (app: App, event: KeyboardEvent) => void][]} */
const KEYS = [
  [['w'], 'zoom in', (app) => app.zoomIn(0.7)],
  [['s'], 'zoom out', (app) => app.zoomIn(1 / 0.7)],
  [['a'], 'to earlier times', (app) => app.pan(-0.15)],
  [['d'], 'to later times', (app) => app.pan(0.15)],
  [['0'], 'everything', (app) => app.fit()],
  [['z'], 'zoom to the selected span; the browser goes back', (app) => app.zoomToSelection()],
  [['h'], 'hide what never changes in view, or show it', (app) => app.change({ steady: !app.state.steady })],
  [['x'], 'x axis by events, or by time', (app) => app.turnAxis('events')],
  [
    ['i'],
    'x axis by instances of the range that repeats, or by time',
    (app) => app.begins() && app.turnAxis('instances'),
  ],
  [['1'], 'what the page opened on', (app) => app.reopen()],
  [
    ['ArrowLeft'],
    'the cursor to earlier times; with shift: choose a span',
    (app, e) => moveCursor(app, -STEP, e.shiftKey),
  ],
  [
    ['ArrowRight'],
    'the cursor to later times; with shift: choose a span',
    (app, e) => moveCursor(app, STEP, e.shiftKey),
  ],
  [['Enter'], 'pin the instant at the cursor', (app) => pinCursor(app)],
  [['p'], 'to the peak, and pin it', toPeak],
  [
    ['n'],
    'to the next instance of the range that repeats; with shift: to the one before',
    (app, e) => app.lanes?.step(e.shiftKey ? -1 : 1),
  ],
  [['['], 'to the marker before', (app) => toMark(app, -1)],
  [[']'], 'to the next marker', (app) => toMark(app, 1)],
  [['/'], 'search for a band', (app) => app.searchBox?.focus()],
  [['o', ' '], 'only the band that is searched for, or has the focus', (app) => app.lit !== null && app.solo(app.lit)],
  [['b'], 'the next of the largest blocks at the cursor', (app) => nextBlock(app)],
  [['t'], 'light or dark', (app) => app.turn()],
  [['Escape'], 'clear pins, selection, search, filter', (app) => app.clear()],
  [['?'], 'this list', (app) => showKeys(app)],
];

const MOUSE = [
  ['ctrl, wheel', 'zoom at the cursor'],
  ['drag', 'choose a span: its numbers are below'],
  ['shift, drag', 'move'],
  ['one finger, two', 'move, zoom'],
  ['click', 'pin an instant and explain the band; a second click shows the difference'],
  ["click on a band's name", 'hide it'],
  ['double click', 'only this band'],
  ['click on a box of the flame graph', 'look into it; charts show its range alone, where they have a band of it'],
  ['arrow keys in the flame graph', 'to the next box in that direction'],
  ['filter beside a chart', 'only names with that text, and their sum'],
];

/** @param {App} _app */
function showKeys(_app) {
  const dialog = /** @type {HTMLDialogElement} */ (element('dialog', { 'aria-label': 'keys' }));
  const line = (/** @type {string[]} */ keys, /** @type {string} */ what) =>
    element(
      'tr',
      {},
      element('th', { scope: 'row' }, ...keys.flatMap((key) => [element('kbd', {}, key === ' ' ? 'Space' : key), ' '])),
      element('td', {}, what),
    );
  dialog.append(
    // the first control gets the focus, and the dialog is scrolled to it
    button('close', 'close', () => dialog.close()),
    element(
      'table',
      {},
      element(
        'tbody',
        {},
        ...KEYS.map(([keys, what]) => line(keys, what)),
        ...MOUSE.map(([key, what]) => line([key], what)),
      ),
    ),
  );
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

/** Returns true if the browser scrolls an element there with this key. @param {HTMLElement} target
 *  @param {string} key */
function scrolls(target, key) {
  if (!key.startsWith('Arrow') || target.closest('.plot')) return false;
  for (let e = /** @type {HTMLElement | null} */ (target); e && e !== document.body; e = e.parentElement)
    if (e.scrollWidth > e.clientWidth && /auto|scroll/.test(getComputedStyle(e).overflowX)) return true;
  return false;
}

/** Returns true if the space bar belongs to the page or a button, and not to a band of a legend.
 *  @param {HTMLElement} target @param {string} key */
const isSpaceElsewhere = (target, key) => key === ' ' && !target.closest('.legend tr[data-name]');

/** @param {App} app */
export function listen(app) {
  addEventListener('keydown', (event) => {
    const target = /** @type {HTMLElement} */ (event.target);
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector('dialog')) return;
    if (/^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName)) {
      if (event.key === 'Escape') {
        target.blur();
        app.clear();
      }
      return;
    }
    if (event.key === 'Enter' && target.closest('button, summary, a')) return;
    if (scrolls(target, event.key) || isSpaceElsewhere(target, event.key)) return;
    const found = KEYS.find(([keys]) => keys.includes(event.key.length === 1 ? event.key.toLowerCase() : event.key));
    if (!found) return;
    event.preventDefault();
    found[2](app, event);
  });
}
