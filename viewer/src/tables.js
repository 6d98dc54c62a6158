/** The tables under the charts: the peaks of A and B, and the pins. */
import { fill } from './colours.js';
import { button, element, nameText, row, swatch, table, timeText } from './dom.js';
import { folder } from './folder.js';
import { amount, count, exactly, share, size, time } from './format.js';
import { holders } from './holders.js';
import { csvOf, lines } from './lines.js';
import { ELSE, composition, hasAboutPeak, isExact, isEstimated, isNobody, pathName, sizesAtPeak } from './model.js';
import { panel } from './panel.js';

/**
 * @typedef {import('./app.js').App} App
 * @typedef {import('./model.js').Log} Log
 * @typedef {import('./model.js').Heap} Heap
 * @typedef {import('./lines.js').Line} Line
 */

/** Marks the content of a column that narrow tables hide. @param {string} text */
const minor = (text) => element('span', { class: 'minor' }, text);

/** @param {App} app @param {Line[]} all @param {number[]} totals @param {string[]} heads @param {boolean} blocks
 *  @param {boolean[]} about of each side, whether its numbers are estimates */
function rows(app, all, totals, heads, blocks, about) {
  const isAbout = (/** @type {Line} */ line, /** @type {number} */ i) => about[i] || line.about[i];
  const cell = (/** @type {Line} */ line, /** @type {number} */ i) => {
    const bytes = line.values[i],
      error = line.errors[i];
    if (bytes === null) return element('span', {}, '–');
    return element(
      'span',
      { title: exactly(bytes, line.least[i], error) },
      amount(bytes, line.least[i], isAbout(line, i)),
      error > 0 && element('span', { class: 'error minor' }, ` ± ${size(error)}`),
    );
  };
  const blocksOf = (/** @type {Line} */ line, /** @type {number} */ i) =>
    line.blocks[i] ? `${isAbout(line, i) ? '~' : ''}${count(line.blocks[i])}` : '–';
  const among = all.map((line) => line.name);
  return all.map((line) => {
    const name = element(
      'span',
      { class: 'name', title: line.name },
      swatch(fill(app.slotOf(line.name), app.dark)),
      nameText(line.name, among),
      folder(app, line.name),
    );
    const cells = line.values.flatMap((value, i) => [
      cell(line, i),
      minor(share(value ?? 0, totals[i])),
      ...(blocks ? [minor(blocksOf(line, i))] : []),
    ]);
    if (heads.length === 2) {
      const difference = (line.values[1] ?? 0) - (line.values[0] ?? 0),
        nearly = line.least.some(Boolean) || about.some(Boolean) || line.about.some(Boolean) ? '≈ ' : '';
      cells.push(
        element(
          'span',
          {
            class: difference > 0 ? 'more' : difference < 0 ? 'less' : '',
            title: `${nearly}${count(difference)} bytes`,
          },
          nearly + size(difference, true),
        ),
      );
    }
    return row([name, ...cells], {
      'data-name': line.name,
      onmouseenter: () => app.light(line.name),
      onmouseleave: () => app.light(null),
    });
  });
}

const ROWS = 40;

/** Names beyond the rows are not a row, but counted below them.
 * @param {App} app
 * @param {string | Node} caption
 * @param {string[]} heads
 * @param {Line[]} all
 * @param {Heap[]} heaps of the sides
 * @param {number[]} totals
 * @param {boolean} blocks
 * @param {number} [known] how many names there are
 */
function panelTable(app, caption, heads, all, heaps, totals, blocks, known = 0) {
  const about = heaps.map(isEstimated),
    listed = known > ROWS ? all.filter(({ name }) => name !== ELSE) : all,
    more = Math.max(all.length, known) - ROWS;
  const columns = heads.flatMap((head) => [head, minor('share'), ...(blocks ? [minor('blocks')] : [])]);
  const made = table(
    caption,
    ['held by', ...columns, ...(heads.length === 2 ? ['difference'] : [])],
    rows(app, listed.slice(0, ROWS), totals, heads, blocks, about),
  );
  if (heads.length === 2) made.className = 'sides';
  const sum = totals.flatMap((total, i) => [
    element('td', { class: 'total', title: `${count(total)} bytes` }, amount(total, false, hasAboutPeak(heaps[i]))),
    element('td', {}, minor('')),
    ...(blocks ? [element('td', {}, minor(''))] : []),
  ]);
  if (totals.length === 2) sum.push(element('td', {}, size(totals[1] - totals[0], true)));
  made.append(
    element(
      'tfoot',
      {},
      element('tr', {}, element('th', { scope: 'row' }, more > 0 ? `all, with ${count(more)} more` : 'all'), ...sum),
    ),
  );
  return made;
}

/** @param {App} app @param {string} name */
export function peakPanel(app, name) {
  const pairs = app
    .runs()
    .map((log) => ({ log, heap: log.heaps.find((heap) => heap.name === name) }))
    .filter((pair) => pair.heap);
  const heaps = pairs.map((pair) => /** @type {Heap} */ (pair.heap));
  const owners = pairs.map((pair, i) => holders(pair.log, heaps[i], app.grouping())),
    bySize = app.state.by === 'size' && owners.every(({ held }) => isNobody(held.keys())),
    all = lines(bySize ? pairs.map(({ log }, i) => sizesAtPeak(log, heaps[i])) : owners);
  const heads = pairs.length === 2 ? ['A', 'B'] : ['at the peak'];
  const caption = heaps
    .map(
      (heap, i) =>
        `${pairs.length === 2 ? `${heads[i]}: ` : ''}${amount(heap.peakBytes, false, hasAboutPeak(heap))} at ${time(heap.peakTime)}`,
    )
    .join('   ');
  const totals = heaps.map((heap) => heap.peakBytes);
  return panel(
    { 'data-panel': 'peak', 'data-heap': name },
    { name: `peak-${name}`, text: () => csvOf(heads, all) },
    bySize ? `Peak of ${name} by size` : `Peak of ${name}`,
    panelTable(
      app,
      caption,
      heads,
      all,
      heaps,
      totals,
      !bySize,
      bySize ? all.length : Math.max(...heaps.map((heap) => heap.linesAtPeak)),
    ),
  );
}

/** Returns the innermost range that was open in each thread. @param {Log} log @param {number} at ns */
export function openRanges(log, at) {
  const { from, to, node, thread } = log.instances;
  /** @type {Map<number, number>} */
  const inner = new Map();
  for (let i = 0; i < from.length && from[i] <= at; i++) {
    const known = inner.get(thread[i]);
    if (to[i] > at && (known === undefined || log.paths[node[i]].length >= log.paths[known].length))
      inner.set(thread[i], node[i]);
  }
  return [...inner].map(([number, of]) => `${log.threads[number] ?? ''}: ${pathName(log.paths[of])}`);
}

/** @param {Log} log @param {number} at  ns */
function openText(log, at) {
  const SHOWN = 4,
    all = openRanges(log, at),
    more = all.length > SHOWN ? `; ${all.length - SHOWN} more` : '';
  return all.length ? `open then: ${all.slice(0, SHOWN).join('; ')}${more}` : '';
}

/** Returns the box with the name of a pin, which the charts show. @param {App} app @param {App['pins'][0]} pin
 *  @param {string} which */
function nameBox(app, pin, which) {
  const box = /** @type {HTMLInputElement} */ (
    element('input', {
      class: 'pin-name',
      placeholder: 'name this pin',
      'aria-label': `name of the ${which}`,
      maxlength: 40,
      value: pin.name ?? '',
      onchange: () => app.namePin(pin, box.value.trim()),
    })
  );
  return box;
}

/** Returns the panel of the pins: the composition of one instant, or of two and their difference. @param {App} app */
export function pinPanel(app) {
  const pins = app.pins
    .map((pin) => {
      const log = app.logs[pin.log],
        heap = log?.heaps.find((h) => h.name === pin.heap);
      return heap ? { log, heap, pin, span: app.pinSpan(log, heap, pin.at), at: pin.at + app.origin(log) } : null;
    })
    .filter((pin) => pin !== null);
  if (!pins.length) return null;
  const sides = pins.map(({ log, heap, span }) => composition(log, heap, app.grouping(), span));
  const all = lines(sides),
    totals = pins.map(({ heap, span }) => (span < 0 ? 0 : heap.spans.max[span]));
  if (pins.length === 2)
    all.sort(
      (a, b) => Math.abs((b.values[1] ?? 0) - (b.values[0] ?? 0)) - Math.abs((a.values[1] ?? 0) - (a.values[0] ?? 0)),
    );
  const heads = pins.length === 2 ? ['first pin', 'second pin'] : ['pinned'];
  const place = (/** @type {typeof pins[0]} */ { log, heap, span, pin }) => {
    const role = app.runs().length > 1 ? `${app.roleOf(log)} ` : '';
    return [
      `${pin.name ? `${pin.name}: ` : ''}${role}${heap.name} at `,
      timeText(span < 0 ? 0 : heap.spans.time[span]),
    ];
  };
  const caption = element('span', {}, ...pins.flatMap((pin, i) => [...(i ? ['   →   '] : []), ...place(pin)]));
  return panel(
    { 'data-panel': 'pin' },
    {
      name: 'pinned',
      text: () => csvOf(heads, all),
      tools: [button('×', 'take the pins away (Esc)', () => app.clear())],
    },
    [
      pins.length === 2 ? 'From the first pin to the second' : 'Pinned instant',
      element('span', { class: 'sub' }, pins.length === 1 ? 'click another instant to see what changed' : ''),
    ],
    element(
      'p',
      { class: 'pin-names' },
      ...pins.map(({ pin }, i) => nameBox(app, pin, pins.length > 1 ? heads[i] : 'pin')),
    ),
    ...pins.map(({ log, heap, span, at }) =>
      element('p', { class: 'open' }, openText(log, span < 0 || isExact(heap, span) ? at : heap.spans.time[span])),
    ),
    panelTable(
      app,
      caption,
      heads,
      all,
      pins.map(({ heap }) => heap),
      totals,
      false,
    ),
  );
}
