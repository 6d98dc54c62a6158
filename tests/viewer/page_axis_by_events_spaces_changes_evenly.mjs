// The x axis by events: all changes have the same width, however much time is between them, and numbers do not change.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { CHROMIUM_ONLY, Workshop, bytesOf, drawn, spot } from './browser.mjs';

const shop = new Workshop();
let whole, two;
before(async () => {
  await shop.open();
  whole = shop.html('whole.html', shop.log('whole.zst', 'whole'));
  two = shop.html('two.html', shop.log('r0.zst', 'rank', '0'), shop.log('r5.zst', 'rank', '5'));
});
after(() => shop.close());

const toggle = (page) => page.getByLabel('x axis by events, not by time (X)');

test('by events every change has the same room, and so have the ticks', async () => {
  const page = await shop.show(whole);
  const shares = () =>
    page.evaluate(() => {
      const { share } = memprof.scaleOf(0);
      return memprof.logs[0].heaps
        .flatMap(({ spans }) => [...spans.start])
        .sort((a, b) => a - b)
        .map(share);
    });
  const byTime = await shares();
  await toggle(page).click();
  await drawn(page);
  assert.equal(await toggle(page).getAttribute('aria-pressed'), 'true');
  const byEvents = await shares(),
    gaps = byEvents.slice(1).map((at, i) => at - byEvents[i]);
  assert.equal(gaps.length, 5);
  for (const gap of gaps) assert.ok(Math.abs(gap - gaps[0]) < 1e-4, gaps.join());
  assert.notDeepEqual(byTime, byEvents);
  await page.keyboard.press('x');
  await drawn(page);
  assert.deepEqual(await shares(), byTime);
});

test('by events two heaps of unlike buckets lie where the reports count their allocations and frees', async () => {
  const logs = [shop.log('churn.zst', 'churn', '300000'), shop.log('r3.zst', 'rank', '3')],
    page = await shop.show(shop.html('unlike.html', ...logs));
  await toggle(page).click();
  await drawn(page);
  const widths = await page.evaluate(() => memprof.runs().map(({ heaps }) => heaps[0].width));
  assert.ok(widths[0] > 1 && widths[1] === 1, widths.join());
  const spans = logs.map((log) => {
      const { start_ns: start, allocations, frees } = shop.report('timeline', '--buckets=2048', log).heaps[0].spans;
      return { start, events: start.map((_, i) => allocations[i] + frees[i]) };
    }),
    until = ({ start, events }, ns) => events.reduce((sum, count, i) => sum + (start[i] < ns ? count : 0), 0),
    all = (ns) => spans.reduce((sum, of) => sum + until(of, ns), 0);
  const total = all(Infinity);
  assert.ok(Math.max(...spans[1].events) === 1 && Math.max(...spans[0].events) > 100);
  for (const ns of spans[0].start.filter((_, i) => i % 100 === 0)) {
    const share = await page.evaluate((at) => {
      const place = memprof.whole.map(memprof.axis.place);
      return (memprof.axis.place(at) - place[0]) / (place[1] - place[0]);
    }, ns);
    assert.ok(Math.abs(share - all(ns) / total) <= 1 / total + 1e-5, `${ns}: ${share}, ${all(ns) / total}`);
  }
});

test('a link keeps the axis and shows the same picture', { skip: CHROMIUM_ONLY }, async () => {
  const page = await shop.show(two);
  await toggle(page).click();
  await page.keyboard.press('w');
  const at = await spot(page, '.chart', 0.6);
  await page.mouse.click(at.x, at.y);
  await page.mouse.move(5, 5);
  await page.evaluate(() => {
    /** @type {HTMLElement} */ (document.activeElement).blur();
    scrollTo(0, 0);
  });
  await drawn(page);
  const again = await shop.show(two, { hash: await page.evaluate(() => location.hash) });
  await again.mouse.move(5, 5);
  await drawn(again);
  assert.equal(await again.evaluate(() => memprof.state.axis), 'events');
  assert.deepEqual(await again.evaluate(() => memprof.view), await page.evaluate(() => memprof.view));
  assert.ok((await page.screenshot()).equals(await again.screenshot()));
});

test('a click pins what the report has at that instant', async () => {
  const page = await shop.show(whole);
  await page.keyboard.press('x');
  for (const share of [0.3, 0.5, 0.7]) {
    const { x, y } = await spot(page, '.chart', share);
    await page.keyboard.press('Escape');
    await page.mouse.click(x, y);
    await drawn(page);
    const at = await page.evaluate(() => memprof.pins[0].at);
    const { peak_bytes } = shop
      .report('peaks', '--by', 'range', '--at', `${(at / 1e9).toFixed(9)}s`, shop.path('whole.zst'))
      .logs[0].heaps.find(({ heap }) => heap === 'host/heap');
    assert.equal(bytesOf(await page.locator('[data-panel="pin"] tfoot .total').getAttribute('title')), peak_bytes);
  }
});

test('wheel, keys and drags work in it, and stay inside the run', async () => {
  const page = await shop.show(two);
  await page.keyboard.press('x');
  const at = await spot(page, '.chart', 0.3);
  await page.mouse.move(at.x, at.y);
  const under = () =>
    page.evaluate((x) => {
      const { plot } = memprof.charts[0];
      return memprof.axis.place(plot.time(x - plot.u.over.getBoundingClientRect().left));
    }, at.x);
  const before = await under(),
    events = () => page.evaluate(() => memprof.view.map((ns) => memprof.axis.place(ns)));
  await page.keyboard.down('Control');
  for (let i = 0; i < 4; i++) await page.mouse.wheel(0, -200);
  await page.keyboard.up('Control');
  await drawn(page);
  const [from, to] = await events();
  assert.ok(Math.abs((await under()) - before) < (to - from) / 200);
  const [low, high] = await page.evaluate(() => memprof.whole);
  for (let i = 0; i < 60; i++) await page.keyboard.press('d');
  assert.ok(Math.abs((await page.evaluate(() => memprof.view[1])) - high) < 2);
  const [left, right] = await events();
  assert.ok(Math.abs(right - left - (to - from)) < (to - from) / 200, 'as many events as before');
  for (let i = 0; i < 120; i++) await page.keyboard.press('a');
  assert.ok(Math.abs((await page.evaluate(() => memprof.view[0])) - low) < 2);
  for (const mode of ['overlay', 'B − A']) {
    await page.locator('.segmented button', { hasText: mode }).click();
    await drawn(page);
    const most = await page.evaluate(() => {
      const { xs, bytes } = memprof.charts[0];
      return Math.max(...xs.map((_, i) => bytes(1, i)));
    });
    assert.ok(most > 0, mode);
  }
  assert.deepEqual(page.trouble, []);
});

test('the bytes axis fits what is in view', async () => {
  const page = await shop.show(whole);
  for (const axis of ['time', 'events']) {
    await page.evaluate((how) => memprof.change({ axis: /** @type {any} */ (how) }), axis);
    await page.evaluate(() => memprof.setView(0, 9e6));
    await drawn(page);
    const { top, most } = await page.evaluate(() => ({
      top: memprof.charts[0].plot.options.yMax,
      most: Math.max(...[...memprof.charts[0].stack.heap.spans.max].slice(0, 2)),
    }));
    assert.ok(top >= most && top < 1.7 * most, `${top} ${most}`);
  }
});
