/**
 * A name's colour: one of Paul Tol's nine muted colours, solid for the largest names and hatched for the others. The
 * first slot depends on the name alone, so a range looks the same in every run and rank. If two names have the same
 * slot, the name that held more keeps it.
 */
export const MUTED = [
  '#cc6677',
  '#332288',
  '#ddcc77',
  '#117733',
  '#88ccee',
  '#882255',
  '#44aa99',
  '#999933',
  '#aa4499',
];
const MUTED_DARK = ['#d4808e', '#6f63c4', '#d8c877', '#3f9c63', '#7fbfe0', '#b45a86', '#55b3a4', '#aaaa52', '#bd6cae'];
export const SLOTS = MUTED.length * 2;
/** All slots with two more patterns, if the first ones are not enough. */
const ALL_SLOTS = MUTED.length * 4;

/** Returns the FNV-1a hash of a text, mixed. @param {string} text */
export function hash(text) {
  let h = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  h = Math.imul(h ^ (h >>> 16), 0x45d9f3b);
  return (h ^ (h >>> 16)) >>> 0;
}

/** Returns the first acceptable slot, starting at the name's own. @param {string} name @param {number} count
 *  @param {(slot: number) => boolean} will */
function slotFrom(name, count, will) {
  const own = hash(name);
  for (let i = 0; i < count; i++) if (will((own + i) % count)) return (own + i) % count;
  return undefined;
}

/**
 * Assigns slots to names, given the most bytes that each held. If there are more names than SLOTS, two may share a
 * slot, but not in the same chart.
 * @param {Map<string, number>} largest @param {string[][]} [charts] the names of each @returns {Map<string, number>}
 */
export function assign(largest, charts = []) {
  const names = [...largest].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).map(([name]) => name);
  /** For each name, the slots that are taken in each of its charts. @type {Map<string, Set<number>[]>} */
  const beside = new Map(names.map((name) => [name, []]));
  for (const chart of charts) {
    const taken = new Set();
    for (const name of chart) beside.get(name)?.push(taken);
  }
  const anywhere = new Set(),
    slots = new Map();
  for (const name of names) {
    const there = beside.get(name) ?? [],
      unlike = (/** @type {number} */ slot) => !there.some((taken) => taken.has(slot));
    const free = (/** @type {number} */ slot) => !anywhere.has(slot),
      // the largest are solid, the others hatched
      slot =
        slotFrom(name, MUTED.length, free) ??
        slotFrom(name, SLOTS, free) ??
        slotFrom(name, SLOTS, unlike) ??
        slotFrom(name, ALL_SLOTS, unlike) ??
        hash(name) % SLOTS;
    for (const taken of [anywhere, ...there]) taken.add(slot);
    slots.set(name, slot);
  }
  return slots;
}

/** Slots without a name: for the rest, and for memory that no range claims. */
export const REST = -1,
  UNCLAIMED = -2;

/** @param {number} slot @param {boolean} dark */
export function solid(slot, dark) {
  if (slot === UNCLAIMED) return dark ? '#474b52' : '#dfe2e6';
  if (slot === REST) return dark ? '#5b5f66' : '#c9ccd1';
  return (dark ? MUTED_DARK : MUTED)[slot % MUTED.length];
}

/** @type {Map<string, CanvasPattern | string>} */
const patterns = new Map();

/**
 * Returns the fill of a band: a colour, or a hatched pattern in that colour.
 * @param {number} slot
 * @param {boolean} dark
 * @param {number} [ratio]
 */
export function fill(slot, dark, ratio = globalThis.devicePixelRatio || 1) {
  const key = `${slot} ${dark} ${ratio}`;
  let made = patterns.get(key);
  if (!made) {
    const pattern = slot === UNCLAIMED ? 1 : Math.max(0, Math.floor(slot / MUTED.length));
    made = pattern ? hatched(solid(slot, dark), pattern, dark, ratio) : solid(slot, dark);
    patterns.set(key, made);
  }
  return made;
}

/** @param {string} colour @param {number} pattern 1: rising lines, 2: falling ones, 3: both @param {boolean} dark
 *  @param {number} ratio */
function hatched(colour, pattern, dark, ratio) {
  const side = Math.round(6 * ratio);
  const tile = document.createElement('canvas');
  tile.width = tile.height = side;
  const c = tile.getContext('2d');
  if (!c) return colour;
  c.fillStyle = colour;
  c.fillRect(0, 0, side, side);
  c.strokeStyle = dark ? 'rgba(18,20,24,.55)' : 'rgba(255,255,255,.6)';
  c.lineWidth = 1.5 * ratio;
  c.beginPath();
  for (const shift of [-side, 0, side]) {
    if (pattern & 1) c.moveTo(shift, side);
    if (pattern & 1) c.lineTo(shift + side, 0);
    if (pattern & 2) c.moveTo(shift, 0);
    if (pattern & 2) c.lineTo(shift + side, side);
  }
  c.stroke();
  return c.createPattern(tile, 'repeat') ?? colour;
}
