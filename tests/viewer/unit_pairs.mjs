// Names of two runs are paired as in diff.
import assert from 'node:assert/strict';
import test from 'node:test';
import { join } from '../../viewer/src/names.js';
import { pairs } from '../../viewer/src/pairs.js';

/** Makes a log of ranges. `matching`: a name, the part that is the same in other runs, and that part without its file.
 *  @param {string[][]} paths @param {[string, string, string?][]} matching @param {string[]} [lines] names of lines
 *  @returns {any} */
const run = (paths, matching, lines = []) => ({
  paths: [[], ...paths],
  matching: new Map(matching.map(([name, same]) => [name, same])),
  functions: new Map(matching.map(([name, same, call]) => [name, call ?? same])),
  heaps: [
    {
      bands: paths.map((_, i) => ({ kind: 0, node: i + 1 })),
      lines: { auto: { lines: lines.map((name) => ({ name })), parts: new Map() } },
    },
  ],
});

const BY = /** @type {const} */ ({ by: 'range', depth: 0 });

test('a function that moved to another line is the same one, whoever calls it', () => {
  const a = run([['step', 'f (a.c:1)'], ['g (a.c:5)']], [['f (a.c:1)', 'f (a.c)']]),
    b = run([['step', 'f (a.c:9)'], ['g (a.c:5)'], ['f (a.c:9)']], [['f (a.c:9)', 'f (a.c)']]);
  assert.deepEqual([...pairs(a, b, BY)], [['step > f (a.c:9)', 'step > f (a.c:1)']]);
});

test('where two lines of a function could be meant, none is, and what both have is not renamed', () => {
  const matching = /** @type {[string, string][]} */ ([1, 2, 3].map((line) => [`f (a.c:${line})`, 'f (a.c)']));
  const a = run([['f (a.c:1)'], ['f (a.c:2)']], matching);
  assert.equal(pairs(a, run([['f (a.c:3)']], matching), BY).size, 0);
  assert.equal(pairs(run([['f (a.c:1)']], matching), run([['f (a.c:1)']], matching), BY).size, 0);
});

/** @param {string} file @param {number} line @param {string} [name] @returns {[string, string, string]} */
const call = (file, line, name = 'f') => [`${name} (${file}:${line})`, `${name} (${file})`, name];

test('a function of a renamed file is the same one, where each run has it once', () => {
  const matching = [call('a.c', 1), call('b.c', 9)],
    a = run([['step', 'f (a.c:1)']], matching);
  assert.deepEqual(
    [...pairs(a, run([['step', 'f (b.c:9)']], matching), BY)],
    [['step > f (b.c:9)', 'step > f (a.c:1)']],
  );
  const both = run(
    [
      ['step', 'f (b.c:9)'],
      ['step', 'f (a.c:1)'],
    ],
    matching,
  );
  assert.equal(pairs(a, both, BY).size, 0);
});

test('of several functions of a renamed file the caller tells which is which', () => {
  const matching = [call('a.c', 1), call('b.c', 9)],
    called = (/** @type {string} */ frame, /** @type {string[]} */ ...callers) =>
      callers.map((caller) => join([frame], caller)),
    a = run([], matching, called('f (a.c:1)', 'left', 'right')),
    b = run([], matching, called('f (b.c:9)', 'right', 'other'));
  assert.deepEqual([...pairs(a, b, BY)], [['right > f (b.c:9)', 'right > f (a.c:1)']]);
});
