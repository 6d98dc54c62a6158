// Bands, groups and levels of detail: the shown bytes always sum to an exact total.
import assert from 'node:assert/strict';
import test from 'node:test';
import { OTHER, SMALL } from '../../viewer/src/columns.js';
import { lines } from '../../viewer/src/lines.js';
import { shown, spansIn, totals } from '../../viewer/src/lod.js';
import {
  ELSE,
  SEVERAL,
  composition,
  foremost,
  isInside,
  isLeast,
  peakSpan,
  spanAt,
  stack,
} from '../../viewer/src/model.js';
import { join } from '../../viewer/src/names.js';
import { statistics } from '../../viewer/src/statistics.js';
import { log, randomHeap } from './made.mjs';

/** @type {import('../../viewer/src/model.js').Grouping[]} */
const GROUPINGS = [
  { by: 'range', depth: 0 },
  { by: 'range', depth: 1 },
  { by: 'thread', depth: 0 },
  { by: 'size', depth: 0 },
];

test('groups sum to the total in every span, however they are grouped and however few there are', () => {
  const { heap } = randomHeap(1, 500, 40);
  for (const grouping of GROUPINGS) {
    for (const most of [1, 3, 18]) {
      const { groups } = stack(log, heap, grouping, [...foremost(log, heap, grouping, most).keys()]);
      assert.ok(groups.length <= most + 1);
      heap.spans.max.forEach((max, i) =>
        assert.equal(
          groups.reduce((sum, g) => sum + g.bytes[i], 0),
          max,
        ),
      );
    }
  }
});

test('a group holds exactly the bytes of its bands', () => {
  const { heap, vectors } = randomHeap(2, 200, 20);
  const { groups } = stack(log, heap, { by: 'thread', depth: 0 });
  vectors.forEach((vector, i) =>
    log.threads.forEach((name, thread) => {
      const expected = vector.reduce((sum, bytes, band) => sum + (heap.bands[band].thread === thread ? bytes : 0), 0);
      assert.equal(groups.find((g) => g.name === name)?.bytes[i] ?? 0, expected);
    }),
  );
});

test('an outer range holds what its inner ranges hold', () => {
  const { heap } = randomHeap(3, 100, 20);
  const whole = stack(log, heap, { by: 'range', depth: 0 }).groups,
    outer = stack(log, heap, { by: 'range', depth: 1 }).groups;
  const a = outer.find((g) => g.name === 'a');
  a.bytes.forEach((bytes, i) => {
    const inner = whole
      .filter((g) => g.name === 'a' || g.name.startsWith('a > '))
      .reduce((sum, g) => sum + g.bytes[i], 0);
    assert.equal(bytes, inner);
  });
});

test('what has no band of its own is everything else', () => {
  const { heap } = randomHeap(4, 50, 10);
  heap.bands[9].kind = OTHER;
  const by = /** @type {const} */ ({ by: 'range', depth: 0 }),
    { groups } = stack(log, heap, by, [...foremost(log, heap, by, 3).keys()]);
  assert.equal(groups.at(-1).name, ELSE);
  heap.spans.max.forEach((max, i) =>
    assert.equal(
      groups.reduce((sum, g) => sum + g.bytes[i], 0),
      max,
    ),
  );
});

test('a composition is the vector of its span', () => {
  const { heap, vectors } = randomHeap(5, 80, 12);
  for (const span of [0, 17, 79]) {
    const made = composition(log, heap, { by: 'size', depth: 0 }, span);
    const expected = new Map();
    vectors[span].forEach((bytes, band) => {
      const name = log.sizes[heap.bands[band].size];
      expected.set(name, { bytes: (expected.get(name)?.bytes ?? 0) + bytes, least: false, about: false, error: 0 });
    });
    assert.deepEqual(made, { held: expected, more: false });
  }
});

test('small blocks leave open which thread and size they are of, so names with more among them are lower bounds', () => {
  const { heap, vectors } = randomHeap(8, 60, 6);
  heap.bands.forEach((band, i) =>
    Object.assign(band, {
      node: 1,
      thread: i % 2,
      size: i % 2,
      kind: i === 5 ? SMALL : 0,
      pieces: [0, 0, 0, 0, 0, 0, 0],
    }),
  );
  heap.bands[0].pieces = [0, 0, 0, 0, 1, 1, 0]; // by thread and by size, band 5 holds more of band 0
  for (const by of /** @type {const} */ (['thread', 'size'])) {
    const name = by === 'thread' ? log.threads[0] : log.sizes[0];
    vectors.forEach((v, span) => {
      const { held, more } = composition(log, heap, { by, depth: 0 }, span);
      assert.equal(more, v[5] > 0);
      assert.deepEqual(held.get(name), { bytes: v[0] + v[2] + v[4], least: v[5] > 0, about: false, error: 0 });
      assert.equal(held.get(SEVERAL).bytes, v[5]);
    });
  }
  vectors.forEach((v, span) => {
    const { held, more } = composition(log, heap, { by: 'range', depth: 0 }, span);
    assert.equal(more, false); // the range is known
    assert.equal(
      held.get('a').bytes,
      v.reduce((sum, bytes) => sum + bytes, 0),
    );
  });
});

test('a name that has pieces in the rest is a lower bound, where the rest holds anything, at the depths where it is the same', () => {
  const { heap, vectors } = randomHeap(7, 60, 6);
  const none = Array(7).fill(0);
  heap.bands.forEach((band, i) =>
    Object.assign(band, { node: i < 4 ? i : 0, kind: i === 5 ? OTHER : 0, pieces: none }),
  );
  heap.bands[2].pieces = [0, 1 << 1, 0, 0, 0, 0, 0]; // a > b: the rest holds something else of a
  heap.bands[3].pieces = [0, (2 << 1) | 1, 0, 0, 0, 0, 0]; // a > c itself
  const least = (depth, span) =>
    [...composition(log, heap, { by: 'range', depth }, span).held].filter(([, of]) => of.least).map(([name]) => name);
  const of = (band, full, empty) => vectors.findIndex((v) => v[full] && !v[empty] && v[band]);
  const span = vectors.findIndex((v) => v.every(Boolean)),
    without = of(3, 2, 5);
  assert.ok(span >= 0);
  assert.deepEqual(least(0, span), ['a > c']);
  assert.deepEqual(least(1, span), ['a']);
  assert.deepEqual(least(2, span), ['a > c']);
  if (without >= 0) assert.deepEqual(least(0, without), []);
  const made = stack(log, heap, { by: 'range', depth: 0 });
  const group = made.groups.find((g) => g.name === 'a > c');
  vectors.forEach((v, i) => assert.equal(isLeast(made, group, i), v[5] > 0));
});

test('a name that one side does not have is a lower bound there, where that side has more than its names', () => {
  const side = (held, more) => ({ held: new Map(held.map(([name, bytes]) => [name, { bytes }])), more });
  const a = side([
    ['a', 5],
    ['b', 3],
    ['zero', 0],
  ]);
  const told = (b) => lines([a, b]).map(({ name, values, least }) => [name, ...values, ...least]);
  assert.deepEqual(told(side([['a', 7]], false)), [
    ['a', 5, 7, false, false],
    ['b', 3, null, false, false],
  ]);
  assert.deepEqual(
    told(
      side(
        [
          ['a', 7],
          [ELSE, 2],
        ],
        true,
      ),
    ),
    [
      ['a', 5, 7, false, false],
      ['b', 3, 0, false, true],
      [ELSE, null, 2, false, false],
    ],
  );
});

test('no level of detail loses the largest span', () => {
  const { heap } = randomHeap(6, 5000, 5);
  heap.spans.max[3217] = 2 ** 40;
  for (const columns of [10, 33, 100, 1000]) {
    const { span, x } = shown(heap.spans, 0, 5e6, columns);
    assert.ok(span.includes(3217));
    assert.ok(span.length <= columns * 2);
    assert.ok(x.every((at, i) => i === 0 || at > x[i - 1]));
  }
});

test('each column shows its maximum and its minimum', () => {
  const { heap } = randomHeap(7, 3000, 5);
  const { span, min } = shown(heap.spans, 0, 3e6, 100);
  for (let i = 0; i < 100; i++) {
    const part = heap.spans.max.slice(i * 30, i * 30 + 30);
    assert.equal(heap.spans.max[span[i]], Math.max(...part));
    assert.equal(min[i], Math.min(...part));
  }
});

test('a view of few spans shows all of them', () => {
  const { heap } = randomHeap(8, 3000, 5);
  assert.deepEqual(
    shown(heap.spans, 100000, 150000, 100).span,
    Array.from({ length: 51 }, (_, i) => 100 + i),
  );
});

test('the level after a burst is the last one, not its maximum', () => {
  const n = 400,
    start = Float64Array.from({ length: n }, (_, i) => (i < 300 ? i : i === 300 ? 300 : 100000 + i));
  const max = Float64Array.from({ length: n }, (_, i) => (i === 150 ? 1000 : 10));
  const { x, span } = shown({ start, max, min: max }, 0, 200000, 20);
  assert.equal(max[span[0]], 1000);
  assert.equal(max[span[1]], 10);
  assert.equal(x[1], 10000);
});

test('totals carry a level on', () => {
  const start = Float64Array.from([10, 50]),
    max = Float64Array.from([7, 3]);
  assert.deepEqual([...totals({ start, max }, 0, 100, 10)], [0, 7, 7, 7, 7, 3, 3, 3, 3, 3]);
});

test('the span of an instant is the last that has begun', () => {
  const start = Float64Array.from([10, 20, 30]);
  assert.deepEqual(
    [9, 10, 19, 20, 1000].map((t) => spanAt(start, t)),
    [-1, 0, 0, 1, 2],
  );
  const heap = /** @type {any} */ ({ spans: { start, max: Float64Array.from([1, 5, 5]) } });
  assert.equal(peakSpan(heap), 1);
});

test('a selection begins with what was there before it, nothing where it begins before the first block', () => {
  const f = (...n) => Float64Array.from(n);
  const spans = { start: f(10, 20), max: f(16, 40), min: f(16, 5), close: f(16, 7), allocs: f(1, 2), frees: f(0, 3) };
  const heap = /** @type {any} */ ({ width: 1, spans });
  const of = (from, to) => {
    const { start, end, min, max, allocs, frees } = statistics(heap, from, to);
    return [start, end, min, max, allocs, frees];
  };
  assert.deepEqual(of(5, 15), [0, 16, 0, 16, 1, 0]);
  assert.deepEqual(of(15, 18), [16, 16, 16, 16, 0, 0]);
  assert.deepEqual(of(15, 25), [16, 7, 5, 40, 2, 3]);
  assert.deepEqual(of(20, 25), [16, 7, 5, 40, 2, 3]);
  assert.deepEqual(of(1, 2), [0, 0, 0, 0, 0, 0]);
});

test('a stack has the bands that are wanted, in their order, and sums to the total; the rest stays on top', () => {
  const by = /** @type {const} */ ({ by: 'range', depth: 0 }),
    { heap } = randomHeap(21, 60, 12),
    own = [...foremost(log, heap, by, 3).keys()],
    made = stack(log, heap, by, ['nowhere', ...own.slice(1), own[0]]);
  assert.deepEqual(
    made.groups.map(({ name }) => name),
    [...own.slice(1), own[0], ELSE],
  );
  assert.equal(made.groups.at(-1)?.rest, true);
  heap.spans.max.forEach((max, i) =>
    assert.equal(
      made.groups.reduce((sum, group) => sum + group.bytes[i], 0),
      max,
    ),
  );
  const whole = stack(log, heap, by);
  made.groupOfBand.forEach((group, band) => {
    const { name } = whole.groups[whole.groupOfBand[band]];
    assert.equal(made.groups[group].name, own.includes(name) ? name : ELSE);
  });
});

test('columns have the spans that a chart of so many pixels shows', () => {
  const { heap } = randomHeap(9, 5000, 5),
    [from, to] = [150500, 4.2e6],
    columns = 90,
    { x, span } = shown(heap.spans, from, to, columns);
  const drawn = (at) => span[x.filter((begin) => begin <= at).length - 1];
  assert.deepEqual(
    [...spansIn(heap.spans, from, to, columns)],
    Array.from({ length: columns }, (_, i) => drawn(from + ((to - from) * (i + 0.5)) / columns)),
  );
});

test('a name is in a range if its path begins with that range', () => {
  const inner = join(['step', 'forward', 'loss']);
  for (const range of ['step > ', 'step > forward > ', 'step > forward > loss > ']) assert.ok(isInside(inner, range));
  for (const range of ['ste > ', 'forward > ', 'step > forward > loss > x > ']) assert.ok(!isInside(inner, range));
  assert.ok(!isInside(join(['operator > of a', 'b']), 'operator > '));
});
