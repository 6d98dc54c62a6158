/**
 * A device's account at instants of a run: what each used byte was, as `peaks --at` says of that time. *
 * @typedef {import('./columns.js').AccountInstants} AccountInstants since: when what was so at `time` began
 * @typedef {{ key: string, name: string, bytes: Float64Array }} Part bytes: by instant; negative where less was measured than is known
 * @typedef {AccountInstants & { device: number, total: number, parts: Part[] }} Account total: bytes of the device; 0: not known
 */
import { REST, UNCLAIMED, assign, fill } from './colours.js';
import { ACCOUNT_KINDS } from './columns.js';
import { colour } from './dom.js';
import { spanAt } from './model.js';

const [SPREAD, PEAK] = ACCOUNT_KINDS.keys();

/** How many instants are spread over the run; the others are its peak and lacks of memory. @param {Account} account */
export const spread = ({ kind }) => kind.filter((of) => of === SPREAD).length;

/** The peak's; -1: none. @param {Account} account */
export const peakOf = ({ kind }) => kind.indexOf(PEAK);

/** When each begins to be drawn: as it was at an instant it is drawn until the next. @param {Account} account */
export function begins({ since, time }) {
  let latest = 0;
  return since.map((ns, i) => (latest = Math.max(latest, Math.min(ns, time[i]))));
}

/** The instant that tells a time: its own, else the one that is drawn then; -1: before the first.
 *  @param {Account} account @param {number} ns */
export function instantAt(account, ns) {
  const own = account.time.indexOf(ns);
  return own >= 0 ? own : spanAt(begins(account), ns);
}

/** The same, but where nothing is told of a time it is the one that is nearest to it. @param {Account} account @param {number} ns */
export function nearestTo(account, ns) {
  const { time, since } = account,
    i = instantAt(account, ns);
  if (i < 0 || i + 1 === time.length || isTold(account, i, ns)) return i;
  return Math.min(since[i + 1], time[i + 1]) - ns < ns - time[i] ? i + 1 : i;
}

/** Is it known that the account was so then? @param {Account} account @param {number} i @param {number} ns */
export const isTold = ({ since, time }, i, ns) => ns === time[i] || (ns > since[i] && ns < time[i]);

/** Parts with colours that they have elsewhere on the page. @type {Record<string, string>} */
const NAMED = { torch_split_free: '--split', torch_releasable: '--releasable', torch_graph_pools: '--graph' };
/** @type {Record<string, number>} */
const NOBODYS = { unknown: UNCLAIMED, other_processes: REST };

/** What parts are filled with, the same in all accounts of a page. @param {Account[]} accounts @param {boolean} dark
 *  @returns {(part: Part) => string | CanvasPattern} */
export function fills(accounts, dark) {
  const most = new Map();
  for (const { key, bytes } of accounts.flatMap(({ parts }) => parts))
    if (!NAMED[key] && !(key in NOBODYS))
      most.set(
        key,
        bytes.reduce((a, b) => Math.max(a, b), most.get(key) ?? 0),
      );
  const slots = assign(most, [[...most.keys()]]);
  return ({ key }) => (NAMED[key] ? colour(NAMED[key]) : fill(NOBODYS[key] ?? slots.get(key) ?? REST, dark));
}
