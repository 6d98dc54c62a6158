// The page groups and names bands as the reports do: by the same call, with numbers grouped. A click expands a group.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Workshop, bytesOf, drawn } from './browser.mjs';

const shop = new Workshop();
before(() => shop.open());
after(() => shop.close());

const golden = (name) => fileURLToPath(new URL(`../golden/${name}.zst`, import.meta.url));

/** Returns the text that people read: by heap, the names and sizes of the lines. Estimates cover memory that no sample
 *  named. */
function linesOf(log, ...how) {
  const text = execFileSync(process.env.REPORT, ['peaks', '--width=full', '--top=100000', ...how, log], {
    encoding: 'utf8',
  });
  const heaps = new Map();
  let lines = null;
  for (const line of text.split('\n')) {
    const head = line.match(/^(\S+\/\S+) by .*at the peak/),
      row = line.match(/^ {2}(\S.*?) {2,}([\d.]+ [KMGT]?i?B) /);
    if (head) heaps.set(head[1], (lines = []));
    else if (row && lines) lines.push([row[1], row[2]]);
    else lines = null;
  }
  return heaps;
}

const shownIn = (page, heap) =>
  page
    .locator(`[data-panel="peak"][data-heap="${heap}"] tbody tr`)
    .evaluateAll((rows) => rows.map((row) => [row.dataset.name, row.querySelector('[title$="bytes"]').textContent]));

for (const name of ['h100-gpt2', 'h100-spike', 'h200-graphs-oom', 'h200-pytorch', 'h100-generate']) {
  test(`tables, legends and the tables without scripting name the peak of ${name} as peaks does`, async () => {
    const log = golden(name),
      page = await shop.show(shop.html(`${name}.html`, log));
    const told = linesOf(log);
    await page.evaluate(() => memprof.change({ by: memprof.first.by }));
    let compared = 0;
    for (const [heap, lines] of told) {
      const shown = await shownIn(page, heap);
      const sort = (/** @type {string[][]} */ rows) => rows.map((row) => row.join('  ')).sort();
      if (lines.length <= 40) assert.deepEqual(sort(shown), sort(lines), heap);
      const legend = await page
        .locator(`.chart[data-heap="${heap}"] .bands tbody tr`)
        .evaluateAll((rows) => rows.map((row) => [row.dataset.name, row.querySelector('td').textContent]));
      const largest = new Map(lines);
      for (const [band, size] of legend.filter(([band]) => largest.has(band)))
        if (!size.startsWith('≥')) assert.equal(size, largest.get(band), `${heap}, ${band}`);
      const still = await page.evaluate(
        (of) =>
          [.../** @type {NodeListOf<HTMLTableElement>} */ (document.querySelectorAll('.tables table'))]
            .filter((table) => table.caption?.textContent.startsWith(`${of}: `))
            .flatMap((table) => [...table.tBodies[0].rows].map((row) => row.cells[0].textContent)),
        heap,
      );
      if (lines.length <= 40) assert.deepEqual(still.sort(), lines.map(([line]) => line).sort(), heap);
      compared += lines.length;
    }
    assert.ok(compared > 3, `${compared}`);
    assert.deepEqual(page.trouble, []);
    await page.context().close();
  });
}

test('ten thousand ranges are one fold with their sum, not a grey chart; a click shows them', async () => {
  const log = shop.log('many.zst', 'numbered_loop', '10000');
  const page = await shop.show(shop.html('many.html', log));
  const fold = 'step {0..2499} > cache';
  const legend = page.locator(`.chart .bands tr[data-name="${fold}"]`);
  const { ranges, peak_bytes: peak } = shop.report('peaks', log).logs[0].heaps[0];
  const cached = ranges.filter((r) => r.path.at(-1) === 'cache').reduce((sum, r) => sum + r.bytes_at_peak, 0);
  assert.equal(bytesOf(await legend.locator('td').first().getAttribute('title')), cached);
  assert.equal(await legend.locator('td').first().textContent(), '2.44 GiB');
  const rest = () =>
    page.evaluate(() => memprof.stackOf(memprof.logs[0], 'host/heap').groups.find((g) => g.rest)?.atPeak ?? 0);
  assert.ok((await rest()) < peak / 100);
});

test('two runs share a function that moved to another line, in charts and tables', async () => {
  const logs = [12, 15].map((line) => shop.log(`moved${line}.zst`, 'ranges', `5 work (a.c:${line})`));
  const page = await shop.show(shop.html('moved.html', ...logs));
  const names = await page
    .locator('.bands tbody tr, [data-panel="peak"] tbody tr')
    .evaluateAll((rows) => rows.map((row) => row.dataset.name));
  assert.ok(names.includes('work (a.c:12)'), names.join());
  assert.ok(!names.includes('work (a.c:15)'), names.join());
});

test('estimates say so', async () => {
  const page = await shop.show(shop.html('sampled.html', golden('python-small')));
  const python = page.locator('.chart[data-heap="host/python"]');
  assert.match(await python.locator('.bands td').first().textContent(), /^~/);
  assert.match(await python.locator('.total').textContent(), /^~/);
  assert.equal(await python.locator('.badge').textContent(), 'estimate');
});

test('a click shows what a fold is of, another folds it again', async () => {
  const log = shop.log('steps.zst', 'numbered_loop', '40');
  const page = await shop.show(shop.html('steps.html', log));
  const fold = 'step {0..5} > cache';
  const names = () => page.locator('.chart .bands tbody tr').evaluateAll((rows) => rows.map((row) => row.dataset.name));
  await page.locator(`.chart .bands tr[data-name="${fold}"] button.folder`).click();
  await drawn(page);
  const open = await names();
  assert.ok(!open.includes(fold), open.join());
  assert.ok(open.filter((name) => /^step \d+ > cache$/.test(name)).length === 6, open.join());
  const parts = (await shownIn(page, 'host/heap')).filter(([name]) => / > cache$/.test(name));
  assert.deepEqual(
    parts.map(([, size]) => size),
    Array(6).fill('1.00 MiB'),
  );
  assert.ok(page.url().includes('unfolded'));
  await page.locator('.chart .bands button.folder[aria-expanded="true"]').first().click();
  await drawn(page);
  assert.ok((await names()).includes(fold));
  assert.ok(!page.url().includes('unfolded'));
});

test('threads of a pool are one band as in the report; a click shows them', async () => {
  const log = shop.log('pool.zst', 'pool', '32');
  const page = await shop.show(shop.html('pool.html', log));
  await page.getByLabel('stack by').selectOption('thread');
  await drawn(page);
  const shown = () =>
    page
      .locator('.chart .bands tbody tr')
      .evaluateAll((rows) => rows.map((row) => [row.dataset.name, row.querySelector('td').textContent]));
  const told = linesOf(log, '--by', 'thread').get('host/heap'),
    pool = 'worker {0, 1, 3..31} (31 threads)';
  assert.ok(told.some(([name]) => name === pool));
  assert.deepEqual((await shown()).sort(), told.sort());
  const rows = page.locator(`.chart .bands tr[data-name="${pool}"]`);
  assert.match(await rows.locator('button.folder').getAttribute('title'), /show its 31 parts/);
  await rows.locator('button.folder').click();
  await drawn(page);
  const names = (await shown()).map(([name]) => name);
  assert.ok(names.includes('worker 0 (4242)') && !names.includes(pool), names.join());
});
