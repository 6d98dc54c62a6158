// Lines of the reports on the page: the same rows are grouped, their bytes are summed, and a click shows the rows.
import assert from 'node:assert/strict';
import test from 'node:test';
import { FOLD, ONE, OTHER } from '../../viewer/src/columns.js';
import { partOf, readLines } from '../../viewer/src/folds.js';
import { ELSE, SEVERAL, WHOLE, composition, isLeast, stack } from '../../viewer/src/model.js';
import { log, randomHeap } from './made.mjs';

const FRAMES = ['layer {0..3}', 'main (t.py:3)', 'run', 'one (a.py:1)', 'io{1,2} (2 threads)'];
const LAYERS = [4, 1000, 4, 0, 0, 0, 1, 0]; // rows, bytes, blocks, least, most, open, partsOpen, caller
const AS_LINE = 4,
  ITSELF = 8,
  ROW = 12,
  THREAD = 3;

/** Nodes 1 to 3 are one line. Python stack 5 is named by a frame and its caller. */
const raw = [
  [[LAYERS, [0], [ROW, 2 * ROW, 3 * ROW]]],
  [[LAYERS, [0], [ROW, 2 * ROW, 3 * ROW + AS_LINE]]],
  [[[2, 7, 1, 3, 9, 0, 0, 3], [1], [5 * ROW + ITSELF + 1, 4, 1, 2, 6 * ROW + 1]]],
  [],
  [[[2, 7, 2, 0, 0, 0, 0, 0], [4], [THREAD, ROW + THREAD]]],
];

test('a part is found by what its view goes by, and told as the report tells it alone', () => {
  const heap = { lines: readLines(raw, FRAMES) };
  const python = partOf(heap, 'python', { node: 1, python: 5, native: 0 });
  assert.equal(python?.line.name, 'run > main (t.py:3)');
  assert.equal(python?.ownName, 'one (a.py:1) > run');
  assert.deepEqual([python?.line.least, python?.line.most], [3, 9]);
  assert.equal(partOf(heap, 'python', { node: 0, python: 6, native: 0 })?.ownName, null);
  assert.equal(partOf(heap, 'auto', { node: 2, python: 5, native: 0 })?.line.name, 'layer {0..3}');
  assert.equal(partOf(heap, 'auto', { node: 4, python: 0, native: 0 }), undefined);
  assert.equal(partOf(heap, 'stack', { node: 1, python: 5, native: 0 }), undefined);
  assert.equal(partOf(heap, 'thread', { node: 1, python: 5, native: 0, thread: 0 })?.line.name, 'io{1,2} (2 threads)');
  assert.equal(partOf(heap, 'thread', { node: 1, python: 5, native: 0, thread: 2 }), undefined);
});

/** Bands 0 to 2 are rows of the line, band 3 holds more of it, band 4 does not belong to it, band 5 is the rest. */
function folded() {
  const { heap, vectors } = randomHeap(11, 120, 6);
  const kinds = [ONE, ONE, ONE, FOLD, ONE, OTHER];
  heap.bands = kinds.map((kind, i) => ({ ...heap.bands[i], kind, node: [1, 2, 3, 1, 4, 0][i] }));
  heap.lines = readLines(raw, FRAMES);
  return { heap, vectors };
}

test('a fold is one band, exact to the byte; unfolded its rows are bounds where the rest of it is not told apart', () => {
  const { heap, vectors } = folded();
  const by = /** @type {const} */ ({ by: 'range', depth: 0 });
  const made = stack(log, heap, by),
    open = stack(log, heap, { ...by, unfolded: ['layer {0..3}'] });
  const of = (/** @type {typeof made} */ from, /** @type {string} */ name) => from.groups.find((g) => g.name === name);
  assert.deepEqual(made.groups.map((g) => g.name).sort(), ['d', ELSE, 'layer {0..3}']);
  assert.deepEqual(
    open.groups.map((g) => g.name).sort(),
    ['a', 'a > b', 'a > c', 'd', ELSE, 'several of layer {0..3}'].sort(),
  );
  vectors.forEach((v, i) => {
    assert.equal(of(made, 'layer {0..3}')?.bytes[i], v[0] + v[1] + v[2] + v[3]);
    assert.equal(isLeast(made, /** @type {any} */ (of(made, 'layer {0..3}')), i), false);
    assert.equal(of(open, 'a > b')?.bytes[i], v[1]);
    assert.equal(of(open, 'several of layer {0..3}')?.bytes[i], v[3]);
    assert.equal(isLeast(open, /** @type {any} */ (of(open, 'a > b')), i), v[3] + v[5] > 0);
  });
  assert.deepEqual([...made.folds.keys()], ['layer {0..3}']);
  assert.deepEqual([...open.folds.keys()].sort(), ['a', 'a > b', 'a > c', 'several of layer {0..3}']);
});

test('whole paths and cut ones do not fold', () => {
  const { heap, vectors } = folded();
  const span = vectors.findIndex((v) => v.every(Boolean));
  for (const [depth, names] of /** @type {[number, string[]][]} */ ([
    [WHOLE, ['a', 'a > b', 'a > c', 'd', ELSE, SEVERAL]],
    [1, ['a', 'd', ELSE, SEVERAL]],
  ]))
    assert.deepEqual([...composition(log, heap, { by: 'range', depth }, span).held.keys()].sort(), names.sort());
});
