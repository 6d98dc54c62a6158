/**
 * Puts two runs on one axis: finds the time of each log that becomes zero.
 * @typedef {import('./data.js').Log} Log
 */
import { pathName } from './model.js';

/** Returns when the largest heap peaked. @param {Log} log */
export const peakTime = (log) => (log.heaps.length ? log.heaps[0].peakTime : 0);

/**
 * Returns the ranges that both logs have, ordered by their first begin in the first log.
 * @param {Log[]} logs
 * @returns {string[]}
 */
export function commonRanges(logs) {
  const sets = logs.map((log) => new Set(Array.from(log.instances.node, (node) => pathName(log.paths[node]))));
  return [...sets[0]].filter((name) => sets.every((set) => set.has(name))).slice(0, 200);
}

/**
 * Returns when the k-th instance (from 1) of the range began, or null if there are fewer.
 * @param {Log} log
 * @param {string} name
 * @param {number} k
 */
export function instance(log, name, k) {
  let seen = 0;
  for (let i = 0; i < log.instances.node.length; i++) {
    if (pathName(log.paths[log.instances.node[i]]) === name && ++seen === k) return log.instances.from[i];
  }
  return null;
}

/** @param {Log} log @param {string} how "start", "peak" or "range:NAME" */
export function origin(log, how) {
  if (how === 'peak') return peakTime(log);
  if (how.startsWith('range:')) return instance(log, how.slice(6), 1) ?? 0;
  return 0;
}
