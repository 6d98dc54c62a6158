/**
 * A name's colour: one of Paul Tol's nine muted colours, solid or hatched. The slot comes from the name alone, so
 * that a range looks the same in every run, rank and report; where two names meet, the one that held more keeps its
 * place.
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

/** FNV-1a, then mixed. @param {string} text */
export function hash(text) {
  let h = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  h = Math.imul(h ^ (h >>> 16), 0x45d9f3b);
  return (h ^ (h >>> 16)) >>> 0;
}

/**
 * Slots for names, given what each held at most.  Beyond SLOTS names, colours repeat.
 * @param {Map<string, number>} largest @returns {Map<string, number>}
 */
export function assign(largest) {
  const names = [...largest].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).map(([name]) => name);
  const taken = new Set();
  const slots = new Map();
  for (const name of names) {
    let slot = hash(name) % SLOTS;
    for (let i = 0; i < SLOTS && taken.size < SLOTS && taken.has(slot); i++) slot = (slot + 1) % SLOTS;
    taken.add(slot);
    slots.set(name, slot);
  }
  return slots;
}

/** Slots that are no name's: the rest, and what no range claims. */
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
 * What a band is filled with: a colour, or that colour hatched.
 * @param {number} slot
 * @param {boolean} dark
 * @param {number} [ratio]
 */
export function fill(slot, dark, ratio = globalThis.devicePixelRatio || 1) {
  const key = `${slot} ${dark} ${ratio}`;
  let made = patterns.get(key);
  if (!made) {
    made = slot >= MUTED.length || slot === UNCLAIMED ? hatched(solid(slot, dark), dark, ratio) : solid(slot, dark);
    patterns.set(key, made);
  }
  return made;
}

/** @param {string} colour @param {boolean} dark @param {number} ratio */
function hatched(colour, dark, ratio) {
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
    c.moveTo(shift, side);
    c.lineTo(shift + side, 0);
  }
  c.stroke();
  return c.createPattern(tile, 'repeat') ?? colour;
}
