/** A band's bytes over the view, next to its name, without a scale. */
import { colour } from './dom.js';

const WIDTH = 48,
  HEIGHT = 14;

/** Returns the largest bytes of each column. @param {Float64Array} bytes of each span @param {number[]} spans that are
 *  shown @param {number} columns */
export function columnsOf(bytes, spans, columns) {
  const out = new Float64Array(Math.min(columns, spans.length));
  spans.forEach((span, i) => {
    const at = Math.floor((i * out.length) / spans.length);
    out[at] = Math.max(out[at], bytes[span]);
  });
  return out;
}

/** @param {HTMLCanvasElement} canvas @param {Float64Array} bytes @param {number[]} spans */
export function sparkline(canvas, bytes, spans) {
  const ratio = globalThis.devicePixelRatio || 1,
    c = canvas.getContext('2d'),
    ys = columnsOf(bytes, spans, WIDTH),
    most = ys.reduce((a, b) => Math.max(a, b), 1);
  if (!c) return;
  const [width, height] = [WIDTH, HEIGHT].map((size) => Math.round(size * ratio));
  if (canvas.width !== width) canvas.width = width; // setting it allocates new pixels
  if (canvas.height !== height) canvas.height = height;
  c.setTransform(ratio, 0, 0, ratio, 0, 0);
  c.clearRect(0, 0, WIDTH, HEIGHT);
  c.fillStyle = colour('--faint');
  c.beginPath();
  ys.forEach((y, i) => {
    const high = (y / most) * (HEIGHT - 1);
    c.rect((i * WIDTH) / ys.length, HEIGHT - high, WIDTH / ys.length, high);
  });
  c.fill();
}
