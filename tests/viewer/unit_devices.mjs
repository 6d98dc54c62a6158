// Devices of two runs are matched by the rules of diff.
import assert from 'node:assert/strict';
import test from 'node:test';
import { callAlike, callDevices, matched } from '../../viewer/src/devices.js';

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

test("B's findings speak of its devices as the charts do, and again as itself where it is alone; commands do so always", () => {
  const run = (number) => {
    const heap = { heap: `gpu${number}/torch` };
    return /** @type {any} */ ({
      heaps: [{ name: heap.heap }],
      tracks: [],
      marks: [{ ...heap }],
      accounts: [],
      segments: [],
      comms: [],
      steps: null,
      oom: null,
      lanes: null,
      devices: [device(number, 'H100', `${number}`)],
      findings: [
        {
          ...heap,
          where: `gpu${number}`,
          what: `step 7 peaks at 3 GiB of gpu${number}/torch, in gpu${number} upload`,
          see: `memprof-report steps gpu${number}/device.zst`,
        },
      ],
    });
  };
  const b = run(1);
  assert.equal(callAlike(run(0), b), 'its gpu1 is shown as gpu0');
  assert.deepEqual(b.findings, [
    {
      heap: 'gpu0/torch',
      where: 'gpu0',
      what: 'step 7 peaks at 3 GiB of gpu0/torch, in gpu1 upload',
      see: 'memprof-report steps gpu1/device.zst',
    },
  ]);
  callDevices(b, new Map());
  assert.deepEqual(b.findings, run(1).findings);
});
