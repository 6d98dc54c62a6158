// The log has only samples of Python's small objects. The page shows all their numbers as estimates, as the reports do.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Workshop, drawn } from './browser.mjs';

const shop = new Workshop();
before(() => shop.open());
after(() => shop.close());

const LOG = fileURLToPath(new URL('../golden/python-small.zst', import.meta.url));
const commas = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, ',');

test('bytes and blocks at the peak are those of the peaks report, and estimates', async () => {
  const [python] = shop.report('peaks', LOG).logs[0].heaps.filter(({ heap }) => heap === 'host/python');
  const [held] = python.ranges;
  const file = shop.html('estimates.html', LOG),
    page = await shop.show(file);
  const cells = page.locator('[data-panel="peak"][data-heap="host/python"] tbody tr').first().locator('td');
  const [bytes, , blocks] = await cells.allTextContents();
  assert.match(bytes, /^~/);
  assert.equal(blocks, `~${commas(held.blocks_at_peak)}`);
  const panel = page.locator('[data-panel="peak"][data-heap="host/python"]');
  assert.match(await panel.locator('tfoot .total').textContent(), /^~/);
  assert.match(await panel.locator('caption').textContent(), /^~/);
  const still = readFileSync(file, 'utf8');
  assert.ok(still.includes(`<td>~${commas(held.blocks_at_peak)}</td><td>~${commas(held.allocations)}</td>`));
});

test('a selection and the blocks of an instant say that they are of samples', async () => {
  const page = await shop.show(shop.html('samples.html', LOG));
  await page.evaluate(() => {
    const heap = memprof.logs[0].heaps.find(({ name }) => name === 'host/python');
    memprof.pin([{ heap: heap.name, log: 0, at: heap.peakTime }]);
    memprof.select(...memprof.whole);
  });
  await drawn(page);
  const line = await page.locator('.statistics[data-heap="host/python"]').textContent();
  assert.match(line, /largest ~5\.50 MiB/);
  assert.match(line, /sampled allocations \d+ sampled frees \d+ estimate/);
  const blocks = page.locator('[data-panel="blocks"]');
  assert.match(await blocks.locator('h2').textContent(), /^Samples of the blocks of host\/python/);
  assert.match(await blocks.locator('tfoot').textContent(), /^what no sample is of~/);
  assert.match(await page.locator('[data-panel="pin"] tbody td').first().textContent(), /^~/);
  assert.deepEqual(page.trouble, []);
});

test('of a log with a sample of malloc the peak and the legend have the estimates of the report', async () => {
  const log = fileURLToPath(new URL('../golden/host-sample.zst', import.meta.url)),
    page = await shop.show(shop.html('host-sample.html', log));
  const heap = shop.report('peaks', log).logs[0].heaps.find(({ heap: name }) => name === 'host/heap'),
    name = (path) => path.at(-1),
    sampled = heap.ranges.filter(({ estimated }) => estimated).map(({ path }) => name(path)),
    counted = heap.ranges.filter(({ estimated }) => !estimated);
  assert.ok(sampled.length > 5 && counted.length > 0);
  const rows = async (selector) => {
    await drawn(page);
    return page.locator(selector).evaluateAll((all) =>
      all
        .filter((row) => !(/** @type {HTMLElement} */ (row).hidden))
        .map((row) => {
          const cell = row.querySelector('td [title], td[title]');
          return {
            name: row.querySelector('bdi').textContent,
            bytes: row.querySelector('td').textContent,
            title: cell?.getAttribute('title') ?? '',
          };
        }),
    );
  };
  const text = execFileSync(process.env.REPORT, ['peaks', log], { encoding: 'utf8' }),
    told = /host\/heap by range .*\n((?: {2}.* %.*\n)+)/.exec(text)[1].trimEnd().split('\n'),
    panel = page.locator('[data-panel="peak"][data-heap="host/heap"]'),
    shown = await panel.locator('tbody tr').evaluateAll((all) =>
      all.map((row) => {
        const [bytes, share, blocks] = [...row.querySelectorAll('td')].map((cell) => cell.textContent);
        return [/** @type {HTMLElement} */ (row).dataset.name, ...bytes.split(' ± '), share, blocks];
      }),
    );
  assert.ok(told.length > 10);
  assert.deepEqual(
    shown.slice(0, told.length),
    told.map((line, i) =>
      line
        .trim()
        .split(/ {2,}| (?=≥?~)/)
        .slice(0, shown[i].length),
    ),
  );
  assert.match(await panel.locator('caption').textContent(), /^~/);
  assert.match(await panel.locator('tfoot .total').textContent(), /^~/);
  for (const selector of ['.chart[data-heap="host/heap"] .legend tbody tr']) {
    const all = await rows(selector);
    assert.ok(all.length > 5, selector);
    for (const { name: of, bytes, title } of all) {
      const exact = counted.some(({ path }) => name(path) === of);
      assert.equal(bytes.includes('~'), !exact, `${selector} ${of} ${bytes}`);
      assert.equal(title.includes(' ± '), !exact, `${of}: ${title}`);
    }
  }
  const [first] = await rows('.chart[data-heap="host/heap"] .legend tbody tr');
  assert.ok(shown[0][0].startsWith(first.name));
  assert.equal(first.bytes, shown[0][1]);
  assert.match(await page.locator('.chart[data-heap="host/heap"] .legend .total').textContent(), /^~/);
  assert.equal(await page.locator('.chart[data-heap="host/heap"] .badge').textContent(), 'estimate');
  const [most] = counted,
    [row] = (await rows('.chart[data-heap="host/heap"] .legend tbody tr')).filter(
      ({ name: of }) => of === name(most.path),
    );
  assert.equal(row.title, `${commas(most.bytes_at_peak)} bytes`);
  assert.deepEqual(page.trouble, []);
});

test('of a folded log the page says what the reports say of it', async () => {
  const golden = fileURLToPath(new URL('../golden/host-folded.zst', import.meta.url)),
    told = execFileSync(process.env.REPORT, ['log', 'info', golden], { encoding: 'utf8' }).match(/thinned until .*/)[0],
    page = await shop.show(shop.html('folded.html', golden));
  assert.ok((await page.locator('.runs').textContent()).includes(told), told);
  await page.context().close();
});

test('what has no call stack is called so in estimates and differences, too, as the reports call it', async () => {
  const logs = ['small', 'sampled'].map((scenario) => shop.stackLog(`${scenario}.zst`, scenario)),
    one = await shop.show(shop.html('stacks.html', logs[0])),
    names = (page, selector) => page.locator(selector).evaluateAll((all) => all.map((row) => row.textContent));
  const text = execFileSync(process.env.REPORT, ['peaks', logs[0]], { encoding: 'utf8' });
  assert.match(text, /\(no call stack\)/);
  assert.doesNotMatch(text, /outside any range/);
  const peak = await names(one, '[data-panel="peak"] tbody tr th');
  assert.ok(peak.includes('(no call stack)'), peak.join());
  const two = await shop.show(shop.html('stacks2.html', ...logs));
  for (const page of [one, two])
    assert.ok(!(await names(page, '#app tbody tr')).some((row) => row.includes('outside any range')));
  assert.deepEqual(two.trouble, []);
});
