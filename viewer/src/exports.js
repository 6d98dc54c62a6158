/** Files for the user: tables as CSV, charts as PNG. */
import { colour } from './dom.js';
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

/** A chart's legend as it is shown: as many lines as fit.
 * @param {CanvasRenderingContext2D} c @param {HTMLElement} chart @param {number} x @param {number} y
 * @param {number} height @param {number} ratio */
function drawLegend(c, chart, x, y, height, ratio) {
  const WIDTH = LEGEND * ratio,
    line = 17 * ratio,
    lines = [...chart.querySelectorAll('.legend tbody tr')];
  const fits = Math.floor(height / line),
    shown = lines.length > fits ? fits - 1 : lines.length;
  lines.slice(0, shown).forEach((row, i) => {
    const swatch = row.querySelector('canvas'),
      bytes = row.querySelector('td')?.textContent ?? '',
      at = y + (i + 0.75) * line;
    if (swatch) c.drawImage(swatch, x, at - 10 * ratio);
    const room = WIDTH - 24 * ratio - c.measureText(bytes).width;
    c.fillText(shorter(c, row.querySelector('bdi')?.textContent ?? '', room), x + 18 * ratio, at);
    c.textAlign = 'right';
    c.fillText(bytes, x + WIDTH, at);
    c.textAlign = 'left';
  });
  if (shown < lines.length) c.fillText(`${lines.length - shown} more`, x + 18 * ratio, y + (shown + 0.75) * line);
}

/** The end of a name that is too long, as in the legend. @param {CanvasRenderingContext2D} c @param {string} text
 *  @param {number} room */
function shorter(c, text, room) {
  if (c.measureText(text).width <= room) return text;
  let cut = 1;
  while (cut < text.length && c.measureText(`…${text.slice(cut)}`).width > room) cut++;
  return `…${text.slice(cut)}`;
}

const LEGEND = 320,
  MARGIN = 26;

/** All charts below each other, each with its title and legend. @param {HTMLElement[]} charts @param {string} title */
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
    c.fillText(words(chart.querySelector('h3')), line, y);
    c.drawImage(canvas, line, Math.round(y + line / 3));
    drawLegend(c, chart, wide + 2 * line, Math.round(y + line / 3), canvas.height, ratio);
    y += canvas.height + line;
  }
  return out;
}

/** The charts as they are shown. @param {import('./app.js').App} app */
export function savePng(app) {
  const charts = app.charts.map((chart) => chart.root),
    title = app.runs().map((log) => log.label);
  picture(charts, title.join('  and  ')).toBlob((blob) => {
    if (blob) download('memprof.png', blob);
  });
}

/** Every span of every group that holds bytes. @param {import('./model.js').Stack[]} stacks */
export function stacksCsv(stacks) {
  const quote = (/** @type {string} */ text) => `"${text.replaceAll('"', '""')}"`;
  const lines = ['"run","heap","start_ns","time_of_max_ns","max_bytes","min_bytes","band","bytes_at_max"'];
  for (const { log, heap, groups } of stacks) {
    const s = heap.spans;
    const run = [quote(log.short), quote(heap.name)];
    for (let i = 0; i < s.start.length; i++) {
      const span = [...run, s.start[i], s.time[i], s.max[i], s.min[i]];
      for (const g of groups) if (g.bytes[i]) lines.push([...span, quote(g.name), g.bytes[i]].join(','));
    }
  }
  return lines.join('\n') + '\n';
}

/** The timelines of all stacks that are shown. @param {import('./app.js').App} app */
export function saveTimelines(app) {
  saveCsv(
    'memprof-timeline',
    stacksCsv(app.charts.flatMap((chart) => (chart instanceof StackChart ? [chart.stack] : []))),
  );
}
