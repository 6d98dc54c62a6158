/** Formats numbers for people. */
const UNITS = ['KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

/** "1.23 GiB", optionally with a sign. @param {number} bytes @param {boolean} [signed] */
export function size(bytes, signed = false) {
  const sign = bytes < 0 ? '−' : signed && bytes > 0 ? '+' : '';
  let value = Math.abs(bytes);
  if (value < 1024) return `${sign}${value} B`;
  let unit = -1;
  while (value >= (unit < 0 ? 1024 : 1023.995) && unit < UNITS.length - 1) {
    value /= 1024;
    unit++;
  }
  // only odd eighths can be halfway between two hundredths: round to the even one, as C does
  const below = Math.floor(value * 100),
    even = (value * 8) % 2 === 1 && below % 2 === 0;
  return `${sign}${(even ? below / 100 : value).toFixed(2)} ${UNITS[unit]}`;
}

/** Formats the bytes of an axis tick with enough digits to tell ticks `step` apart from each other.
 *  @param {number} bytes @param {number} step */
export function sizeTick(bytes, step) {
  const [number, unit] = size(bytes).split(' '),
    one = 1024 ** (UNITS.indexOf(unit) + 1),
    digits = Math.ceil(Math.log10(one / step));
  return digits > 2 ? `${(bytes / one).toFixed(digits)} ${unit}` : `${number.replace(/\.00$/, '')} ${unit}`;
}

/** Formats a size, with ≥ before a lower bound and ~ before an estimate. @param {number} bytes @param {boolean} least
 *  @param {boolean} [about] @param {boolean} [signed] */
export const amount = (bytes, least, about = false, signed = false) =>
  `${least ? '≥ ' : ''}${about ? '~' : ''}${size(bytes, signed)}`;

/** @param {number} bytes @param {boolean} least @param {number} [error] one standard error of an estimate */
export const exactly = (bytes, least, error = 0) =>
  `${least ? '≥ ' : ''}${count(bytes)}${error ? ` ± ${count(Math.round(error))}` : ''} bytes`;

/** "48,211,907" @param {number} count */
export const count = (count) => String(count).replace(/\B(?=(\d{3})+$)/g, ',');

/** "2 ranges" @param {number} n @param {string} what */
export const several = (n, what) => `${count(n)} ${what}${n === 1 ? '' : 's'}`;

/** Returns the digits of a time after the whole seconds. @param {number} ns @param {number} step */
const fractionOf = (ns, step) =>
  String(ns % 1e9)
    .padStart(9, '0')
    .slice(0, step >= 1e6 ? 3 : step >= 1e3 ? 6 : 9);

const MINUTE = 6e10, // ns
  HOUR = 3.6e12;

/** "5.193 s", "11:41.207" from a minute on, "02:15:51.207" from an hour on, with more digits for a finer `step`.
 *  @param {number} ns @param {number} [step] @param {boolean} [isLong] whether a time below a minute has minutes */
export function time(ns, step = 1e6, isLong = false) {
  const sign = ns < 0 ? '−' : '',
    all = Math.abs(Math.round(ns)),
    fraction = fractionOf(all, step),
    two = (/** @type {number} */ n) => String(Math.floor(n)).padStart(2, '0');
  if (all < MINUTE && !isLong) return `${sign}${Math.floor(all / 1e9)}.${fraction} s`;
  const hours = all < HOUR ? '' : `${two(all / HOUR)}:`;
  return `${sign}${hours}${two((all / MINUTE) % 60)}:${two((all / 1e9) % 60)}.${fraction}`;
}

/** Returns the tick's label on an axis of times up to `end`. @param {number} ns @param {number} step @param {number} end */
export const timeTick = (ns, step, end) => time(ns, step, end >= MINUTE);

/** Returns a time as a command takes it: "5.193247875s". @param {number} ns */
export const clock = (ns) => `${Math.floor(ns / 1e9)}.${String(Math.round(ns) % 1e9).padStart(9, '0')}s`;

/** A length of time, such as "16.8 ms". @param {number} ns */
export function duration(ns) {
  for (const [unit, scale] of /** @type {[string, number][]} */ ([
    ['s', 1e9],
    ['ms', 1e6],
    ['µs', 1e3],
  ])) {
    if (ns >= scale) return `${Number((ns / scale).toPrecision(3))} ${unit}`;
  }
  return `${ns} ns`;
}

/** "68.7 %" @param {number} part @param {number} whole */
export const share = (part, whole) => `${(whole ? (100 * part) / whole : 0).toFixed(1)} %`;

/**
 * Returns a power of 2 as the step, so that at most `wanted` steps fit into the range.
 * @param {number} range
 * @param {number} wanted
 */
export function byteStep(range, wanted) {
  let step = 1;
  while (step * wanted < range) step *= 2;
  return step;
}

/** Returns the ticks of an axis of events: whole numbers. @param {number} from @param {number} to
 *  @param {number} wanted */
export function eventTicks(from, to, wanted) {
  const raw = Math.max(1, (to - from) / wanted),
    unit = 10 ** Math.floor(Math.log10(raw)),
    step = unit * /** @type {number} */ ([1, 2, 5, 10].find((times) => times * unit >= raw));
  const ticks = [];
  for (let t = Math.ceil(from / step) * step; t <= to; t += step) ticks.push(t);
  return { ticks, step };
}

/**
 * Returns the ticks of a time axis: multiples of 1, 2, 5 (and 60 s) of a unit.
 * @param {number} from
 * @param {number} to
 * @param {number} wanted
 */
export function timeTicks(from, to, wanted) {
  const raw = (to - from) / wanted;
  const steps = [1, 2, 5]
    .flatMap((m) => [1, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9].map((s) => m * s))
    .concat([1e10, 1.5e10, 3e10, 6e10, 1.2e11, 3e11, 6e11, 1.2e12, 1.8e12, 3.6e12, 7.2e12, 1.44e13, 4.32e13, 8.64e13])
    .sort((a, b) => a - b);
  const step = steps.find((s) => s >= raw) ?? steps[steps.length - 1];
  const ticks = [];
  for (let t = Math.ceil(from / step) * step; t <= to; t += step) ticks.push(t);
  return { ticks, step };
}
