// Colours, numbers, alignment, the URL's hash and places of blocks.
import assert from 'node:assert/strict';
import test from 'node:test';
import { commonRanges, instance, origin } from '../../viewer/src/align.js';
import { address, place } from '../../viewer/src/blocks.js';
import { MUTED, SLOTS, assign, hash } from '../../viewer/src/colours.js';
import { byteStep, count, duration, share, size, sizeTick, time, timeTicks } from '../../viewer/src/format.js';
import { STATES, segmentsAt } from '../../viewer/src/segments.js';
import { figures, figuresIn } from '../../viewer/src/context.js';
import { fromHash, initial, repaired, toHash } from '../../viewer/src/state.js';

test('a figure of the driver lasts until the last look before the next one, and as long as it is known', () => {
  const s = 1e9,
    track = {
      name: 'gpu0/used',
      limit: 0,
      time: Float64Array.of(s, 2 * s, 2.005 * s, 30 * s),
      value: Float64Array.of(5, 7, 8, 9),
    },
    told = figures(track, 31.007 * s).map(({ x, y, looked, joined }) => [x / s, y, looked, joined]);
  assert.deepEqual(told, [
    [1, 5, true, false],
    [1.99, 5, false, true],
    [2, 7, true, true],
    [2.005, 8, true, true],
    [12.005, 8, false, true],
    [30, 9, true, false],
    [31, 9, false, true],
  ]);
  assert.deepEqual(
    figures({ ...track, name: 'RSS', time: Float64Array.of(0, s), value: Float64Array.of(1, 2) }, s).map(
      ({ x }) => x / s,
    ),
    [0, 0.9, 1],
  );
  const once = { ...track, name: 'RSS', time: Float64Array.of(0.1 * s), value: Float64Array.of(1) };
  assert.equal(figures(once, 0.16 * s).length, 1, 'nobody looked again');
});

test('of a track a view sees what lies in it and one figure on either side, and looks at no more', () => {
  const step = 3e8,
    count = 2000,
    whole = Float64Array.from({ length: count }, (_, i) => i * step + (i % 7 ? 0 : 2e8)),
    track = { name: 'RSS', limit: 0, time: whole, value: whole.map((_, i) => i) },
    end = count * step,
    all = figures(track, end);
  for (const [from, to] of [
    [0, end],
    [-5, 1],
    [whole[7], whole[9]],
    [whole[500] + 1, whole[500] + 2],
    [whole[1000] - 1, whole[1040] + 1e8],
    [whole[count - 1], end + step],
    [end + step, end + 2 * step],
  ]) {
    const seen = all.filter(({ x }, i) => (all[i + 1]?.x ?? x) >= from && (all[i - 1]?.x ?? x) <= to);
    assert.deepEqual(figuresIn(track, end, from, to), seen);
  }
  let asked = 0;
  const value = new Proxy(track.value, { get: (of, key) => ((asked += 1), Reflect.get(of, key)) });
  figuresIn({ ...track, value: /** @type {any} */ (value) }, end, whole[1000], whole[1010]);
  assert.ok(asked < 50, `${asked} of ${count} samples were looked at`);
});

test('labels of an axis of bytes differ, however near they are', () => {
  for (let step = 1; step <= 2 ** 40; step *= 2)
    for (const low of [0, 1000, 5 * 2 ** 20 + 4096, 4.13 * 2 ** 30, 138 * 2 ** 30]) {
      const first = Math.ceil(low / step) * step,
        labels = Array.from({ length: 6 }, (_, i) => sizeTick(first + i * step, step));
      assert.equal(new Set(labels).size, labels.length, `${low} ${step}: ${labels}`);
    }
  assert.equal(sizeTick(2 ** 31, 2 ** 31), '2 GiB');
  assert.equal(sizeTick(5 * 2 ** 29, 2 ** 29), '2.50 GiB');
  assert.equal(sizeTick(0, 1), '0 B');
  assert.equal(sizeTick(4 * 2 ** 30 + 2 ** 20, 2 ** 20), '4.0010 GiB');
});

const SOLID = MUTED.length;

test('a name that meets no other has the solid slot of its hash, in every report', () => {
  assert.equal(assign(new Map([['forward', 5]])).get('forward'), hash('forward') % SOLID);
  assert.equal(
    assign(
      new Map([
        ['forward', 900],
        ['zzz', 1],
      ]),
    ).get('forward'),
    hash('forward') % SOLID,
  );
});

test('if names meet, the larger keeps its slot and none shares one; the largest are solid', () => {
  const names = Array.from({ length: SLOTS }, (_, i) => `range ${i}`);
  const slots = assign(new Map(names.map((name, i) => [name, i])));
  assert.equal(new Set(slots.values()).size, SLOTS);
  names.forEach((name, i) => assert.equal(slots.get(name) < SOLID, i >= SLOTS - SOLID));
  assert.equal(slots.get(names[SLOTS - 1]), hash(names[SLOTS - 1]) % SOLID);
});

test('more names than slots still all have one', () => {
  const slots = assign(new Map(Array.from({ length: 50 }, (_, i) => [`n${i}`, i])));
  assert.equal(slots.size, 50);
  for (const slot of slots.values()) assert.ok(slot >= 0 && slot < SLOTS);
});

test('with more names than slots none shares one with another of its chart', () => {
  const names = (from, count) => Array.from({ length: count }, (_, i) => `n${from + i}`);
  const charts = [names(0, 19), names(10, 19), names(25, 19), names(0, 5).concat(names(40, 14))];
  const slots = assign(new Map(names(0, 54).map((name, i) => [name, 100 - i])), charts);
  for (const chart of charts) assert.equal(new Set(chart.map((name) => slots.get(name))).size, chart.length);
});

test('numbers read as in the text reports', () => {
  assert.equal(size(1023), '1023 B');
  assert.equal(size(1024), '1.00 KiB');
  assert.equal(size(1024 ** 2 - 1), '1.00 MiB');
  assert.equal(size(-3 * 1024 ** 3, true), '−3.00 GiB');
  assert.equal(size(5, true), '+5 B');
  assert.equal(count(9007199254740991), '9,007,199,254,740,991');
  assert.equal(time(701207000000), '11:41.207');
  assert.equal(time(8151207000000), '02:15:51.207');
  assert.equal(time(-1500000000), '−1.500 s');
  assert.equal(time(1234, 1), '0.000001234 s');
  assert.equal(duration(16777216), '16.8 ms');
  assert.equal(share(1, 3), '33.3 %');
  assert.equal(share(1, 0), '0.0 %');
});

test('ticks are round, inside the view and not too many', () => {
  for (const [from, to] of [
    [0, 51e6],
    [1e9, 1e9 + 200],
    [-3e9, 8.6e13],
  ]) {
    const { ticks } = timeTicks(from, to, 8);
    assert.ok(ticks.length >= 1 && ticks.length <= 9, `${from} ${to}: ${ticks.length}`);
    assert.ok(ticks.every((t) => t >= from && t <= to));
  }
  assert.equal(byteStep(10 * 2 ** 20, 5), 2 ** 21);
});

/** The fields of a log that distinguish instants. @type {any} */
const log = {
  paths: [[], ['init'], ['step'], ['step', 'forward']],
  heaps: [{ peakTime: 777 }],
  instances: {
    node: Float64Array.from([1, 2, 3, 2]),
    from: Float64Array.from([5, 100, 110, 200]),
    to: Float64Array.from([9, 150, 120, 250]),
  },
};

test('runs are aligned by their start, their peak or a range', () => {
  assert.equal(origin(log, 'start'), 0);
  assert.equal(origin(log, 'peak'), 777);
  assert.equal(origin(log, 'range:step'), 100);
  assert.equal(origin(log, 'range:step > forward'), 110);
  assert.equal(origin(log, 'range:nowhere'), 0);
  assert.equal(instance(log, 'step', 2), 200);
  assert.equal(instance(log, 'step', 3), null);
  assert.deepEqual(commonRanges([log, { ...log, paths: [[], ['x'], ['step'], ['y']] }]), ['step']);
});

test('the hash brings the state back', () => {
  /** @type {import('../../viewer/src/state.js').State} */
  const state = {
    ...initial(),
    by: 'thread',
    from: 5,
    to: 9,
    hidden: ['a > b'],
    pins: [{ heap: 'host/heap', log: 0, at: 3 }],
  };
  assert.deepEqual(fromHash(toHash(state)), state);
  assert.equal(toHash(initial()), '');
});

test('a hash of unknown origin changes nothing', () => {
  for (const hash of ['', '#', '#%%%', '#null', '#5', '#%7B%22from%22%3A%22x%22%7D', '#%7B%22hidden%22%3A7%7D'])
    assert.deepEqual(fromHash(hash), initial());
});

test('of a hash that names what is not there the rest is kept', () => {
  /** @type {any} */
  const logs = [{}, {}];
  /** @type {any} */
  const bad = {
    ...initial(),
    a: 1e30,
    b: -0.5,
    by: 'nonsense',
    depth: 1e400,
    compare: 'x',
    from: Infinity,
    to: NaN,
    theme: 'x',
    hidden: [null, 'a'],
  };
  const pins = [
    null,
    5,
    {},
    { heap: 'h', log: 'map', at: 1 },
    { heap: 'h', log: 0, at: 2 },
    { heap: 1, log: 0, at: 2 },
    { heap: 'of no run that is shown', log: 1, at: 2 },
  ];
  assert.deepEqual(repaired({ ...bad, pins }, logs), { ...initial(), hidden: ['a'], pins: [pins[4]] });
  for (const hash of ['#{"pins":null}', '#{"pins":{}}', '#{"hidden":{}}'])
    assert.deepEqual(fromHash(hash.replaceAll('"', '%22')), initial());
});

test('blocks that live at one time never overlap, and gaps are filled', () => {
  const from = [],
    to = [],
    bytes = [];
  let seed = 1;
  const dice = (n) => (seed = (seed * 1103515245 + 12345) % 2 ** 31) % n;
  for (let i = 0, t = 0; i < 400; i++) {
    from.push((t += dice(10)));
    to.push(t + 1 + dice(200));
    bytes.push(1 + dice(1000));
  }
  const base = place({ from, to, size: bytes });
  for (let a = 0; a < 400; a++) {
    for (let b = a + 1; b < 400 && from[b] < to[a]; b++) {
      assert.ok(base[a] + bytes[a] <= base[b] || base[b] + bytes[b] <= base[a], `${a} and ${b}`);
    }
  }
  assert.deepEqual([...place({ from: [0, 0, 5, 6], to: [10, 4, 10, 10], size: [10, 20, 15, 5] })], [0, 10, 10, 25]);
});

test('addresses above 2^53 are exact', () => {
  /** @returns {any} */
  const at = (high, low) => ({ high: Float64Array.of(high), low: Float64Array.of(low) });
  assert.equal(address(at(0xff00007f, 0x12), 0), '0xff00007f00000012');
  assert.equal(address(at(0, 0x1000), 0), '0x1000');
});

const base = 0x7f0000000000;

/**
 * Makes blocks from lists [address, size, from, to, live, mapped, segment, capture].
 * @returns {any}
 */
function blocks(list) {
  const f = (...n) => Float64Array.from(n);
  return {
    high: f(...list.map((b) => Math.floor(b[0] / 2 ** 32))),
    low: f(...list.map((b) => b[0] % 2 ** 32)),
    size: f(...list.map((b) => b[1])),
    from: f(...list.map((b) => b[2])),
    to: f(...list.map((b) => b[3])),
    live: f(...list.map((b) => b[4] ?? 0)),
    mapped: f(...list.map((b) => b[5] ?? 0)),
    segment: f(...list.map((b) => b[6] ?? 0)),
    capture: f(...list.map((b) => b[7] ?? 0)),
  };
}

const nothing = { heldUntil: [] };

test('mapped pieces in a row are one segment, others are not; an idle one is known by its maker', () => {
  const device = blocks([
    [base, 100, 0, 90, 1, 1, 1],
    [base + 100, 100, 0, 90, 1, 1, 1],
    [base + 200, 100, 0, 90, 1, 1],
    [base + 400, 100, 0, 90, 1, 0, 1],
    [base + 500, 100, 0, 90, 1, 0, 1],
  ]);
  const torch = blocks([
    [base + 50, 100, 1, 90, 1],
    [base + 500, 100, 1, 90, 1],
  ]);
  assert.deepEqual(
    segmentsAt(device, torch, 20, nothing).map((s) => [s.start - base, s.size, s.pieces, s.used, s.largestHole]),
    [
      [0, 200, 2, 100, 50],
      [400, 100, 1, 0, 100],
      [500, 100, 1, 100, 0],
    ],
  );
});

test('pieces in which nothing lies can be given back, wherever they are', () => {
  const device = blocks([0, 1, 2, 3, 4].map((i) => [base + i * 20, 20, 0, 90, 1, 1, 1]));
  const torch = blocks([
    [base, 15, 1, 90, 1],
    [base + 55, 10, 1, 90, 1],
  ]);
  assert.deepEqual(
    segmentsAt(device, torch, 20, nothing).map((s) => [s.size, s.used, s.idle]),
    [[100, 25, 40]],
  );
});

test('segments hold the blocks that live in them, and know their holes', () => {
  const device = blocks([
    [base, 100, 0, 90, 1],
    [base + 1000, 50, 0, 90, 1],
    [base + 2000, 50, 0, 10],
  ]);
  const torch = blocks([
    [base, 10, 1, 90, 1],
    [base + 40, 20, 1, 90, 1],
    [base + 10, 30, 1, 5],
    [base + 1000, 50, 1, 90, 1],
    [base + 2000, 50, 1, 10],
  ]);
  const made = segmentsAt(device, torch, 20, nothing);
  assert.deepEqual(
    made.map((s) => [s.start - base, s.used, s.largestHole, s.inner.map((b) => b.offset)]),
    [
      [0, 30, 40, [0, 40]],
      [1000, 50, 0, [0]],
    ],
  );
  assert.deepEqual(
    segmentsAt(device, torch, 3, nothing).map((s) => s.start - base),
    [0, 1000, 2000],
  );
});

test('free bytes of a segment are split, releasable, or those of a graph for as long as it holds them', () => {
  const device = blocks([
    [base, 100, 0, 90, 1, 0, 1],
    [base + 1000, 100, 0, 90, 1, 0, 1],
    [base + 2000, 100, 0, 90, 1, 0, 1, 2],
  ]);
  const torch = blocks([[base, 10, 1, 90, 1]]);
  const log = { heldUntil: [Infinity, 50] };
  const states = (at) =>
    segmentsAt(device, torch, at, log)
      .sort((a, b) => a.start - b.start)
      .map((s) => STATES[s.state]);
  assert.deepEqual(states(49), ['split', 'releasable', 'graph']);
  assert.deepEqual(states(50), ['split', 'releasable', 'releasable']);
});
