// Device memory on the page: heaps of the GPU next to those of the host, refusals, graphs and segments.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { size, time } from '../../viewer/src/format.js';
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
  const { heaps } = shop.report('peaks', log).logs[0];
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

test('a strip has how it ended, when memory ran out and the cost of graphs, as in the reports', async () => {
  const parts = await page.locator('.findings li').allTextContents();
  const [oom] = shop.report('oom', log).logs[0].ooms.filter((story) => story.hard),
    [graph] = shop.report('graphs', log).graphs;
  const sum = graph.segment_bytes + graph.executable_bytes + graph.first_launch_bytes;
  assert.deepEqual(parts, [
    'ended by exit',
    `OOM at ${time(oom.time_ns)}`,
    `1 graph ${size(sum)}: ${graph.path.join(' > ')}`,
  ]);
  await page.locator('.findings button', { hasText: 'OOM' }).click();
  await drawn(page);
  const pins = () => page.evaluate(() => memprof.pins);
  assert.deepEqual(await pins(), [{ heap: 'gpu0/torch', log: 0, at: oom.time_ns }]);
  await page.keyboard.press('Escape');
  await page.keyboard.press('0');
  await drawn(page);
});

test('going to where memory ran out keeps what the segments report says of it', async () => {
  const fragments = fileURLToPath(new URL('../golden/h100-fragments.zst', import.meta.url)),
    shown = await shop.show(shop.html('fragments.html', fragments)),
    panel = shown.locator('[data-panel="segments"]'),
    told = async () => [await panel.locator('h2 .sub').textContent(), await panel.locator('.pins').textContent()],
    before = await told();
  assert.match(before[1], /rope cache/);
  await shown.locator('.findings button', { hasText: 'OOM' }).click();
  await drawn(shown);
  assert.equal(await shown.evaluate(() => memprof.pins.length), 1);
  assert.deepEqual(await told(), before);
});

test('refusals come first, with request, free bytes and range; a graph with its nodes and bytes', async () => {
  const rows = await page
    .locator('[data-panel="marks"] tbody tr')
    .evaluateAll((all) => all.map((row) => [...row.querySelectorAll('td')].map((cell) => cell.textContent)));
  assert.deepEqual(
    rows.map((row) => row.slice(0, 3)),
    [
      ['driver allocation failed', 'asked 200.00 MiB, 100.00 MiB free', 'step > loss'],
      ['driver allocation failed', 'asked 200.00 MiB, 130.00 MiB free', 'step > loss'],
      ['out of memory', 'asked 199.00 MiB', 'step > loss'],
      ['CUDA graph', '1,001 nodes, 45.00 MiB: segments 40.00 MiB, executable 4.00 MiB, first launch 1.00 MiB', 'step'],
    ],
  );
});

test('segments are those of the segments report, mapped pieces in a row as one', async () => {
  const report = shop.report('segments', log).devices[0];
  const rows = await page
    .locator('[data-panel="segments"] .listed tbody tr')
    .evaluateAll((all) =>
      all.map((row) => [
        ...[...row.querySelectorAll('td[title]')].map((cell) => Number(cell.title.replace(/ bytes|,/g, ''))),
        Number(row.lastElementChild.textContent),
      ]),
    );
  assert.deepEqual(
    rows,
    report.segments.map((s) => [s.bytes, s.free_bytes, s.blocks]),
  );
  assert.equal(
    await page.locator('[data-panel="segments"] canvas[aria-label^="expandable segment of 2 pieces"]').count(),
    1,
  );
  assert.deepEqual(page.trouble, []);
});

test('at the peak that P pins, segments are those of the device at its peak', async () => {
  await page.keyboard.press('p');
  await drawn(page);
  const report = shop.report('segments', '--at', 'peak', log).devices[0],
    free = await page
      .locator('[data-panel="segments"] .state')
      .evaluateAll((all) => all.map((state) => Number(state.title.replace(/ bytes|,/g, ''))));
  assert.deepEqual(free, [report.split_free_bytes, report.releasable_bytes, report.graph_free_bytes]);
  await page.keyboard.press('Escape');
});

/** Returns the label and the total of a chart's legend, and the total of the pin's table. */
const legendAndPin = async (heap) => ({
  label: (await page.locator(`.chart[data-heap="${heap}"] caption`).textContent()).split(',')[0],
  legend: bytesOf(await page.locator(`.chart[data-heap="${heap}"] tfoot .total`).getAttribute('title')),
  pin: bytesOf(await page.locator('[data-panel="pin"] tfoot .total').getAttribute('title')),
});

test('a click on a failure shows who held the memory then', async () => {
  const row = page.locator('[data-panel="marks"] tbody tr').nth(2);
  await row.locator('button').click();
  await drawn(page);
  const at = await page.evaluate(() => memprof.logs[0].marks.find((mark) => mark.kind === 'oom').time);
  const heap = shop
    .report('peaks', '--at', `${(at / 1e9).toFixed(9)}s`, log)
    .logs[0].heaps.find((h) => h.heap === 'gpu0/torch');
  assert.deepEqual(
    await tableRows(page, '[data-panel="pin"]'),
    heap.ranges.filter((r) => r.bytes_at_peak).map((r) => ({ name: r.path.join(' > '), bytes: [r.bytes_at_peak] })),
  );
  assert.deepEqual(await legendAndPin('gpu0/torch'), {
    label: 'pinned',
    legend: heap.peak_bytes,
    pin: heap.peak_bytes,
  });
  await page.locator('[data-panel="marks"] tbody tr').nth(3).locator('button').click();
  await drawn(page);
  const graph = await legendAndPin('gpu0/device');
  assert.deepEqual([graph.label, graph.legend], ['pinned', graph.pin]);
  await page.keyboard.press('Escape');
  await page.keyboard.press('p');
  await drawn(page);
  const { heaps } = shop.report('peaks', log).logs[0];
  assert.deepEqual(await legendAndPin(heaps[0].heap), {
    label: 'pinned',
    legend: heaps[0].peak_bytes,
    pin: heaps[0].peak_bytes,
  });
  await page.keyboard.press('Escape');
  assert.equal(
    (await page.locator(`.chart[data-heap="gpu0/torch"] caption`).textContent()).split(',')[0],
    'at the peak',
  );
  await page.keyboard.press('0');
  await drawn(page);
});

/** Returns the description of the first block that meets a condition. */
async function said(heap, condition) {
  await page.locator(`.chart[data-heap="${heap}"] .tools button`, { hasText: 'blocks' }).click();
  await drawn(page);
  await page.keyboard.press('0');
  await drawn(page);
  await page.locator(`[data-blocks="${heap}"]`).scrollIntoViewIfNeeded();
  const at = await page.evaluate(
    ([name, test]) => {
      const chart = memprof.charts.find((c) => c.root.dataset.blocks === name);
      const { blocks } = chart.heap,
        i = [...chart.base.keys()].find((k) => Function('b', 'i', `return ${test}`)(blocks, k));
      const u = chart.plot.u,
        box = u.over.getBoundingClientRect();
      return {
        x: box.left + u.valToPos((blocks.from[i] + blocks.to[i]) / 2, 'x'),
        y: box.top + u.valToPos(chart.base[i] + blocks.size[i] / 2, 'y'),
      };
    },
    [heap, condition],
  );
  await page.mouse.move(at.x, at.y);
  await drawn(page);
  await page.mouse.click(at.x, at.y);
  await page.mouse.move(5, 5);
  await drawn(page);
  return page.locator(`[data-blocks="${heap}"] .said`).textContent();
}

test('a block says its library and its stacks, and a click keeps it', async () => {
  const torch = await said('gpu0/torch', 'b.python[i]');
  assert.match(torch, /Python stack, innermost firstcache \(rotary.py:88\)/);
  const device = await said('gpu0/device', 'b.size[i] === 8 << 20');
  assert.match(device, /librarylibnccl.so.2.*native stack, innermost firstlibnccl.so.2\+0x100/);
});

test('stacked by library, each library holds what the peaks report says', async () => {
  await page.locator('select[aria-label="stack by"]').selectOption('library');
  await drawn(page);
  const heap = shop.report('peaks', '--by', 'library', log).logs[0].heaps.find((h) => h.heap === 'gpu0/device');
  const rows = await page
    .locator('.chart[data-heap="gpu0/device"] tbody tr')
    .evaluateAll((all) =>
      all.map((row) => [
        row.querySelector('bdi').textContent,
        Number(row.querySelector('[title$="bytes"]').title.replace(/ bytes|,/g, '')),
      ]),
    );
  assert.deepEqual(
    rows,
    heap.ranges.filter((r) => r.bytes_at_peak).map((r) => [r.path[0], r.bytes_at_peak]),
  );
});

test('no two names of what pins the free memory look alike', async () => {
  for (const name of ['h100-generate', 'h100-gpt2', 'h100-fsdp-rank0']) {
    const golden = fileURLToPath(new URL(`../golden/${name}.zst`, import.meta.url)),
      shown = await shop.show(shop.html('alike.html', golden)),
      names = await shown.locator('.pins tbody .name').evaluateAll((all) => all.map((cell) => cell.title));
    assert.ok(names.length > 1, name);
    assert.equal(new Set(names).size, names.length, `${name}: ${names.join(', ')}`);
    await shown.context().close();
  }
});

const bytes = (/** @type {number} */ n) => `${String(n).replace(/\B(?=(\d{3})+$)/g, ',')} bytes`;

/** Returns the rows in the picture of all segments: how many equal segments there are, and their free bytes. */
const mapOf = async (page) =>
  (
    await page
      .locator('.map tbody tr')
      .evaluateAll((rows) =>
        rows.map((row) => `${row.dataset.segments},${row.querySelectorAll('td')[1].firstElementChild.title}`),
      )
  ).sort();

/** Returns the same from the segments report. */
function shapesOf({ segments }) {
  const shapes = new Map();
  for (const s of segments) {
    const key = [s.bytes, s.live_bytes, s.largest_hole_bytes, s.state].join(),
      known = shapes.get(key) ?? [0, 0];
    shapes.set(key, [known[0] + 1, known[1] + s.free_bytes]);
  }
  return [...shapes.values()].map(([count, free]) => `${count},${bytes(free)}`).sort();
}

test('at any pinned instant of thousands of blocks the picture has all segments, as the report has them', async () => {
  for (const name of ['h100-fragments', 'h200-graphs-oom']) {
    const golden = fileURLToPath(new URL(`../golden/${name}.zst`, import.meta.url)),
      shown = await shop.show(shop.html('all.html', golden));
    const instants = await shown.evaluate(() => {
      const { time, max, close } = memprof.logs[0].heaps.find((heap) => heap.name === 'gpu0/torch').spans,
        within = [...time].filter((_, i) => max[i] !== close[i]); // a block was allocated and freed in that nanosecond
      return [...[1, 2, 3, 4].map((share) => time[Math.floor((time.length * share) / 5)]), ...within.slice(-2)];
    });
    for (const at of instants) {
      await shown.evaluate((ns) => memprof.pin([{ heap: 'gpu0/torch', log: 0, at: ns }]), at);
      await drawn(shown);
      const report = shop.report('segments', '--at', `${at}ns`, golden).devices[0];
      assert.deepEqual(await mapOf(shown), shapesOf(report), `${name} at ${at}`);
    }
    await shown.context().close();
  }
});

test('of more blocks than it keeps a page has all segments at many instants, and elsewhere says that it has not', async () => {
  const long = shop.gpuLog('long.zst', 'training', '100000', '1200'),
    shown = await shop.show(shop.html('long.html', long)),
    held = shown.locator('[data-panel="segments"] .sub .held');
  const told = (await shown.evaluate(() => memprof.logs[0].segments.map(({ since, time }) => [since, time]))).sort(
    (a, b) => a[1] - b[1],
  );
  const pin = async (/** @type {number} */ at) => {
    await shown.evaluate((ns) => memprof.pin([{ heap: 'gpu0/torch', log: 0, at: ns }]), at);
    await drawn(shown);
  };
  const isAll = async (/** @type {number} */ at) => {
    const report = shop.report('segments', '--at', `${at}ns`, long).devices[0];
    assert.deepEqual(await mapOf(shown), shapesOf(report), `at ${at}`);
    assert.equal(await held.getAttribute('title'), bytes(report.bytes));
  };
  assert.ok(told.length > 64, `${told.length} instants`);
  for (const [since, at] of [told[20], told[told.length >> 1], told[told.length - 20]])
    for (const ns of [since + 1, at]) {
      await pin(ns);
      await isAll(ns);
    }
  const gaps = told.slice(1).map(([since], i) => ({ from: told[i][1], to: since })),
    { from, to } = gaps.reduce((a, b) => (b.to - b.from > a.to - a.from ? b : a)),
    between = Math.floor((2 * from + to) / 3);
  await pin(between);
  assert.match(await held.textContent(), /^≥ /);
  assert.equal(await shown.locator('[data-panel="segments"] .map').count(), 0);
  await shown.locator('[data-panel="segments"] h2 button').click();
  await drawn(shown);
  assert.deepEqual(await shown.evaluate(() => memprof.pins.map(({ at }) => at)), [from]);
  await isAll(from);
  assert.deepEqual(shown.trouble, []);
  await shown.context().close();
});

test('what pins the free memory, and all segments in one picture, are those of the segments report', async () => {
  const golden = fileURLToPath(new URL('../golden/h200-graphs-oom.zst', import.meta.url));
  for (const of of [log, golden]) {
    const shown = await shop.show(shop.html('map.html', of)),
      report = shop.report('segments', of).devices[0];
    const pins = await shown
      .locator('.pins tbody tr')
      .evaluateAll((rows) =>
        rows.map((row) =>
          [...row.querySelectorAll('td')].map((cell) => cell.querySelector('span')?.title ?? cell.textContent),
        ),
      );
    assert.deepEqual(
      pins,
      report.pins
        .slice(0, 12)
        .map((pin) => [bytes(pin.free_bytes), `${pin.segments}`, `${pin.blocks}`, bytes(pin.bytes)]),
    );
    assert.deepEqual(await mapOf(shown), shapesOf(report));
    await shown.context().close();
  }
});

/** Returns the words and horizontal lines of a canvas, in the order in which they are drawn, in canvas pixels. */
const drawnOn = (canvas) =>
  canvas.evaluate(async (of) => {
    const paint = CanvasRenderingContext2D.prototype,
      { fillText, lineTo, moveTo, stroke } = paint,
      seen = [];
    let from = null,
      line = null;
    paint.moveTo = function (x, y) {
      from = { x, y };
      line = null;
      return moveTo.call(this, x, y);
    };
    paint.lineTo = function (x, y) {
      line = from && from.y === y && Math.abs(x - from.x) > 200 ? { left: from.x, right: x, y } : null;
      from = null;
      return lineTo.call(this, x, y);
    };
    paint.stroke = function (/** @type {any[]} */ ...path) {
      if (line && this.canvas === of) seen.push({ line });
      line = null;
      return stroke.apply(this, /** @type {any} */ (path));
    };
    paint.fillText = function (text, x, y) {
      const width = this.measureText(text).width,
        left = this.textAlign === 'right' ? x - width : this.textAlign === 'center' ? x - width / 2 : x;
      if (this.canvas === of && this.textBaseline === 'alphabetic')
        seen.push({ text, left, right: left + width, top: y - 9 * devicePixelRatio, bottom: y });
      return fillText.call(this, text, x, y);
    };
    for (const { plot } of memprof.charts) plot.u.redraw(false);
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    Object.assign(paint, { fillText, lineTo, moveTo, stroke });
    return seen;
  });

test('words in a chart lie beside each other, and no line is drawn over them', async () => {
  const log = (name) => fileURLToPath(new URL(`../golden/${name}`, import.meta.url)),
    both = [log('h200-graphs-eager.zst'), log('h200-graphs-oom.zst')];
  for (const [logs, width, expected] of /** @type {[string[], number, RegExp][]} */ ([
    [both, 1440, /memory of the GPU.*used \(driver\)/],
    [both, 1024, /memory of the GPU/],
    [both, 390, /139.80 GiB/],
    [[log('h200-walk.zst')], 1440, /↑ used \(driver\) 540.81 MiB/],
    [[log('python-leak.zst')], 1440, /RSS/],
  ])) {
    const page = await shop.show(shop.html('words.html', ...logs), { viewport: { width, height: 900 } }),
      all = [];
    for (const canvas of await page.locator('.chart[data-heap] .u-wrap canvas').all()) {
      const seen = await drawnOn(canvas);
      all.push(...seen.flatMap(({ text }) => text ?? []));
      for (const [i, a] of seen.entries())
        for (const b of seen.slice(i + 1)) {
          if (!a.text) continue;
          const box = b.line ? { ...b.line, top: b.line.y, bottom: b.line.y } : b;
          const meets = a.left < box.right && box.left < a.right && a.top < box.bottom && box.top < a.bottom;
          assert.ok(!meets, `${logs} at ${width}: ${a.text} and ${b.text ?? 'a line'}`);
        }
    }
    assert.match(all.join(), expected);
    await page.context().close();
  }
});

test('the name of a figure stands where the figure is known, not at the end of the chart', async () => {
  const folder = fileURLToPath(new URL('../golden/workers', import.meta.url)),
    page = await shop.show(shop.html('workers.html', folder), { viewport: { width: 1440, height: 900 } });
  const words = await drawnOn(page.locator('.chart[data-heap="host/heap"] .u-wrap canvas').first()),
    name = words.find(({ text }) => text === 'RSS');
  const x = await page.evaluate(() => {
    const { plot, track } = memprof.charts.find(({ track: of }) => of?.name === 'RSS');
    return plot.u.valToPos(track.time[track.time.length - 1], 'x', true);
  });
  assert.ok(name && Math.abs(name.right - x) < 20, `${name?.right} is far from ${x}`);
});
