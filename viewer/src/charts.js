/** Which charts stand below each other, and their one scale. */
import { AccountChart, accountCharts } from './accountchart.js';
import { BlockChart } from './blockchart.js';
import { CompareChart, overlay } from './comparechart.js';
import { DifferenceChart } from './differencechart.js';
import { StackChart } from './stackchart.js';

/**
 * @typedef {import('./app.js').App} App
 * @typedef {import('./model.js').Stack} Stack
 * @typedef {StackChart | CompareChart | BlockChart | AccountChart} Chart
 */

export const HEIGHTS = [300, 190, 150];
const BLOCKS_HEIGHT = 300,
  ACCOUNT_HEIGHT = 190;

/** Those of one heap. @param {App} app @param {string} name @param {number} height @returns {Chart[]} */
function chartsOf(app, name, height) {
  const { state } = app;
  const stacks = app
    .runs()
    .map((log) => app.stackOf(log, name))
    .filter((s) => s !== undefined);
  const both = stacks.length === 2;
  if (both && state.compare !== 'both') {
    const [a, b] = stacks;
    return [state.compare === 'overlay' ? overlay(app, [a, b], height) : new DifferenceChart(app, [a, b], height)];
  }
  const role = (/** @type {Stack} */ s) => (state.b < 0 ? '' : app.roleOf(s.log));
  const charts = stacks.map((s) => new StackChart(app, s, role(s), both ? Math.round(height * 0.8) : height));
  if (state.blocks !== name) return charts;
  return [
    ...charts,
    ...stacks.filter((s) => s.heap.blocks.from.length).map((s) => new BlockChart(app, s, role(s), BLOCKS_HEIGHT)),
  ];
}

/** Of the heaps that are shown, the largest first and highest; behind a device's first one its account. @param {App} app @returns {Chart[]} */
export const makeCharts = (app) => {
  const names = app.shownHeaps(),
    device = (/** @type {string} */ name) => name.split('/')[0],
    isFirst = (/** @type {string} */ name) => names.find((of) => device(of) === device(name)) === name;
  return names.flatMap((name, i) => [
    ...chartsOf(app, name, HEIGHTS[Math.min(i, HEIGHTS.length - 1)]),
    ...(isFirst(name) ? accountCharts(app, device(name), ACCOUNT_HEIGHT) : []),
  ]);
};

/** A heap, or a device's account, has one scale in both runs: also sets where it begins. @param {Chart[]} charts
 *  @returns {Map<Chart, number>} where it ends */
export function ceilings(charts) {
  const ROOM = 0.08,
    nameOf = (/** @type {Chart} */ chart) => chart.root.dataset.heap ?? `account of ${chart.root.dataset.account}`,
    based = charts.flatMap((chart) => (chart instanceof StackChart || chart instanceof AccountChart ? [chart] : [])),
    bottom = (/** @type {StackChart | AccountChart} */ chart) =>
      chart instanceof StackChart ? chart.hide() : chart.bottom(),
    low = new Map(),
    most = new Map();
  for (const chart of based) low.set(nameOf(chart), Math.min(low.get(nameOf(chart)) ?? Infinity, bottom(chart)));
  for (const chart of based) chart.low = low.get(nameOf(chart));
  for (const chart of charts)
    most.set(nameOf(chart), Math.max(most.get(nameOf(chart)) ?? (low.get(nameOf(chart)) ?? 0) + 1, chart.ceiling()));
  return new Map(
    charts.map((chart) => {
      const top = most.get(nameOf(chart));
      return [chart, top + ROOM * (top - (low.get(nameOf(chart)) ?? 0))];
    }),
  );
}
