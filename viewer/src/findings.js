/** The card of each run: the sentence on what happened, a strip of events, the findings, the numbers, and what was not
 *  recorded. Events and findings are links to their places, and their numbers are those of the reports. */
import { copied, copyButton } from './copy.js';
import { familyLines, headline, nextCommand, numbers } from './card.js';
import { element, folded, isNarrow } from './dom.js';
import { ending } from './endings.js';
import { amount, exactly, several, size, time } from './format.js';
import { show } from './marks.js';
import { pathName } from './model.js';
import { runLine } from './runs.js';

/**
 * @typedef {import('./app.js').App} App
 * @typedef {import('./data.js').Log} Log
 * @typedef {import('./data.js').Worth} Worth
 * @typedef {{ text: string, bad?: boolean, go?: () => void }} Finding
 */

/** @param {App} app @param {Log} log @param {string} heap @param {number} at  ns */
function goTo(app, log, heap, at) {
  show(app, log, { heap, time: at });
  app.charts.find((chart) => chart.root.dataset.heap === heap)?.root.scrollIntoView({ block: 'nearest' });
}

/** Returns the link to the out-of-memory event. @param {App} app @param {Log} log @returns {Finding[]} */
const lack = (app, log) =>
  log.oom
    ? [
        {
          text: `OOM at ${time(log.oom.time)}`,
          bad: true,
          go: () => goTo(app, log, `gpu${log.oom?.device}/torch`, log.oom?.time ?? 0),
        },
      ]
    : [];

/** @param {App} app @param {Log} log @returns {Finding[]} */
function failures(app, log) {
  const failed = log.marks.filter((mark) => mark.kind === 'failed');
  if (!failed.length) return [];
  return [
    {
      text: `${log.marksLeftOut ? '≥ ' : ''}${several(failed.length, 'allocation')} of host memory failed`,
      bad: true,
      go: () => goTo(app, log, failed[0].heap, failed[0].time),
    },
  ];
}

/** Returns the sum of the CUDA graphs and the largest one, as `graphs` describes them. @param {App} app
 *  @param {Log} log @returns {Finding[]} */
function graphs(app, log) {
  const all = log.marks.flatMap((mark) => (mark.graph ? [{ mark, bytes: mark.graph.bytes }] : []));
  if (!all.length) return [];
  const sum = all.reduce((bytes, one) => bytes + one.bytes, 0),
    most = all.reduce((best, one) => (one.bytes > best.bytes ? one : best)),
    least = log.marksLeftOut ? '≥ ' : '',
    name = pathName(log.paths[most.mark.node]),
    which = all.length > 1 ? `, the largest ${size(most.bytes)}: ${name}` : `: ${name}`;
  return [
    {
      text: `${least}${several(all.length, 'graph')} ${least}${size(sum)}${which}`,
      go: () => goTo(app, log, most.mark.heap, most.mark.time),
    },
  ];
}

/** @param {App} app @param {Log} log @returns {Finding[]} */
const happened = (app, log) => [ending(log), ...lack(app, log), ...failures(app, log), ...graphs(app, log)];

/** @param {Log} log */
function headingOf({ findings }) {
  if (!findings) return 'findings were not computed for this run: memprof-report summary --all LOG prints them';
  return findings.length ? 'findings, each with the most that it can save' : 'no findings';
}

/** Returns the list of events: how the process ended, failures and graphs. @param {App} app @param {Log} log */
const strip = (app, log) =>
  element(
    'ul',
    { class: 'findings', 'data-log': log.index },
    ...happened(app, log).map(({ text, bad, go }) =>
      element(
        'li',
        { class: bad ? 'more' : '' },
        go ? element('button', { type: 'button', title: text, onclick: go }, text) : text,
      ),
    ),
  );

/** Goes to the instant of a finding, pins it, and scrolls to the panel with its details. @param {App} app
 *  @param {Log} log @param {Worth} of */
function goToWorth(app, log, { heap, time: at, see, key }) {
  const [device] = heap.split('/'),
    panels = see.includes(' segments ') ? `[data-panel="segments"][data-gpu="${device}"]` : '',
    graphPanel = see.includes(' graphs ') ? `[data-panel="graphs"][data-log="${log.index}"]` : '';
  goTo(app, log, heap, at);
  if (key === 'instance') app.lanes?.goToInstance(log, at);
  const panel = app.root.querySelector(panels || graphPanel || 'none');
  panel?.scrollIntoView({ block: 'start' });
}

/** Returns a button that copies a finding as text. @param {Log} log @param {Worth} of */
function copyFinding(log, of) {
  const made = copyButton('copy finding', `copy finding: ${of.what}`, () =>
    [
      log.label,
      `${amount(of.bytes, false, of.about)}  ${of.where}  ${of.what}`,
      `try: ${of.change}`,
      `see: ${of.see}`,
      '',
    ].join('\n'),
  );
  made.className = 'copy';
  return made;
}

const COVERS = 'at most these bytes would be free, and fewer were missing';

/** @param {App} app @param {Log} log @param {Worth} of */
const worthLine = (app, log, of) =>
  element(
    'li',
    { 'data-finding': of.key },
    element(
      'button',
      { type: 'button', 'data-key': `${log.index} ${of.key} ${of.where}`, onclick: () => goToWorth(app, log, of) },
      element('b', { title: exactly(of.bytes, false) }, amount(of.bytes, false, of.about)),
      element('span', { class: 'where' }, of.where),
      element(
        'span',
        { class: 'what' },
        of.what,
        of.makesRoom ? element('span', { class: 'badge covers', title: COVERS }, 'covers the shortfall') : null,
      ),
    ),
    element(
      'p',
      { class: 'open' },
      element('span', { class: 'do' }, `try: ${of.change}`),
      element('span', { class: 'see' }, 'see: ', copied(of.see)),
      copyFinding(log, of),
    ),
  );

/** Returns the findings of the insights report: changes that would save memory. @param {App} app @param {Log} log */
function worth(app, log) {
  const { findings } = log,
    SHOWN = app.runs().length > 1 || isNarrow() ? 1 : 3;
  if (!findings?.length) return null;
  const lines = (/** @type {Worth[]} */ of) => element('ul', {}, ...of.map((one) => worthLine(app, log, one))),
    more = findings.slice(SHOWN);
  return element(
    'div',
    { class: 'worth', 'data-log': log.index },
    lines(findings.slice(0, SHOWN)),
    more.length > 0 && folded(several(more.length, 'more finding'), () => [lines(more)]),
  );
}

/** Returns a command of the notes with a button that copies it, without the words before it. @param {string} text */
function noteCommand(text) {
  const AGAIN = 'run again: ',
    label = text.startsWith(AGAIN) ? AGAIN : '';
  return [label, copied(text.slice(label.length))];
}

/** Returns what was not recorded, and the commands that record it. @param {Log} log */
const notes = (log) =>
  log.notes.length
    ? element(
        'div',
        { class: 'notes', 'data-log': log.index },
        ...log.notes.map(([text, command]) =>
          element('p', { class: 'open' }, ...(command ? noteCommand(text) : [text])),
        ),
      )
    : null;

/** Returns the card of a run. @param {App} app @param {Log} log */
const cardOf = (app, log) =>
  element(
    'section',
    {
      class: 'card',
      'data-panel': 'card',
      'data-log': log.index,
      'data-state': log.card?.state ?? 'unknown',
      'aria-label': `what happened${app.runs().length > 1 ? ` to ${app.roleOf(log)}` : ''}`,
    },
    ...[
      log.card && headline(log, log.card),
      runLine(app, log),
      element('p', { class: 'heading', 'data-log': log.index }, headingOf(log)),
      worth(app, log),
      log.card && familyLines(log.card),
      element('div', { class: 'events' }, strip(app, log), log.card && nextCommand(log.card)),
      notes(log),
      log.card && numbers(app, log, log.card),
    ].filter((part) => part !== null),
  );

/** Returns the cards of the shown runs. @param {App} app */
export const cards = (app) => element('div', { class: 'cards' }, ...app.runs().map((log) => cardOf(app, log)));
