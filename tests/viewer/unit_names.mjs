// The part that distinguishes a long name from its neighbours is not cut.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { callParts, commonBegins, cutApart, join, notePool, partsOf, readFrame } from '../../viewer/src/names.js';

const parts = (name, among) => {
  for (const one of [name, ...among]) join(one.split(' > '));
  const { begin, tell, last } = partsOf(name, among);
  assert.equal(begin + tell + last, name);
  return [begin, tell, last];
};

test('a name without its like is told by its end', () => {
  assert.deepEqual(parts('step > forward > layer 3', ['step > backward > layer 4']), [
    'step > forward',
    '',
    ' > layer 3',
  ]);
  assert.deepEqual(parts('step', ['step']), ['', '', 'step']);
});

test('where ends are alike, the part that differs is what tells it', () => {
  const all = ['north', 'east', 'south'].map((region) => `report > region ${region} > page cache`);
  assert.deepEqual(parts(all[0], all), ['report', ' > region north', ' > page cache']);
  assert.deepEqual(parts(all[1], all), ['report', ' > region east', ' > page cache']);
});

test('ends are alike where only what stands before the last part differs', () => {
  const all = ['capture > batch 65536 > layer 0', 'capture > batch 131072 > layer 0'];
  assert.deepEqual(parts(all[0], all), ['capture', ' > batch 65536', ' > layer 0']);
});

test('a name that ends as all of another one is told by what stands before that', () => {
  const all = ['exchange > NCCL:ncclCommInitRankConfig', 'NCCL:ncclCommInitRankConfig'];
  assert.deepEqual(parts(all[0], all), ['', 'exchange', ' > NCCL:ncclCommInitRankConfig']);
});

test('of a long call the word that differs', () => {
  const call = (type) =>
      `void at::native::vectorized_elementwise_kernel<4, ${type}, std::array<char*, 2ul> > (loops.cuh:41)`,
    [begin, tell] = parts(call('float'), [call('float'), call('double')]);
  assert.ok(begin.endsWith('<4, '), begin);
  assert.ok(tell.startsWith('float') && tell.length <= 32, tell);
});

test('of a call and its caller the line is never cut, and has its file where another has that line', () => {
  const call = (name, file, line) => join([readFrame([`Images.${name}`, file, line])], 'Loader.work'),
    first = call('decode', 'workers.py', 17),
    told = (...other) => Object.values(callParts(first, [first, call(...other)]) ?? { none: null }),
    head = 'Loader.work';
  assert.equal(first, 'Loader.work > Images.decode (workers.py:17)');
  assert.deepEqual(told('decode', 'workers.py', 18), [head, ' > Images.decode (workers.py', ':17)']);
  assert.deepEqual(told('decode', 'pool.py', 17), [head, ' > Images.decode', ' (workers.py:17)']);
  assert.deepEqual(told('crop', 'workers.py', 17), [null]);
  assert.equal(callParts(join(['step', 'forward']), []), null);
  assert.equal(callParts(readFrame(['decode', 'workers.py', 17]), []), null);
  assert.equal(callParts('another > a text (like a call:17)', []), null);
});

test('a pool of threads is told by its name, not by how many they are', () => {
  const all = ['io{1,2} (2 threads)', 'worker {0, 1, 3..31} (31 threads)', 'worker 2 (4244)'];
  all.forEach((name, i) => notePool(name, [2, 31, 1][i]));
  assert.deepEqual(parts(all[0], all), ['', 'io{1,2}', ' (2 threads)']);
  assert.deepEqual(parts(all[1], all), ['', 'worker {0, 1, 3..31}', ' (31 threads)']);
  assert.deepEqual(parts(all[2], all), ['', '', 'worker 2 (4244)']);
});

test('a range whose name looks like a path is one part', () => {
  assert.deepEqual(Object.values(partsOf(join(['x > y']), [])), ['', '', 'x > y']);
});

test('of names at random no two have the same beginning to tell and the same end', () => {
  let state = 7;
  const dice = (sides) => (state = (state * 48271) % 0x7fffffff) % sides,
    frame = () => ['forward', 'backward', 'layer 1', 'layer 12', 'a', 'optimizer'][dice(6)];
  for (let round = 0; round < 200; round++) {
    const names = [...new Set(Array.from({ length: 6 }, () => `run > ${frame()} > ${frame()} > activation cache`))],
      told = names.map((name) => parts(name, names).slice(1).join());
    assert.equal(new Set(told).size, names.length, names.join('\n'));
  }
});

test('a label that is cut says what tells it, or nothing', () => {
  const names = ['region east', 'region north', 'region south', 'page cache', 'step:1', 'step:12', 'step:13'],
    common = commonBegins([...names, 'page cache']),
    label = (name, room) =>
      cutApart(name, common.get(name), (text) => (text.length <= room ? text : `${text.slice(0, room - 1)}…`));
  assert.equal(label('region north', 12), 'region north');
  assert.equal(label('region north', 10), 'region no…');
  assert.equal(label('region north', 7), 'r…north');
  assert.equal(label('region north', 6), '…north');
  assert.equal(label('region north', 3), '…n…');
  assert.equal(label('page cache', 5), 'page…');
  assert.equal(label('step:12', 4), 's…12');
  assert.equal(label('step:12', 3), '…12');
  assert.equal(label('step:13', 2), '');
  assert.equal(label('step:1', 3), 's…1');
  for (let room = 2; room < 13; room++) {
    const shown = names.map((name) => label(name, room)).filter(Boolean);
    assert.equal(new Set(shown).size, shown.length, `${room}: ${shown}`);
  }
});
