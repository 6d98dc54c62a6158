/**
 * Chooses the spans that a chart shows in a given number of pixels. A column shows its largest span, so no spike is
 * lost, and each stack is a state that really occurred.
 * @typedef {{ x: number[], span: number[], min: number[] }} Shown x: where each begins, ns; min: the smallest in the
 *   column
 */
import { spanAt } from './model.js';

/**
 * @typedef {{ share: (ns: number) => number, at: (share: number) => number }} Scale
 * @param {number} from @param {number} to @returns {Scale}
 */
const evenly = (from, to) => ({
  share: (ns) => (ns - from) / (to - from),
  at: (share) => from + share * (to - from),
});

/**
 * @param {{ start: Float64Array, max: Float64Array, min: Float64Array }} spans
 * @param {number} from @param {number} to @param {number} columns @param {Scale} [scale] converts times to shares of
 *   the view
 * @returns {Shown}
 */
export function shown(spans, from, to, columns, scale = evenly(from, to)) {
  const first = Math.max(0, spanAt(spans.start, from));
  const end = spanAt(spans.start, to) + 1;
  if (end - first <= columns * 2) return all(spans, first, end);
  const column = (/** @type {number} */ span) => Math.max(0, Math.floor(scale.share(spans.start[span]) * columns));
  /** @type {Shown} */
  const out = { x: [], span: [], min: [] };
  for (let i = first; i < end; ) {
    const at = column(i);
    let best = i,
      next = i + 1,
      min = spans.min[i];
    for (; next < end && column(next) === at; next++) {
      if (spans.max[next] > spans.max[best]) best = next;
      if (spans.min[next] < min) min = spans.min[next];
    }
    out.x.push(scale.at(at / columns));
    out.span.push(best);
    out.min.push(min);
    if (best !== next - 1 && (next === end || column(next) > at + 1)) {
      out.x.push(scale.at((at + 1) / columns));
      out.span.push(next - 1);
      out.min.push(spans.min[next - 1]);
    }
    i = next;
  }
  return out;
}

/**
 * @param {{ start: Float64Array, min: Float64Array }} spans
 * @param {number} first
 * @param {number} end
 * @returns {Shown}
 */
function all(spans, first, end) {
  /** @type {Shown} */
  const out = { x: [], span: [], min: [] };
  for (let i = first; i < end; i++) {
    out.x.push(spans.start[i]);
    out.span.push(i);
    out.min.push(spans.min[i]);
  }
  return out;
}

/**
 * Returns for each of `columns` the span of the largest state that begins in it, as `shown` does, otherwise the last
 * span before it, or -1 before the first.
 * @param {{ start: Float64Array, max: Float64Array }} spans
 * @param {number} from
 * @param {number} to
 * @param {number} columns
 * @param {Scale} [scale]
 */
export function spansIn(spans, from, to, columns, scale = evenly(from, to)) {
  const out = new Int32Array(columns);
  let span = spanAt(spans.start, from);
  for (let i = 0; i < columns; i++) {
    const until = scale.at((i + 1) / columns);
    let best = i ? -1 : span;
    while (span + 1 < spans.start.length && spans.start[span + 1] < until) {
      span++;
      if (best < 0 || spans.max[span] > spans.max[best]) best = span;
    }
    out[i] = best < 0 ? span : best;
  }
  return out;
}

/** Returns the bytes at a span, or zero before the first. @param {ArrayLike<number>} bytes of each span
 *  @param {number} span */
export const heldAt = (bytes, span) => (span < 0 ? 0 : bytes[span]);

/**
 * Returns the largest total in each of `columns`, for minimaps and overlays. Levels continue into columns without a
 * change.
 * @param {{ start: Float64Array, max: Float64Array }} spans
 * @param {number} from
 * @param {number} to
 * @param {number} columns
 * @param {Scale} [scale]
 */
export const totals = (spans, from, to, columns, scale) =>
  Float64Array.from(spansIn(spans, from, to, columns, scale), (span) => heldAt(spans.max, span));
