/** Goes to other instants: the peak and the markers. */

/** @typedef {import('./app.js').App} App */

/** Goes to the peak of the first run's largest heap and pins it. @param {App} app */
export function toPeak(app) {
  const log = app.runs()[0],
    heap = log.heaps.find((h) => h.name === app.shownHeaps()[0]);
  if (!heap) return;
  const at = heap.peakTime - app.origin(log);
  app.step(() => {
    app.centre(at, Math.min(app.view[1] - app.view[0], (app.whole[1] - app.whole[0]) / 4));
    app.pin([{ heap: heap.name, log: log.index, at }]);
  });
}

/** Goes to the next marker before or after the middle of the view. @param {App} app @param {number} by 1 or -1 */
export function toMark(app, by) {
  const times = app
    .runs()
    .flatMap((log) => log.marks.map((mark) => mark.time - app.origin(log)))
    .sort((a, b) => a - b);
  const middle = (app.view[0] + app.view[1]) / 2,
    length = app.view[1] - app.view[0],
    slack = length * 1e-6 + 1;
  const next = by > 0 ? times.find((t) => t > middle + slack) : times.reverse().find((t) => t < middle - slack);
  if (next === undefined) return;
  app.centre(next, Math.min(length, (app.whole[1] - app.whole[0]) / 8));
}
