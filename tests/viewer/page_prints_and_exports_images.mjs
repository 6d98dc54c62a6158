// Output of the browser: print, PDF, and the charts as a PNG, which must contain the charts' own pixels.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Workshop, drawn } from './browser.mjs';

const shop = new Workshop();
let file;
before(async () => {
  await shop.open();
  file = shop.html('two.html', shop.log('r0.zst', 'rank', '0'), shop.log('r5.zst', 'rank', '5'));
});
after(() => shop.close());

test('print is light, has no controls, and fits on paper; the screen is as it was afterwards', async () => {
  const PAPER = 718; // A4 within its margins
  const page = await shop.show(file, { colorScheme: 'dark' });
  const shape = () =>
    page.evaluate(() => ({
      theme: document.documentElement.dataset.theme,
      bar: getComputedStyle(document.getElementById('bar')).display,
      width: document.documentElement.scrollWidth,
      plots: [...document.querySelectorAll('.chart .u-wrap')].map((plot) =>
        Math.round(plot.getBoundingClientRect().right),
      ),
    }));
  const screen = await shape();
  assert.equal(screen.theme, 'dark');
  await page.setViewportSize({ width: PAPER, height: 1000 });
  await page.emulateMedia({ media: 'print' });
  await drawn(page);
  const paper = await shape();
  assert.equal(paper.theme, 'light');
  assert.equal(paper.bar, 'none');
  assert.ok(paper.width <= PAPER, `${paper.width}`);
  assert.ok(paper.plots.length >= 2 && paper.plots.every((right) => right <= PAPER), `${paper.plots}`);
  await page.emulateMedia({ media: 'screen' });
  await page.setViewportSize({ width: 1280, height: 900 });
  await drawn(page);
  assert.deepEqual(await shape(), screen);
});

test('the page prints to PDF', async () => {
  const page = await shop.show(file);
  const pdf = (await page.pdf({ format: 'A4' })).toString('latin1');
  assert.match(pdf, /^%PDF-/);
  assert.ok((pdf.match(/\/Type\s*\/Page\b/g) ?? []).length >= 1);
  assert.deepEqual(page.trouble, []);
});

/** Returns the size of the downloaded picture, and for each chart how many of its pixels differ from its own canvas. */
async function compare(page, png) {
  return page.evaluate(async (data) => {
    const bytes = Uint8Array.from(atob(data), (c) => c.charCodeAt(0));
    const image = await createImageBitmap(new Blob([bytes], { type: 'image/png' }));
    const pixels = (/** @type {CanvasImageSource} */ source, x, y, w, h) => {
      const c = new OffscreenCanvas(w, h).getContext('2d');
      c.fillStyle = getComputedStyle(document.documentElement).getPropertyValue('--ground');
      c.fillRect(0, 0, w, h);
      c.drawImage(source, -x, -y);
      return new Uint32Array(c.getImageData(0, 0, w, h).data.buffer);
    };
    const charts = [...document.querySelectorAll('.chart')].map((chart) => chart.querySelector('canvas'));
    const MARGIN = 26;
    let y = 2 * MARGIN;
    return {
      width: image.width,
      height: image.height,
      charts: charts.map((canvas) => {
        const own = pixels(canvas, 0, 0, canvas.width, canvas.height),
          kept = pixels(image, MARGIN, Math.round(y + MARGIN / 3), canvas.width, canvas.height);
        y += canvas.height + MARGIN;
        return {
          width: canvas.width,
          height: canvas.height,
          colours: new Set(own).size,
          differing: own.filter((pixel, i) => pixel !== kept[i]).length / own.length,
        };
      }),
      legend: new Set(pixels(image, image.width - 346, 52, 320, 60)).size,
    };
  }, png.toString('base64'));
}

for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
  test(`the PNG holds every chart and its legend, ${colorScheme}`, async () => {
    const page = await shop.show(file, { colorScheme });
    const waiting = page.waitForEvent('download');
    await page.locator('button', { hasText: 'PNG' }).click();
    const chunks = [];
    for await (const chunk of await (await waiting).createReadStream()) chunks.push(chunk);
    const png = Buffer.concat(chunks);
    assert.deepEqual([...png.subarray(0, 8)], [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
    const found = await compare(page, png);
    assert.equal(found.charts.length, 2);
    assert.equal(found.width, found.charts[0].width + 320 + 3 * 26);
    assert.equal(
      found.height,
      found.charts.reduce((sum, chart) => sum + chart.height + 26, 52),
    );
    for (const chart of found.charts) {
      assert.ok(chart.colours > 10, `${chart.colours} colours`);
      assert.ok(chart.differing < 0.002, `${chart.differing} of the pixels differ`);
    }
    assert.ok(found.legend > 10, `${found.legend} colours in the legend`);
  });
}
