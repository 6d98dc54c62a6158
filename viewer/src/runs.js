/** The runs that are shown, and the grouping and colours that all logs of the page share. */
import { assign } from './colours.js';
import { element } from './dom.js';
import { count, duration, time } from './format.js';
import { NOBODY, SEVERAL } from './model.js';

/**
 * @typedef {import('./app.js').App} App
 * @typedef {import('./data.js').Log} Log
 */

/** Returns the grouping that `peaks` stacks by, or 'auto' if the logs differ. If nothing has a name, size classes say
 *  more than one band. @param {Log[]} logs
 *  @returns {import('./state.js').State['by']} */
export function bestOf([first, ...others]) {
  const alike = others.every((log) => log.best === first.best);
  if (alike && [first, ...others].every(({ source }) => source === 'none recorded')) return 'size';
  return alike && (first.best === 'range' || first.best === 'library' || first.best === 'stack') ? first.best : 'auto';
}

/** Gives every name a colour, the same in all logs. Names of one heap in two shown runs get different colours.
 *  @param {import('./shown.js').Shown} app */
export function colourAll(app) {
  const largest = new Map(),
    beside = new Map(),
    shown = app.runs();
  for (const log of app.logs) {
    for (const heap of log.heaps) {
      const names = app.foremostOf(log, heap),
        chart = shown.includes(log) ? heap.name : `${log.index} ${heap.name}`;
      for (const [name, weight] of names) largest.set(name, Math.max(largest.get(name) ?? 0, weight));
      beside.set(chart, new Set([...(beside.get(chart) ?? []), ...names.keys()]));
    }
  }
  for (const name of [SEVERAL, ...NOBODY]) largest.delete(name);
  return assign(
    largest,
    [...beside.values()].map((names) => [...names]),
  );
}

/** Returns the line with a run's program, length and events. @param {App} app @param {Log} log */
export const runLine = (app, log) =>
  element(
    'p',
    { class: 'runs' },
    app.state.b >= 0 && element('b', { class: `role role-${app.roleOf(log)}` }, app.roleOf(log)),
    element('b', {}, log.label),
    ` ${duration(log.duration)}, ${count(log.events)} events, ranges: ${log.source}`,
    log.alikeAs && `, ${log.alikeAs}`,
    log.foldedUntil > 0 &&
      `, thinned until ${time(log.foldedUntil, 1e6)}: short-lived blocks before that are only counted`,
    log.incomplete && ', the log is incomplete',
    log.lost > 0 && `, ${count(log.lost)} lost`,
  );

/** Returns the panel that replaces the charts if there are none. */
export const nothing = () =>
  element('section', { class: 'panel', 'data-panel': 'nothing' }, 'No allocations were recorded in this run.');
