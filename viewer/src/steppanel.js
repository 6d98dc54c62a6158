/** The instance that stands out: what it holds at its peak that the median one does not, as the steps report has it. */
import { fill } from './colours.js';
import { element, nameText, row, swatch, table } from './dom.js';
import { count, exactly, size } from './format.js';
import { csvOf } from './lines.js';
import { pathName } from './model.js';
import { panel } from './panel.js';

/**
 * @typedef {import('./app.js').App} App
 * @typedef {import('./data.js').Log} Log
 * @typedef {NonNullable<import('./data.js').Steps['compared']>} Compared
 */

/** In a line. @param {Log} log */
export function standsOutText({ steps }) {
  if (!steps?.compared) return '';
  const { heap, instance } = steps.compared,
    of = steps.heaps.find((other) => other.heap === heap),
    others = of && of.peaksOut > 1 ? ` and ${count(of.peaksOut - 1)} more` : '',
    over = size(instance.peak - (of?.medianPeak ?? 0), true);
  return `${instance.name}${others} of ${count(steps.instances)} stands out: ${size(instance.peak)} of ${heap}, ${over} over the median`;
}

/** @param {App} app @param {string} name */
const named = (app, name) =>
  element('span', { class: 'name', title: name }, swatch(fill(app.slotOf(name), app.dark)), nameText(name));

/** The largest differences first. @param {App} app @param {Compared} compared @param {number} most @param {boolean} both
 *  sides, or the instance only */
function comparison(app, { instance, median, paths }, most, both) {
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
  made.className = 'sides';
  return made;
}

/** What has to be said first; null where no instance stands out. @param {App} app @param {Log} log @param {() => void} go */
export function standsOut(app, log, go) {
  const FIRST = 3;
  if (!log.steps?.compared) return null;
  const { instance, median, heap } = log.steps.compared,
    text = `${instance.name} against ${median.name}, the median, at their peaks of ${heap}`;
  return element(
    'div',
    { class: 'stands-out' },
    element('button', { type: 'button', title: `go to ${instance.name}`, onclick: go }, text),
    comparison(app, log.steps.compared, FIRST, false),
  );
}

/** All of the difference. @param {App} app @param {Log} log */
export function stepPanel(app, log) {
  const compared = log.steps?.compared;
  if (!compared) return null;
  const { instance, median, heap, paths, otherPaths } = compared,
    heads = [instance.name, median.name],
    lines = paths.map(({ path, bytes, median: there }) => ({
      name: pathName(path),
      values: [bytes, there],
      least: [false, false],
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
    made,
  );
}
