// Compares the page in light and dark with pictures of 64 by 48 cells: places and colours, not fonts.
// UPDATE=1 writes new pictures. Look at the page before you use it.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Workshop, drawn } from './browser.mjs';

const shop = new Workshop();
before(() => shop.open());
after(() => shop.close());

const COLUMNS = 64,
  ROWS = 48;

/** Returns the screenshot's cells, each as the mean red, green and blue of its pixels. */
async function cells(page) {
  const png = (await page.screenshot()).toString('base64');
  const blank = await shop.browser.newPage();
  const made = await blank.evaluate(
    async ([data, columns, rows]) => {
      const image = new Image();
      image.src = `data:image/png;base64,${data}`;
      await image.decode();
      const canvas = document.createElement('canvas');
      canvas.width = image.width;
      canvas.height = image.height;
      const c = canvas.getContext('2d');
      c.drawImage(image, 0, 0);
      const out = [],
        w = Math.floor(image.width / columns),
        h = Math.floor(image.height / rows);
      for (let y = 0; y < rows; y++) {
        for (let x = 0; x < columns; x++) {
          const { data: pixels } = c.getImageData(x * w, y * h, w, h),
            sum = [0, 0, 0];
          for (let i = 0; i < pixels.length; i++) if (i % 4 < 3) sum[i % 4] += pixels[i];
          out.push(...sum.map((all) => Math.round(all / (w * h))));
        }
      }
      return out;
    },
    [png, COLUMNS, ROWS],
  );
  await blank.close();
  return Buffer.from(made);
}

/** Returns the share of cells with a colour that differs by more than a quarter. */
function difference(a, b) {
  let far = 0;
  for (let i = 0; i < a.length; i += 3)
    far += Number(Math.max(...[0, 1, 2].map((k) => Math.abs(a[i + k] - b[i + k]))) > 64);
  return far / (a.length / 3);
}

for (const theme of /** @type {const} */ (['light', 'dark'])) {
  test(`the page looks as it did, ${theme}`, async () => {
    const logs = ['0', '5'].map((n) => shop.log(`${theme}${n}.zst`, 'rank', n));
    const page = await shop.show(shop.html(`${theme}.html`, ...logs), { colorScheme: theme });
    await page.mouse.move(5, 5);
    await drawn(page);
    const file = fileURLToPath(new URL(`picture_${theme}.txt`, import.meta.url)),
      now = await cells(page);
    if (process.env.UPDATE) writeFileSync(file, now.toString('base64').replace(/.{120}/g, '$&\n') + '\n');
    const before = Buffer.from(readFileSync(file, 'utf8'), 'base64');
    assert.equal(now.length, before.length);
    assert.ok(difference(now, before) < 0.03, `${(difference(now, before) * 100).toFixed(1)} % of the picture differ`);
  });
}
