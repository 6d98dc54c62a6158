/** The context of a heap: figures from the kernel or the driver, and the memory limit. */
import { colour } from './dom.js';
import { size } from './format.js';
import { spanAt } from './model.js';
import * as paint from './paint.js';

/**
 * @typedef {import('./stackchart.js').StackChart} StackChart
 * @typedef {import('./model.js').Stack} Stack
 */

/** Returns the kernel's or the driver's figures that belong to a heap. @param {Stack} stack */
export function trackOf(stack) {
  const { name } = stack.heap,
    { tracks } = stack.log;
  if (name.startsWith('gpu'))
    return name.endsWith('/device') ? tracks.find((t) => t.name === `${name.split('/')[0]}/used`) : undefined;
  return name === 'host/heap' ? tracks.find((t) => t.name === 'RSS') : undefined;
}

/** Returns the memory limit of a heap. @param {Stack} stack */
export function limitOf(stack) {
  const { name } = stack.heap,
    { tracks } = stack.log;
  const track = name.startsWith('gpu')
    ? tracks.find((t) => t.name === `${name.split('/')[0]}/used`)
    : name.startsWith('host/')
      ? tracks.find((t) => t.name === 'cgroup')
      : undefined; // nvtx/regions may be on the host or on a GPU
  return track && track.limit > 0 && track.limit < 2 ** 50
    ? { bytes: track.limit, label: name.startsWith('gpu') ? 'memory of the GPU' : 'limit of the cgroup' }
    : null;
}

/** How often memprof reads a figure, in ns. It records a sample if the figure has changed or the last sample is RENEWED
 *  old. */
const PERIOD = { kernel: 1e8, driver: 1e7 },
  RENEWED = 1e10;

/** Returns the figures over time. Each one lasts until the last reading before the next sample, or until it is too old.
 *  @param {import('./data.js').Track} track @param {number} end ns, of the run @param {number} [first] sample
 *  @param {number} [last] the index after the last sample @returns {paint.Figure[]} */
export function figures({ name, time, value }, end, first = 0, last = time.length) {
  const period = name.startsWith('gpu') ? PERIOD.driver : PERIOD.kernel;
  return Array.from(time.subarray(first, last), (at, k) => {
    const i = first + k,
      looks = Math.floor((Math.min(end, at + RENEWED) - at) / period),
      known = at + looks * period,
      until = Math.max(at, Math.min(known, i + 1 < time.length ? time[i + 1] - period : known)),
      joined = i > 0 && at <= time[i - 1] + RENEWED + period,
      figure = { x: at, y: value[i], looked: true, joined };
    return until > at ? [figure, { x: until, y: value[i], looked: false, joined: true }] : [figure];
  }).flat();
}

/** Returns the figures of a track in a span, and one more on either side. The cost depends only on the samples in the
 *  span. @param {import('./data.js').Track} track @param {number} end ns, of the run @param {number} from
 *  @param {number} to */
export function figuresIn(track, end, from, to) {
  const near = figures(track, end, Math.max(0, spanAt(track.time, from) - 1), spanAt(track.time, to) + 2);
  return near.filter(({ x }, i) => (near[i + 1]?.x ?? x) >= from && (near[i - 1]?.x ?? x) <= to);
}

/** Returns the figures of the chart's track that are in view. @param {StackChart} chart @returns {paint.Figure[]} */
export function seenOf({ app, track, origin, stack }) {
  if (!track) return [];
  const [from, to] = app.view.map((ns) => ns + origin);
  return figuresIn(track, stack.log.duration, from, to).map((figure) => ({ ...figure, x: figure.x - origin }));
}

/** Draws the limit, then the track above it. Labels are placed next to the peak's label, or replace it if there is too
 *  little room. @param {StackChart} chart @param {paint.Surface} s @returns {paint.Box[]} the boxes of the labels */
export function drawContext(chart, s) {
  const { track, limit } = chart,
    [flag, tip] = paint.flagTakes(s, s.x(chart.stack.heap.peakTime - chart.origin)),
    words = [];
  if (limit && s.y(limit.bytes) >= s.top - 1)
    words.push(
      paint.across(s, s.y(limit.bytes), colour('--warn'), `${limit.label}: ${size(limit.bytes)}`, [[flag], [tip]]),
    );
  if (track && chart.app.allVisible()) {
    const seen = seenOf(chart);
    paint.samples(s, seen, colour('--faint'));
    const taken = [flag, ...words.map(({ left, right }) => /** @type {[number, number]} */ ([left, right]))],
      said = nameTrack(chart, s, seen, track.name === 'RSS' ? 'RSS' : 'used (driver)', taken);
    if (said) words.push(said);
  }
  return words;
}

/** Returns the label of a track that ends at x: on the line, or at the top if the line is above the chart.
 *  @param {paint.Surface} s @param {paint.Figure[]} seen @param {Float64Array} xs their positions @param {string} name
 *  @param {number} x */
function trackWords(s, seen, xs, name, x) {
  const at = Math.max(0, spanAt(xs, x)),
    most = Math.max(seen[at].y, seen[at + 1]?.y ?? 0),
    above = s.y(most) <= s.top,
    label = above ? `↑ ${name} ${size(most)}` : name;
  return {
    label,
    above,
    y: above ? s.top + 11 * s.ratio : s.y(most) - 4 * s.ratio,
    width: paint.widthOf(s, label) + 6 * s.ratio,
  };
}

/** Draws the track's label in the first free place: at the end of the track, in its middle, left of another label, or
 *  after its end. @param {StackChart} chart @param {paint.Surface} s @param {paint.Figure[]} seen @param {string} name
 *  @param {[number, number][]} taken */
function nameTrack(chart, s, seen, name, taken) {
  if (!seen.length) return null;
  const xs = Float64Array.from(seen, (figure) => s.x(figure.x)),
    wordsAt = (/** @type {number} */ x) => trackWords(s, seen, xs, name, x),
    last = xs[xs.length - 1],
    end = Math.min(s.right, last) - 6 * s.ratio,
    ends = [end, (s.left + end) / 2, ...taken.map(([from]) => from), last + 6 * s.ratio + wordsAt(last).width];
  const x = ends.find((at) => {
    const { width } = wordsAt(at);
    return at - width >= s.left && at <= s.right && paint.room(taken, width, [at]) !== undefined;
  });
  if (x === undefined) return null;
  const { label, above, y, width } = wordsAt(x);
  if (chart.limit && !above) paint.plate(s, x, y, width, s.y(chart.limit.bytes), colour('--ground'));
  paint.text(s, x, y, label, colour('--faint'), 'right', colour('--ground'));
  return paint.boxOf(s, x, y, width);
}
