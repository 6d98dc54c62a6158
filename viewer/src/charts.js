/** Chooses the charts of the page from top to bottom, and their common scale. */
import { AccountChart, accountCharts } from './accountchart.js';
import { BlockChart } from './blockchart.js';
import { CompareChart, overlay } from './comparechart.js';
import { DifferenceChart } from './differencechart.js';
import { element } from './dom.js';
import { several, size } from './format.js';
import { StackChart } from './stackchart.js';

/**
 * @typedef {import('./app.js').App} App
 * @typedef {import('./model.js').Stack} Stack
 * @typedef {StackChart | CompareChart | BlockChart | AccountChart} Chart
 */

export const HEIGHTS = [300, 190, 150];
const BLOCKS_HEIGHT = 300,
  ACCOUNT_HEIGHT = 190;

/** Returns the charts of one heap. @param {App} app @param {string} name @param {number} height @returns {Chart[]} */
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

/** Returns the charts of the shown heaps, the largest first and highest. A device's account follows its first heap.
 *  @param {App} app @returns {Chart[]} */
export const makeCharts = (app) => {
  const names = app.heapsByVerdict(),
    device = (/** @type {string} */ name) => name.split('/')[0],
    isFirst = (/** @type {string} */ name) => names.find((of) => device(of) === device(name)) === name;
  return names.flatMap((name, i) => [
    ...chartsOf(app, name, HEIGHTS[Math.min(i, HEIGHTS.length - 1)]),
    ...(isFirst(name) ? accountCharts(app, device(name), ACCOUNT_HEIGHT) : []),
  ]);
};

/** Gives a heap, or a device's account, the same scale in both runs. Also sets the lower end of each axis.
 *  @param {Chart[]} charts @returns {Map<Chart, number>} the upper ends of the axes */
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

/** Heaps whose peak is below this share of the largest one are collapsed. */
const SMALL = 0.01;

/** Returns the elements of the charts. Those of small heaps are collapsed into one line, unless one was chosen.
 *  @param {App} app @param {HTMLElement[]} charts */
export function smallHeaps(app, charts) {
  const peakOf = (/** @type {string} */ name) =>
      Math.max(0, ...app.runs().map((log) => log.heaps.find((heap) => heap.name === name)?.peakBytes ?? 0)),
    names = app.heapsByVerdict(),
    most = Math.max(...names.map(peakOf)),
    small = app.state.heaps ? [] : names.filter((name) => name !== names[0] && peakOf(name) < SMALL * most),
    isSmall = (/** @type {HTMLElement} */ { dataset: { heap } }) => heap !== undefined && small.includes(heap);
  if (!small.length) return charts;
  const list = small.map((name) => `${name} ${size(peakOf(name))}`).join(', ');
  return [
    ...charts.filter((chart) => !isSmall(chart)),
    element(
      'details',
      { class: 'panel small-heaps' },
      element('summary', {}, `${several(small.length, 'heap')} below 1 % of the largest: ${list}`),
      ...charts.filter(isSmall),
    ),
  ];
}
