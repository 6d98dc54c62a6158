// A device's account: the instant for a time, and how parts are stacked.
import assert from 'node:assert/strict';
import test from 'node:test';
import { begins, instantAt, isKnownAt, nearestTo, peakOf, spread } from '../../viewer/src/accounts.js';
import { ACCOUNT_KINDS } from '../../viewer/src/columns.js';
import { edges } from '../../viewer/src/edges.js';

const f = (...numbers) => Float64Array.from(numbers);
const kinds = (...names) => f(...names.map((name) => ACCOUNT_KINDS.indexOf(name)));

/** Returns an account with two spread instants and the peak between them. @returns {any} */
const account = (...parts) => ({
  since: f(10, 30, 30),
  time: f(20, 30, 50),
  kind: kinds('spread', 'peak', 'spread'),
  used: f(7, 9, 8),
  parts: parts.map((bytes, i) => ({ key: `${i}`, name: `part ${i}`, bytes: f(...bytes) })),
});

test('an instant tells its own time, and is drawn from where its state began until the next', () => {
  const of = account();
  assert.deepEqual([...begins(of)], [10, 30, 30]);
  assert.deepEqual(
    [9, 10, 15, 20, 25, 29, 30, 31, 50, 99].map((ns) => instantAt(of, ns)),
    [-1, 0, 0, 0, 0, 0, 1, 2, 2, 2],
  );
});

test('what came after an instant, and before the next state that is known, is not told', () => {
  const of = account();
  assert.deepEqual(
    [10, 11, 20, 21, 29].map((ns) => isKnownAt(of, 0, ns)),
    [false, true, true, false, false],
  );
  assert.ok(isKnownAt(of, 1, 30));
  assert.ok(!isKnownAt(of, 2, 30));
  assert.ok(isKnownAt(of, 2, 31));
});

test('of a time that nothing is told of the nearest instant is meant', () => {
  const of = account();
  assert.deepEqual(
    [9, 15, 21, 25, 26, 29, 30, 31, 99].map((ns) => nearestTo(of, ns)),
    [-1, 0, 0, 0, 1, 1, 1, 2, 2],
  );
});

test('the peak is known, and is not counted among the instants that are spread', () => {
  assert.equal(peakOf(account()), 1);
  assert.equal(spread(account()), 2);
});

test('parts lie on each other, and what was measured to be less lies below nothing', () => {
  /** @type {import('../../viewer/src/accounts.js').Part[]} */
  const parts = account([4, 5, 6], [5, 4, -1], [-2, 0, 3]).parts,
    made = edges(parts, 3);
  assert.deepEqual(
    made.map(({ part, edge }) => [part.name, ...edge]),
    [
      ['part 2', -2, 0, -1],
      ['part 2', 9, 9, 9],
      ['part 1', 0, 0, -1],
      ['part 1', 9, 9, 6],
      ['part 0', 4, 5, 6],
    ],
  );
  assert.deepEqual(
    made.map(({ below }) => [...below]),
    [
      [0, 0, -1],
      [9, 9, 6],
      [0, 0, 0],
      [4, 5, 6],
      [0, 0, 0],
    ],
  );
});
