/** The instance that stands out, compared with the median one at their peaks, as in the steps report. */
import { fill } from './colours.js';
import { element, nameText, row, swatch, table } from './dom.js';
import { amount, count, exactly, size } from './format.js';
import { csvOf } from './lines.js';
import { pathName } from './model.js';
import { panel } from './panel.js';

/**
 * @typedef {import('./app.js').App} App
 * @typedef {import('./data.js').Log} Log
 * @typedef {NonNullable<import('./data.js').Steps['compared']>} Compared
 */

/** Describes the cause of the larger peak, as in the steps report. @param {Compared} compared */
const causeText = ({ cause, causeBytes, causeEstimated }) =>
  cause && `${amount(causeBytes, false, causeEstimated)} more in ${cause}`;

/** @param {App} app @param {string} name */
const named = (app, name) =>
  element('span', { class: 'name', title: name }, swatch(fill(app.slotOf(name), app.dark)), nameText(name));

/** Returns a table of the largest differences, of all others, and of their sum, which is that of the peaks.
 *  @param {App} app @param {Compared} compared @param {number} most @param {boolean} both whether it shows both sides,
 *  or only the instance */
function comparison(app, { instance, median, paths, otherPaths }, most, both) {
  const bytes = (/** @type {number} */ value, signed = false) =>
    element(
      'span',
      { title: exactly(value, false), class: signed ? (value > 0 ? 'more' : 'less') : '' },
      size(value, signed),
    );
  const made = table(
    '',
    ['held by', instance.name, ...(both ? [`${median.name}, median`] : []), 'difference'],
    paths.slice(0, most).map(({ path, bytes: here, median: there }) => {
      const name = pathName(path);
      return row([named(app, name), bytes(here), ...(both ? [bytes(there)] : []), bytes(here - there, true)], {
        'data-name': name,
        onmouseenter: () => app.light(name),
        onmouseleave: () => app.light(null),
      });
    }),
  );
  const shown = paths.slice(0, most),
    rest = (/** @type {'bytes' | 'median'} */ of, /** @type {number} */ whole) =>
      shown.reduce((left, path) => left - path[of], whole),
    others = paths.length - shown.length + otherPaths,
    line = (/** @type {string} */ name, /** @type {number} */ here, /** @type {number} */ there) =>
      row([name, bytes(here), ...(both ? [bytes(there)] : []), bytes(here - there, true)]);
  made.append(
    element(
      'tfoot',
      {},
      ...(others ? [line(`${count(others)} more`, rest('bytes', instance.peak), rest('median', median.peak))] : []),
      line('all', instance.peak, median.peak),
    ),
  );
  made.className = 'sides';
  return made;
}

/** Returns the summary of the instance that stands out, or null if none does. @param {App} app @param {Log} log
 *  @param {() => void} go */
export function standsOut(app, log, go) {
  const FIRST = 3;
  if (!log.steps?.compared) return null;
  const { instance, median, heap } = log.steps.compared,
    cause = causeText(log.steps.compared),
    excess = size(instance.peak - median.peak),
    text = `${instance.name} peaks ${excess} above ${median.name}, the median, of ${heap}${cause && `: ${cause}`}`;
  return element(
    'div',
    { class: 'stands-out' },
    element('button', { type: 'button', title: `go to ${instance.name}`, onclick: go }, text),
    comparison(app, log.steps.compared, FIRST, false),
  );
}

/** Returns a table of the larger call stacks, or null if ranges explain the whole difference.
 *  @param {Compared} compared */
function stacksTable({ instance, stacks, otherStacks }) {
  if (!stacks.length) return null;
  const made = table(
    `by call stack${otherStacks ? `; ${count(otherStacks)} more` : ''}`,
    ['held by', `${instance.name} holds more`],
    stacks.map(({ name, bytes, estimated }) =>
      row([
        element('span', { class: 'name', title: name }, nameText(name)),
        element('span', { title: exactly(bytes, false), class: 'more' }, amount(bytes, false, estimated, true)),
      ]),
    ),
  );
  made.className = 'sides by-stack';
  return made;
}

/** Returns the panel of all differences. @param {App} app @param {Log} log */
export function stepPanel(app, log) {
  const compared = log.steps?.compared;
  if (!compared) return null;
  const { instance, median, heap, paths, otherPaths } = compared,
    heads = [instance.name, median.name],
    lines = paths.map(({ path, bytes, median: there }) => ({
      name: pathName(path),
      values: [bytes, there],
      least: [false, false],
      about: [false, false],
      errors: [0, 0],
      blocks: [],
    })),
    made = comparison(app, compared, paths.length, true);
  made
    .querySelector('caption')
    ?.append(
      otherPaths ? `the largest differences of ${heap}; ${count(otherPaths)} more` : `all differences of ${heap}`,
    );
  return panel(
    { 'data-panel': 'steps', 'data-log': log.index },
    { name: 'stands-out', text: () => csvOf(heads, lines) },
    `${instance.name} at its peak, against ${median.name}, the median`,
    element('p', { class: 'cause' }, causeText(compared)),
    made,
    ...[stacksTable(compared)].filter((part) => part !== null),
  );
}
