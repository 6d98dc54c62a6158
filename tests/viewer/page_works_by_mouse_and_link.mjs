// Mouse, keyboard, comparison, ranks, and a state that a link contains.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { CHROMIUM_ONLY, Workshop, drawn, spot } from './browser.mjs';

const shop = new Workshop();
let one, two, ranks;
before(async () => {
  await shop.open();
  one = shop.html('one.html', shop.log('r0.zst', 'rank', '0'));
  two = shop.html('two.html', shop.path('r0.zst'), shop.log('r5.zst', 'rank', '5'));
  const logs = [1, 2, 3, 4, 6, 7].map((n) => shop.log(`r${n}.zst`, 'rank', String(n)));
  ranks = shop.html('ranks.html', shop.path('r0.zst'), shop.path('r5.zst'), ...logs);
});
after(() => shop.close());

const view = (page) => page.evaluate(() => memprof.view);
const whole = (page) => page.evaluate(() => memprof.whole);

test('the wheel with ctrl zooms and keeps the time under the cursor; 0 shows everything', async () => {
  const page = await shop.show(one);
  const at = await spot(page, '.chart', 0.3);
  await page.mouse.move(at.x, at.y);
  const timeAt = () =>
    page.evaluate((x) => {
      const u = memprof.charts[0].plot.u;
      return u.posToVal(x - u.over.getBoundingClientRect().left, 'x');
    }, at.x);
  const before = await timeAt();
  await page.keyboard.down('Control');
  for (let i = 0; i < 6; i++) await page.mouse.wheel(0, -200);
  await page.keyboard.up('Control');
  await drawn(page);
  const [from, to] = await view(page),
    [low, high] = await whole(page);
  assert.ok(to - from < (high - low) / 4, `${to - from}`);
  assert.ok(Math.abs((await timeAt()) - before) < (to - from) / 500);
  await page.keyboard.press('0');
  await drawn(page);
  assert.deepEqual(await view(page), [low, high]);
});

test('a frame of a view that moves asks for no layout, and writes the link when it is still', async () => {
  const page = await shop.show(one);
  const asked = await page.evaluate(async () => {
    let layouts = 0,
      links = 0;
    const style = globalThis.getComputedStyle,
      width = Object.getOwnPropertyDescriptor(Element.prototype, 'clientWidth'),
      replace = history.replaceState;
    globalThis.getComputedStyle = (...of) => (layouts++, style(...of));
    Object.defineProperty(Element.prototype, 'clientWidth', {
      ...width,
      get() {
        layouts++;
        return width.get.call(this);
      },
    });
    history.replaceState = (...to) => (links++, replace.apply(history, to));
    memprof.zoom(0.4, 0.5);
    await new Promise((done) => requestAnimationFrame(done)); // after the page's own frame
    return { layouts, links };
  });
  assert.deepEqual(asked, { layouts: 0, links: 0 });
  await page.waitForFunction(() => location.hash !== '');
});

test('a double click pins once, and two clicks in two places pin two instants', async () => {
  const page = await shop.show(one),
    near = await spot(page, '.chart', 0.4),
    far = await spot(page, '.chart', 0.7),
    pins = () => page.evaluate(() => memprof.pins.length);
  await page.mouse.dblclick(near.x, near.y);
  await drawn(page);
  assert.equal(await pins(), 1);
  await page.mouse.click(far.x, far.y);
  await page.mouse.click(near.x, near.y);
  await drawn(page);
  assert.equal(await pins(), 1);
  await page.mouse.click(far.x, far.y);
  assert.equal(await pins(), 2);
});

test('W A S D zoom and move, and stay inside the run', async () => {
  const page = await shop.show(one);
  const [low, high] = await whole(page);
  for (const key of ['w', 'w', 'w']) await page.keyboard.press(key);
  const near = await view(page);
  assert.ok(near[1] - near[0] < (high - low) / 2);
  for (let i = 0; i < 30; i++) await page.keyboard.press('d');
  assert.equal((await view(page))[1], high);
  for (let i = 0; i < 60; i++) await page.keyboard.press('a');
  assert.equal((await view(page))[0], low);
  for (let i = 0; i < 20; i++) await page.keyboard.press('s');
  assert.deepEqual(await view(page), [low, high]);
});

test('a drag with shift moves, and keeps the length', async () => {
  const page = await shop.show(one);
  for (const key of ['w', 'w', 'w']) await page.keyboard.press(key);
  await drawn(page);
  const before = await view(page),
    from = await spot(page, '.chart', 0.5),
    to = await spot(page, '.chart', 0.75);
  await page.keyboard.down('Shift');
  await page.mouse.move(from.x, from.y);
  await page.mouse.down();
  await page.mouse.move(to.x, to.y);
  await page.mouse.up();
  await page.keyboard.up('Shift');
  await drawn(page);
  const after = await view(page),
    length = before[1] - before[0];
  assert.ok(Math.abs(after[1] - after[0] - length) < 2);
  assert.ok(Math.abs(before[0] - after[0] - length / 4) < length / 50, `${before} ${after}`);
  assert.ok(await page.locator('.status').isHidden());
});

test('P goes to the peak and pins it; Escape takes the pin away', async () => {
  const page = await shop.show(one);
  await page.keyboard.press('p');
  await drawn(page);
  const [from, to] = await view(page),
    peak = await page.evaluate(() => memprof.logs[0].heaps[0].peakTime);
  const middle = Math.max((to - from) / 2, peak);
  assert.ok(Math.abs((from + to) / 2 - middle) < (to - from) / 100);
  assert.equal(await page.locator('[data-panel="pin"]').count(), 1);
  await page.keyboard.press('Escape');
  await drawn(page);
  assert.equal(await page.locator('[data-panel="pin"]').count(), 0);
});

test('W after P zooms in on the peak, wherever it is in the view', async () => {
  const page = await shop.show(one);
  await page.keyboard.press('p');
  const peak = await page.evaluate(() => memprof.logs[0].heaps[0].peakTime),
    share = async () => {
      const [from, to] = await view(page);
      return (peak - from) / (to - from);
    };
  const before = await share();
  for (let i = 0; i < 20; i++) await page.keyboard.press('w');
  await drawn(page);
  assert.ok(before > 0 && Math.abs((await share()) - before) < 0.01, `${before} ${await share()}`);
});

test('[ and ] step through the markers', async () => {
  const page = await shop.show(one);
  const marks = await page.evaluate(() => memprof.logs[0].marks.map((m) => [m.kind, m.text, m.time]));
  assert.deepEqual(
    marks.map((m) => m.slice(0, 2)),
    [
      ['nvtx', 'checkpoint'],
      ['nvtx', 'checkpoint'],
      ['nvtx', 'checkpoint'],
    ],
  );
  await page.keyboard.press('w');
  await page.keyboard.press(']');
  const middle = async () => {
    const [from, to] = await view(page);
    return (from + to) / 2;
  };
  assert.equal(Math.round(await middle()), marks[1][2]);
  await page.keyboard.press('[');
  assert.equal(Math.round(await middle()), marks[0][2]);
});

test('a band hides, shows alone, and a search finds it', { skip: CHROMIUM_ONLY }, async () => {
  const page = await shop.show(one);
  const names = await page.locator('.chart .legend .name').allTextContents();
  assert.deepEqual(names, ['outside any range', 'step > forward', 'step > backward']);
  const row = page.locator('.chart .legend tr[data-name="step > forward"]');
  await row.click();
  await drawn(page);
  assert.match(await row.getAttribute('class'), /hidden-band/);
  const upper = () => page.evaluate(() => Math.max(...memprof.charts[0].edges()[0].upper));
  const without = await upper();
  await row.click();
  await drawn(page);
  assert.ok((await upper()) > without);
  await row.dblclick();
  await drawn(page);
  assert.deepEqual(await page.evaluate(() => memprof.charts[0].edges().map((e) => e.group.name)), ['step > forward']);
  await page.keyboard.press('Escape');
  await page.keyboard.press('/');
  await page.keyboard.type('BACK');
  await drawn(page);
  assert.equal(await page.evaluate(() => memprof.lit), 'step > backward');
  assert.equal(await page.locator('.chart .legend tr.miss').count(), 2);
});

test('a row and its band light up together', { skip: CHROMIUM_ONLY }, async () => {
  const page = await shop.show(one);
  const before = await page.locator('.chart .plot canvas').first().screenshot();
  await page.locator('[data-panel="peak"] tr[data-name="step > forward"]').hover();
  await drawn(page);
  assert.equal(await page.locator('.chart .legend tr.lit').getAttribute('data-name'), 'step > forward');
  assert.notDeepEqual(await page.locator('.chart .plot canvas').first().screenshot(), before);
});

test('a reload of the link shows the same picture', { skip: CHROMIUM_ONLY }, async () => {
  const page = await shop.show(two);
  await page.keyboard.press('w');
  await page.keyboard.press('d');
  const at = await spot(page, '.chart', 0.6);
  await page.mouse.click(at.x, at.y);
  await page.locator('.chart .legend tr[data-name="step > forward"]').first().click();
  await page.mouse.move(5, 5);
  await drawn(page);
  await page.evaluate(() => scrollTo(0, 0));
  const picture = await page.screenshot(),
    hash = await page.evaluate(() => location.hash);
  assert.notEqual(hash, '');
  const again = await shop.show(two, { hash });
  await again.mouse.move(5, 5);
  await drawn(again);
  assert.ok(picture.equals(await again.screenshot()));
});

test('a range has one colour in A, B and every rank', async () => {
  const page = await shop.show(ranks);
  await page.evaluate(() => memprof.choose('b', 1));
  await drawn(page);
  const colours = await page.evaluate(() =>
    [
      .../** @type {NodeListOf<HTMLCanvasElement>} */ (
        document.querySelectorAll(
          '.chart[data-heap="host/heap"] .legend tr[data-name="step > forward"] .swatch, ' +
            '[data-panel="peak"] tr[data-name="step > forward"] .swatch',
        )
      ),
    ].map((canvas) => canvas.getContext('2d').getImageData(6, 6, 1, 1).data.join()),
  );
  assert.equal(colours.length, 3);
  assert.equal(new Set(colours).size, 1);
  const first = await shop.show(one);
  const alone = await first.evaluate(() =>
    /** @type {HTMLCanvasElement} */ (document.querySelector('.chart .legend tr[data-name="step > forward"] .swatch'))
      .getContext('2d')
      .getImageData(6, 6, 1, 1)
      .data.join(),
  );
  assert.equal(alone, colours[0]);
});

test('two runs stand below each other on one scale, over each other, and as a difference', async () => {
  const page = await shop.show(two);
  assert.deepEqual(await page.locator('.chart').evaluateAll((all) => all.map((chart) => chart.dataset.role)), [
    'A',
    'B',
  ]);
  assert.equal(await page.evaluate(() => new Set(memprof.charts.map((c) => c.plot.options.yMax)).size), 1);
  await page.locator('.segmented button', { hasText: 'B − A' }).click();
  await drawn(page);
  assert.equal(await page.locator('.chart[data-mode="difference"]').count(), 1);
  const [most, expected] = await page.evaluate(async () => {
    memprof.setView(0, 100e6); // a state is wider than a pixel
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    const { xs, bytes } = memprof.charts[0],
      [a, b] = memprof.logs.map(({ heaps }) => heaps[0].spans),
      held = (of, at) => of.max[of.start.filter((start) => start <= at).length - 1] ?? 0;
    const times = [...a.start, ...b.start].filter((at) => at < 100e6);
    return [
      Math.max(...xs.map((_, i) => bytes(1, i) - bytes(0, i))),
      Math.max(...times.map((at) => held(b, at) - held(a, at))),
    ];
  });
  assert.ok(most > 2 ** 20);
  assert.equal(most, expected);
  await page.locator('.segmented button', { hasText: 'overlay' }).click();
  await drawn(page);
  assert.equal(await page.locator('.chart[data-mode="overlay"]').count(), 1);
});

test('the difference ends with the run that ends first', async () => {
  const page = await shop.show(shop.html('brief.html', shop.path('r0.zst'), shop.log('brief.zst', 'ranges', '64 a')));
  await page.locator('.segmented button', { hasText: 'B − A' }).click();
  await drawn(page);
  const red = await page.evaluate(() => {
    const { ctx, bbox } = memprof.charts[0].plot.u,
      { data } = ctx.getImageData(bbox.left + 20, bbox.top, bbox.width - 20, bbox.height);
    return data.reduce((sum, part, i) => sum + Number(i % 4 === 0 && Math.abs(part - data[i + 1]) > 60), 0);
  });
  assert.equal(red, 0);
  const { x, y } = await spot(page, '.chart', 0.5);
  await page.mouse.move(x, y);
  await drawn(page);
  assert.match(await page.locator('.chart .legend').textContent(), /B *not running/);
});

test('bands stay off the labels of the axis', async () => {
  const page = await shop.show(one);
  for (const key of ['w', 'w', 'w']) await page.keyboard.press(key);
  await drawn(page);
  const margin = () =>
    page.evaluate(() => {
      const { ctx, bbox } = memprof.charts[0].plot.u;
      return ctx.getImageData(0, bbox.top, bbox.left, bbox.height).data.join();
    });
  const before = await margin();
  await page.evaluate(() => {
    memprof.state.hidden = memprof.charts[0].stack.groups.map((group) => group.name);
    memprof.charts[0].redraw();
  });
  assert.ok(before === (await margin()));
});

test('runs are aligned by a range', async () => {
  const page = await shop.show(two);
  await page.getByLabel('what the two runs are aligned by').selectOption('range:step > backward');
  await drawn(page);
  const [from] = await whole(page);
  const start = await page.evaluate(() => memprof.logs[0].instances.from[2]);
  assert.equal(from, -start);
});

test('the rank that differs is outlined, and a click compares it', async () => {
  const page = await shop.show(ranks);
  assert.equal(await page.locator('.ranks button').count(), 8);
  assert.match(await page.locator('.ranks .outlier').textContent(), /rank 5.*differs most/);
  await page.locator('.ranks .outlier').click({ modifiers: ['Shift'] });
  await drawn(page);
  assert.match(await page.locator('.cards').textContent(), /A.*rank 0.*B.*rank 5/);
  assert.equal(await page.locator('.chart').count(), 2);
});

test('every rank is shown to its end, however long the first run is, and each that differs is outlined', async () => {
  const short = shop.log('short.zst', 'named', 'brief');
  const page = await shop.show(shop.html('long.html', short, ...[0, 5, 6].map((n) => shop.path(`r${n}.zst`))));
  const shares = await page.locator('.ranks button:not([data-log="0"])').evaluateAll((all) =>
    all.map((button) => {
      const { peakBytes } = memprof.logs[Number(button.dataset.log)].heaps.find((heap) => heap.name === 'host/heap');
      const canvas = button.querySelector('canvas'),
        { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
      const top = Math.floor(data.findIndex((part, i) => i % 4 === 3 && part > 128) / 4 / canvas.width);
      return [(canvas.height - top) / canvas.height, peakBytes];
    }),
  );
  const most = Math.max(...shares.map(([, peak]) => peak));
  for (const [share, peak] of shares) assert.ok(Math.abs(share - peak / most / 1.05) < 0.03, `${share} ${peak / most}`);
  assert.deepEqual(await page.locator('.ranks .outlier .more').allTextContents(), [
    ' +12.00 MiB, differs most', // only among the ranks, and the first run is not one of them
  ]);
});

test('stacking by thread and by size class', async () => {
  const page = await shop.show(one);
  await page.getByLabel('stack by').selectOption('thread');
  await drawn(page);
  assert.deepEqual(await page.locator('.chart .legend .name').allTextContents(), ['main (5000)']);
  await page.getByLabel('stack by').selectOption('size');
  await drawn(page);
  assert.deepEqual((await page.locator('.chart .legend .name').allTextContents()).sort(), [
    'over 2 MiB to 4 MiB',
    'over 256 KiB to 512 KiB',
    'over 32 MiB to 64 MiB',
  ]);
  await page.getByLabel('stack by').selectOption('range');
  await page.getByLabel('depth of the path').selectOption('1');
  await drawn(page);
  assert.deepEqual(await page.locator('.chart .legend .name').allTextContents(), ['outside any range', 'step']);
});

test('everything can be reached by the keyboard, and charts speak', async () => {
  const page = await shop.show(one);
  const reached = new Set();
  for (let i = 0; i < 40; i++) {
    await page.keyboard.press('Tab');
    reached.add(
      await page.evaluate(
        () => document.activeElement?.getAttribute('aria-label') ?? document.activeElement?.className ?? '',
      ),
    );
  }
  for (const name of ['stack by', 'search for a band', 'fit: show everything (0)', 'keys', 'name'])
    assert.ok(reached.has(name), `${name}: ${[...reached].join(' | ')}`);
  assert.match(
    await page.locator('.chart .plot').first().getAttribute('aria-label'),
    /host\/heap over time; peak .* at 0\.\d+ s/,
  );
  await page.evaluate(() =>
    /** a select box keeps keys for itself @type {HTMLElement} */ (document.activeElement).blur(),
  );
  await page.keyboard.press('?');
  assert.ok(await page.locator('dialog').isVisible());
});

test('the charts come as a picture', { skip: CHROMIUM_ONLY }, async () => {
  const page = await shop.show(one);
  const waiting = page.waitForEvent('download');
  await page.getByLabel('download the charts as a picture').click();
  const chunks = [];
  for await (const chunk of await (await waiting).createReadStream()) chunks.push(chunk);
  const png = Buffer.concat(chunks);
  assert.equal(png.subarray(1, 4).toString(), 'PNG');
  assert.ok(png.readUInt32BE(16) > 600 && png.readUInt32BE(20) > 250);
});

test('the picture names each band as a whole, as far as there is room', async () => {
  const page = await shop.show(one);
  await page.evaluate(() => {
    const { fillText } = CanvasRenderingContext2D.prototype;
    /** @type {any} */ (globalThis).written = [];
    CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
      /** @type {any} */ (globalThis).written.push(text);
      fillText.call(this, text, x, y);
    };
  });
  await page.getByLabel('download the charts as a picture').click();
  const written = await page.evaluate(() => /** @type {any} */ (globalThis).written);
  const names = await page
    .locator('.chart .legend tbody tr:not([hidden])')
    .evaluateAll((rows) => rows.map((row) => /** @type {HTMLElement} */ (row).dataset.name));
  assert.ok(names.includes('step > forward'));
  for (const name of names) assert.ok(written.includes(name), `${name}: ${written.join(', ')}`);
});
