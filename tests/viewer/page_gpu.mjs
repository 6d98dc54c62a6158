// Device memory on the page: heaps of the GPU beside the host's, refusals, graphs and segments.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Workshop, bytesOf, drawn, tableRows } from './browser.mjs';

const shop = new Workshop();
let log, page;
before(async () => {
  await shop.open();
  log = shop.gpuLog('segments.zst', 'segments');
  page = await shop.show(shop.html('segments.html', log));
});
after(() => shop.close());

test('each heap of the GPU has the peak and the holders of the peaks report', async () => {
  const { heaps } = shop.report('peaks', '--by', 'range', log).logs[0];
  assert.deepEqual(
    heaps.map((h) => h.heap),
    ['gpu0/device', 'gpu0/torch'],
  );
  for (const heap of heaps) {
    assert.equal(
      bytesOf(await page.locator(`.chart[data-heap="${heap.heap}"] tfoot .total`).getAttribute('title')),
      heap.peak_bytes,
    );
    const rows = await tableRows(page, `[data-panel="peak"][data-heap="${heap.heap}"]`);
    assert.deepEqual(
      rows,
      heap.ranges.filter((r) => r.bytes_at_peak).map((r) => ({ name: r.path.join(' > '), bytes: [r.bytes_at_peak] })),
    );
  }
});

test('refusals come first, with request, free bytes and range; a graph with its nodes and bytes', async () => {
  const rows = await page
    .locator('[data-panel="marks"] tbody tr')
    .evaluateAll((all) => all.map((row) => [...row.querySelectorAll('td')].map((cell) => cell.textContent)));
  assert.deepEqual(
    rows.map((row) => row.slice(0, 3)),
    [
      ['the driver had no memory', 'asked 200.00 MiB, 100.00 MiB free', 'step > loss'],
      ['the driver had no memory', 'asked 200.00 MiB, 130.00 MiB free', 'step > loss'],
      ['out of memory', 'asked 199.00 MiB', 'step > loss'],
      ['CUDA graph', '1,001 nodes, used memory +4.00 MiB', 'step'],
    ],
  );
});

test('segments show how many of their bytes no block holds', async () => {
  const totals = await page.evaluate(() => {
    const { heaps } = memprof.logs[0],
      device = heaps.find((h) => h.name === 'gpu0/device');
    return { at: device.peakTime, text: document.querySelector('[data-panel="segments"] .sub').textContent };
  });
  assert.match(totals.text, /9.00 MiB of 20.00 MiB free.*30.00 MiB lie in mapped memory/);
  const free = await page
    .locator('[data-panel="segments"] tbody tr td:nth-child(3)')
    .evaluateAll((all) => all.map((cell) => Number(cell.title.replace(/ bytes|,/g, ''))));
  const live = await page.evaluate(() => memprof.logs[0].heaps.find((h) => h.name === 'gpu0/torch').blocks.size.length);
  assert.ok(free.length >= 1 && live >= 1);
  assert.deepEqual(
    free,
    [...free].sort((a, b) => b - a),
  );
  await page.keyboard.press('p');
  await drawn(page);
  assert.equal(await page.locator('[data-panel="segments"]').count(), 1);
  assert.deepEqual(page.trouble, []);
});
