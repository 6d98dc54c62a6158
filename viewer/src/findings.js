/** What a reader wants to know first, in a strip: each part goes to its place. Its numbers are those of the reports. */
import { element } from './dom.js';
import { ending } from './endings.js';
import { several, size, time } from './format.js';
import { show } from './marks.js';
import { pathName } from './model.js';
import { standsOutText } from './steppanel.js';

/**
 * @typedef {import('./app.js').App} App
 * @typedef {import('./data.js').Log} Log
 * @typedef {{ text: string, bad?: boolean, go?: () => void }} Finding
 */

/** @param {App} app @param {Log} log @param {string} heap @param {number} at  ns */
function goTo(app, log, heap, at) {
  show(app, log, { heap, time: at });
  app.charts.find((chart) => chart.root.dataset.heap === heap)?.root.scrollIntoView({ block: 'nearest' });
}

/** As `oom` tells it. @param {App} app @param {Log} log @returns {Finding[]} */
function lack(app, log) {
  const { oom } = log;
  if (!oom) return [];
  const missing = oom.free === null ? 0 : oom.needed - oom.free,
    where = oom.node ? ` in ${pathName(log.paths[oom.node])}` : '',
    text = `OOM at ${time(oom.time)}${where}: asked ${size(oom.bytes)}`;
  return [
    {
      text: missing > 0 ? `${text}, short by ${size(missing)}` : text,
      bad: true,
      go: () => goTo(app, log, `gpu${oom.device}/torch`, oom.time),
    },
  ];
}

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

/** As `graphs` tells it. @param {App} app @param {Log} log @returns {Finding[]} */
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

/** As `steps` tells it. @param {App} app @param {Log} log @returns {Finding[]} */
function standsOut(app, log) {
  const text = standsOutText(log);
  return text ? [{ text, bad: true, go: () => app.lanes?.goToWorst(log) }] : [];
}

/** As `segments` tells it; a hundredth is nothing to tell. @param {App} app @param {Log} log @param {import('./data.js').SegmentsThen} then
 *  @returns {Finding[]} */
function free(app, log, { device, atOom, time: at, bytes: held, free: states, pins: [pin] }) {
  const bytes = states.reduce((sum, state) => sum + state, 0),
    ofGraphs = states[2];
  if (bytes <= held / 100) return [];
  const pinned = pin
      ? `, ${size(pin.free)} pinned by ${pathName(pin.path)} in ${several(pin.segments, 'segment')}`
      : '',
    graphs = ofGraphs ? `, ${size(ofGraphs)} of it in pools of graphs` : '';
  return [
    {
      text: `gpu${device}: ${size(bytes)} free in segments ${atOom ? 'when memory ran out' : 'at the peak'}${graphs}${pinned}`,
      go: () => {
        app.pin([{ heap: `gpu${device}/torch`, log: log.index, at: at - app.origin(log) }]);
        app.root.querySelector(`[data-panel="segments"][data-gpu="gpu${device}"]`)?.scrollIntoView({ block: 'start' });
      },
    },
  ];
}

/** @param {App} app @param {Log} log @returns {Finding[]} */
const findings = (app, log) => [
  ending(log),
  ...lack(app, log),
  ...failures(app, log),
  ...standsOut(app, log),
  ...graphs(app, log),
  ...log.segments
    .filter((then, i, all) => all.findIndex(({ device }) => device === then.device) === i)
    .flatMap((then) => free(app, log, then)),
];

/** A line a run. @param {App} app */
export function strips(app) {
  const both = app.runs().length > 1;
  return app
    .runs()
    .map((log) =>
      element(
        'ul',
        { class: 'findings', 'data-log': log.index },
        both && element('li', {}, element('b', { class: `role role-${app.roleOf(log)}` }, app.roleOf(log))),
        ...findings(app, log).map(({ text, bad, go }) =>
          element(
            'li',
            { class: bad ? 'more' : '' },
            go ? element('button', { type: 'button', title: text, onclick: go }, text) : text,
          ),
        ),
      ),
    );
}
