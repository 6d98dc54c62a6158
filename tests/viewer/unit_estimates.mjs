// Estimates: samples count for the blocks that they represent, and the bands still add up to the exact sum.
import assert from 'node:assert/strict';
import test from 'node:test';
import {
  COUNTED,
  HAS_LIBRARY,
  HAS_NATIVE,
  HAS_PYTHON,
  IN_RANGE,
  ONE,
  OTHER,
  SAMPLED,
} from '../../viewer/src/columns.js';
import { estimate, isRest, partsOf, rolesOf, sumsOf } from '../../viewer/src/estimates.js';
import { isAbout, stack } from '../../viewer/src/model.js';
import { log as made, randomHeap } from './made.mjs';

const MEAN = 64,
  ALONE = MEAN * MEAN; // the variance of a small sample
const log = { ...made, best: 'auto', libraries: ['', 'libc'], stacks: [[], ['one'], ['two']] };
const sum = (numbers) => numbers.reduce((all, number) => all + number, 0);

/** @param {number[]} own @param {number[]} samples by group @param {number[]} rest @param {boolean} [sumIsEstimated] */
function estimated(own, samples, rest, sumIsEstimated = false) {
  const parts = partsOf(own.length),
    to = { bytes: new Float64Array(own.length), errors: new Float64Array(own.length) };
  parts.own.set(own);
  parts.more.set(samples.map((n) => n * MEAN));
  parts.variance.set(samples.map((n) => n * 4096));
  parts.rest.set(rest);
  estimate(parts, sumsOf(parts), { sampleMean: MEAN, sumIsEstimated }, to);
  return { bytes: [...to.bytes], errors: [...to.errors] };
}

test('what samples represent is taken from the blocks without a stack, to the byte', () => {
  const { bytes, errors } = estimated([10, 5, 10000], [3, 1, 0], [0, 0, 10000]);
  assert.deepEqual(bytes, [10 + 3 * MEAN, 5 + MEAN, 10000 - 4 * MEAN]);
  assert.deepEqual(errors, [Math.sqrt(3 * ALONE), Math.sqrt(ALONE), Math.sqrt(4 * ALONE)]);
});

test('estimates that differ from the known rest by chance are scaled to it, up or down', () => {
  for (const rest of [4 * MEAN - 100, 4 * MEAN + 2 * MEAN]) {
    const { bytes } = estimated([10, 5, rest], [3, 1, 0], [0, 0, rest]);
    assert.deepEqual(bytes, [10 + Math.round((3 / 4) * rest), 5 + Math.round(rest / 4), 0]);
    assert.equal(sum(bytes), 15 + rest);
  }
});

test('a stack that is all of the sample has nearly no error after scaling', () => {
  const { errors } = estimated([0, 4 * MEAN], [4, 0], [0, 4 * MEAN]);
  assert.ok(errors[0] <= MEAN, `${errors[0]}`);
});

test('a sum that is only that of the samples corrects no error', () => {
  const { bytes, errors } = estimated([0, 4 * MEAN], [4, 0], [0, 4 * MEAN], true);
  assert.deepEqual([bytes[0], errors[0]], [4 * MEAN, Math.sqrt(4 * ALONE)]);
});

test('without a rest samples represent nothing', () => {
  assert.deepEqual(estimated([10, 20], [3, 1], [0, 0]).bytes, [10, 20]);
});

test('ranges have all of their blocks, call stacks only samples of them', () => {
  const facts = [0, HAS_NATIVE | HAS_LIBRARY | SAMPLED, IN_RANGE, IN_RANGE | HAS_PYTHON | HAS_NATIVE | SAMPLED],
    heap = /** @type {any} */ ({ name: 'host/heap', sampleMean: MEAN, bands: facts.map((of) => ({ facts: of })) });
  assert.equal(rolesOf(/** @type {any} */ (log), heap, 'range'), null);
  assert.deepEqual(rolesOf(/** @type {any} */ (log), heap, 'auto'), {
    weighed: [true, true, false, false],
    rest: [true, false, false, false],
  });
  assert.deepEqual(rolesOf(/** @type {any} */ (log), heap, 'stack')?.rest, [true, false, true, false]);
  assert.deepEqual(rolesOf(/** @type {any} */ (log), heap, 'python')?.rest, [true, true, true, false]);
  const counted = { facts: COUNTED | HAS_PYTHON },
    hostSampled = /** @type {any} */ ({ ...log, hostSampled: true });
  for (const by of ['range', 'auto', 'thread', 'stack']) {
    assert.ok(isRest(hostSampled, heap, counted, by));
    assert.deepEqual(rolesOf(hostSampled, heap, by)?.rest, [false, false, false, false]);
  }
});

test('groups of a sampled heap add up to its sum in every span, and only those with samples are estimates', () => {
  const { heap, vectors } = randomHeap(5, 80, 4),
    facts = [0, HAS_NATIVE | HAS_LIBRARY | SAMPLED, HAS_NATIVE | HAS_LIBRARY, 0];
  heap.bands.forEach((band, i) =>
    Object.assign(band, {
      kind: i === 3 ? OTHER : ONE,
      node: 0,
      python: 0,
      library: 0,
      native: i % 3,
      facts: facts[i],
    }),
  );
  // each span's samples of band 1 represent as much as the band has
  const more = heap.changeBytes.map((bytes, i) => (heap.changeBand[i] === 1 ? Math.round(bytes / 10) : 0));
  Object.assign(heap, { sampleMean: MEAN, changeMore: more, changeVariance: more.map((bytes) => 4096 * bytes) });
  const { groups } = stack(/** @type {any} */ ({ ...log, best: 'stack' }), heap, { by: 'stack', depth: 0 }),
    of = (name) => groups.find((group) => group.name === name);
  vectors.forEach((v, i) => {
    assert.equal(sum(groups.map((group) => group.bytes[i])), sum(v));
    assert.ok(groups.every((group) => group.bytes[i] >= 0));
    assert.equal(of('two').bytes[i], v[2]);
    assert.ok(of('one').bytes[i] >= v[1]);
    if (of('(no call stack)').bytes[i]) assert.equal(isAbout(of('(no call stack)'), i), v[1] >= 5);
  });
  assert.ok(isAbout(of('one'), 0) && !isAbout(of('two'), 0));
  assert.ok(!groups.some((group) => group.name === 'everything else'), 'blocks without a stack are called so');
});
