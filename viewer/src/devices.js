/** Matches the devices of two runs as `diff` does, and shows B's devices under A's numbers. */

/**
 * @typedef {import('./data.js').Log} Log
 * @typedef {{ number: number, name: string, uuid: string }} Device name, uuid: "" if unknown
 */

const MOST = 16;

/** @type {((a: Device, b: Device) => boolean)[]} */
const RULES = [
  (a, b) => a.uuid !== '' && a.uuid === b.uuid,
  (a, b) => a.name !== '' && a.name === b.name && a.number === b.number,
  (a, b) => a.name !== '' && a.name === b.name,
  (a, b) => a.number === b.number,
];

/** Returns for each of B's devices the number that it is shown under. A device that A does not have gets a free number.
 *  @param {Device[]} base @param {Device[]} others @returns {Map<number, number>} */
export function matched(base, others) {
  /** @type {Map<number, number>} */
  const number = new Map(),
    isTaken = (/** @type {number} */ of) => [...number.values()].includes(of);
  for (const isOne of RULES)
    for (const b of others)
      for (const a of base)
        if (!number.has(b.number) && !isTaken(a.number) && isOne(a, b)) number.set(b.number, a.number);
  for (const { number: own } of others) {
    if (number.has(own)) continue;
    let free = own;
    for (let k = 0; (isTaken(free) || base.some((a) => a.number === free)) && k < MOST; k++) free = (own + k) % MOST;
    number.set(own, free);
  }
  return number;
}

/** @param {string} name @param {Map<number, number>} number */
const renamed = (name, number) => name.replace(/^gpu(\d+)/, (_, own) => `gpu${number.get(Number(own)) ?? own}`);

/** Renames the heaps in a sentence. @param {string} text @param {Map<number, number>} number */
const retold = (text, number) =>
  text.replace(/\bgpu\d+(?=\/(?:device|torch|managed|pinned)\b)/g, (of) => renamed(of, number));

/** @type {Record<string, (is: any, number: Map<number, number>) => any>} */
const CALLED = {
  name: renamed,
  heap: renamed,
  where: renamed,
  what: retold,
  device: (is, number) => number.get(is) ?? is,
};

/** The run's original values, by object and key. @type {WeakMap<object, Record<string, any>>} */
const own = new WeakMap();

/** Returns all parts of the log with a device's name or number, and the key of each. A finding's command is not among
 *  them, because it is for the log itself. @param {Log} log @returns {[any, string][]} */
function parts(log) {
  const { steps, oom } = log;
  return [
    .../** @type {[any, 'name'][]} */ ([...log.heaps, ...log.tracks].map((of) => [of, 'name'])),
    .../** @type {[any, 'heap'][]} */ (
      [...log.marks, ...(steps ? [...steps.heaps, ...(steps.compared ? [steps.compared] : [])] : [])].map((of) => [
        of,
        'heap',
      ])
    ),
    ...(log.findings ?? []).flatMap((of) =>
      ['heap', 'where', 'what'].map((key) => /** @type {[any, string]} */ ([of, key])),
    ),
    .../** @type {[any, 'device'][]} */ (
      [...log.accounts, ...log.segments, ...log.comms, ...(log.card?.shared ?? []), ...(oom ? [oom] : [])].map((of) => [
        of,
        'device',
      ])
    ),
  ];
}

/** @param {any} of @param {string} key */
function ownOf(of, key) {
  const known = own.get(of) ?? {};
  own.set(of, known);
  return (known[key] ??= of[key]);
}

/** Shows the run's devices under other numbers. @param {Log} log @param {Map<number, number>} number empty to restore
 *  the run's own numbers */
export function callDevices(log, number) {
  for (const [of, key] of parts(log)) {
    of[key] = CALLED[key](ownOf(of, key), number);
  }
  if (!log.lanes) return; // not opened yet
  log.lanes.taken = new Map([...ownOf(log.lanes, 'taken')].map(([name, taken]) => [renamed(name, number), taken]));
}

/** Shows B's devices under A's numbers. Returns a text that lists the changed numbers. @param {Log} a @param {Log} b
 *  @returns {string} */
export function callAlike(a, b) {
  const number = matched(a.devices, b.devices),
    other = [...number].filter(([from, to]) => from !== to);
  if (other.length) callDevices(b, number);
  return other.map(([from, to]) => `its gpu${from} is shown as gpu${to}`).join(', ');
}
