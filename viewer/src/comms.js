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

/** Returns the table, or null without communicators. @param {import('./data.js').Log} log @param {number} device */
export function commTable(log, device) {
  const found = log.comms.find((of) => of.device === device);
  if (!found) return null;
  const sum = found.rows.reduce((all, { bytes }) => all + bytes, 0),
    when = found.atOom ? 'when memory ran out' : 'at the peak of the device';
  const made = table(
    `NCCL: ${several(found.rows.length, 'communicator')}, ${size(sum)} ${when}, ${time(found.time, 1)}`,
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
