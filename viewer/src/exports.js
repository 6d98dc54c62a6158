/** Files for the user: tables as CSV, charts as PNG. */
import { colour } from './dom.js';

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

/** All charts below each other, with their titles. @param {HTMLElement[]} charts @param {string} title */
export function savePng(charts, title) {
  const parts = charts
    .map((chart) => ({ canvas: chart.querySelector('canvas'), text: chart.querySelector('h3')?.textContent ?? '' }))
    .filter((part) => part.canvas !== null);
  const ratio = globalThis.devicePixelRatio || 1,
    line = 26 * ratio;
  const width = Math.max(...parts.map(({ canvas }) => /** @type {HTMLCanvasElement} */ (canvas).width)) + 2 * line;
  const height = parts.reduce(
    (sum, { canvas }) => sum + /** @type {HTMLCanvasElement} */ (canvas).height + line,
    2 * line,
  );
  const out = document.createElement('canvas');
  out.width = width;
  out.height = height;
  const c = /** @type {CanvasRenderingContext2D} */ (out.getContext('2d'));
  c.fillStyle = colour('--ground');
  c.fillRect(0, 0, width, height);
  c.fillStyle = colour('--ink');
  c.font = `${13 * ratio}px system-ui, sans-serif`;
  c.fillText(title, line, line);
  let y = 2 * line;
  for (const { canvas, text } of parts) {
    c.fillText(text, line, y);
    c.drawImage(/** @type {HTMLCanvasElement} */ (canvas), line, y + line / 3);
    y += /** @type {HTMLCanvasElement} */ (canvas).height + line;
  }
  out.toBlob((blob) => {
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
