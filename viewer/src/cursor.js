/** The keyboard's cursor in all charts: it moves, selects a span, pins an instant and steps through blocks. */
import { BlockChart } from './blockchart.js';

/** @typedef {import('./app.js').App} App */

/** @param {App} app @param {number} by of the view's length @param {boolean} choosing whether it selects the span that
 *  it passes */
export function moveCursor(app, by, choosing) {
  const [from, to] = app.view,
    [low, high] = app.whole,
    pin = app.pins.at(-1)?.at ?? NaN,
    start = app.cursor ?? (pin >= from && pin <= to ? pin : (from + to) / 2),
    { share, at: timeAt } = app.scaleOf(0),
    at = Math.min(high, Math.max(low, timeAt(share(start) + by)));
  app.anchor = choosing ? (app.anchor ?? start) : null;
  app.cursor = at;
  if (at < from || at > to) app.pan(by);
  if (app.anchor !== null) app.select(Math.min(app.anchor, at), Math.max(app.anchor, at));
  else app.showChosen();
}

/** Pins the cursor's instant in the chart that has the focus, otherwise in the first chart. @param {App} app */
export function pinCursor(app) {
  const charts = app.charts.flatMap((chart) => (chart instanceof BlockChart ? [] : [chart])),
    chart = charts.find(({ root }) => root.contains(document.activeElement)) ?? charts[0];
  if (chart && app.cursor !== null) chart.pin(Math.round(app.cursor));
}

/** Shows the next of the largest blocks at the cursor, the pin or the peak. @param {App} app */
export function nextBlock(app) {
  const open = () => app.charts.find((chart) => chart instanceof BlockChart),
    has = app
      .shownHeaps()
      .find((name) =>
        app.runs().some((log) => log.heaps.some((heap) => heap.name === name && heap.blocks.from.length)),
      );
  if (!open() && has) app.change({ blocks: has });
  const chart = open();
  if (!(chart instanceof BlockChart)) return;
  chart.next(app.cursor ?? app.pins.at(-1)?.at ?? null);
  chart.root.scrollIntoView({ block: 'nearest' });
}
