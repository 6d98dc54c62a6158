/** Saves files for the user: tables as CSV, charts as PNG. */
import { CompareChart } from './comparechart.js';
import { csv } from './csv.js';
import { DifferenceChart } from './differencechart.js';
import { colour } from './dom.js';
import { shown } from './lod.js';
import { isAbout, isLeast } from './model.js';
import { StackChart } from './stackchart.js';

/** @param {string} name @param {Blob} blob */
function download(name, blob) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

/** @param {string} name @param {string} text */
export function saveCsv(name, text) {
  download(`${name.replaceAll('/', '-')}.csv`, new Blob([text], { type: 'text/csv' }));
}

/** @param {Element | null} node */
const words = (node) =>
  [...(node?.childNodes ?? [])]
    .map((child) => child.textContent)
    .filter(Boolean)
    .join('  ');

/** Draws a chart's legend as the page shows it, with as many lines as fit. @param {CanvasRenderingContext2D} c
 *  @param {HTMLElement} chart @param {number} x @param {number} y @param {number} height @param {number} ratio */
function drawLegend(c, chart, x, y, height, ratio) {
  const WIDTH = LEGEND * ratio,
    line = 17 * ratio,
    lines = [...chart.querySelectorAll('.legend tbody tr:not([hidden])')];
  const fits = Math.floor(height / line),
    shown = lines.length > fits ? fits - 1 : lines.length;
  lines.slice(0, shown).forEach((row, i) => {
    const swatch = /** @type {HTMLCanvasElement | null} */ (row.querySelector('.swatch')),
      bytes = row.querySelector('td')?.textContent ?? '',
      at = y + (i + 0.75) * line;
    if (swatch) c.drawImage(swatch, x, at - 10 * ratio);
    const room = WIDTH - 24 * ratio - c.measureText(bytes).width;
    c.fillText(shorter(c, nameOf(row), room), x + 18 * ratio, at);
    c.textAlign = 'right';
    c.fillText(bytes, x + WIDTH, at);
    c.textAlign = 'left';
  });
  if (shown < lines.length) c.fillText(`${lines.length - shown} more`, x + 18 * ratio, y + (shown + 0.75) * line);
}

/** Returns a band's whole name, which its row shows in two parts, or the text of a row without a band.
 *  @param {Element} row */
const nameOf = (row) => row.getAttribute('data-name') ?? row.querySelector('bdi')?.textContent ?? '';

/** Returns the end of a text that is too long, as the legend shows it. @param {CanvasRenderingContext2D} c
 *  @param {string} text @param {number} room */
function shorter(c, text, room) {
  if (c.measureText(text).width <= room) return text;
  let cut = 1;
  while (cut < text.length && c.measureText(`…${text.slice(cut)}`).width > room) cut++;
  return `…${text.slice(cut)}`;
}

const LEGEND = 320,
  MARGIN = 26;

/** Draws all charts below each other, each with its title and legend. @param {HTMLElement[]} charts
 *  @param {string} title */
export function picture(charts, title) {
  const parts = charts.flatMap((chart) => {
    const canvas = chart.querySelector('canvas');
    return canvas ? [{ chart, canvas }] : [];
  });
  const ratio = globalThis.devicePixelRatio || 1,
    line = MARGIN * ratio;
  const wide = Math.max(...parts.map(({ canvas }) => canvas.width));
  const out = document.createElement('canvas');
  out.width = wide + LEGEND * ratio + 3 * line;
  out.height = parts.reduce((sum, { canvas }) => sum + canvas.height + line, 2 * line);
  const c = /** @type {CanvasRenderingContext2D} */ (out.getContext('2d'));
  c.fillStyle = colour('--ground');
  c.fillRect(0, 0, out.width, out.height);
  c.fillStyle = colour('--ink');
  c.font = `${12 * ratio}px system-ui, sans-serif`;
  c.fillText(title, line, line);
  let y = 2 * line;
  for (const { chart, canvas } of parts) {
    c.fillText(words(chart.querySelector('h2')), line, y);
    c.drawImage(canvas, line, Math.round(y + line / 3));
    drawLegend(c, chart, wide + 2 * line, Math.round(y + line / 3), canvas.height, ratio);
    y += canvas.height + line;
  }
  return out;
}

/** Saves the charts as they are shown. @param {import('./app.js').App} app */
export function savePng(app) {
  const charts = app.charts.map((chart) => chart.root),
    title = app.runs().map((log) => log.label);
  picture(charts, title.join('  and  ')).toBlob((blob) => {
    if (blob) download('memprof.png', blob);
  });
}

/** The number of columns that are saved per chart, which keeps the file small enough for a spreadsheet even if the run
 *  is long. */
const COLUMNS_SAVED = 500;

/** Returns the rows of the stacks in view: every group that holds bytes at the largest state of each column.
 *  @param {import('./app.js').App} app @param {StackChart[]} charts */
function stackRecords(app, charts) {
  const head = ['run', 'heap', 'start_ns', 'time_of_max_ns', 'max_bytes', 'min_bytes', 'band', 'is', 'bytes_at_max'];
  const records = charts.flatMap(({ stack, origin }) => {
    const { log, heap, groups } = stack,
      { time, max } = heap.spans,
      { x, span, min } = shown(heap.spans, app.view[0] + origin, app.view[1] + origin, COLUMNS_SAVED);
    return span.flatMap((at, i) =>
      groups
        .filter((group) => group.bytes[at])
        .map((group) => {
          const is = isLeast(stack, group, at) ? 'at least' : isAbout(group, at) ? 'about' : 'exactly';
          return [log.short, heap.name, Math.round(x[i]), time[at], max[at], min[i], group.name, is, group.bytes[at]];
        }),
    );
  });
  return [head, ...records];
}

/** Returns both totals in a column, and their difference if both runs are running. @param {CompareChart} chart
 *  @param {number} i */
function totalsAt({ name, xs, bytes }, i) {
  const [a, b] = [bytes(0, i), bytes(1, i)];
  return [name, Math.round(xs[i]), a ?? '', b ?? '', a === null || b === null ? '' : b - a];
}

/** Returns the rows of the charts of two runs. The chart of B minus A adds each band's part of the difference.
 *  @param {CompareChart[]} charts */
function compareRecords(charts) {
  const stacked = charts.some((chart) => chart instanceof DifferenceChart),
    head = ['heap', 'start_ns', 'A_bytes', 'B_bytes', 'B_minus_A_bytes'];
  const records = charts.flatMap((chart) =>
    [...chart.xs.keys()].flatMap((i) => {
      const totals = totalsAt(chart, i),
        parts = chart instanceof DifferenceChart ? chart.changesAt(i) : [];
      if (!stacked) return [totals];
      if (!parts.length) return [[...totals, '', '', '']];
      return parts.map(({ name, about, bytes }) => [...totals, name, about ? 'about' : 'exactly', bytes]);
    }),
  );
  return [stacked ? [...head, 'band', 'is', 'band_B_minus_A_bytes'] : head, ...records];
}

/** Returns the content of the charts as CSV. @param {import('./app.js').App} app */
export function timelinesCsv(app) {
  const compared = app.charts.flatMap((chart) => (chart instanceof CompareChart ? [chart] : [])),
    stacked = app.charts.flatMap((chart) => (chart instanceof StackChart ? [chart] : []));
  return csv(compared.length ? compareRecords(compared) : stackRecords(app, stacked));
}

/** @param {import('./app.js').App} app */
export const saveTimelines = (app) => saveCsv('memprof-timeline', timelinesCsv(app));
