// Lanes of ranges: their numbers are those of the steps report, they stay few, and keys go from range to range.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Workshop, bytesOf, drawn } from './browser.mjs';

const SPIKE = fileURLToPath(new URL('../golden/h100-spike.zst', import.meta.url));
const shop = new Workshop();
before(() => shop.open());
after(() => shop.close());

const MOST = 4096; // maximum boxes of a run

/** Returns the page's boxes of a path, without their numbers: the times, and the bytes of every heap. */
const boxesOf = (page, depth, name) =>
  page.evaluate(
    ([deep, last]) => {
      const { lanes, paths } = memprof.logs[0],
        all = [...lanes.from.keys()].filter((i) => {
          const path = paths[lanes.node[i]];
          return path.length === deep && path.at(-1).replace(/ \d+$/, '') === last;
        });
      return Object.fromEntries(
        [...lanes.taken].map(([heap, { begin_bytes: begin, peak_bytes: peak, end_bytes: end }]) => [
          heap,
          all.map((i) => [lanes.from[i], lanes.to[i], lanes.count[i], begin[i], peak[i], end[i]]),
        ]),
      );
    },
    [depth, name],
  );

/** Returns the same from the report. */
const reported = (log, range) =>
  Object.fromEntries(
    shop
      .report('steps', '--range', range, log)
      .heaps.map(({ heap, instances }) => [
        heap,
        instances.map((i) => [i.begin_ns, i.end_ns, i.instances, i.begin_bytes, i.peak_bytes, i.end_bytes]),
      ]),
  );

test('what each range took is what the steps report says, in all heaps and of what is inside, too', async () => {
  /** @type {[string, ...string[][]][]} */
  const logs = [
    [SPIKE, ['step'], ['step', 'forward'], ['step', 'backward']],
    [shop.log('loop.zst', 'loop', '40'), ['step']],
    [shop.log('numbered.zst', 'numbered_loop', '40'), ['step']],
  ];
  for (const [log, ...paths] of logs) {
    const page = await shop.show(shop.html('lanes.html', log));
    for (const path of paths) {
      const expected = reported(log, path.join(' > '));
      assert.ok(Object.values(expected).every((instances) => instances.length > 10));
      assert.deepEqual(await boxesOf(page, path.length, path.at(-1)), expected, path.join(' > '));
    }
    await page.context().close();
  }
});

test('very many ranges are few boxes, and none is lost', async () => {
  const log = shop.log('many.zst', 'loop', '20000'),
    page = await shop.show(shop.html('many.html', log)),
    report = shop.report('steps', log),
    instances = report.heaps[0].instances,
    boxes = await page.evaluate(() => {
      const { lanes } = memprof.logs[0],
        all = [...lanes.from.keys()],
        outer = all.filter((i) => lanes.outer[i]);
      return {
        all: all.length,
        shortest: lanes.shortest,
        longest: Math.max(...outer.filter((i) => lanes.count[i] > 1).map((i) => lanes.to[i] - lanes.from[i])),
        instances: outer.reduce((sum, i) => sum + lanes.count[i], 0),
        ranges: all.reduce((sum, i) => sum + lanes.count[i], 0),
        from: lanes.from[outer[0]],
        to: lanes.to[outer.at(-1)],
        peak: Math.max(...outer.map((i) => lanes.taken.get('host/heap').peak_bytes[i])),
        end: lanes.taken.get('host/heap').end_bytes[outer.at(-1)],
      };
    });
  assert.ok(boxes.all <= MOST && boxes.all > MOST / 16, `${boxes.all}`);
  assert.ok(boxes.longest < boxes.shortest);
  assert.equal(boxes.ranges, report.instances + 1); // one more for the range before them
  assert.ok(boxes.instances > report.instances * 0.99, `${boxes.instances}`);
  assert.ok(boxes.from < instances[20].begin_ns);
  assert.equal(boxes.to, instances.at(-1).end_ns);
  assert.equal(boxes.end, instances.at(-1).end_bytes);
  assert.equal(boxes.peak, Math.max(...instances.map((i) => i.peak_bytes)));
  assert.match(await page.locator('.lanes .legend').textContent(), /stand together/);
});

test('a range under the mouse tells what it added; a click goes to it, and n and N to its neighbours', async () => {
  const page = await shop.show(shop.html('spike.html', SPIKE)),
    { instances } = shop.report('steps', SPIKE).heaps.find(({ heap }) => heap === 'gpu0/torch'),
    canvas = page.locator('.lanes .plot canvas'),
    box = await canvas.boundingBox();
  const said = () => page.locator('.lanes .legend').textContent(),
    view = () => page.evaluate(() => memprof.view),
    shows = async (i) => {
      const [from, to] = await view();
      assert.ok(
        from < i.begin_ns && to > i.end_ns && to - from < 1.2 * (i.end_ns - i.begin_ns),
        `${i.name}: ${from} ${to}`,
      );
      assert.match(await said(), new RegExp(`^${i.name},`));
    };
  const row = await page.evaluate(() =>
      memprof.lanes.rows.findIndex(({ of }) => memprof.logs[0].lanes.outer[of.boxes[0]]),
    ),
    x = await page.evaluate(
      (ns) => {
        const { u } = memprof.charts[0].plot;
        return u.over.getBoundingClientRect().left + u.valToPos(memprof.axis.place(ns), 'x');
      },
      (instances[2].begin_ns + instances[2].end_ns) / 2,
    ),
    y = box.y + 19 * row + 8;
  await page.mouse.move(x, y);
  assert.match(await said(), /^step:3, /);
  const cells = await page
    .locator('.lanes tr[data-heap="gpu0/torch"] [title]')
    .evaluateAll((all) => all.map((cell) => cell.title));
  const { begin_bytes: begin, end_bytes: end, peak_bytes: peak } = instances[2];
  assert.deepEqual(cells.map(bytesOf), [end - begin, peak, end]);
  await page.mouse.click(x, y);
  await page.mouse.move(5, 5);
  await drawn(page);
  await shows(instances[2]);
  await page.keyboard.press('n');
  await drawn(page);
  await shows(instances[3]);
  await page.keyboard.press('Shift+N');
  await page.keyboard.press('Shift+N');
  await drawn(page);
  await shows(instances[1]);
  assert.deepEqual(page.trouble, []);
});

test('the instance whose peak stands out is drawn in another colour, however short it is', async () => {
  const page = await shop.show(shop.html('spike.html', SPIKE));
  const red = () =>
    page.evaluate(() => {
      const canvas = /** @type {HTMLCanvasElement} */ (document.querySelector('.lanes .plot canvas')),
        { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
      let count = 0;
      for (let i = 0; i < data.length; i += 4) count += Number(data[i] > 150 && data[i + 1] < 60 && data[i + 2] < 60);
      return count;
    });
  assert.ok((await red()) > 5);
  await page.keyboard.press('0');
  await drawn(page);
  assert.ok((await red()) > 1);
  await page.evaluate(() => memprof.logs[0].steps.heaps.forEach((heap) => (heap.out = [])));
  await page.evaluate(() => memprof.build());
  assert.equal(await red(), 0);
});

test('what the instance holds that stands out, against the median one, is what the steps report says', async () => {
  const page = await shop.show(shop.html('spike.html', SPIKE)),
    { compared } = shop.report('steps', SPIKE),
    expected = compared.paths.map((path) => [path.path.join(' > '), path.bytes, path.median_bytes]);
  const rows = (selector, cells) =>
    page
      .locator(`${selector} tbody tr`)
      .evaluateAll(
        (all, count) =>
          all.map((row) => [
            row.dataset.name,
            ...[...row.querySelectorAll('td [title$="bytes"]')]
              .slice(0, count)
              .map((cell) => Number(cell.getAttribute('title').replace(/ bytes|,/g, ''))),
          ]),
        cells,
      );
  assert.deepEqual(await rows('[data-panel="steps"] table:not(.by-stack)', 2), expected.slice(0, 40));
  assert.deepEqual(
    await rows('.stands-out', 1),
    expected.slice(0, 3).map((row) => row.slice(0, 2)),
  );
  await page.locator('.stands-out button').focus();
  await page.keyboard.press('Enter');
  await drawn(page);
  assert.equal(
    await page.evaluate(() => document.activeElement.closest('[data-panel]')?.getAttribute('data-panel')),
    'lanes',
  );
  assert.match(await page.locator('.lanes .legend').textContent(), new RegExp(`^${compared.instance},`));
});

test('a page whose first finding is a step opens with one place per step; its ticks are the numbers of the steps', async () => {
  const { instances } = shop.report('steps', SPIKE).heaps.find(({ heap }) => heap === 'gpu0/torch'),
    page = await shop.show(shop.html('steps.html', SPIKE)),
    placed = await page.evaluate(
      (begins) => begins.map((ns) => memprof.axis.place(ns)),
      instances.map((i) => i.begin_ns),
    );
  assert.deepEqual(
    placed,
    instances.map((_, i) => i + 1),
  );
  assert.equal(await page.evaluate(() => memprof.state.axis), 'instances');
  await page.keyboard.press('i');
  assert.equal(await page.evaluate(() => memprof.state.axis), 'time');
  assert.deepEqual(await page.evaluate(() => memprof.axis.place(5)), 5);
  const other = await shop.show(
    shop.html('other.html', fileURLToPath(new URL('../golden/h100-gpt2.zst', import.meta.url))),
  );
  assert.equal(await other.evaluate(() => memprof.state.axis), 'time');
});

test('the line beside a legend sets its width by keys, a link keeps it', async () => {
  const file = shop.html('wide.html', SPIKE),
    page = await shop.show(file),
    width = (of) =>
      of
        .locator('.chart .legend')
        .first()
        .evaluate((legend) => legend.clientWidth),
    before = await width(page),
    plot = () => page.evaluate(() => memprof.charts[0].plot.width);
  const chart = await plot();
  await page.locator('.chart .splitter').first().focus();
  for (let i = 0; i < 3; i++) await page.keyboard.press('ArrowLeft');
  await page.waitForFunction((less) => memprof.charts[0].plot.width < less, chart);
  const after = await width(page);
  assert.ok(Math.abs(after - before - 72) <= 3, `${before} ${after}`);
  await page.evaluate(() => memprof.save());
  const again = await shop.show(file, { hash: await page.evaluate(() => location.hash) });
  assert.ok(Math.abs((await width(again)) - after) <= 3);
});
