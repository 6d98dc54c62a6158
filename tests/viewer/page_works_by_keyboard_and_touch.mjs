// Keyboard and touch: a cursor, single bands, hiding bytes that never change, and scrolling.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Workshop, bytesOf, drawn, spot } from './browser.mjs';

const GOLDEN = fileURLToPath(new URL('../golden/', import.meta.url));
const shop = new Workshop();
let one, oom;
before(async () => {
  await shop.open();
  one = shop.html('one.html', shop.log('r0.zst', 'rank', '0'));
  oom = shop.html('oom.html', `${GOLDEN}h200-graphs-oom.zst`);
});
after(() => shop.close());

test('a span that the mouse chose is forgotten by the keys: they choose one from the cursor on', async () => {
  const page = await shop.show(one);
  for (let i = 0; i < 20; i++) await page.keyboard.press('ArrowLeft');
  for (let i = 0; i < 3; i++) await page.keyboard.press('Shift+ArrowLeft');
  const from = await spot(page, '.chart', 0.1),
    to = await spot(page, '.chart', 0.2);
  await page.mouse.move(from.x, from.y);
  await page.mouse.down();
  await page.mouse.move(to.x, to.y);
  await page.mouse.up();
  await page.mouse.move(5, 5);
  const length = await page.evaluate(() => memprof.view[1] - memprof.view[0]);
  await page.keyboard.press('Shift+ArrowRight');
  const chosen = await page.evaluate(() => memprof.selection);
  assert.ok(Math.abs(chosen.to - chosen.from - length / 100) < length / 1000, JSON.stringify(chosen));
  assert.ok(
    Math.abs(chosen.from - (await page.evaluate(() => (memprof.view[0] + memprof.view[1]) / 2))) < length / 100,
  );
});

test('the arrows scroll what has the focus and can be scrolled, elsewhere they move the cursor', async () => {
  const page = await shop.show(oom, { viewport: { width: 390, height: 800 } }),
    panel = page.locator('[data-panel="marks"]');
  const scrollable = await panel.evaluate((root) => {
    const found = [root, ...root.querySelectorAll('*')].find(
      (e) => e.scrollWidth > e.clientWidth && /auto|scroll/.test(getComputedStyle(e).overflowX),
    );
    if (found instanceof HTMLElement) found.tabIndex = 0;
    if (found instanceof HTMLElement) found.focus();
    return found !== undefined;
  });
  assert.ok(scrollable);
  for (let i = 0; i < 5; i++) await page.keyboard.press('ArrowRight');
  await page.waitForFunction(() => document.activeElement.scrollLeft > 0);
  assert.equal(await page.evaluate(() => memprof.cursor), null);
  await page.locator('.chart .plot').first().focus();
  await page.keyboard.press('ArrowRight');
  assert.notEqual(await page.evaluate(() => memprof.cursor), null);
});

test('space shows the band alone that has the focus, and all again', async () => {
  const page = await shop.show(one),
    only = () => page.evaluate(() => [memprof.state.only, memprof.state.hidden.length]);
  await page.locator('.chart .legend tr[data-name="step > forward"] .name').focus();
  await page.keyboard.press(' ');
  assert.deepEqual(await only(), ['step > forward', 0]);
  await page.keyboard.press(' ');
  assert.deepEqual(await only(), ['', 0]);
});

test('H takes out what never changes in view, and says how much; the top stays the total', async () => {
  const page = await shop.show(oom, { hash: '' });
  await page.evaluate(() => memprof.setView(3e9, 5e9));
  await drawn(page);
  const seen = () =>
    page.evaluate(() => {
      const chart = memprof.charts.find(({ stack }) => stack?.heap.name === 'gpu0/torch'),
        edges = chart.edges();
      return { low: chart.plot.options.yMin, top: edges[0].upper.at(-1), bottom: edges.at(-1).below.at(-1) };
    });
  const before = await seen();
  assert.equal(before.low, 0);
  await page.keyboard.press('h');
  await drawn(page);
  const after = await seen(),
    note = page.locator('.chart[data-heap="gpu0/torch"] h2 .sub', { hasText: 'hidden' });
  assert.equal(after.top, before.top);
  assert.equal(after.bottom, after.low);
  assert.equal(bytesOf(await note.getAttribute('title')), after.low);
  assert.ok(after.low > 115 * 2 ** 30, `${after.low}`);
  await page.keyboard.press('h');
  await drawn(page);
  assert.deepEqual(await seen(), before);
});

test('one finger moves the view, two zoom it', async () => {
  const page = await shop.show(one, { hasTouch: true });
  for (const key of ['w', 'w', 'w']) await page.keyboard.press(key);
  await drawn(page);
  const touch = (steps) =>
    page.evaluate((all) => {
      const over = document.querySelector('.chart .u-over'),
        { left, width, top } = over.getBoundingClientRect();
      for (const [type, pointerId, x] of all)
        over.dispatchEvent(
          new PointerEvent(type, {
            pointerId,
            pointerType: 'touch',
            clientX: left + x * width,
            clientY: top + 20,
            bubbles: true,
          }),
        );
      return memprof.view;
    }, steps);
  const [from, to] = await page.evaluate(() => memprof.view),
    length = to - from;
  const moved = await touch([
    ['pointerdown', 1, 0.5],
    ['pointermove', 1, 0.4],
    ['pointerup', 1, 0.4],
  ]);
  assert.ok(Math.abs(moved[0] - from - 0.1 * length) < length / 100, `${moved}`);
  const pinched = await touch([
    ['pointerdown', 1, 0.4],
    ['pointerdown', 2, 0.6],
    ['pointermove', 1, 0.3],
    ['pointermove', 2, 0.7],
    ['pointerup', 1, 0.3],
    ['pointerup', 2, 0.7],
  ]);
  assert.ok(Math.abs(pinched[1] - pinched[0] - length / 2) < length / 50, `${pinched}`);
  assert.ok(Math.abs(pinched[0] + pinched[1] - moved[0] - moved[1]) < length / 20);
});
