// Bytes that never change in view.
import assert from 'node:assert/strict';
import test from 'node:test';
import { steadyOf } from '../../viewer/src/steady.js';

/** @returns {any[]} */
const groups = (...rows) => rows.map((bytes) => ({ bytes: Float64Array.from(bytes) }));

test('the least that each group holds at the spans of the view', () => {
  assert.deepEqual(steadyOf(groups([5, 9, 7, 0], [1, 0, 2, 9]), 0, 2), [5, 0]);
  assert.deepEqual(steadyOf(groups([5, 9, 7, 0], [1, 0, 2, 9]), 1, 2), [7, 0]);
  assert.deepEqual(steadyOf(groups([5, 9, 7, 0]), 3, 3), [0]);
});

test('before the first span nothing is steady', () => {
  assert.deepEqual(steadyOf(groups([5, 9]), -1, 1), [0]);
  assert.deepEqual(steadyOf(groups([]), -1, -1), [0]);
});
