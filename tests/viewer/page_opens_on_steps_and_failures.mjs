// The span that the charts open on. Their axes contain everything in view.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Workshop, drawn } from './browser.mjs';

const SPIKE = fileURLToPath(new URL('../golden/h100-spike.zst', import.meta.url));
const shop = new Workshop();
let spike;
before(async () => {
  await shop.open();
  spike = shop.html('spike.html', SPIKE);
});
after(() => shop.close());

const view = (page) => page.evaluate(() => memprof.view);

test('charts open on the steps; 0 shows everything, 1 the steps again, and a link keeps what it shows', async () => {
  const page = await shop.show(spike),
    opened = await view(page),
    { range, heaps } = shop.report('steps', SPIKE),
    { instances } = heaps[0];
  assert.equal(range, 'step');
  assert.ok(opened[0] < instances[0].begin_ns && opened[1] > instances.at(-1).end_ns);
  assert.ok(opened[1] - opened[0] < shop.report('log', 'info', SPIKE).duration_ns / 5, `${opened}`);
  assert.equal(await page.evaluate(() => location.hash), '');
  await page.keyboard.press('0');
  await drawn(page);
  assert.deepEqual(await view(page), await page.evaluate(() => memprof.whole));
  await page.waitForFunction(() => location.hash !== ''); // once the view is still
  const again = await shop.show(spike, { hash: await page.evaluate(() => location.hash) });
  assert.deepEqual(await view(again), await view(page));
  await page.keyboard.press('1');
  await drawn(page);
  assert.deepEqual(await view(page), opened);
});

test('the bytes axis holds what is in view, no more', async () => {
  const page = await shop.show(spike);
  const fits = () =>
    page.evaluate(() => {
      const chart = memprof.charts.find(({ stack }) => stack?.heap.name === 'gpu0/torch'),
        { start, max } = chart.stack.heap.spans,
        [from, to] = memprof.view,
        seen = Array.from(max).filter((_, i) => start[i] <= to && (start[i + 1] ?? Infinity) > from);
      return chart.plot.options.yMax / Math.max(...seen);
    });
  assert.ok(Math.abs((await fits()) - 1.08) < 0.001);
  await page.evaluate(() => memprof.setView(memprof.logs[0].repeat.from - 4e9, memprof.logs[0].repeat.from - 1e8));
  await drawn(page);
  assert.ok(Math.abs((await fits()) - 1.08) < 0.001, `${await fits()}`);
});

test('the strip names the signal that ended it', async () => {
  const file = shop.html('signal.html', SPIKE);
  shop.edit(file, (html) => html.replace('"end":"exit"', '"end":"","death":{"signal":15,"oom":null}'));
  const page = await shop.show(file);
  assert.equal(await page.locator('.findings li').first().textContent(), 'ended: SIGTERM');
});

test('of processes the one that was killed for its memory is shown, and how each of them ended', async () => {
  const folder = fileURLToPath(new URL('../golden/workers', import.meta.url)),
    page = await shop.show(shop.html('workers.html', folder));
  assert.equal(await page.locator('.findings li').first().textContent(), 'ended: OOM-killed by the kernel');
  const cards = page.locator('[data-panel="ranks"] button');
  assert.equal(await cards.filter({ hasText: 'ended: OOM-killed by the kernel' }).getAttribute('aria-pressed'), 'true');
  assert.equal(await cards.filter({ hasText: 'ended: SIGTERM' }).count(), 2);
});

test('if nothing has a name, the charts open by size class', async () => {
  const page = await shop.show(
    shop.html('unnamed.html', fileURLToPath(new URL('../golden/host-run.zst', import.meta.url))),
  );
  assert.equal(await page.getByLabel('stack by').inputValue(), 'size');
  assert.ok((await page.locator('.chart[data-heap="host/heap"] .legend tbody tr:not([hidden])').count()) > 3);
});
