/** What explains the difference of two runs: the rows of `diff`, as bars to both sides; they sum to the difference. */
import { element, nameText } from './dom.js';
import { count, size } from './format.js';

/**
 * @typedef {import('./app.js').App} App
 * @typedef {{ name: string, base: number, now: number, estimated: boolean }} Change
 * @typedef {{ name: string, peak: boolean, base: number, now: number, rows: Change[], others: Change & { count: number } }} Account
 *   what diff has an account of; peak: a heap's or a device's; rows: the largest changes first
 */

const SHOWN = 12;

/** A path, and who called its innermost name. @param {string[]} path @param {string} caller */
export const calledName = (path, caller) => (path.join(' > ') || 'outside any range') + (caller && ` <- ${caller}`);

/** @param {any} raw @returns {Account} */
export const readAccount = (raw) => ({
  name: raw.name,
  peak: raw.peak,
  base: raw.base_bytes,
  now: raw.new_bytes,
  rows: raw.rows.map((/** @type {any} */ row) => ({
    name: calledName(row.path, row.caller),
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

/** Of all rows but the first so many one. @param {Account} account @param {number} shown @returns {Change[]} */
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

/** The policy of the page forbids styles in markup, not those that its script sets. @param {HTMLElement} root */
function layOut(root) {
  for (const bar of /** @type {NodeListOf<HTMLElement>} */ (root.querySelectorAll('.diverging i'))) {
    const length = Number(bar.dataset.length);
    bar.style.width = `${length}%`;
    bar.style.left = `${bar.className === 'more' ? 50 : 50 - length}%`;
  }
}

/** @param {number} bytes @param {boolean} [about] */
const bytesCell = (bytes, about = false) =>
  element('td', { class: 'minor', title: `${count(bytes)} bytes` }, `${about ? '~' : ''}${size(bytes)}`);

/** @param {number} bytes @param {boolean} [about] */
const changeCell = (bytes, about = false) =>
  element(
    'td',
    { class: bytes > 0 ? 'more' : 'less', title: `${count(bytes)} bytes` },
    `${about ? '~' : ''}${size(bytes, true)}`,
  );

/** @param {Account} account @param {1 | -1} sign 1: the second log is B */
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
          ...sides(row).map((bytes) => bytesCell(bytes, row.estimated)),
          changeCell(change(row, sign), row.estimated),
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

/** The peak that changed most. @param {Account[]} accounts */
export const mostOf = (accounts) =>
  accounts.reduce((most, one) => {
    const [a, b] = [most, one].map((account) => (account.peak ? Math.abs(change(account, 1)) : -1));
    return b > a ? one : most;
  });

/** The log that has its differences from another one. @param {import('./data.js').Log[]} logs */
export const comparedLog = (logs) => logs.find((log) => log.differsFrom >= 0);

/** null: not those two runs, or nothing differs. @param {App} app */
export function differencesPanel(app) {
  const { a, b } = app.state,
    of = comparedLog(app.logs);
  if (!of?.differences.length || b < 0) return null;
  if (![a, b].includes(of.index) || ![a, b].includes(of.differsFrom))
    return element(
      'p',
      { class: 'sub', 'data-panel': 'no-differences' },
      `What explains the difference is told of ${app.logs[of.differsFrom].short} and ${of.short} only; ` +
        'of these two charts and tables have the difference of each name, and a page of these two logs has the rest.',
    );
  const accounts = of.differences,
    sign = b === of.index ? 1 : -1,
    place = element('div', {}),
    tabs = accounts.map((account) =>
      element(
        'button',
        { type: 'button', 'aria-pressed': 'false', onclick: () => choose(account) },
        `${account.name} ${size(change(account, sign), true)}`,
      ),
    );
  /** @param {Account} account */
  const choose = (account) => {
    tabs.forEach((tab, i) => tab.setAttribute('aria-pressed', String(accounts[i] === account)));
    place.replaceChildren(table(account, sign));
  };
  choose(mostOf(accounts));
  return element(
    'section',
    { class: 'panel', 'data-panel': 'differences' },
    element(
      'h2',
      {},
      'What explains the difference',
      element('span', { class: 'sub' }, 'of the peaks, as diff tells it'),
    ),
    element('div', { class: 'tabs' }, ...tabs),
    place,
  );
}
