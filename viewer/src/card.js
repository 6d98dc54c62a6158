/** The card at the top of the page: what happened to a run, in the sentences of `summary` and `oom`. */
import { copied } from './copy.js';
import { element, isNarrow, nameText } from './dom.js';
import { amount, count, exactly, share, size, time } from './format.js';
import { lines } from './lines.js';
import { isNobody, sizesAtPeak } from './model.js';

/**
 * @typedef {import('./app.js').App} App
 * @typedef {import('./data.js').Log} Log
 * @typedef {{ label: string, text: string[] }} Said a line of a report; text: the line, and lines that continue it
 * @typedef {{ name: string, bytes: number, blocks: number, estimated: boolean }} Owner
 * @typedef {{ state: string, headline: string, lines: Said[], peaks: Said[], account: string, parts: { name: string,
 *   bytes: number, note: string }[], ownersOf: string, ownersTitle: string, ownersAt: string, owned: number, owners: Owner[], moreOwners:
 *   number, fits: { what: string, bytes: number, answer: string, text: string }[], since: string, before: number,
 *   after: number, job: string[], family: string[], shared: { device: number, time: number, parts: { use: string | null, name: string, bytes: number, note: string }[] }[], asleep: { heap: string, bytes: number }[], grown: { name: string, before: number, after: number, estimated: boolean }[], next: string[] }} Card
 *   state: "fine", or how memory ran out; account: a line about the device; parts: of its bytes; fits: changes with
 *   which the request would have fit; grown: since the last good state; job, family: lines about the ranks and the processes of
 *   the run; shared: a device's account at an instant, with the processes that share it; asleep: bytes
 *   of PyTorch's heaps that were unmapped when the device was fullest; next: commands that show more
 */

/** @param {Said[] | undefined} lines */
const textsOf = (lines) => (lines ?? []).flatMap(({ text }) => text);

/** @param {any} raw @param {Said[] | undefined} job @returns {Card} */
export const readCard = (raw, job) => ({
  state: raw.state,
  headline: raw.headline,
  lines: raw.lines,
  peaks: raw.peaks,
  account: raw.account?.[0].text[0] ?? '',
  parts: raw.parts ?? [],
  ownersOf: raw.owners_of ?? '',
  ownersTitle: raw.owners_title ?? '',
  ownersAt: raw.owners_at ?? '',
  owned: raw.owned_bytes ?? 0,
  owners: raw.owners ?? [],
  moreOwners: raw.more_owners ?? 0,
  fits: raw.fits ?? [],
  since: raw.since ?? '',
  before: raw.before_bytes ?? 0,
  after: raw.after_bytes ?? 0,
  grown: (raw.grown ?? []).map((/** @type {any} */ of) => ({
    name: of.name,
    before: of.before_bytes,
    after: of.after_bytes,
    estimated: of.estimated,
  })),
  job: textsOf(job),
  family: textsOf(raw.family),
  shared: (raw.shared_accounts ?? []).map((/** @type {any} */ of) => ({
    device: of.device,
    time: of.time_ns,
    parts: of.parts,
  })),
  asleep: raw.asleep ?? [],
  next: raw.next[0]?.text ?? [],
});

/** Returns a bar with a part's share of a whole. @param {number} bytes @param {number} whole */
function shareBar(bytes, whole) {
  const bar = element('i', { class: 'share', 'aria-hidden': 'true' });
  bar.style.width = `${whole ? Math.max(0, Math.min(100, (100 * bytes) / whole)) : 0}%`;
  return element('td', { class: 'bar-cell' }, bar);
}

/** @param {string} caption @param {HTMLElement[]} rows @param {string} [kind] its class */
const list = (caption, rows, kind = '') =>
  element('table', { class: kind }, element('caption', {}, caption), element('tbody', {}, ...rows));

/** @param {string} name @param {string[]} among the names of the table @param {...(HTMLElement)} cells */
const line = (name, among, ...cells) =>
  element(
    'tr',
    {},
    element('th', { scope: 'row', title: name }, element('span', { class: 'name' }, nameText(name, among))),
    ...cells,
  );

/** Returns the largest parts of the device's bytes. @param {Card} card */
function accountTable({ headline, account, parts }) {
  const whole = parts.reduce((sum, { bytes }) => sum + bytes, 0);
  return list(
    headline ? account : 'of these bytes', // otherwise it is the headline
    parts.map(({ name, bytes, note }) =>
      element(
        'tr',
        {},
        element(
          'th',
          { scope: 'row', title: note ? `${name}, ${note}` : name },
          name,
          ...(note ? [' ', element('span', { class: 'note' }, note)] : []),
        ),
        shareBar(bytes, whole),
        element('td', { title: exactly(bytes, false) }, size(bytes)),
        element('td', { class: 'sub' }, share(bytes, whole)),
      ),
    ),
  );
}

const OWNERS = 5,
  AT_PEAK = 'at the peak';

/** Returns the owners of the card. If no block has a name, these are the size classes. @param {Log} log
 *  @param {Card} card @returns {Pick<Card, 'ownersTitle' | 'ownersAt' | 'owned' | 'owners' | 'moreOwners'>} */
function ownersOf(log, card) {
  const heap = log.heaps.find(({ name }) => name === card.ownersOf);
  if (!heap || card.ownersAt !== AT_PEAK || !isNobody(card.owners.map(({ name }) => name))) return card;
  const classes = lines([sizesAtPeak(log, heap)]).map(({ name, values, about }) => ({
    name,
    bytes: values[0] ?? 0,
    blocks: 0,
    estimated: about[0],
  }));
  return {
    ...card,
    ownersTitle: `${heap.name} by size`,
    owners: classes.slice(0, OWNERS),
    moreOwners: Math.max(0, classes.length - OWNERS),
  };
}

/** Returns the largest owners of the heap. @param {Log} log @param {Card} card */
function ownerTable(log, card) {
  const { ownersTitle, ownersAt, owned, owners, moreOwners } = ownersOf(log, card);
  const rest = owned - owners.reduce((sum, { bytes }) => sum + bytes, 0),
    names = owners.map(({ name }) => name);
  return list(`${ownersTitle}, ${ownersAt}: ${size(owned)}`, [
    ...owners.map(({ name, bytes, estimated }) =>
      line(
        name,
        names,
        shareBar(bytes, owned),
        element('td', { title: exactly(bytes, false) }, amount(bytes, false, estimated)),
        element('td', { class: 'sub' }, share(bytes, owned)),
      ),
    ),
    ...(moreOwners && rest > 0
      ? [
          line(
            `${count(moreOwners)} more`,
            [],
            shareBar(rest, owned),
            element('td', {}, size(rest)),
            element('td', { class: 'sub' }, share(rest, owned)),
          ),
        ]
      : []),
  ]);
}

/** Returns the changes with which the request would have fit, or not. @param {Card} card */
const fitTable = ({ fits }) =>
  element(
    'table',
    { class: 'fits' },
    element('caption', {}, 'would it have fit?'),
    element(
      'tbody',
      {},
      ...fits.map(({ what, bytes, answer, text }) =>
        element(
          'tr',
          {},
          element(
            'th',
            { scope: 'row' },
            what,
            element('span', { class: 'sub', title: exactly(bytes, false) }, size(bytes)),
          ),
          element(
            'td',
            {},
            element('b', { class: answer === 'yes' ? 'less' : answer === 'no' ? 'more' : '' }, answer),
            ` ${text}`,
          ),
        ),
      ),
    ),
  );

/** Returns what grew since the last good state. @param {Card} card */
const grownTable = ({ since, before, after, grown }) =>
  list(
    since,
    [
      line(
        'all',
        [],
        element('td', {}, `${size(before)} → ${size(after)}`),
        element('td', { class: after > before ? 'more' : 'less' }, size(after - before, true)),
      ),
      ...grown.map((of) =>
        line(
          of.name,
          grown.map(({ name }) => name),
          element('td', {}, `${amount(of.before, false, of.estimated)} → ${amount(of.after, false, of.estimated)}`),
          element(
            'td',
            { class: of.after > of.before ? 'more' : 'less' },
            amount(of.after - of.before, false, of.estimated, true),
          ),
        ),
      ),
    ],
    'grown',
  );

const MISSING = 'SHORT BY';

/** Returns how much was missing, in the words of `oom`, or null. @param {Card} card */
const missing = ({ lines }) => lines.find(({ label }) => label === MISSING);

/** Returns the lines of `oom`. A cause that a finding also states is omitted. @param {Log} log @param {Card} card */
function facts(log, { lines }) {
  const why = lines.find(({ label }) => label === 'why'),
    isFound = why && (log.findings ?? []).some(({ what }) => why.text[0].endsWith(what)),
    shown = lines.filter(({ label }) => label !== MISSING && !(isFound && (label === 'why' || label === 'do')));
  return shown.length
    ? element(
        'dl',
        {},
        ...shown.flatMap(({ label, text }) => [
          element('dt', {}, label),
          element('dd', {}, ...text.map((one) => element('div', {}, one))),
        ]),
      )
    : null;
}

/** Returns the sentence on the run: how memory ran out, otherwise the largest peak. @param {Log} log @param {Card} card */
function sentence(log, { headline, account, owned }) {
  if (headline) return headline;
  if (account) return account;
  const [heap] = log.heaps;
  return heap
    ? `${heap.name}: peak ${amount(heap.peakBytes, false, heap.about)} at ${time(heap.peakTime)}`
    : 'no allocations were recorded';
}

/** Returns the headline of the card. @param {Log} log @param {Card} card */
export function headline(log, card) {
  const short = missing(card);
  return element(
    'h2',
    { class: 'headline' },
    sentence(log, card),
    ...(short ? [' ', element('b', { class: 'missing' }, `${MISSING} ${short.text[0]}`)] : []),
  );
}

/** Returns the card of the job, or null without one. @param {App} app */
export function jobCard(app) {
  const job = app.logs.flatMap(({ card }) => card?.job ?? []);
  if (!job.length) return null;
  const [first, ...others] = job;
  return element(
    'section',
    { class: 'card', 'data-panel': 'job', 'data-state': 'compared', 'aria-label': 'the job' },
    element('h2', { class: 'headline' }, first),
    ...others.map((text) => element('p', {}, text)),
  );
}

/** Returns the lines about the processes of the run, or null. @param {Card} card */
export const familyLines = ({ family }) =>
  family.length
    ? element('div', { class: 'family' }, ...family.map((text) => element('p', { class: 'open' }, text)))
    : null;

/** Returns the command to copy. @param {Card} card */
export const nextCommand = ({ next: [command] }) =>
  command ? element('p', { class: 'command' }, 'next: ', copied(command)) : null;

/** Returns the numbers of the card: the lines of `oom`, the largest parts and owners, and what would have been enough.
 *  They are collapsed if the screen is narrow or there are two cards. @param {App} app @param {Log} log
 *  @param {Card} card */
export function numbers(app, log, card) {
  const requestFacts = facts(log, card),
    tables = [
      ...(card.parts.length ? [accountTable(card)] : []),
      ...(card.owners.length ? [ownerTable(log, card)] : []),
    ],
    enough = [...(card.fits.length ? [fitTable(card)] : []), ...(card.since ? [grownTable(card)] : [])],
    peaks = card.peaks.flatMap(({ text }) => text).map((text) => element('p', { class: 'open' }, text)),
    columns = [
      [...(requestFacts ? [requestFacts] : []), ...peaks],
      ...(requestFacts ? [tables] : tables.map((one) => [one])),
      enough,
    ];
  return element(
    'details',
    { class: 'numbers', open: !isNarrow() && app.runs().length < 2 },
    element('summary', {}, card.state === 'fine' ? 'peaks and owners' : 'request, owners, and what would have fit'),
    element(
      'div',
      { class: 'columns-of-card' },
      ...columns.filter((column) => column.length).map((column) => element('div', {}, ...column)),
    ),
  );
}
