/** The controls at the top. */
import { commonRanges } from './align.js';
import { copyButton } from './copy.js';
import { button, choice, element, isNarrow } from './dom.js';
import { savePng, saveTimelines } from './exports.js';
import { WHOLE } from './model.js';
import { toPeak } from './steps.js';

/** @typedef {import('./app.js').App} App */

/** @param {string} label @param {[string, string, string][]} options value, text, title @param {string} chosen
 *  @param {(value: string) => void} change */
function segmented(label, options, chosen, change) {
  return element(
    'span',
    { class: 'segmented', role: 'group', 'aria-label': label },
    ...options.map(([value, text, title]) => button(text, title, () => change(value), value === chosen)),
  );
}

/** @param {string} text @param {Node} control */
const labelled = (text, control) => element('label', {}, text, control);

/** @param {App} app */
function runChoices(app) {
  if (app.logs.length < 2) return [];
  const { state } = app;
  const names = app.logs.map((log, i) => /** @type {[string, string]} */ ([String(i), `${log.short}: ${log.label}`]));
  const made = [
    labelled(
      'A',
      choice('run A', names, String(state.a), (value) => app.choose('a', Number(value))),
    ),
    labelled(
      'B',
      choice('run B', [['-1', 'none'], ...names], String(state.b), (value) => app.choose('b', Number(value))),
    ),
  ];
  if (state.b < 0) return made;
  const aligned = /** @type {[string, string][]} */ ([
    ['start', 'start'],
    ['peak', 'peak'],
    ...commonRanges(app.runs()).map((name) => [`range:${name}`, `first ${name}`]),
  ]);
  return [
    ...made,
    labelled(
      'aligned by',
      choice('what the two runs are aligned by', aligned, state.align, (value) =>
        app.change({ align: value, from: null, to: null }),
      ),
    ),
    segmented(
      'comparison',
      [
        ['both', 'A and B', 'one below the other'],
        ['overlay', 'overlay', 'in one chart'],
        ['difference', 'B − A', 'the difference'],
      ],
      state.compare,
      (value) => app.change({ compare: /** @type {any} */ (value) }),
    ),
  ];
}

/** @param {App} app */
function heapChoice(app) {
  const names = app.heapNames();
  const sides = [...new Set(names.map((name) => name.split('/')[0]))].sort();
  const options = /** @type {[string, string][]} */ ([
    ['', 'all heaps'],
    ...(sides.length > 1 ? sides.map((side) => [`${side}/`, side]) : []),
    ...names.map((name) => [name, name]),
  ]);
  return names.length > 1 ? [choice('heaps', options, app.state.heaps, (value) => app.change({ heaps: value }))] : [];
}

/** @param {App} app */
function stackChoice(app) {
  const { state } = app;
  const by = /** @type {[string, string][]} */ ([
    ...(app.first.by === 'auto' ? [['auto', app.runs()[0].source]] : []),
    ['range', 'range'],
    ...(app.holds('python') ? [['python', 'Python call stack']] : []),
    ...(app.holds('native') ? [['stack', 'call stack']] : []),
    ['thread', 'thread'],
    ['size', 'size class'],
    ...(app.logs.some((log) => log.libraries.length > 1) ? [['library', 'library']] : []),
  ]);
  const depths = /** @type {[string, string][]} */ ([
    ['0', 'as in the reports'],
    [String(WHOLE), 'whole path'],
    ...Array.from({ length: Math.min(6, app.deepest()) }, (_, i) => [
      String(i + 1),
      i ? `${i + 1} levels` : 'outermost',
    ]),
  ]);
  return [
    labelled(
      'stack by',
      choice('stack by', by, state.by, (value) => app.change({ by: /** @type {any} */ (value), hidden: [], only: '' })),
    ),
    ...(['range', 'auto', 'python', 'stack'].includes(state.by) && app.deepest() > 1
      ? [
          choice('depth of the path', depths, String(state.depth), (value) =>
            app.change({ depth: Number(value), hidden: [], only: '' }),
          ),
        ]
      : []),
  ];
}

/** @param {App} app */
function search(app) {
  const box = /** @type {HTMLInputElement} */ (
    element('input', {
      type: 'search',
      placeholder: 'search /',
      'aria-label': 'search for a band',
      value: app.state.search,
    })
  );
  box.addEventListener('input', () => app.find(box.value));
  app.searchBox = box;
  return box;
}

/** @param {App} app */
const controls = (app) => [
  ...runChoices(app),
  ...heapChoice(app),
  ...stackChoice(app),
  element('span', { class: 'spring' }),
  search(app),
  button(
    'base',
    'hide what never changes in view (H)',
    () => app.change({ steady: !app.state.steady }),
    app.state.steady,
  ),
  button('events', 'x axis by events, not by time (X)', () => app.turnAxis('events'), app.state.axis === 'events'),
  ...(app.begins()
    ? [
        button(
          'steps',
          'x axis by instances of the range that repeats: each has the same width (I)',
          () => app.turnAxis('instances'),
          app.state.axis === 'instances',
        ),
      ]
    : []),
  button('fit', 'show everything (0)', () => app.fit()),
  button('peak', 'go to the peak (P)', () => toPeak(app)),
  copyButton('link', 'copy link: it keeps the view, the pins and the filters', () => {
    app.save();
    return location.href;
  }),
  button('PNG', 'download the charts as a picture', () => savePng(app)),
  button('CSV', 'download what the charts show as CSV; more of it by zooming in', () => saveTimelines(app)),
  button(app.dark ? '☀' : '☾', 'dark (T)', () => app.turn(), app.dark),
  button('?', 'keys', () => dispatchEvent(new KeyboardEvent('keydown', { key: '?' }))),
];

/** Returns the controls. On a narrow screen they are a menu, which stays open while they are used. @param {App} app */
export function bar(app) {
  const name = element('h1', {}, 'memprof');
  if (!isNarrow()) return [name, ...controls(app)];
  const open = app.head.querySelector('details')?.open;
  return [
    name,
    element('details', { class: 'menu', open }, element('summary', {}, 'menu'), element('div', {}, ...controls(app))),
  ];
}
