/** All segments of an instant in one picture, equal ones together, and above it a table of the holders that pin free
 *  memory. */
import { colour, element, nameText, row, table } from './dom.js';
import { count, size } from './format.js';

/** @typedef {import('./segments.js').Segment} Segment @typedef {import('./segments.js').Then} Then */

const COLOURS = ['--split', '--releasable', '--graph'],
  WORDS = ['split', 'releasable', "a graph's pool"];

/** Returns the table of holders whose blocks keep free memory from being returned, as in the segments report.
 *  @param {Then} then */
export function pinTable({ pins }) {
  if (!pins.length) return null;
  const bytes = (/** @type {number} */ n) => element('span', { title: `${count(n)} bytes` }, size(n));
  const made = table(
    'what pins the split free memory',
    ['pinned by', 'free', 'segments', 'blocks', 'bytes'],
    pins.map((pin, _, all) =>
      row([
        element(
          'span',
          { class: 'name', title: pin.name },
          nameText(
            pin.name,
            all.map(({ name }) => name),
          ),
        ),
        bytes(pin.free),
        count(pin.segments),
        count(pin.blocks),
        bytes(pin.bytes),
      ]),
    ),
  );
  made.className = 'pins';
  return made;
}

/** Groups segments with the same size, free bytes, largest hole and state. The group with most free bytes comes first.
 *  @param {Segment[]} segments */
export function alike(segments) {
  /** @type {Map<string, Segment[]>} */
  const shapes = new Map();
  for (const segment of segments) {
    const shape = [segment.size, segment.used, segment.largestHole, segment.state].join();
    shapes.set(shape, [...(shapes.get(shape) ?? []), segment]);
  }
  const free = (/** @type {Segment[]} */ all) => all.length * (all[0].size - all[0].used);
  return [...shapes.values()].sort((a, b) => free(b) - free(a) || b.length * b[0].size - a.length * a[0].size);
}

/** @param {Segment[]} same */
const shapeName = (same) => `${same.length > 1 ? `${count(same.length)} x ` : ''}${size(same[0].size)}`;

/** @param {Segment} segment */
const say = ({ start, size: bytes, used, blocks, state }) =>
  `0x${start.toString(16)}: ${size(bytes)}, ${size(bytes - used)} free (${WORDS[state]}), ${count(blocks)} blocks`;

const WIDTH = 1200,
  HEIGHT = 16;

/** Draws equal segments side by side: live bytes below, free bytes above. @param {Segment[]} same @param {number} most
 *  bytes of the widest row */
function bar(same, most) {
  const canvas = /** @type {HTMLCanvasElement} */ (
    element('canvas', {
      width: WIDTH,
      height: HEIGHT,
      role: 'img',
      'aria-label': `${shapeName(same)}: ${say(same[0])}`,
    })
  );
  const c = canvas.getContext('2d'),
    [{ size: bytes, used, state }] = same,
    width = Math.max(same.length, (WIDTH * same.length * bytes) / most) / same.length;
  if (!c) return canvas;
  const gap = width > 4 ? 1 : 0;
  same.forEach((_, i) => {
    c.fillStyle = colour(COLOURS[state]);
    c.fillRect(i * width, 0, width - gap, HEIGHT);
    c.fillStyle = colour('--faint');
    c.fillRect(i * width, HEIGHT * (1 - used / bytes), width - gap, (HEIGHT * used) / bytes);
  });
  canvas.addEventListener('mousemove', (event) => {
    const under = same[Math.floor(((event.offsetX / canvas.clientWidth) * WIDTH) / width)];
    canvas.title = under ? say(under) : '';
  });
  return canvas;
}

/** @param {Then} then */
export function segmentMap({ segments }) {
  const SHOWN = 16,
    shapes = alike(segments),
    most = Math.max(...shapes.map((same) => same.length * same[0].size)),
    bytes = (/** @type {number} */ n) => element('span', { title: `${count(n)} bytes` }, size(n));
  const rows = shapes.slice(0, SHOWN).map((same) => {
    const [{ size: each, used, largestHole, state }] = same;
    return row(
      [
        shapeName(same),
        bar(same, most),
        bytes(same.length * (each - used)),
        bytes(largestHole),
        used < each ? WORDS[state] : 'full',
      ],
      { 'data-segments': same.length },
    );
  });
  const made = table(
    `all ${count(segments.length)} segments, alike ones together: grey is live, colour free`,
    ['segments', 'to scale', 'free', 'hole of each', 'free as'],
    rows,
  );
  made.className = 'map';
  if (shapes.length > SHOWN)
    made.append(element('tfoot', {}, row([`${count(shapes.length - SHOWN)} more shapes`, '', '', '', ''])));
  return made;
}
