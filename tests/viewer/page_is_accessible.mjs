// Accessibility: axe-core finds nothing, and the keyboard alone does everything that the mouse does.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Workshop, drawn, spot } from './browser.mjs';

const AXE = readFileSync(createRequire(process.env.VIEWER_MODULES).resolve('axe-core/axe.min.js'), 'utf8');

const shop = new Workshop();
let one, two, ranks, many, gpu;
before(async () => {
  await shop.open();
  one = shop.html('one.html', shop.log('r0.zst', 'rank', '0'));
  two = shop.html('two.html', shop.path('r0.zst'), shop.log('r5.zst', 'rank', '5'));
  ranks = shop.html('ranks.html', shop.path('r0.zst'), shop.path('r5.zst'), shop.log('r1.zst', 'rank', '1'));
  const all = Array.from({ length: 20 }, (_, i) => shop.log(`m${i}.zst`, 'rank', `${i}`));
  many = shop.html('many.html', ...all);
  gpu = shop.html('gpu.html', fileURLToPath(new URL('../golden/h200-graphs-oom.zst', import.meta.url)));
});
after(() => shop.close());

/** Returns the objections of axe-core to the current page, one line each. */
async function violations(page) {
  await page.evaluate(AXE);
  return page.evaluate(async () => {
    const { violations: found } = await /** @type {any} */ (globalThis).axe.run(document, {
      rules: { 'label-content-name-mismatch': { enabled: true }, 'target-size': { enabled: true } },
    });
    return found.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html.slice(0, 120)}`));
  });
}

/** Shows every panel that exists. */
const everything = (page) =>
  page.evaluate(() => {
    const { heap, log } = memprof.charts.find((chart) => chart.stack).stack;
    memprof.change({ blocks: heap.name });
    memprof.pin([
      { heap: heap.name, log: log.index, at: heap.peakTime },
      { heap: heap.name, log: log.index, at: heap.peakTime / 2 },
    ]);
    memprof.select(...memprof.whole);
    /** @type {HTMLDetailsElement} */ (document.getElementById('tables')).open = true;
  });

test('axe-core has nothing against a page with everything on it, in light and dark, wide and narrow', async () => {
  for (const [file, colorScheme, width] of /** @type {const} */ ([
    [one, 'light', 1280],
    [two, 'dark', 1280],
    [ranks, 'light', 1280],
    [many, 'dark', 1280],
    [gpu, 'light', 1024],
    [gpu, 'dark', 390],
  ])) {
    const page = await shop.show(file, { colorScheme, viewport: { width, height: 900 } });
    assert.deepEqual(await violations(page), [], `${file}, ${colorScheme}, ${width}`);
    await everything(page);
    await page.evaluate(() => memprof.change({ heat: 'time' }));
    await drawn(page);
    assert.deepEqual(await violations(page), [], `everything in ${file}, ${colorScheme}, ${width}`);
    await page.context().close();
  }
});

test('where the system forces its colours, bars keep theirs and a control that is on is told apart', async () => {
  const colour = (page, selector) =>
    page
      .locator(selector)
      .first()
      .evaluate((element) => getComputedStyle(element).backgroundColor);
  for (const [file, bars] of /** @type {const} */ ([
    [two, ['.diverging i']],
    [gpu, ['.part-0', '.graphs .key', '.icicle button']],
  ])) {
    const plain = await shop.show(file),
      forced = await shop.show(file, { forcedColors: 'active' });
    for (const bar of bars) assert.equal(await colour(forced, bar), await colour(plain, bar), bar);
    await forced.getByLabel('x axis by events, not by time (X)').click();
    const on = await colour(forced, '.bar button[aria-pressed="true"]');
    assert.notEqual(on, await colour(forced, '.bar button[aria-pressed="false"]'));
    for (const page of [plain, forced]) await page.context().close();
  }
});

test('axe-core has nothing against the list of keys, overlay and difference', async () => {
  const page = await shop.show(two);
  for (const mode of ['overlay', 'B − A']) {
    await page.locator('.segmented button', { hasText: mode }).click();
    assert.deepEqual(await violations(page), [], mode);
  }
  await page.keyboard.press('?');
  assert.deepEqual(await violations(page), [], 'keys');
});

test('a control that builds the page anew keeps the focus', async () => {
  const page = await shop.show(two);
  const focused = () => page.evaluate(() => document.activeElement.getAttribute('aria-label'));
  for (const name of ['stack by', 'what the two runs are aligned by', 'run B']) {
    await page.getByLabel(name, { exact: true }).focus();
    await page.keyboard.press(name === 'run B' ? 'ArrowUp' : 'ArrowDown');
    await drawn(page);
    assert.equal(await focused(), name);
  }
  await page.getByLabel('dark (T)').focus();
  await page.keyboard.press('Enter');
  assert.equal(await focused(), 'dark (T)');
  assert.equal(await page.getByLabel('dark (T)').getAttribute('aria-pressed'), 'true');
});

test('what takes the pins away leaves the focus at the chart; a section that is drawn anew keeps it', async () => {
  const page = await shop.show(two);
  await page.locator('.chart .plot').first().focus();
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('Enter');
  await drawn(page);
  await page.getByLabel('take the pins away (Esc)').focus();
  await page.keyboard.press('Enter');
  await drawn(page);
  assert.equal(await page.evaluate(() => document.activeElement.className), 'plot');
  await page.keyboard.press('p');
  await drawn(page);
  const block = page.locator('[data-panel="blocks"] tbody button').first();
  await block.focus();
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('b'); // rebuilds the page
  await drawn(page);
  assert.equal(
    await page.evaluate(() => document.activeElement.closest('[data-panel]')?.getAttribute('data-panel')),
    'blocks',
  );
});

test('the keyboard moves a cursor, pins, and chooses a span', async () => {
  const page = await shop.show(one);
  await page.locator('.chart .plot').first().focus();
  for (let i = 0; i < 10; i++) await page.keyboard.press('ArrowRight');
  assert.match(await page.locator('.chart caption').first().textContent(), /^under the cursor/);
  const cursor = await page.evaluate(() => memprof.cursor),
    [low, high] = await page.evaluate(() => memprof.whole);
  assert.equal(Math.round(cursor), Math.round(low + (high - low) * 0.6));
  await page.keyboard.press('Enter');
  assert.equal(await page.evaluate(() => memprof.pins.length), 1);
  assert.equal(await page.locator('[data-panel="pin"]').count(), 1);
  for (let i = 0; i < 5; i++) await page.keyboard.press('Shift+ArrowLeft');
  const { from, to } = await page.evaluate(() => memprof.selection);
  assert.equal(to, cursor);
  assert.ok(Math.abs(to - from - (high - low) * 0.05) < 2);
  assert.match(await page.locator('.statistics').textContent(), /allocations/);
  await page.keyboard.press('Enter');
  assert.equal(await page.evaluate(() => memprof.pins.length), 2);
  for (let i = 0; i < 60; i++) await page.keyboard.press('ArrowLeft');
  assert.equal(await page.evaluate(() => memprof.cursor), low);
  await page.keyboard.press('Escape');
  assert.match(await page.locator('.chart caption').first().textContent(), /^at the peak/);
  assert.ok(await page.locator('.status').isHidden());
});

test('the keyboard hides a band, shows one alone, and looks at blocks', async () => {
  const page = await shop.show(one);
  const name = page.locator('.chart .legend tr[data-name="step > forward"] button');
  assert.equal(await name.getAttribute('aria-pressed'), 'true');
  await name.focus();
  await page.keyboard.press('Enter');
  await drawn(page);
  assert.equal(await name.getAttribute('aria-pressed'), 'false');
  await page.keyboard.press('Enter');
  await page.keyboard.press('o');
  await drawn(page);
  assert.equal(await page.evaluate(() => memprof.state.only), 'step > forward');
  await page.keyboard.press('Escape');
  const seen = new Set();
  for (let i = 0; i < 3; i++) {
    await page.keyboard.press('b');
    seen.add(await page.locator('[data-blocks] .said').textContent());
  }
  assert.equal(seen.size, 3);
  assert.match([...seen][0], /size40.00 MiB/);
});

test('the wheel scrolls the page', async () => {
  const page = await shop.show(two);
  const { x, y } = await spot(page, '.chart');
  await page.mouse.move(x, y);
  await page.mouse.wheel(0, 300);
  await page.waitForFunction(() => scrollY > 0, null, { timeout: 5000 });
  assert.deepEqual(await page.evaluate(() => memprof.view), await page.evaluate(() => memprof.whole));
});

test('axe-core has nothing against what a search or a click fades', async () => {
  for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
    const page = await shop.show(gpu, { colorScheme });
    await page.getByLabel('search for a band').fill('layer 1');
    await page.locator('.chart .legend tr[data-name="model init"] .name').first().click();
    await drawn(page);
    assert.ok(await page.locator('tr.miss').count());
    assert.ok(await page.locator('tr.hidden-band').count());
    assert.ok(await page.locator('.icicle.searched button:not(.found)').count());
    assert.deepEqual(await violations(page), [], `searched, ${colorScheme}`);
    await page.context().close();
  }
});
