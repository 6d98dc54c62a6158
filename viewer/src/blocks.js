/**
 * The largest blocks of any time as rectangles: time to the right, bytes upwards. A block keeps its place while it
 * lives: the lowest one that was free when it began.
 * @typedef {import('./columns.js').Blocks} Blocks in order of `from`; the address is high * 2^32 + low; native and
 *   python are indices of stacks; freer: the thread that freed it + 1; mapped: a piece of an expandable segment
 */

/**
 * Returns the lowest byte of each block's rectangle.
 * @param {{ from: ArrayLike<number>, to: ArrayLike<number>, size: ArrayLike<number> }} blocks
 */
export function place({ from, to, size }) {
  const base = new Float64Array(from.length);
  /** The blocks that are live at this point, ordered by their place. @type {number[]} */
  let live = [];
  for (let i = 0; i < from.length; i++) {
    live = live.filter((k) => to[k] > from[i]);
    let at = 0,
      index = 0;
    for (; index < live.length && base[live[index]] - at < size[i]; index++) at = base[live[index]] + size[live[index]];
    base[i] = at;
    live.splice(index, 0, i);
  }
  return base;
}

/** @param {Blocks} blocks @param {number} i */
export function address(blocks, i) {
  const low = blocks.low[i].toString(16).padStart(blocks.high[i] ? 8 : 1, '0');
  return `0x${blocks.high[i] ? blocks.high[i].toString(16) : ''}${low}`;
}

/** Returns a block's call stacks, innermost frame first. @param {import('./data.js').Log} log @param {Blocks} blocks
 *  @param {number} i @returns {{ name: string, frames: string[] }[]} */
export function stacksOf(log, blocks, i) {
  return [
    { name: 'Python stack', frames: log.stacks[blocks.python[i]] },
    { name: 'native stack', frames: log.stacks[blocks.native[i]] },
  ]
    .filter(({ frames }) => frames.length)
    .map(({ name, frames }) => ({ name, frames: [...frames].reverse() }));
}
