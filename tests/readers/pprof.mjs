// A decoder of pprof's profiles reads the file of `export --to pprof`. pprof.mjs, with READERS (the folder of the
// packages), REPORT and GOLDEN.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';

const { READERS = '', REPORT = '', GOLDEN = '' } = process.env;
const { Profile } = createRequire(join(READERS, 'package.json'))('pprof-format');
const report = (/** @type {string[]} */ ...words) => execFileSync(REPORT, words, { maxBuffer: 1 << 28 });
const log = join(GOLDEN, 'h200-pytorch.zst');

test('each heap sums to its peak, below the function of its name', () => {
  const profile = Profile.decode(gunzipSync(report('export', '--to', 'pprof', '-o', '-', log)));
  const text = (/** @type {any} */ number) => profile.stringTable.strings[Number(number)];
  const types = profile.sampleType.map((/** @type {any} */ t) => text(t.type));
  assert.deepEqual(types, ['alloc_objects', 'alloc_space', 'inuse_objects', 'inuse_space']);
  const sums = new Map();
  for (const sample of profile.sample) {
    const root = profile.location.find((/** @type {any} */ l) => l.id === sample.locationId.at(-1));
    const name = text(profile.function.find((/** @type {any} */ f) => f.id === root.line[0].functionId).name);
    sums.set(name, (sums.get(name) ?? 0) + Number(sample.value[3]));
    const heap = sample.label.find((/** @type {any} */ l) => text(l.key) === 'heap');
    assert.equal(text(heap.str), name);
  }
  const [peaks] = JSON.parse(report('peaks', '--format', 'json', log).toString()).logs;
  assert.deepEqual([...sums].sort(), peaks.heaps.map((/** @type {any} */ h) => [h.heap, h.peak_bytes]).sort());
});
