// Columns as render/blob.c writes them, and the values that data.js reads from them.
import assert from 'node:assert/strict';
import test from 'node:test';
import { readChanges, readEstimates, readSpanDetails, readSpans } from '../../viewer/src/data.js';
import { Columns } from '../../viewer/src/leb.js';

const leb = (n) => {
  const out = [];
  for (n = BigInt(n); n >= 128n; n >>= 7n) out.push(Number(n & 127n) | 128);
  return [...out, Number(n)];
};
const zigzag = (n) => leb(n < 0 ? -2n * BigInt(n) - 1n : 2n * BigInt(n));
const columns = (...parts) => new Columns(Uint8Array.from(parts.flat(2)));

test('numbers are exact up to 2^53', () => {
  const all = [0, 1, 127, 128, 300, 2 ** 32, 2 ** 32 + 1, 2 ** 52 + 1, 2 ** 53 - 1];
  assert.deepEqual([...columns(all.map(leb)).plain(all.length)], all);
});

test('signed numbers keep their sign', () => {
  const all = [0, -1, 1, -64, 64, -(2 ** 40), 2 ** 40 + 3, -(2 ** 51) - 1];
  assert.deepEqual([...columns(all.map(zigzag)).signed(all.length)], all);
});

test('a column that is cut is an error, not a number', () => {
  assert.throws(() => columns([200, 200]).number(), /too early/);
  assert.throws(() => columns([1, 2]).plain(3), /too early/);
});

test('spans come back as they were, and later their details', () => {
  const spans = readSpans(
    columns([leb(2)], [leb(48), leb(32)], [zigzag(500), zigzag(-100)], [leb(100), leb(0)], [leb(1), leb(2)]),
  );
  assert.deepEqual([...spans.start], [48, 80]);
  assert.deepEqual([...spans.max], [500, 400]);
  assert.deepEqual([...spans.min], [400, 400]);
  assert.deepEqual([...spans.end], [1, 3]);
  readSpanDetails(
    columns([leb(2)], [leb(1), leb(0)], [zigzag(0), zigzag(-50)], [leb(2), leb(0)], [leb(1), leb(4)]),
    spans,
  );
  assert.deepEqual([...spans.time], [49, 80]);
  assert.deepEqual([...spans.close], [500, 350]);
  assert.deepEqual([...spans.allocs], [2, 0]);
  assert.deepEqual([...spans.frees], [1, 4]);
});

test('signed numbers keep 53 bits, and signs of what one word holds', () => {
  const numbers = [0, -1, 1, 2 ** 30 - 1, -(2 ** 30), 2 ** 30, 2 ** 51, -(2 ** 51)];
  assert.deepEqual([...columns(numbers.map(zigzag)).signed(numbers.length)], numbers);
});

test('changes of a band count from its own last value', () => {
  const { changeBand, changeBytes } = readChanges(columns([3, 0, 1, 0].map(leb), [100, 7, -40].map(zigzag)), 2);
  assert.deepEqual([...changeBand], [0, 1, 0]);
  assert.deepEqual([...changeBytes], [100, 7, 60]);
});

test('the numbers of equal blocks are not stored, only those of others', () => {
  const changes = { changeBand: Float64Array.of(0, 1, 0), changeBytes: Float64Array.of(20, 7, 31) },
    stored = columns([0, 5, -2].map(zigzag), [1, 0, 0].map(zigzag)),
    { changeMore, changeVariance } = readEstimates(stored, changes, [
      [10, 100, 30],
      [0, 0, 0],
    ]);
  assert.deepEqual([...changeMore], [200, 5, 308]);
  assert.deepEqual([...changeVariance], [61, 0, 92]);
});
