// Devices of two runs that are one: by the rules of diff.
import assert from 'node:assert/strict';
import test from 'node:test';
import { matched } from '../../viewer/src/devices.js';

const device = (number, name, uuid) => ({ number, name, uuid });

test('devices of one UUID are one, else those of one name and number, of one name, of one number', () => {
  assert.deepEqual(
    [...matched([device(0, 'H100', 'a'), device(1, 'H100', 'b')], [device(0, 'H100', 'b'), device(1, 'H100', 'a')])],
    [
      [0, 1],
      [1, 0],
    ],
  );
  assert.deepEqual([...matched([device(0, 'H100', 'a')], [device(3, 'H100', 'c')])], [[3, 0]]);
  assert.deepEqual([...matched([device(0, 'H100', 'a'), device(1, 'H100', 'b')], [device(1, 'H100', 'c')])], [[1, 1]]);
  assert.deepEqual([...matched([device(0, '', '')], [device(0, 'H100', 'c')])], [[0, 0]]);
});

test('a device that the first run has not gets a number that is free', () => {
  const both = matched([device(0, 'H100', 'a')], [device(1, 'H100', 'c'), device(0, 'A100', 'd')]);
  assert.equal(both.get(1), 0);
  assert.equal(both.get(0), 1);
  assert.deepEqual([...matched([device(0, 'H100', 'a')], [device(5, 'A100', 'd')])], [[5, 5]]);
});
