// Every byte of a chart can be explained: the tooltip and a click on a band, the flame graph from both ends, links and
// texts to copy, and the browser's history.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Workshop, bytesOf, drawn, spot } from './browser.mjs';

const shop = new Workshop();
before(() => shop.open());
after(() => shop.close());

const FOLDER = fileURLToPath(new URL('../golden/', import.meta.url)),
  golden = (/** @type {string} */ name) => `${FOLDER}${name}.zst`;

/** Returns the place in a chart of the middle of a band, at a share of the view. @param {import('playwright-core').Page} page
 *  @param {string} heap @param {string} band @param {number} share */
async function bandAt(page, heap, band, share) {
  const chart = `.chart[data-heap="${heap}"]`,
    at = await spot(page, chart, share, 0.5),
    y = await page.evaluate(([name, wanted, x]) => {
      const shown = memprof.charts.find((one) => one.root.dataset.heap === name),
        { top, left } = shown.plot.u.over.getBoundingClientRect(),
        span = shown.drawnAt(shown.plot.time(Number(x) - left));
      let below = 0;
      for (const group of shown.stack.groups) {
        if (group.name === wanted) return top + shown.plot.u.valToPos(below + group.bytes[span] / 2, 'y');
        below += group.bytes[span];
      }
    }, /** @type {const} */ ([heap, band, at.x]));
  return { x: at.x, y };
}

/** Returns what `peaks` has of a name at the instant that a command names. @param {string} command @param {string} name */
function reported(command, name) {
  const words = command.split(' ').slice(1, -1),
    text = execFileSync(process.env.REPORT, [...words, '--format', 'json', FOLDER + command.split(' ').at(-1)], {
      encoding: 'utf8',
    }),
    rows = JSON.parse(text).logs[0].heaps[0].ranges;
  return rows.find((/** @type {any} */ row) => row.path.join(' > ') === name);
}

const BAND = 'capture > batch 131072';

test('the tooltip has the bytes, the share and the blocks of peaks at that instant, and its band is marked in the legend', async () => {
  const page = await shop.show(shop.html('tip.html', golden('h200-graphs-oom'))),
    { x, y } = await bandAt(page, 'gpu0/torch', BAND, 0.95);
  await page.mouse.move(x, y);
  await drawn(page);
  const tip = page.locator('.tooltip'),
    text = await tip.textContent(),
    pointed = page.locator('.chart[data-heap="gpu0/torch"] tr.pointed');
  assert.equal(await tip.locator('.called').textContent(), BAND);
  assert.equal(await pointed.getAttribute('data-name'), BAND);
  const [, size, share, blocks] = text.match(/131072([\d.]+ [KMG]iB) ([\d.]+ %), (\d+) blocks?/);
  assert.equal(await pointed.locator('td').nth(0).textContent(), size);
  assert.equal(await pointed.locator('td').nth(1).textContent(), share);
  await page.mouse.click(x, y);
  await page.mouse.move(5, 5);
  await drawn(page);
  assert.ok(!(await tip.isVisible()));
  const command = await page.locator('[data-panel="explain"] .facts code').textContent(),
    row = reported(command, BAND);
  assert.equal(row.blocks_at_peak, Number(blocks));
  assert.equal(
    bytesOf(await page.locator('[data-panel="explain"] .facts [title$="bytes"]').getAttribute('title')),
    row.bytes_at_peak,
  );
  assert.deepEqual(page.trouble, []);
});

test('a click explains a band: its blocks with age, call, segment and free, and all other blocks of no other band', async () => {
  const page = await shop.show(shop.html('click.html', golden('h200-graphs-oom'))),
    { x, y } = await bandAt(page, 'gpu0/torch', BAND, 0.95);
  await page.mouse.click(x, y);
  const panel = page.locator('[data-panel="explain"]'),
    blocks = await panel.locator('.explained tbody tr').evaluateAll((rows) =>
      rows.map((row) => ({
        bytes: Number(row.querySelector('button')?.title.replace(/ bytes[^]*|,/g, '')),
        cells: [...row.querySelectorAll('td')].map((cell) => cell.textContent),
      })),
    ),
    held = bytesOf(await panel.locator('.facts [title$="bytes"]').getAttribute('title'));
  assert.match(await panel.locator('h2').textContent(), /^capture > batch 131072gpu0\/torch at /);
  assert.equal(
    blocks.reduce((sum, { bytes }) => sum + bytes, 0),
    held,
  );
  for (const { cells } of blocks) {
    assert.match(cells[2], /batch 131072/); // the instance
    assert.match(cells[3], /serve\.py|^$/); // the call, if it was recorded
    assert.match(cells[4], /iB, .* free$/); // the segment
    assert.match(cells[5], /later|never/);
  }
  assert.equal(
    await panel.evaluate((one) => /** @type {HTMLElement} */ (one.parentElement?.previousElementSibling).dataset.heap),
    'gpu0/torch',
  );
  await panel.getByRole('button', { name: 'flame graph' }).click();
  assert.match(await page.locator('[data-panel="flame"] .path').textContent(), /batch 131072$/);
});

test('a band of small blocks says that none of its blocks is kept', async () => {
  const log = shop.log('many.zst', 'mixed', '200000'),
    page = await shop.show(shop.html('many.html', log)),
    [heap, band] = await page.evaluate(() => {
      const { stack } = memprof.charts[0],
        [small] = [...stack.groups].sort((a, b) => a.largest - b.largest);
      return [stack.heap.name, small.name];
    });
  await page.evaluate(
    ([name, wanted]) => memprof.pin([{ heap: name, log: 0, at: memprof.logs[0].heaps[0].peakTime, band: wanted }]),
    [heap, band],
  );
  const panel = page.locator('[data-panel="explain"]');
  assert.match(await panel.textContent(), /the page keeps the largest blocks|block/);
  assert.deepEqual(page.trouble, []);
});

test('zooming to a selection and pinning are steps of the history', async () => {
  const page = await shop.show(shop.html('back.html', golden('h100-spike')));
  const state = () => page.evaluate(() => ({ view: [...memprof.view], pins: memprof.pins.length }));
  const first = await state();
  await page.evaluate(() => {
    const [from, to] = memprof.view;
    memprof.select(from + (to - from) / 4, from + (to - from) / 2);
  });
  await page.keyboard.press('z');
  await drawn(page);
  const zoomed = await state();
  assert.ok(zoomed.view[1] - zoomed.view[0] < (first.view[1] - first.view[0]) / 3);
  await page.keyboard.press('p');
  await drawn(page);
  assert.equal((await state()).pins, 1);
  await page.evaluate(() => history.back());
  await page.waitForFunction(() => memprof.pins.length === 0);
  await page.evaluate(() => history.back());
  await page.waitForFunction((length) => memprof.view[1] - memprof.view[0] === length, first.view[1] - first.view[0]);
  assert.deepEqual((await state()).view, first.view);
  await page.evaluate(() => history.forward());
  await page.waitForFunction((from) => Math.abs(memprof.view[0] - from) < 1, zoomed.view[0]);
});

test('a pin has a name, which a link keeps', async () => {
  const file = shop.html('name.html', golden('h100-spike')),
    page = await shop.show(file);
  await page.keyboard.press('p');
  await page.locator('.pin-name').fill('before the fix');
  await page.keyboard.press('Tab');
  await drawn(page);
  const again = await shop.show(file, { hash: await page.evaluate(() => location.hash) });
  assert.match(await again.locator('[data-panel="pin"] caption').textContent(), /^before the fix: gpu0\/device at /);
  assert.equal(await again.locator('.pin-name').inputValue(), 'before the fix');
});

test('a link and a finding are copied', async () => {
  const page = await shop.show(shop.html('copied.html', golden('h200-graphs-oom')));
  await page.evaluate(() => {
    Object.defineProperty(navigator, 'clipboard', {
      value: { writeText: async (/** @type {string} */ text) => (document.body.dataset.copied = text) },
    });
  });
  const copied = () => page.evaluate(() => document.body.dataset.copied);
  await page.keyboard.press('p');
  await page.getByRole('button', { name: 'link' }).click();
  assert.equal(await copied(), page.url());
  assert.match(await copied(), /#.*pins/);
  await page.getByRole('button', { name: 'copy finding' }).first().click();
  const [finding] = shop.report('summary', golden('h200-graphs-oom')).findings ?? [],
    text = await copied();
  assert.match(text, /^python3.*\n8\.00 GiB {2}gpu0 {2}8\.00 GiB was free in memory pools of CUDA graphs/);
  assert.match(text, /\ntry: .*\nsee: memprof-report graphs h200-graphs-oom\.zst\n$/);
  if (finding) assert.ok(text.includes(finding.what));
});

/** Returns the boxes of the flame graph: names, bytes and depth. @param {import('playwright-core').Page} page */
const boxes = (page) =>
  page.evaluate(() =>
    memprof.flame.rows.flatMap((row, depth) =>
      row.map(({ box }) => ({ depth, name: box.name, frames: box.frames, bytes: box.bytes[0] })),
    ),
  );

test('bottom-up the flame graph begins with the innermost calls, as peaks --tree --bottom-up does', async () => {
  const log = golden('h100-spike'),
    heap = 'gpu0/torch',
    { calls } = JSON.parse(
      execFileSync(
        process.env.REPORT,
        ['peaks', '--tree', '--bottom-up', '--by', 'python', '--heap', heap, '--format', 'json', log],
        { encoding: 'utf8' },
      ),
    ),
    page = await shop.show(shop.html('up.html', log), {
      hash: `#${encodeURIComponent(JSON.stringify({ heaps: heap }))}`,
    });
  await page.getByRole('button', { name: 'bottom-up' }).click();
  const found = (await boxes(page)).filter(({ depth }) => depth === 1),
    roots = calls.filter((/** @type {any} */ call) => call.parent === null && call.bytes > 2 ** 24);
  assert.ok(roots.length > 2);
  for (const { name, bytes } of roots) assert.equal(found.find((box) => box.name === name)?.bytes, bytes, name);
});

test('calls outside the program can be hidden: the sum stays', async () => {
  const page = await shop.show(shop.html('own.html', golden('h100-spike')), {
      hash: `#${encodeURIComponent(JSON.stringify({ heaps: 'gpu0/torch' }))}`,
    }),
    before = await boxes(page);
  assert.ok(before.some(({ frames }) => frames.some((frame) => /torch\/nn/.test(frame))));
  await page.getByRole('button', { name: 'own code' }).click();
  const own = await boxes(page),
    calls = own.flatMap(({ frames }) => frames).filter((frame) => /\.py:\d+\)$/.test(frame));
  assert.equal(own[0].bytes, before[0].bytes);
  assert.ok(calls.some((frame) => /spike\.py/.test(frame)));
  const outside = calls.filter((frame) => /torch\/nn/.test(frame));
  assert.ok(outside.length < calls.length / 2, outside.join());
});

test('a search tells the sum of the boxes that match', async () => {
  const page = await shop.show(shop.html('match.html', golden('h200-graphs-oom')));
  await page.evaluate(() => memprof.find('batch 131072'));
  const bytes = Number(await page.locator('.icicle').getAttribute('data-found')),
    whole = (await boxes(page))[0].bytes,
    text = await page.locator('[data-panel="flame"] .matched').textContent(),
    gib = (bytes / 2 ** 30).toFixed(2);
  assert.ok(bytes > 0);
  assert.equal(text, `matched: ${gib} GiB, ${((100 * bytes) / whole).toFixed(1)} %`);
});

test('the blocks of a pin are drawn by age and size; a click on a point shows the life of its block', async () => {
  const page = await shop.show(shop.html('ages.html', golden('h100-spike')));
  await page.keyboard.press('p');
  await drawn(page);
  const picture = page.locator('.ages');
  await picture.scrollIntoViewIfNeeded();
  const [label, width, rows] = await page.evaluate(() => {
    const canvas = document.querySelector('.ages'),
      listed = document.querySelectorAll('[data-panel="blocks"] tbody tr').length;
    return [canvas.getAttribute('aria-label') ?? '', canvas.clientWidth, listed];
  });
  assert.match(label, /^\d+ blocks by age and size$/);
  assert.ok(Number(label.split(' ')[0]) >= rows && width > 300);
  const box = await picture.boundingBox();
  const tip = page.locator('.tooltip');
  let at = null;
  for (let dy = 4; dy < box.height - 24 && !at; dy += 6)
    for (let dx = 74; dx < box.width && !at; dx += 6) {
      await page.mouse.move(box.x + dx, box.y + dy);
      if (await tip.isVisible()) at = { x: box.x + dx, y: box.y + dy };
    }
  const text = await tip.textContent(),
    size = text.match(/([\d.]+ [KMG]?i?B) .* old, (never freed|freed at )/)[1];
  await page.mouse.click(at.x, at.y);
  assert.ok((await page.locator('[data-blocks] .said').textContent()).includes(`size${size}`));
});
