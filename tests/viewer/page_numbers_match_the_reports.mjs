// The page's numbers are those of the other reports, to the byte, at every level of detail.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { CHROMIUM_ONLY, WHOLE_PATHS, Workshop, bytesOf, drawn, spot, tableRows } from './browser.mjs';

const shop = new Workshop();
before(() => shop.open());
after(() => shop.close());

const NONE = { stack: '(no call stack)', python: '(no Python call stack)' };
const pathOf = (range, by) => (range.path.length ? range.path.join(' > ') : (NONE[by] ?? 'outside any range'));

/** Checks that a peak table and the opening state of the charts equal `peaks` of the log. */
async function samePeak(page, log) {
  const byName = (a, b) => b.bytes[0] - a.bytes[0] || (a.name < b.name ? -1 : 1);
  const opened = await page.getByLabel('stack by').inputValue();
  for (const heap of shop.report('peaks', ...(opened === 'library' ? ['--by', 'library'] : []), log).logs[0].heaps) {
    const rows = await tableRows(page, `[data-panel="peak"][data-heap="${heap.heap}"]`);
    const expected = heap.ranges
      .filter((r) => r.bytes_at_peak)
      .slice(0, rows.length)
      .map((r) => ({ name: pathOf(r, opened), bytes: [r.bytes_at_peak] }));
    const bands = (await tableRows(page, `.chart[data-heap="${heap.heap}"]`))
      .filter((row) => row.bytes[0] && row.name !== 'everything else')
      .sort(byName);
    for (const { name, bytes } of bands) {
      const of = heap.ranges.find((r) => pathOf(r, opened) === name),
        rounded = of?.estimated ? 1 : 0;
      assert.ok(Math.abs(bytes[0] - of?.bytes_at_peak) <= rounded, `${name}: ${bytes}, expected ${of?.bytes_at_peak}`);
    }
    assert.ok(bands.length >= Math.min(expected.length, 10), `${bands.length} bands`);
    assert.deepEqual(rows.sort(byName), expected.sort(byName));
    const total = await page
      .locator(`[data-panel="peak"][data-heap="${heap.heap}"] tfoot .total`)
      .getAttribute('title');
    assert.equal(bytesOf(total), heap.peak_bytes);
    const chart = await page.locator(`.chart[data-heap="${heap.heap}"] tfoot .total`).getAttribute('title');
    assert.equal(bytesOf(chart), heap.peak_bytes);
  }
}

test('the peak of a synthetic log equals the peaks report', async () => {
  const log = shop.log('whole.zst', 'whole');
  await samePeak(await shop.show(shop.html('whole.html', log), { hash: WHOLE_PATHS }), log);
});

test('a page opens with the names that the peaks report has, of every log of a GPU', async () => {
  for (const [name, by] of [
    ['pytorch', 'auto'],
    ['graphs-oom', 'auto'],
    ['nccl-rank0', 'auto'],
    ['walk', 'library'],
  ]) {
    const log = fileURLToPath(new URL(`../golden/h200-${name}.zst`, import.meta.url));
    const page = await shop.show(shop.html(`${name}.html`, log), { hash: WHOLE_PATHS });
    assert.equal(await page.getByLabel('stack by').inputValue(), by);
    assert.match(
      await page.locator('.runs').textContent(),
      new RegExp(`ranges: ${shop.report('peaks', log).logs[0].ranges_from}`),
    );
    await samePeak(page, log);
  }
});

test('the peak of a real program equals the peaks report', async () => {
  const log = shop.record(
    'real.zst',
    'sqlite3',
    ':memory:',
    'create table t(a, b); with recursive n(i) as (select 1 union all select i + 1 from n where i < 30000) ' +
      'insert into t select i, hex(randomblob(20)) from n; create index x on t(b); select count(*) from t;',
  );
  const page = await shop.show(shop.html('real.html', log), { hash: WHOLE_PATHS });
  await samePeak(page, log);
  assert.deepEqual(page.trouble, []);
});

test('stacked by call stacks the chart shows what the peaks report has by them', async () => {
  for (const [name, by] of [
    ['pytorch', 'python'],
    ['pytorch', 'stack'],
    ['walk', 'stack'],
  ]) {
    const log = fileURLToPath(new URL(`../golden/h200-${name}.zst`, import.meta.url));
    const page = await shop.show(shop.html(`by-${by}-${name}.html`, log), { hash: WHOLE_PATHS });
    await page.getByLabel('stack by').selectOption(by);
    for (const heap of shop.report('peaks', '--by', by, log).logs[0].heaps) {
      const bands = (await tableRows(page, `.chart[data-heap="${heap.heap}"]`)).filter(
        (row) => row.bytes[0] && !/^(everything else|several, small)$/.test(row.name),
      );
      const expected = new Map(heap.ranges.map((r) => [pathOf(r, by), r.bytes_at_peak]));
      assert.ok(
        bands.length >= Math.min(3, heap.ranges.filter((r) => r.bytes_at_peak).length),
        `${heap.heap}: ${bands.length} bands`,
      );
      for (const band of bands) assert.equal(band.bytes[0], expected.get(band.name), `${heap.heap} ${band.name}`);
    }
  }
});

test('bands sum to the total in every bucket, level and grouping', async () => {
  const page = await shop.show(shop.html('churn.html', shop.log('churn.zst', 'churn', '300000')));
  const wrong = await page.evaluate(async () => {
    const found = [];
    const frame = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    for (const by of /** @type {const} */ (['range', 'thread', 'size'])) {
      memprof.change({ by });
      for (const zoom of [1, 0.3, 0.02, 0.001]) {
        const [from, to] = memprof.whole,
          middle = (from + to) / 2,
          length = (to - from) * zoom;
        memprof.setView(middle - length / 2, middle + length / 2);
        await frame();
        for (const chart of memprof.charts) {
          const { groups, heap } = chart.stack;
          heap.spans.max.forEach((max, i) => {
            if (groups.reduce((sum, g) => sum + g.bytes[i], 0) !== max) found.push([by, i]);
          });
          const upper = chart.edges()[0].upper;
          chart.shown.span.forEach((span, i) => {
            if (upper[i] !== heap.spans.max[span]) found.push([by, zoom, span]);
          });
        }
      }
    }
    return found.slice(0, 5);
  });
  assert.deepEqual(wrong, []);
});

test('around the peak and a failure of a long run every change is shown, with who held what', async () => {
  const log = shop.log('mixed.zst', 'mixed', '400000');
  const page = await shop.show(shop.html('mixed.html', log), { hash: WHOLE_PATHS });
  const heap = await page.evaluate(() => {
    const { exact, spans, peakTime, width, allocations, frees } = memprof.logs[0].heaps[0];
    const sum = (column) => column.reduce((a, b) => a + b, 0);
    return {
      exact,
      peakTime,
      width,
      start: [...spans.start],
      failed: memprof.logs[0].marks[0].time,
      counted: [sum(spans.allocs), sum(spans.frees)],
      replayed: [allocations, frees],
    };
  });
  assert.ok(heap.width > 1);
  assert.deepEqual(heap.counted, heap.replayed);
  const { start } = heap;
  assert.ok(
    start.every((time, i) => !i || time > start[i - 1]),
    'spans in order',
  );
  for (const time of [heap.failed, heap.peakTime]) {
    const [from, to] = heap.exact.find((interval) => interval[0] <= time && time < interval[1]);
    const inside = start.flatMap((at, i) => (at >= from && at < to && start[i + 1] > at + 1 ? [i] : []));
    assert.ok(inside.length > 500, `${inside.length} instants`);
    for (let k = 0; k < 5; k++) {
      const i = inside[Math.floor((k / 4) * (inside.length - 2))],
        at = start[i + 1] - 1;
      await page.evaluate((ns) => {
        memprof.centre(ns, 20000);
        memprof.state.pins = [{ heap: 'host/heap', log: 0, at: ns }];
        memprof.update();
        memprof.fillPins();
      }, at);
      const [expected] = shop.report('peaks', '--by', 'range', '--at', `${(at / 1e9).toFixed(9)}s`, log).logs[0].heaps;
      const held = expected.ranges
        .filter((r) => r.bytes_at_peak)
        .map((r) => ({ name: pathOf(r), bytes: [r.bytes_at_peak] }));
      const byName = (a, b) => b.bytes[0] - a.bytes[0] || (a.name < b.name ? -1 : 1);
      assert.deepEqual((await tableRows(page, '[data-panel="pin"]')).sort(byName), held.sort(byName));
      assert.equal(
        bytesOf(await page.locator('[data-panel="pin"] tfoot .total').getAttribute('title')),
        expected.peak_bytes,
      );
    }
  }
  const { x, y } = await spot(page, '.chart');
  await page.mouse.move(x, y);
  await drawn(page);
  assert.equal(await page.locator('.chart .badge').textContent(), 'exact');
  await page.keyboard.press('0');
  await page.mouse.move(x - 100, y);
  await drawn(page);
  assert.match(await page.locator('.chart .badge').textContent(), /^bucket of/);
});

test('a spike of one event among very many is drawn when everything is in view', async () => {
  const log = shop.log('spike.zst', 'spike', '2000000');
  const page = await shop.show(shop.html('spike.html', log));
  assert.equal(
    bytesOf(await page.locator('.chart tfoot .total').first().getAttribute('title')),
    shop.report('peaks', '--by', 'range', log).logs[0].heaps[0].peak_bytes,
  );
  assert.equal(await page.locator('.chart tbody tr').first().locator('.name').textContent(), 'the culprit');
  const painted = await page.evaluate(() => {
    const u = memprof.charts[0].plot.u,
      { left, top, width, height } = u.bbox;
    const row = (share) => u.ctx.getImageData(left, Math.round(top + height * share), width, 1).data;
    const above = row(0.01),
      within = row(0.3); // only the grid is above the peak
    let different = 0;
    for (let i = 0; i < above.length; i += 4)
      different += Number([0, 1, 2].some((k) => above[i + k] !== within[i + k]));
    return different;
  });
  assert.ok(painted >= 1 && painted < 30, `${painted} columns`);
});

test('the cursor and a pin give the exact bytes of an instant and who held them', async () => {
  const log = shop.log('whole2.zst', 'whole');
  const page = await shop.show(shop.html('whole2.html', log));
  const { x, y } = await spot(page, '.chart', 25 / 51);
  await page.mouse.move(x, y);
  await drawn(page);
  const expected = shop
    .report('peaks', '--by', 'range', '--at', '25ms', log)
    .logs[0].heaps.find((h) => h.heap === 'host/heap');
  assert.equal(bytesOf(await page.locator('.chart tfoot .total').first().getAttribute('title')), expected.peak_bytes);
  assert.equal(await page.locator('.chart .badge').first().textContent(), 'exact');
  await page.mouse.click(x, y);
  await drawn(page);
  const pinned = (await tableRows(page, '[data-panel="pin"]')).map((row) => [row.name, row.bytes[0]]);
  assert.deepEqual(
    pinned,
    expected.ranges.filter((r) => r.bytes_at_peak).map((r) => [pathOf(r), r.bytes_at_peak]),
  );
  const later = await spot(page, '.chart', 45 / 51);
  await page.mouse.click(later.x, later.y);
  await drawn(page);
  const first = (await tableRows(page, '[data-panel="pin"]'))[0];
  assert.equal(first.name, 'step 1 > forward');
  assert.equal(await page.locator('[data-panel="pin"] tbody tr').first().locator('.less').textContent(), '−6.00 MiB');
});

test('a selection tells what changed in it', async () => {
  const page = await shop.show(shop.html('whole3.html', shop.log('whole3.zst', 'whole')));
  const from = await spot(page, '.chart', 15 / 51),
    to = await spot(page, '.chart', 45 / 51);
  await page.mouse.move(from.x, from.y);
  await page.mouse.down();
  await page.mouse.move((from.x + to.x) / 2, from.y);
  await page.mouse.move(to.x, to.y);
  await page.mouse.up();
  const text = await page.locator('.statistics').first().textContent();
  for (const part of [
    'largest 12.00 MiB',
    'least 4.00 MiB',
    'start 4.00 MiB',
    'end 6.00 MiB',
    'change +2.00 MiB',
    'allocations 2',
    'frees 1',
    'exact',
  ])
    assert.ok(text.includes(part), `${part} in ${text}`);
});

/** Returns the file that a click downloads. */
async function downloaded(page, click) {
  const waiting = page.waitForEvent('download');
  await click();
  const chunks = [];
  for await (const chunk of await (await waiting).createReadStream()) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

const timeline = (page) =>
  downloaded(page, () => page.locator('.bar button', { hasText: 'CSV' }).click()).then((text) =>
    text.trimEnd().split('\n'),
  );

test(
  'the CSV of a timeline is as long as a chart is wide, and sums in each column to the heap',
  { skip: CHROMIUM_ONLY },
  async () => {
    const page = await shop.show(shop.html('csv.html', shop.path('churn.zst')));
    const [head, ...records] = await timeline(page);
    assert.equal(head, '"run","heap","start_ns","time_of_max_ns","max_bytes","min_bytes","band","is","bytes_at_max"');
    const sums = new Map();
    for (const record of records) {
      const [, heap, start, , most, , , , bytes] = record.split(',');
      const sum = sums.get(heap + start) ?? [0, Number(most)];
      sums.set(heap + start, [sum[0] + Number(bytes), sum[1]]);
    }
    assert.ok(sums.size > 100 && sums.size <= 1001, `${sums.size}`);
    for (const [sum, most] of sums.values()) assert.equal(sum, most);
    const { peak_bytes } = shop.report('peaks', '--by', 'range', shop.path('churn.zst')).logs[0].heaps[0];
    assert.equal(Math.max(...[...sums.values()].map(([, most]) => most)), peak_bytes);
  },
);

test(
  'so is that of two runs, with their difference while both run, which the bands of B minus A sum to',
  { skip: CHROMIUM_ONLY },
  async () => {
    const logs = [shop.log('a.zst', 'rank', '0'), shop.log('b.zst', 'ranges', '65536 a')];
    const page = await shop.show(shop.html('csv2.html', ...logs));
    for (const mode of ['overlay', 'B − A']) {
      await page.locator('.segmented button', { hasText: mode }).click();
      const [head, ...records] = await timeline(page),
        stacked = mode !== 'overlay',
        wanted = '"heap","start_ns","A_bytes","B_bytes","B_minus_A_bytes"';
      assert.equal(head, stacked ? `${wanted},"band","is","band_B_minus_A_bytes"` : wanted);
      assert.ok(records.length > 100);
      assert.match(records[0], new RegExp(`^"host/heap",0,\\d+,${64 << 20},\\d+`));
      assert.match(records.at(-1), stacked ? /^"host\/heap",\d+,\d+,"","","","",""$/ : /^"host\/heap",\d+,\d+,"",""$/);
      /** @type {Map<string, number[]>} */
      const sums = new Map();
      for (const record of stacked ? records : []) {
        const parts = record.split(','),
          [, start, , , all] = parts;
        if (all !== '""') sums.set(start, [(sums.get(start)?.[0] ?? 0) + Number(parts.at(-1)), Number(all)]);
      }
      for (const [start, [sum, all]] of sums) assert.equal(sum, all, start);
      assert.equal(sums.size > 0, stacked);
    }
  },
);

test('a spreadsheet takes no name for a formula', { skip: CHROMIUM_ONLY }, async () => {
  const log = shop.log('formula.zst', 'named', '=HYPERLINK("http://x")');
  const page = await shop.show(shop.html('formula.html', log));
  const all = (await timeline(page)).join('\n');
  assert.ok(all.includes('"\'=HYPERLINK(""http://x"")"'), all);
});

test('in a table of two runs there is room for names, on a phone and in two columns', async () => {
  const logs = ['eager', 'oom'].map((name) =>
    fileURLToPath(new URL(`../golden/h200-graphs-${name}.zst`, import.meta.url)),
  );
  const page = await shop.show(shop.html('narrow.html', ...logs));
  for (const width of [390, 768, 1024, 1280]) {
    await page.setViewportSize({ width, height: 900 });
    await drawn(page);
    const shape = await page.evaluate(() => ({
      wide: document.documentElement.scrollWidth,
      names: [...document.querySelectorAll('[data-panel="peak"] tbody .name .text')].map((name) => {
        const parts = [...name.children],
          whole = parts.reduce((sum, part) => sum + part.firstElementChild.getBoundingClientRect().width, 0);
        return name.getBoundingClientRect().width / Math.min(140, whole);
      }),
    }));
    assert.ok(shape.wide <= width, `${shape.wide} of ${width}`);
    assert.ok(Math.min(...shape.names) > 0.95, `${width}: ${shape.names}`);
  }
});

test('CSV files sum to the table', { skip: CHROMIUM_ONLY }, async () => {
  const page = await shop.show(shop.html('whole4.html', shop.log('whole4.zst', 'whole')));
  const waiting = page.waitForEvent('download');
  await page.locator('[data-panel="peak"] .tools button').first().click();
  const chunks = [];
  for await (const chunk of await (await waiting).createReadStream()) chunks.push(chunk);
  const lines = Buffer.concat(chunks).toString().trim().split('\n').slice(1);
  const sum = lines.reduce((all, line) => all + Number(line.slice(line.lastIndexOf(',') + 1)), 0);
  assert.equal(sum, bytesOf(await page.locator('[data-panel="peak"] tfoot .total').first().getAttribute('title')));
  assert.equal(lines.length, 4);
});

test('blocks are shown with size, address, life, range and thread', async () => {
  const page = await shop.show(shop.html('whole5.html', shop.log('whole5.zst', 'whole')));
  await page.locator('.chart .tools button', { hasText: 'blocks' }).first().click();
  await drawn(page);
  const { x, y } = await spot(page, '[data-blocks]', 25 / 51, 0.35);
  await page.mouse.move(x, y);
  await drawn(page);
  const text = await page.locator('[data-blocks] .said').textContent();
  for (const part of ['6.00 MiB', '0x900000', '0.020000 s', '0.040000 s', '20 ms', 'step 1 > forward', 'main (4242)'])
    assert.ok(text.includes(part), `${part} in ${text}`);
});

/** Pins an instant. Returns the rows of the largest blocks at that time, and the description of the others. */
async function blocksAt(page, ns) {
  await page.evaluate((at) => {
    memprof.state.pins = [{ heap: 'host/heap', log: 0, at }];
    memprof.fillPins();
    memprof.update();
  }, ns);
  const rows = await tableRows(page, '[data-panel="blocks"]');
  const foot = page.locator('[data-panel="blocks"] tfoot');
  return {
    rows,
    others: await foot.locator('th').textContent(),
    otherBytes: bytesOf(await foot.locator('.total').getAttribute('title')),
    total: bytesOf(await page.locator('[data-panel="pin"] tfoot .total').getAttribute('title')),
  };
}

test('a pin lists the largest blocks of its instant, and what the others held', async () => {
  const page = await shop.show(shop.html('whole6.html', shop.log('whole6.zst', 'whole')));
  assert.deepEqual(await blocksAt(page, 25e6), {
    rows: [
      { name: 'step 1 > forward', bytes: [6 << 20] },
      { name: 'step 1', bytes: [4 << 20] },
      { name: 'outside any range', bytes: [300] },
    ],
    others: '0 other blocks',
    otherBytes: 0,
    total: (10 << 20) + 300,
  });
  assert.equal(
    await page.locator('[data-panel="pin"] .open').textContent(),
    'open then: main (4242): step 1 > forward; worker (4243): NCCL:AllReduce',
  );
  const text = await page.locator('[data-panel="blocks"] tbody tr').first().textContent();
  for (const part of ['0x900000', '0.020000 s', 'main (4242)']) assert.ok(text.includes(part), `${part} in ${text}`);
});

test('at any instant of a long run the page has large blocks and says how many it has not', async () => {
  const page = await shop.show(shop.html('mixed2.html', shop.log('mixed2.zst', 'mixed', '2000000')));
  const end = await page.evaluate(() => memprof.whole[1]);
  for (let i = 1; i < 20; i++) {
    const { rows, others, otherBytes, total } = await blocksAt(page, (end * i) / 20);
    assert.ok(rows.length >= 8, `${rows.length} blocks at ${i}/20`);
    assert.ok(rows.every(({ bytes }) => bytes[0] >= 32 << 10));
    assert.match(others, /[\d,]{4,} other blocks/);
    assert.equal(
      rows.reduce((sum, { bytes }) => sum + bytes[0], otherBytes),
      total,
    );
  }
});

test('a block that lives for a microsecond among very many is there when its instant is pinned', async () => {
  const page = await shop.show(shop.html('spike2.html', shop.log('spike2.zst', 'spike', '2000000')));
  const { rows } = await blocksAt(page, await page.evaluate(() => memprof.logs[0].heaps[0].peakTime));
  assert.deepEqual(rows[0], { name: 'the culprit', bytes: [2 ** 30] });
});
