/**
 * A device's account at instants of a run: the use of every byte, as `peaks --at` reports it.
 * @typedef {import('./columns.js').AccountInstants} AccountInstants since: when the state at `time` began
 * @typedef {{ key: string, name: string, bytes: Float64Array }} Part bytes: by instant, negative if the measured bytes
 *   are fewer than the known ones
 * @typedef {AccountInstants & { device: number, total: number, parts: Part[] }} Account total: bytes of the device, or
 *   0 if unknown
 */
import { REST, UNCLAIMED, assign, fill } from './colours.js';
import { ACCOUNT_KINDS } from './columns.js';
import { colour } from './dom.js';
import { spanAt } from './model.js';

const [SPREAD, PEAK] = ACCOUNT_KINDS.keys();

/** Returns how many instants are spread over the run. The others are its peak and its out-of-memory events.
 *  @param {Account} account */
export const spread = ({ kind }) => kind.filter((of) => of === SPREAD).length;

/** Returns the index of the peak, or -1 without one. @param {Account} account */
export const peakOf = ({ kind }) => kind.indexOf(PEAK);

/** Returns when each instant begins to be drawn. An instant is drawn until the next one begins.
 *  @param {Account} account */
export function begins({ since, time }) {
  let latest = 0;
  return since.map((ns, i) => (latest = Math.max(latest, Math.min(ns, time[i]))));
}

/** Returns the instant for a time: an instant at exactly this time, otherwise the instant that is drawn there, or -1
 *  before the first. @param {Account} account @param {number} ns */
export function instantAt(account, ns) {
  const own = account.time.indexOf(ns);
  return own >= 0 ? own : spanAt(begins(account), ns);
}

/** Returns the same, but the nearest instant if the state at the time is unknown. @param {Account} account
 *  @param {number} ns */
export function nearestTo(account, ns) {
  const { time, since } = account,
    i = instantAt(account, ns);
  if (i < 0 || i + 1 === time.length || isKnownAt(account, i, ns)) return i;
  return Math.min(since[i + 1], time[i + 1]) - ns < ns - time[i] ? i + 1 : i;
}

/** Returns true if instant i is known to describe the account at this time. @param {Account} account @param {number} i
 *  @param {number} ns */
export const isKnownAt = ({ since, time }, i, ns) => ns === time[i] || (ns > since[i] && ns < time[i]);

/** Parts that have the same colours elsewhere on the page. @type {Record<string, string>} */
const NAMED = { torch_split_free: '--split', torch_releasable: '--releasable', torch_graph_pools: '--graph' };
/** @type {Record<string, number>} */
const NOBODYS = { unknown: UNCLAIMED, other_processes: REST };

/** Returns a function for the fill of a part, which is the same in all accounts of the page.
 *  @param {Account[]} accounts @param {boolean} dark @returns {(part: { key: string }) => string | CanvasPattern} */
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
