// Ranks by ranges: the columns, and the median that each is compared with.
import assert from 'node:assert/strict';
import test from 'node:test';
import { columnsOf, median } from '../../viewer/src/heatranges.js';
import { mostOf } from '../../viewer/src/heattimes.js';

/** @param {Record<string, number>} bytes @param {boolean} [more] */
const side = (bytes, more = false) => ({
  held: new Map(Object.entries(bytes).map(([name, of]) => [name, { bytes: of, least: false }])),
  more,
});

test('the names that hold most in any log are the columns, with what each log has of them', () => {
  const least = [false, false, false];
  assert.deepEqual(columnsOf([side({ a: 5, b: 1 }), side({ a: 4, c: 9 }), side({ a: 6 })], 2), [
    { name: 'c', median: 0, bytes: [0, 9, 0], least },
    { name: 'a', median: 5, bytes: [5, 4, 6], least },
  ]);
});

test('a name that a log may hold among others is not told apart there, not 0; the others are no column', () => {
  const several = side({ 'everything else': 90, b: 2 }, true);
  assert.deepEqual(columnsOf([side({ a: 5, b: 1, none: 0 }), several], 9), [
    { name: 'a', median: 5, bytes: [5, null], least: [false, true] },
    { name: 'b', median: 2, bytes: [1, 2], least: [false, false] },
  ]);
});

test('what is a lower bound stays one', () => {
  const held = new Map([['a', { bytes: 3, least: true }]]);
  assert.deepEqual(columnsOf([{ held, more: true }], 9), [{ name: 'a', median: 3, bytes: [3], least: [true] }]);
});

test('of an even number of values the median is the upper one, as the report takes it', () => {
  assert.equal(median([4, 1, 3, 2]), 3);
});

test('over time each slice has the most that began in it, else what lasted, and nothing before or behind the run', () => {
  const heap = /** @type {any} */ ({
    spans: {
      start: Float64Array.of(0, 10, 12, 35),
      max: Float64Array.of(1, 9, 4, 2),
      min: Float64Array.of(1, 4, 4, 2),
    },
  });
  assert.deepEqual(mostOf(heap, 45, 0, 60, 6), [1, 9, 4, 2, 2, null]);
  assert.deepEqual(mostOf(heap, 45, -20, 40, 6), [null, null, 1, 9, 4, 2]);
  assert.deepEqual(mostOf(undefined, 45, 0, 60, 3), [0, 0, 0]);
});
