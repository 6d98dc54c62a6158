/** What stands beside a heap: figures of the kernel or the driver, and the memory that there is. */
import { colour } from './dom.js';
import { size } from './format.js';
import { spanAt } from './model.js';
import * as paint from './paint.js';

/**
 * @typedef {import('./stackchart.js').StackChart} StackChart
 * @typedef {import('./model.js').Stack} Stack
 */

/** Kernel's or driver's figures that stand beside a heap. @param {Stack} stack */
export function trackOf(stack) {
  const { name } = stack.heap,
    { tracks } = stack.log;
  if (name.startsWith('gpu'))
    return name.endsWith('/device') ? tracks.find((t) => t.name === `${name.split('/')[0]}/used`) : undefined;
  return name === 'host/heap' ? tracks.find((t) => t.name === 'RSS') : undefined;
}

/** The memory that there is. @param {Stack} stack */
export function limitOf(stack) {
  const { name } = stack.heap,
    { tracks } = stack.log;
  const track = name.startsWith('gpu')
    ? tracks.find((t) => t.name === `${name.split('/')[0]}/used`)
    : tracks.find((t) => t.name === 'cgroup');
  return track && track.limit > 0 && track.limit < 2 ** 50
    ? { bytes: track.limit, label: name.startsWith('gpu') ? 'memory of the GPU' : 'limit of the cgroup' }
    : null;
}

/** What of the track is in the view, with a figure on either side. @param {StackChart} chart */
export function seenOf({ app, track, origin }) {
  /** @type {number[]} */
  const xs = [],
    /** @type {number[]} */
    ys = [];
  if (!track) return { xs, ys };
  const from = app.view[0] + origin,
    to = app.view[1] + origin;
  for (let i = 0; i < track.time.length; i++) {
    if (i + 1 < track.time.length && track.time[i + 1] < from) continue;
    xs.push(track.time[i] - origin);
    ys.push(track.value[i]);
    if (track.time[i] > to) break;
  }
  return { xs, ys };
}

/** @param {StackChart} chart @param {paint.Surface} s */
export function drawContext(chart, s) {
  const { track, limit } = chart;
  if (track && chart.app.allVisible()) {
    const { xs, ys } = seenOf(chart);
    paint.samples(s, xs, ys, colour('--faint'));
    nameTrack(chart, s, xs, ys, track.name === 'RSS' ? 'RSS' : 'used, as the driver says');
  }
  if (limit && s.y(limit.bytes) >= s.top - 1)
    paint.across(s, s.y(limit.bytes), colour('--warn'), `${limit.label}: ${size(limit.bytes)}`);
}

/** At the track's right end, in the middle, or left of the peak's flag: where the flag leaves room.
 *  @param {StackChart} chart @param {paint.Surface} s @param {number[]} xs @param {number[]} ys @param {string} name */
function nameTrack(chart, s, xs, ys, name) {
  const WIDTH = 160 * s.ratio,
    FLAG = 95 * s.ratio,
    peak = s.x(chart.stack.heap.peakTime - chart.origin),
    end = Math.min(s.right, s.x(chart.stack.log.duration - chart.origin)) - 6 * s.ratio;
  const x = [end, (s.left + end) / 2, peak - FLAG].find(
    (at) => at - WIDTH >= s.left && (at <= peak - FLAG || at - WIDTH >= peak + FLAG),
  );
  if (x === undefined) return;
  const at = spanAt(Float64Array.from(xs, s.x), x);
  if (at < 0) return;
  const most = Math.max(ys[at], ys[at + 1] ?? 0),
    above = s.y(most) <= s.top,
    label = above ? `↑ ${name} ${size(most)}` : name,
    y = above ? s.top + 11 * s.ratio : s.y(most) - 4 * s.ratio;
  paint.text(s, x, y, label, colour('--faint'), 'right', colour('--ground'));
}
