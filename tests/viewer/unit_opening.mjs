// The span of time that the charts open on.
import assert from 'node:assert/strict';
import test from 'node:test';
import { opening } from '../../viewer/src/opening.js';

const heap = (name, first, peakTime) => ({ name, peakTime, spans: { start: Float64Array.of(first) } });
/** @returns {any} */
const run = (parts) => ({ duration: 1000, heaps: [], oom: null, repeat: null, ...parts });
const steps = { range: 'step', instances: 5, from: 700, to: 800 };

test('a run without ranges and devices opens on all of it', () => {
  assert.deepEqual(opening(run({ heaps: [heap('host/heap', 1, 900)] })), [0, 1000]);
});

test('a run with a device opens shortly before its first allocation', () => {
  assert.deepEqual(opening(run({ heaps: [heap('gpu0/torch', 600, 900), heap('host/heap', 1, 300)] })), [592, 1000]);
});

test('a run whose ranges repeat opens on them, with the time of one on either side', () => {
  assert.deepEqual(opening(run({ heaps: [heap('gpu0/torch', 600, 750)], repeat: steps })), [675, 825]);
  assert.deepEqual(opening(run({ repeat: { ...steps, from: 5, to: 990 } })), [0, 1000]);
});

test('the peaks of the first charts are in it, and a lack of memory', () => {
  const heaps = [heap('gpu0/torch', 600, 650), heap('gpu0/device', 600, 950), heap('host/heap', 1, 300)];
  assert.deepEqual(opening(run({ heaps, repeat: steps })), [650, 950]);
  assert.deepEqual(opening(run({ heaps, repeat: steps, oom: { time: 960 } })), [650, 960]);
});

test('what is nearly all of a run is shown as all of it', () => {
  assert.deepEqual(opening(run({ heaps: [heap('gpu0/torch', 150, 900)] })), [0, 1000]);
});
