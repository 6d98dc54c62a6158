// Ranges in lanes: the rows, the box at a time, and steps from instance to instance.
import assert from 'node:assert/strict';
import test from 'node:test';
import {
  boxAt,
  boxName,
  boxesBetween,
  instancesOf,
  nextInstance,
  outOf,
  rowsOf,
  threadName,
} from '../../viewer/src/lanes.js';
import { readThread } from '../../viewer/src/names.js';

/** Makes lanes from boxes [from, to, index of the path, thread, outer, number]. @returns {any} */
function made(boxes, parts = {}) {
  const column = (k) => Float64Array.from(boxes, (box) => box[k] ?? 0);
  return {
    paths: [[], ['step'], ['step', 'forward'], ['load'], ['step', 'forward', 'mlp']],
    steps: null,
    lanes: {
      from: column(0),
      to: column(1),
      node: column(2),
      thread: column(3),
      outer: column(4),
      number: column(5),
      mixed: column(6),
    },
    ...parts,
  };
}

const log = made([
  [0, 10, 1, 7, 1, 1],
  [1, 4, 2, 7, 0, 1],
  [2, 90, 3, 8],
  [12, 20, 1, 7, 1, 2],
  [22, 30, 1, 7, 1, 3],
]);

test('a thread has its rows together, that with the most time in ranges first', () => {
  const { rows, threads } = rowsOf(log, 8);
  assert.deepEqual(
    rows.map(({ thread, depth, boxes }) => [thread, depth, boxes]),
    [
      [8, 1, [2]],
      [7, 1, [0, 3, 4]],
      [7, 2, [1]],
    ],
  );
  assert.equal(threads, 0);
  assert.deepEqual(rowsOf(log, 2).rows.length, 1);
  assert.equal(rowsOf(log, 2).threads, 1);
});

test('a box is found at its time, or near it', () => {
  const [, row] = rowsOf(log, 8).rows;
  assert.equal(boxAt(log.lanes, row, 5), 0);
  assert.equal(boxAt(log.lanes, row, 11), -1);
  assert.equal(boxAt(log.lanes, row, 11, 1), 3);
  assert.equal(boxAt(log.lanes, row, 40, 9), -1);
  assert.deepEqual(boxesBetween(log.lanes, row, 10, 12), [0, 3]);
  assert.deepEqual(boxesBetween(log.lanes, row, 31, 99), []);
});

test('a range is called as the reports call it', () => {
  assert.equal(boxName(log, 3), 'step:2');
  assert.equal(boxName(log, 2), 'load');
  assert.equal(boxName(made([[0, 9, 3, 7, 0, 0, 1]]), 0), 'load and others');
});

test('one steps from instance to instance, from what is shown on', () => {
  assert.deepEqual(instancesOf(log), [0, 3, 4]);
  assert.equal(nextInstance(log, 0, 40, 1), 0);
  assert.equal(nextInstance(log, 0, 40, -1), 4);
  assert.equal(nextInstance(log, 0, 10, 1), 3);
  assert.equal(nextInstance(log, 12, 20, -1), 0);
  assert.equal(nextInstance(log, 22, 30, 1), -1);
  assert.equal(nextInstance(log, 10.5, 11.5, 1), 3);
});

test('without a range that repeats the outermost ones are the instances', () => {
  assert.deepEqual(
    instancesOf(
      made([
        [0, 9, 3, 1],
        [1, 2, 2, 1],
      ]),
    ),
    [0],
  );
});

test('an instance that stands out is marked, one beside it is not', () => {
  const out = [{ name: 'step:2', begin: 12, byPeak: true }],
    marked = made(
      [
        [0, 10, 1, 7, 1],
        [12, 20, 1, 7, 1],
        [12, 15, 2, 7],
      ],
      { steps: { heaps: [{ heap: 'host/heap', out }] } },
    );
  assert.deepEqual(
    [0, 1, 2].map((i) => outOf(marked, i).length),
    [0, 1, 0],
  );
});

test('a thread is told by its name where that is its own, else by its number', () => {
  const fits = (text) => text.length <= 9,
    told = (thread, ...others) => threadName(readThread(thread), others.map(readThread), fits);
  assert.equal(told(['main', 7], ['main', 8]), 'main (7)');
  assert.equal(told(['python3', 2616], ['pt_autograd_0', 2701]), 'python3');
  assert.equal(told(['python3', 2616], ['python3', 2701]), '2616');
  assert.equal(told('a thread without a number'), 'a thread without a number');
});
