/**
 * Estimates. If only a sample of the small blocks has a call stack, or is recorded, each sampled block represents
 * others. Bytes of a band are its own and those that its samples represent; the bands of the blocks that they represent,
 * the rest, have as much less. So the sum stays exact. The numbers are those of the reports (replay/estimates.h).
 * @typedef {import('./data.js').Log} Log
 * @typedef {import('./data.js').Heap} Heap
 * @typedef {{ weighed: boolean[], rest: boolean[] }} Roles by band; weighed: its samples represent others; rest: it has
 *   the blocks that are represented
 * @typedef {{ own: Float64Array, more: Float64Array, variance: Float64Array, rest: Float64Array }} Parts by group: the
 *   bytes of its bands; bytes that its samples represent and their variance, in units; of its bytes those of the rest
 * @typedef {{ more: number, variance: number, rest: number }} Sums of all groups
 */
import { COUNTED, HAS_LIBRARY, HAS_NATIVE, HAS_PYTHON, IN_RANGE } from './columns.js';

const DEVIATIONS = 3,
  UNITS = 4096; // of variance, per square of the mean

/** The facts of which a band of the rest has none, by grouping: by `auto` without native stacks, and in flame graphs.
 *  @type {Record<string, number>} */
const NAMES = {
  auto: IN_RANGE | HAS_PYTHON | HAS_LIBRARY,
  python: HAS_PYTHON,
  stack: HAS_NATIVE,
  library: HAS_LIBRARY,
  flame: HAS_PYTHON | HAS_NATIVE,
};
/** Of PyTorch's blocks only the Python stacks are sampled. @type {Record<string, number>} */
const DEVICE_NAMES = { python: HAS_PYTHON, flame: HAS_PYTHON };

/** @param {Heap} heap */
const namesOf = ({ name }) => (name.startsWith('gpu') ? DEVICE_NAMES : NAMES);

/** Returns true if only samples of the heap's small blocks are recorded, and totals of the others. @param {Log} log
 *  @param {Heap} heap */
export const hasSampledBlocks = (log, heap) => log.hostSampled && heap.name === 'host/heap';

/** Returns true if a band has the blocks that the heap's samples represent. @param {Log} log @param {Heap} heap
 *  @param {{ facts: number }} band @param {string} by a grouping, or "flame" */
export function isRest(log, heap, { facts }, by) {
  if (!heap.sampleMean || heap.name === 'host/python') return false;
  if (hasSampledBlocks(log, heap)) return (facts & COUNTED) !== 0;
  const all = namesOf(heap),
    names = all[by === 'auto' && log.best === 'stack' ? 'stack' : by];
  return names !== undefined && (facts & names) === 0;
}

/** Returns the roles of the bands, or null if the grouping needs no estimates: ranges, threads and sizes have all of
 *  their blocks, unless the others are not recorded at all. @param {Log} log @param {Heap} heap @param {string} by
 *  @returns {Roles | null} */
export function rolesOf(log, heap, by) {
  const whole = hasSampledBlocks(log, heap) || heap.name === 'host/python';
  if (!heap.sampleMean || (!whole && !(by in namesOf(heap)))) return null;
  return {
    weighed: heap.bands.map(({ facts }) => whole || by !== 'auto' || !(facts & IN_RANGE)),
    rest: heap.bands.map((band) => isRest(log, heap, band, by)),
  };
}

/** @param {number} groups @returns {Parts} */
export const partsOf = (groups) => ({
  own: new Float64Array(groups),
  more: new Float64Array(groups),
  variance: new Float64Array(groups),
  rest: new Float64Array(groups),
});

/** @param {Float64Array} numbers */
const sum = (numbers) => numbers.reduce((all, number) => all + number, 0);

/** @param {Parts} parts @returns {Sums} */
export const sumsOf = ({ more, variance, rest }) => ({ more: sum(more), variance: sum(variance), rest: sum(rest) });

/** Returns true if estimates differ by chance from what is known, to which they are then scaled. They are not scaled up
 *  to a rest that is too large for that. @param {number} known @param {number} estimated
 *  @param {number} variance bytes^2 */
function isByChance(known, estimated, variance) {
  const lack = known - estimated;
  return estimated > 0 && (lack <= 0 || lack * lack <= (DEVIATIONS * DEVIATIONS * (variance * known)) / estimated);
}

/** Returns the bytes of each group with the estimates, and their standard errors. They add up to the groups' own bytes.
 *  If the sum itself is only that of the samples, it corrects no estimate.
 *  @param {Parts} parts @param {Sums} sums @param {Pick<Heap, 'sampleMean' | 'sumIsEstimated'>} heap
 *  @param {{ bytes: Float64Array, errors: Float64Array }} to */
export function estimate({ own, more, variance, rest }, sums, { sampleMean: mean, sumIsEstimated }, { bytes, errors }) {
  const unit = (mean * mean) / UNITS,
    all = sums.variance * unit,
    scaled = isByChance(sums.rest, sums.more, all),
    factor = scaled ? sums.rest / sums.more : 1;
  let lack = 0;
  for (let i = 0; i < own.length; i++) {
    const taken = rest[i] ? (rest[i] / sums.rest) * sums.more * factor : 0,
      wanted = Math.max(0, own[i] + more[i] * factor - taken),
      part = scaled ? more[i] / sums.more : 0,
      alone = variance[i] * unit;
    bytes[i] = Math.floor(wanted + lack + 0.5);
    lack += wanted - bytes[i];
    errors[i] =
      rest[i] && !scaled
        ? Math.sqrt(all)
        : sumIsEstimated
          ? Math.sqrt(alone)
          : Math.sqrt(Math.max(0, (1 - 2 * part) * alone + part * part * (all + mean * mean))) * factor;
  }
}

/** Applies the changes of one span after the other to sums by group. */
export class Walk {
  /** @param {Heap} heap @param {Int32Array} groupOf by band @param {number} groups @param {Roles | null} roles */
  constructor(heap, groupOf, groups, roles) {
    this.heap = heap;
    this.groupOf = groupOf;
    this.roles = roles;
    this.parts = roles ? partsOf(groups) : null;
    /** @type {Sums} */
    this.sums = { more: 0, variance: 0, rest: 0 };
    this.bytes = new Float64Array(groups);
    this.errors = new Float64Array(groups);
    this.held = new Float64Array(heap.bands.length);
    this.more = new Float64Array(roles ? heap.bands.length : 0);
    this.variance = new Float64Array(roles ? heap.bands.length : 0);
    this.at = 0;
  }

  /** Advances to the end of a span. @param {number} span */
  to(span) {
    this.skipTo(span);
    if (this.parts) estimate(this.parts, this.sums, this.heap, this);
  }

  /** Returns about the bytes of a group after skipTo, without scaling. @param {number} group */
  nearly(group) {
    const { parts, sums, bytes } = this;
    if (!parts) return bytes[group];
    return parts.own[group] + parts.more[group] - Math.min(parts.rest[group], sums.more);
  }

  /** Advances to the end of a span without filling `bytes` and `errors` of a heap with estimates. @param {number} span */
  skipTo(span) {
    const { heap, groupOf, held, parts } = this,
      own = parts?.own ?? this.bytes,
      end = heap.spans.end[span];
    for (; this.at < end; this.at++) {
      const band = heap.changeBand[this.at],
        change = heap.changeBytes[this.at] - held[band];
      own[groupOf[band]] += change;
      held[band] += change;
      if (parts) this.toEstimate(parts, band, change);
    }
  }

  /** @param {Parts} parts @param {number} band @param {number} change bytes of its blocks */
  toEstimate(parts, band, change) {
    const { heap, groupOf, roles, more, variance, at, sums } = this,
      group = groupOf[band];
    if (roles?.rest[band]) {
      parts.rest[group] += change;
      sums.rest += change;
    }
    if (!roles?.weighed[band]) return;
    const moreChange = heap.changeMore[at] - more[band],
      varianceChange = heap.changeVariance[at] - variance[band];
    parts.more[group] += moreChange;
    parts.variance[group] += varianceChange;
    sums.more += moreChange;
    sums.variance += varianceChange;
    more[band] += moreChange;
    variance[band] += varianceChange;
  }
}
