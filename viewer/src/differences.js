/** Explains the difference of two runs: the rows of `diff` as bars to both sides, which sum to the difference. */
import { element, folded, nameText } from './dom.js';
import { amount, count, exactly, several, size } from './format.js';
import { holders } from './holders.js';
import { lines } from './lines.js';
import { isEstimated } from './model.js';
import { join, readFrame } from './names.js';

/**
 * @typedef {import('./app.js').App} App
 * @typedef {{ name: string, base: number, now: number, estimated: boolean, least?: boolean[] }} Change least: for A and
 *   for B, whether the bytes are a lower bound
 * @typedef {{ name: string, peak: boolean, base: number, now: number, rows: Change[], others: Change & { count: number
 *   } }} Account an amount that diff breaks down; peak: whether it is the peak of a heap or a device; rows: the largest
 *   changes first
 * @typedef {{ outcome: string, what: string, findings: { bytes: number, about: boolean, what: string, change: string }[] }} Verdict the
 *   sentence on the two logs; findings: the changes that matter, bytes: B's minus A's, change: what to compare
 */

const SHOWN = 12,
  FINDINGS = 3;

/** Returns the name of a row of the data. @param {{ path: import('./names.js').RawFrame[], caller: string }} row */
export const rowName = ({ path, caller }) => join(path.map(readFrame), caller);

/** @param {any} raw @returns {Account} */
export const readAccount = (raw) => ({
  name: raw.name,
  peak: raw.peak,
  base: raw.base_bytes,
  now: raw.new_bytes,
  rows: raw.rows.map((/** @type {any} */ row) => ({
    name: rowName(row),
    base: row.base_bytes,
    now: row.new_bytes,
    estimated: row.estimated,
  })),
  others: {
    name: `${count(raw.others)} more`,
    count: raw.others,
    base: raw.others_base_bytes,
    now: raw.others_new_bytes,
    estimated: false,
  },
});

/** @param {Change | Account} of @param {1 | -1} sign */
const change = (of, sign) => sign * (of.now - of.base);

/** Returns the first rows, and one more row for all others. @param {Account} account @param {number} shown
 *  @returns {Change[]} */
export function shownRows({ rows, others }, shown) {
  const rest = rows.slice(shown),
    sum = rest.reduce((all, row) => ({ base: all.base + row.base, now: all.now + row.now }), {
      base: others.base,
      now: others.now,
    }),
    more = rest.length + others.count;
  return [...rows.slice(0, shown), ...(more ? [{ name: `${count(more)} more`, ...sum, estimated: false }] : [])];
}

/** @param {Change} row @param {number} most @param {1 | -1} sign */
function bar(row, most, sign) {
  const bytes = change(row, sign),
    length = (50 * Math.abs(bytes)) / (most || 1);
  return element(
    'span',
    { class: 'diverging', 'aria-hidden': 'true' },
    element('i', { class: bytes > 0 ? 'more' : 'less', 'data-length': length.toFixed(3) }),
  );
}

/** Sets the styles of the bars. The policy of the page forbids styles in markup, but not those that its script sets.
 *  @param {HTMLElement} root */
function layOut(root) {
  for (const bar of /** @type {NodeListOf<HTMLElement>} */ (root.querySelectorAll('.diverging i'))) {
    const length = Number(bar.dataset.length);
    bar.style.width = `${length}%`;
    bar.style.left = `${bar.className === 'more' ? 50 : 50 - length}%`;
  }
}

/** @param {number} bytes @param {boolean} [about] @param {boolean} [least] */
const bytesCell = (bytes, about = false, least = false) =>
  element('td', { class: 'minor', title: exactly(bytes, least) }, amount(bytes, least, about));

/** @param {number} bytes @param {boolean} [about] @param {boolean} [nearly] */
const changeCell = (bytes, about = false, nearly = false) =>
  element(
    'td',
    { class: bytes > 0 ? 'more' : 'less', title: `${nearly ? '≈ ' : ''}${count(bytes)} bytes` },
    `${nearly ? '≈ ' : ''}${amount(bytes, false, about, true)}`,
  );

/** @param {any} raw @returns {Verdict} */
export const readVerdict = (raw) => ({
  outcome: raw.outcome,
  what: raw.what,
  findings: raw.findings.map((/** @type {any} */ of) => ({
    bytes: of.change_bytes,
    about: of.estimated,
    what: of.what,
    change: of.change,
  })),
});

/** @param {Verdict['findings'][0]} of */
const changeLine = (of) =>
  element(
    'li',
    {},
    element('b', { title: `${count(of.bytes)} bytes` }, amount(of.bytes, false, of.about, true)),
    element('span', { class: 'what' }, of.what),
    element('p', { class: 'open' }, element('span', { class: 'do' }, `compare ${of.change}`)),
  );

/** Returns the card with the verdict on two logs, or null if `diff` did not compare the shown ones. @param {App} app */
export function verdictCard(app) {
  const [a, b] = app.runs(),
    compared = comparedLog(app.logs);
  if (!compared?.verdict || b !== compared || a.index !== compared.differsFrom) return null; // B is the new side
  const { what, findings } = compared.verdict,
    more = findings.slice(FINDINGS);
  return element(
    'section',
    { class: 'card', 'data-panel': 'verdict', 'data-part': 'verdict', 'data-state': 'compared' },
    element('h2', { class: 'headline' }, what),
    element('ul', { class: 'changes' }, ...findings.slice(0, FINDINGS).map(changeLine)),
    more.length > 0 &&
      folded(several(more.length, 'more change'), () => [element('ul', { class: 'changes' }, ...more.map(changeLine))]),
  );
}

/** @param {Account} account @param {1 | -1} sign 1 if the second log is B */
function table(account, sign) {
  const rows = shownRows(account, SHOWN),
    most = Math.max(...rows.map((row) => Math.abs(change(row, sign)))),
    sides = (/** @type {Change | Account} */ of) => (sign > 0 ? [of.base, of.now] : [of.now, of.base]);
  const head = ['of', 'B holds less | more', 'A', 'B', 'difference'];
  const made = element(
    'table',
    { class: 'differences' },
    element('thead', {}, element('tr', {}, ...head.map((text) => element('th', { scope: 'col' }, text)))),
    element(
      'tbody',
      {},
      ...rows.map((row, _, all) =>
        element(
          'tr',
          {},
          element(
            'th',
            { scope: 'row', title: row.name },
            element(
              'span',
              { class: 'name' },
              nameText(
                row.name,
                all.map(({ name }) => name),
              ),
            ),
          ),
          element('td', { class: 'spread' }, bar(row, most, sign)),
          ...sides(row).map((bytes, i) => bytesCell(bytes, row.estimated, row.least?.[i])),
          changeCell(change(row, sign), row.estimated, row.least?.includes(true)),
        ),
      ),
    ),
    element(
      'tfoot',
      {},
      element(
        'tr',
        {},
        element('th', { scope: 'row' }, account.name),
        element('td', {}),
        ...sides(account).map((bytes) => bytesCell(bytes)),
        element(
          'td',
          { class: 'total', title: `${count(change(account, sign))} bytes` },
          size(change(account, sign), true),
        ),
      ),
    ),
  );
  layOut(made);
  return made;
}

/** Returns the account of the peak that changed most. @param {Account[]} accounts */
export const mostOf = (accounts) =>
  accounts.reduce((most, one) => {
    const [a, b] = [most, one].map((account) => (account.peak ? Math.abs(change(account, 1)) : -1));
    return b > a ? one : most;
  });

/** Returns the log that has its differences from another log. @param {import('./data.js').Log[]} logs */
export const comparedLog = (logs) => logs.find((log) => log.differsFrom >= 0);

/** Returns accounts of two runs that diff did not compare: the holders of each heap's peaks. @param {App} app
 *  @returns {Account[]} */
function ownAccounts(app) {
  const runs = app.runs();
  return app.heapNames().flatMap((name) => {
    const heaps = runs.map((log) => log.heaps.find((heap) => heap.name === name)),
      all = lines(
        heaps.map((heap, i) => (heap ? holders(runs[i], heap, app.grouping()) : { held: new Map(), more: false })),
      ),
      estimated = heaps.some((heap) => heap && isEstimated(heap)),
      [base, now] = heaps.map((heap) => heap?.peakBytes ?? 0),
      rows = all
        .map(({ name: of, values, least, about }) => ({
          name: of,
          base: values[0] ?? 0,
          now: values[1] ?? 0,
          estimated: estimated || about.includes(true),
          least,
        }))
        .filter((row) => row.base !== row.now)
        .sort((x, y) => Math.abs(change(y, 1)) - Math.abs(change(x, 1)) || (x.name < y.name ? -1 : 1));
    return rows.length
      ? [{ name, peak: true, base, now, rows, others: { name: '', count: 0, base: 0, now: 0, estimated: false } }]
      : [];
  });
}

/** Returns the panel, or null if there is only one run or nothing differs. @param {App} app */
export function differencesPanel(app) {
  const { a, b } = app.state,
    of = comparedLog(app.logs);
  if (b < 0) return null;
  const isReported = of !== undefined && [a, b].includes(of.index) && [a, b].includes(of.differsFrom),
    accounts = isReported ? of.differences : ownAccounts(app),
    sign = !isReported || b === of.index ? 1 : -1,
    place = element('div', {}),
    tabs = accounts.map((account) =>
      element(
        'button',
        { type: 'button', 'aria-pressed': 'false', onclick: () => choose(account) },
        `${account.name} ${size(change(account, sign), true)}`,
      ),
    );
  if (!accounts.length) return null;
  /** @param {Account} account */
  const choose = (account) => {
    tabs.forEach((tab, i) => tab.setAttribute('aria-pressed', String(accounts[i] === account)));
    place.replaceChildren(table(account, sign));
  };
  choose(mostOf(accounts));
  const sub = element('span', { class: 'sub' }, isReported ? 'of the peaks, as in diff' : 'of the peaks, by owner'),
    content = [element('div', { class: 'tabs' }, ...tabs), place],
    isWorth = !isReported || !of.verdict || of.verdict.outcome === 'changed';
  return element(
    'section',
    { class: 'panel', 'data-panel': 'differences' },
    isWorth && element('h2', {}, 'What explains the difference', sub),
    ...(isWorth ? content : [folded('the small differences of the peaks', () => content)]),
  );
}
