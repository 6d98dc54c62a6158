// The panel that explains the difference of two runs shows the rows of diff, which sum to the difference of the peaks.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { WHOLE_PATHS, Workshop, bytesOf, drawn, spot, tableRows } from './browser.mjs';

const shop = new Workshop();
before(() => shop.open());
after(() => shop.close());

const golden = (name) => fileURLToPath(new URL(`../golden/${name}.zst`, import.meta.url));
const PANEL = '[data-panel="differences"]';

test('a pin in B shows the segments of B, as segments has them', async () => {
  const logs = [golden('h100-gpt2'), golden('h100-fragments')],
    page = await shop.show(shop.html('pinned.html', ...logs)),
    title = page.locator('[data-panel="segments"] h2');
  assert.match(await title.textContent(), /^Agpu0/);
  const [then] = shop.report('segments', logs[1]).devices;
  await page.evaluate((at) => memprof.pin([{ heap: 'gpu0/torch', log: 1, at }]), then.time_ns);
  await drawn(page);
  assert.match(await title.textContent(), /^Bgpu0/);
  assert.equal(bytesOf(await title.locator('.held').getAttribute('title')), then.bytes);
  assert.match(await page.locator('[data-panel="segments"] .pins tbody tr').first().textContent(), /rope cache/);
});

test('devices that diff matches lie over each other, whatever number each run gave them', async () => {
  const logs = [golden('h200-nccl-rank0'), golden('h200-nccl-rank1')],
    page = await shop.show(shop.html('devices.html', ...logs)),
    { accounts } = shop.report('diff', ...logs),
    [device] = accounts.filter(({ of, name }) => of === 'heap' && name === 'gpu0/device');
  const charts = () =>
    page.locator('.chart[data-heap]').evaluateAll((all) => all.map(({ dataset }) => `${dataset.role} ${dataset.heap}`));
  assert.deepEqual((await charts()).slice(0, 2), ['A gpu0/device', 'B gpu0/device']);
  assert.equal((await charts()).filter((name) => /gpu1/.test(name)).length, 0);
  assert.match(await page.locator('.cards').textContent(), /its gpu1 is shown as gpu0/);
  const peaks = await page
    .locator('[data-panel="peak"][data-heap="gpu0/device"] tfoot .total')
    .evaluateAll((all) => all.map((cell) => Number(cell.getAttribute('title').replace(/ bytes|,/g, ''))));
  assert.deepEqual(peaks, [device.base_bytes, device.new_bytes]);
  const where = await page.locator('.worth[data-log="1"] .where').allTextContents();
  assert.ok(where.length > 0 && where.every((of) => of === 'gpu0'), where.join());
  await page.locator('.worth[data-log="1"] button').first().click();
  await drawn(page);
  assert.equal(await page.evaluate(() => memprof.pins[0].heap), 'gpu0/device');
  await page.getByLabel('run B').selectOption('-1');
  await page.getByLabel('run A').selectOption('1');
  await page.waitForFunction(() => memprof.state.a === 1);
  assert.equal((await charts())[0], ' gpu1/device');
  assert.deepEqual(page.trouble, []);
});

test('it begins with the verdict of diff, which is not there if the runs are exchanged', async () => {
  const logs = [golden('h100-gpt2'), golden('h100-lora')],
    page = await shop.show(shop.html('verdict.html', ...logs)),
    { verdict, findings } = shop.report('diff', ...logs),
    part = page.locator('[data-panel="verdict"]');
  assert.equal(await part.locator('.headline').textContent(), verdict.what);
  assert.ok(await part.evaluate((card) => card === document.querySelector('#app').firstElementChild));
  const lines = await part.locator('li').allTextContents();
  assert.equal(lines.length, Math.min(3, findings.length));
  lines.forEach((line, i) => {
    assert.ok(line.includes(findings[i].what), line);
    assert.ok(line.includes(findings[i].change), line);
  });
  await page.evaluate(() => memprof.change({ a: 1, b: 0 }));
  assert.equal(await part.count(), 0);
});

/** Returns the table as it is shown. */
const shown = (page) =>
  page.locator(`${PANEL} tr:has(td[title])`).evaluateAll((rows) =>
    rows.map((row) => ({
      name: row.querySelector('th').textContent,
      bytes: [...row.querySelectorAll('td[title$="bytes"]')].map((cell) =>
        Number(/** @type {HTMLElement} */ (cell).title.replace(/ bytes|,/g, '')),
      ),
      bar: /** @type {HTMLElement | null} */ (row.querySelector('.diverging i'))?.className,
    })),
  );

for (const [a, b] of [
  ['h200-graphs-eager', 'h200-graphs-oom'],
  ['h100-gpt2', 'h100-lora'],
]) {
  test(`bars of ${a} and ${b} are diff's rows of every account, and sum to its change`, async () => {
    const logs = [golden(a), golden(b)],
      page = await shop.show(shop.html('two.html', ...logs)),
      accounts = shop.report('diff', ...logs).accounts.filter((account) => account.rows.length);
    const tabs = page.locator(`${PANEL} .tabs button`);
    assert.equal(await tabs.count(), accounts.length);
    const peaks = accounts.filter((account) => ['device', 'heap'].includes(account.of)),
      most = Math.max(...peaks.map((account) => Math.abs(account.change_bytes)));
    assert.equal(Math.abs((await shown(page)).at(-1).bytes[2]), most);
    for (let i = 0; i < accounts.length; i++) {
      await tabs.nth(i).click();
      const rows = await shown(page),
        sum = rows.pop(),
        account = accounts.find((of) => of.name === sum.name);
      assert.deepEqual(sum.bytes, [account.base_bytes, account.new_bytes, account.change_bytes], sum.name);
      const changes = rows.map((row) => row.bytes[2]);
      assert.equal(
        changes.reduce((all, bytes) => all + bytes, 0),
        account.change_bytes,
        sum.name,
      );
      const told = changes.slice(0, 12).map(Math.abs);
      assert.deepEqual(
        told,
        [...told].sort((x, y) => y - x),
        'the largest first',
      );
      for (const row of rows) assert.equal(row.bar, row.bytes[2] > 0 ? 'more' : 'less', row.name);
      const single = new Map(account.rows.map((row) => [row.path.join(' > '), row.change_bytes]));
      for (const row of rows) if (single.has(row.name)) assert.equal(row.bytes[2], single.get(row.name), row.name);
    }
    assert.deepEqual(page.trouble, []);
  });
}

test('it is the first panel, turns with the runs, and is not there for one run or two that are alike', async () => {
  const logs = [golden('h200-graphs-eager'), golden('h200-graphs-oom')],
    page = await shop.show(shop.html('turned.html', ...logs));
  const before = await shown(page);
  assert.ok(
    await page.evaluate(() => {
      const panel = document.querySelector('[data-panel="differences"]'),
        chart = document.querySelector('.chart');
      return Boolean(panel.compareDocumentPosition(chart) & Node.DOCUMENT_POSITION_FOLLOWING);
    }),
  );
  await page.evaluate(() => memprof.change({ a: 1, b: 0 }));
  assert.deepEqual(
    (await shown(page)).map((row) => row.bytes[2]),
    before.map((row) => -row.bytes[2]),
  );
  await page.evaluate(() => memprof.change({ a: 0, b: -1 }));
  assert.equal(await page.locator(PANEL).count(), 0);
  const alike = await shop.show(shop.html('alike.html', logs[0], logs[0]));
  assert.equal(await alike.locator(PANEL).count(), 0);
});

/** Returns the page's data of its second log. */
const dataOf = (page) => page.evaluate(() => JSON.parse(document.getElementById('b1').textContent));

test('changes of one size are in the order of their names', async () => {
  const names = ['delta', 'alpha', 'charlie', 'bravo'],
    old = shop.log('old.zst', 'ranges', '1 base', ...names.map((name) => `9 was ${name}`)),
    now = shop.log('new.zst', 'ranges', '1 base', ...names.map((name) => `9 is ${name}`)),
    data = await dataOf(await shop.show(shop.html('order.html', old, now)));
  assert.deepEqual(
    data.differences[0].rows.map((row) => row.path[0]),
    ['is', 'was'].flatMap((word) => [...names].sort().map((name) => `${word} ${name}`)),
  );
});

/** Two runs with some bands in common, and with some bands that only one of them has. */
const runs = () => [golden('h200-graphs-eager'), golden('h200-graphs-oom')];

/** The chart of B minus A. */
const difference = async (page) => {
  await page.evaluate(() => memprof.change({ compare: 'difference' }));
  await drawn(page);
};

test('at every pixel the bands of the difference sum to B minus A, and end with the run that ends first', async () => {
  for (const logs of [runs(), [golden('h100-gpt2'), golden('h100-lora')]]) {
    const page = await shop.show(shop.html('stacked.html', ...logs));
    for (const axis of ['time', 'events']) {
      await page.evaluate((how) => memprof.change({ axis: /** @type {any} */ (how) }), axis);
      await difference(page);
      const charts = await page.evaluate(() =>
        memprof.charts
          .filter((chart) => chart.stacked)
          .map(({ stacked: { xs, edges, sum }, ...chart }) => {
            const life = chart.stacks.map(({ log }) => [0, log.duration].map((ns) => ns - memprof.origin(log)));
            const both = chart.xs.map((x, i) => ({
              x,
              change: chart.stacks.reduce((all, { heap }, k) => {
                const span = chart.spans[k][i];
                return all + (k ? 1 : -1) * (span < 0 ? 0 : heap.spans.max[span]);
              }, 0),
            }));
            return {
              expected: both.filter(({ x }) => life.every(([, to]) => x <= to)),
              bands: xs.map((x, i) => ({
                x,
                change: edges.reduce((all, { below, edge }) => all + edge[i] - below[i], 0),
              })),
              line: xs.map((x, i) => ({ x, change: sum[i] })),
              sides: edges.every(({ below, edge }) =>
                edge.every((bytes, i) => (bytes - below[i]) * bytes >= 0 && below[i] * bytes >= 0),
              ),
            };
          }),
      );
      assert.ok(charts.length);
      for (const { expected, bands, line, sides } of charts) {
        assert.ok(expected.length > 50 && expected.some(({ change }) => change));
        assert.deepEqual(bands, expected);
        assert.deepEqual(line, expected);
        assert.ok(sides);
      }
    }
    assert.deepEqual(page.trouble, []);
    await page.context().close();
  }
});

test('bands of the difference have the order and the colours that they have in both charts', async () => {
  const page = await shop.show(shop.html('order2.html', ...runs()));
  const swatches = (chart) =>
    page
      .locator(`${chart} .legend tr[data-name]`)
      .evaluateAll((rows) =>
        Object.fromEntries(rows.map((row) => [row.dataset.name, row.querySelector('canvas').toDataURL()])),
      );
  const ordered = () =>
    page.evaluate(() =>
      memprof.charts
        .filter((chart) => chart.stack?.heap.name === 'gpu0/torch')
        .map((chart) => chart.stack.groups.map(({ name }) => name)),
    );
  const inBoth = await ordered(),
    colours = [await swatches('.chart[data-role="A"]'), await swatches('.chart[data-role="B"]')];
  await difference(page);
  const names = await page.evaluate(() =>
      memprof.charts.find((chart) => chart.name === 'gpu0/torch').rows.map(({ name }) => name),
    ),
    now = await swatches('.chart[data-mode="difference"]');
  assert.equal(inBoth.length, 2);
  for (const own of inBoth)
    assert.deepEqual(
      names.filter((name) => own.includes(name)),
      own,
    );
  assert.deepEqual([...new Set(inBoth.flat())].sort(), [...names].sort());
  for (const chart of colours)
    for (const name of Object.keys(chart)) if (name in now) assert.equal(now[name], chart[name]);
  const shown = names.map((name) => now[name]);
  assert.equal(new Set(shown).size, shown.length);
});

/** Clicks in the chart of B minus A. Returns the time of each pin in its log. */
async function clickAt(page, heap, share) {
  const { x, y } = await spot(page, `.chart[data-heap="${heap}"]`, share);
  await page.mouse.click(x, y);
  await page.mouse.move(5, 5);
  await drawn(page);
  return page.evaluate(() => memprof.pins.map((pin) => pin.at + memprof.origin(memprof.logs[pin.log])));
}

test('a click pins both runs: each band and the sum are what the reports of those instants differ by', async () => {
  const logs = ['0', '5'].map((n) => shop.log(`r${n}.zst`, 'rank', n)),
    page = await shop.show(shop.html('pinned.html', ...logs));
  for (const align of ['start', 'peak']) {
    await page.evaluate((how) => memprof.change({ align: how, from: null, to: null }), align);
    await difference(page);
    for (const share of [0.2, 0.45, 0.7]) {
      const pins = await clickAt(page, 'host/heap', share);
      assert.equal(pins.length, 2);
      const held = new Map();
      logs.forEach((log, i) => {
        const { heaps } = shop.report('peaks', '--by', 'range', '--at', `${pins[i]}ns`, log).logs[0];
        for (const range of heaps.find(({ heap }) => heap === 'host/heap').ranges) {
          const name = range.path.join(' > ') || 'outside any range';
          held.set(name, (held.get(name) ?? 0) + (i ? 1 : -1) * range.bytes_at_peak);
        }
      });
      const expected = [...held].filter(([, bytes]) => bytes).sort();
      for (const [table, cell] of /** @type {[string, number][]} */ ([
        ['.chart', 0],
        ['[data-panel="pin"]', -1],
      ])) {
        const rows = (await tableRows(page, table)).map(({ name, bytes }) => [name, bytes.at(cell)]);
        assert.deepEqual(rows.filter(([, bytes]) => bytes).sort(), expected);
      }
      const sum = expected.reduce((all, [, bytes]) => all + bytes, 0);
      assert.equal(bytesOf(await page.locator('.chart .legend tr.total td').getAttribute('title')), sum);
    }
  }
});

test('where bands are lower bounds the difference says so, as the table of the pins does', async () => {
  const page = await shop.show(shop.html('bounds.html', ...runs()), { hash: WHOLE_PATHS });
  await difference(page);
  await page.evaluate(() =>
    memprof.pin(
      memprof.logs.map((log, i) => {
        const { start } = log.heaps.find((heap) => heap.name === 'gpu0/torch').spans;
        return { heap: 'gpu0/torch', log: i, at: start[Math.floor(start.length / 5)] };
      }),
    ),
  );
  await drawn(page);
  const texts = async (selector) =>
    Object.fromEntries(
      await page
        .locator(`${selector} tbody tr:not([hidden])`)
        .evaluateAll((rows) =>
          rows.map((row) => [row.dataset.name, [...row.querySelectorAll('td')].at(-1).textContent]),
        ),
    );
  const pins = await texts('[data-panel="pin"]'),
    chart = await texts('.chart[data-heap="gpu0/torch"]');
  assert.ok(Object.values(chart).filter((text) => text.startsWith('≈')).length > 2);
  // The table of the pins lists only the largest names.
  const inBoth = Object.keys(chart).filter((name) => name !== 'everything else' && name in pins);
  assert.ok(inBoth.length > 2);
  for (const name of inBoth) assert.equal(chart[name], pins[name], name);
});

test('no number is wider than its column, however narrow the page is', async () => {
  for (const names of [
    ['python-leak', 'python-small'],
    ['h200-graphs-eager', 'h200-graphs-oom'],
  ])
    for (const width of [390, 1024, 1280]) {
      const page = await shop.show(shop.html('narrow.html', ...names.map(golden)), {
        viewport: { width, height: 900 },
      });
      for (const compare of ['both', 'difference']) {
        await page.evaluate((how) => memprof.change({ compare: /** @type {any} */ (how) }), compare);
        await drawn(page);
        const wide = await page
          .locator(`${PANEL} td:not(.spread), .chart .legend td`)
          .evaluateAll((cells) =>
            cells.filter((cell) => cell.scrollWidth > cell.clientWidth).map((cell) => cell.textContent),
          );
        assert.deepEqual(wide, [], `${names} at ${width}`);
      }
      await page.context().close();
    }
});
