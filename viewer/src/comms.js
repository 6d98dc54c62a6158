/** The table of a device's NCCL communicators, as the reports list them, below its account. */
import { element, nameText, row, table } from './dom.js';
import { count, exactly, several, size, time } from './format.js';

/**
 * @typedef {{ id: string, ranks: number | null, rank: number | null, firstUse: string, bytes: number, blocks: number }}
 *   Comm
 * @typedef {{ device: number, atOom: boolean, time: number, rows: Comm[] }} Comms time: when memory ran out, otherwise
 *   the device's peak
 */

/** @param {any} raw @returns {Comms} */
export const readComms = (raw) => ({
  device: raw.device,
  atOom: raw.at_oom,
  time: raw.time_ns,
  rows: raw.rows.map((/** @type {any} */ one) => ({ ...one, firstUse: one.first_use })),
});

/** @param {number | null} n */
const known = (n) => (n === null ? '?' : count(n));

/** Marks the content of a column that narrow tables hide. @param {string} text */
const minor = (text) => element('span', { class: 'minor' }, text);

/** @param {Comms} found */
const titleOf = ({ rows, atOom, time: at }) => {
  const sum = rows.reduce((all, { bytes }) => all + bytes, 0),
    when = atOom ? 'when memory ran out' : 'at the peak of the device';
  return `NCCL: ${several(rows.length, 'communicator')}, ${size(sum)} ${when}, ${time(at)}`;
};

/** @param {Comms} found */
function commTable(found) {
  const made = table(
    titleOf(found),
    ['communicator', 'bytes', minor('ranks'), minor('rank'), 'first use'],
    found.rows.map(({ id, ranks, rank, firstUse, bytes }) =>
      row([
        element('span', { class: 'name', title: id }, nameText(id)),
        element('span', { title: exactly(bytes, false) }, size(bytes)),
        minor(known(ranks)),
        minor(known(rank)),
        firstUse || 'never used',
      ]),
    ),
  );
  made.className = 'comms';
  return made;
}

/** Returns true if two runs hold the same for each communicator. @param {Comms[]} a @param {Comms[]} b */
const areSame = (a, b) =>
  a.length === b.length &&
  a.every(
    ({ rows }, i) =>
      rows.length === b[i].rows.length &&
      rows.every((row, k) => row.id === b[i].rows[k].id && row.bytes === b[i].rows[k].bytes),
  );

/** Returns the panel of a run's communicators, or null without any. The second of two runs that hold the same has only
 *  a line. @param {import('./app.js').App} app @param {import('./data.js').Log} log */
export function commPanel(app, log) {
  const [a, b] = app.runs(),
    role = b ? app.roleOf(log) : '';
  if (!log.comms.length) return null;
  const isSame = log === b && areSame(a.comms, b.comms);
  return element(
    'section',
    { class: 'panel', 'data-panel': 'communicators', 'data-log': log.index },
    element('h2', {}, role && element('b', { class: `role role-${role}` }, role), 'Communicators'),
    ...(isSame
      ? [element('p', { class: 'open' }, 'B holds the same as A in each communicator')]
      : log.comms.map(commTable)),
  );
}
