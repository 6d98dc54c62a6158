// The table next to a chart: whole names, the largest first, a visible sum, and a filter.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { WHOLE_PATHS, Workshop, drawn, spot } from './browser.mjs';

const shop = new Workshop();
let mixed, gpt;
before(async () => {
  await shop.open();
  mixed = shop.html('mixed.html', shop.log('mixed.zst', 'mixed', '60000'));
  gpt = shop.html('gpt.html', fileURLToPath(new URL('../golden/h100-gpt2.zst', import.meta.url)));
});
after(() => shop.close());

/** Returns the names and exact bytes of the shown rows, and the sum of all. */
const legend = (page) =>
  page.evaluate(() => {
    const chart = document.querySelector('.chart .legend'),
      exact = (/** @type {Element} */ cell) => Number(cell.getAttribute('title').replace(/[^\d]/g, ''));
    return {
      rows: [.../** @type {NodeListOf<HTMLElement>} */ (chart.querySelectorAll('tbody tr'))]
        .filter((row) => row.offsetHeight > 0)
        .map((row) => ({ name: row.dataset.name, bytes: exact(row.querySelector('td')) })),
      total: exact(chart.querySelector('.total')),
      sum: exact(chart.querySelector('.sum')),
    };
  });

test('a name is cut in one place at most', async () => {
  for (const file of [mixed, gpt]) {
    const page = await shop.show(file);
    for (const width of [1280, 1600]) {
      await page.setViewportSize({ width, height: 900 });
      await drawn(page);
      const cut = await page
        .locator('.legend .name .text')
        .evaluateAll((all) =>
          all
            .filter(
              (text) =>
                [...text.children].filter((part) => part.clientWidth && part.scrollWidth > part.clientWidth).length > 1,
            )
            .map((text) => text.textContent),
        );
      assert.deepEqual(cut, [], `${width}`);
    }
  }
});

/** Returns the names of one table that look the same. */
const alike = (page) =>
  page.evaluate(() => {
    const SIGN = 11; // width of the ellipsis, pixels
    /** Returns the number of visible characters. @param {Element} part */
    const seen = (part) => {
      const { left, right } = part.getBoundingClientRect(),
        cut = part.scrollWidth > part.clientWidth ? SIGN : 0,
        fromLeft = getComputedStyle(part).direction === 'ltr',
        { firstChild: text } = part.firstElementChild,
        all = [...text.textContent].filter((_, i) => {
          const range = document.createRange();
          range.setStart(text, i);
          range.setEnd(text, i + 1);
          const at = range.getBoundingClientRect();
          return at.left >= left - 0.6 + (fromLeft ? 0 : cut) && at.right <= right + 0.6 - (fromLeft ? cut : 0);
        });
      return cut ? [...all, '…'].join('') : all.join('');
    };
    return [...document.querySelectorAll('table')].flatMap((table) => {
      const names = new Map(),
        shown = [...table.querySelectorAll('.name .text')].filter((text) => text.getClientRects().length);
      for (const text of shown) {
        const look = [...text.children].map(seen).join('');
        names.set(look, (names.get(look) ?? new Set()).add(text.textContent));
      }
      return [...names].filter(([, whole]) => whole.size > 1).map(([look]) => look);
    });
  });

test('no two names of a table look the same', async () => {
  for (const name of ['h100-gpt2', 'h100-spike', 'h100-fsdp-rank0', 'h200-graphs-oom']) {
    const log = fileURLToPath(new URL(`../golden/${name}.zst`, import.meta.url)),
      page = await shop.show(shop.html(`${name}.html`, log));
    for (const width of [1024, 1280, 1600]) {
      await page.setViewportSize({ width, height: 900 });
      await drawn(page);
      assert.deepEqual(await alike(page), [], `${name} at ${width}`);
    }
    await page.context().close();
  }
});

test('rows are the largest first at every instant, none is of 0 B, and they sum to the total', async () => {
  const page = await shop.show(mixed);
  const orders = new Set();
  for (let i = 1; i < 12; i++) {
    const { x, y } = await spot(page, '.chart', i / 12);
    await page.mouse.move(x, y);
    await drawn(page);
    const { rows, total } = await legend(page),
      named = rows.filter(({ name }) => name !== 'everything else');
    assert.ok(rows.length > 4 && rows.every(({ bytes }) => bytes > 0), JSON.stringify(rows));
    assert.deepEqual(
      named,
      [...named].sort((a, b) => b.bytes - a.bytes),
    );
    assert.equal(
      rows.reduce((sum, { bytes }) => sum + bytes, 0),
      total,
    );
    orders.add(named.map(({ name }) => name).join());
  }
  assert.ok(orders.size > 3, `${orders.size}`);
});

test('the sum stays in sight, wherever the legend is scrolled to', async () => {
  const page = await shop.show(mixed, { hash: WHOLE_PATHS });
  const seen = () =>
    page.evaluate(() => {
      const box = document.querySelector('.chart .legend'),
        foot = box.querySelector('.total').getBoundingClientRect(),
        { bottom } = box.getBoundingClientRect();
      return { scrolls: box.scrollHeight > box.clientHeight, below: foot.bottom - bottom };
    });
  const before = await seen();
  assert.ok(before.scrolls);
  assert.ok(Math.abs(before.below) < 2, `${before.below}`);
  await page.evaluate(() => {
    document.querySelector('.chart .legend').scrollTop = 1e4;
  });
  assert.ok(Math.abs((await seen()).below) < 2);
});

test('a filter leaves the names with its text and sums them; a link keeps it, Escape takes it away', async () => {
  const page = await shop.show(mixed, { hash: WHOLE_PATHS });
  const all = (await legend(page)).rows,
    reported = shop
      .report('peaks', '--by', 'range', shop.path('mixed.zst'))
      .logs[0].heaps[0].ranges.map(({ path, bytes_at_peak: bytes }) => ({ name: path.join(' > '), bytes }))
      .filter(({ name, bytes }) => bytes && name.includes('layer 2'));
  await page.locator('.chart .filter').first().fill('LAYER 2');
  await drawn(page);
  const { rows, sum, total } = await legend(page),
    own = reported.filter(({ name }) => all.some((row) => row.name === name)),
    wanted = [...own].sort((a, b) => b.bytes - a.bytes),
    held = (/** @type {typeof own} */ of) => of.reduce((most, { bytes }) => most + bytes, 0);
  assert.ok(wanted.length > 1 && wanted.length < all.length);
  assert.deepEqual(rows, wanted);
  assert.equal(sum, held(own));
  assert.equal(
    (await page.locator('.chart .legend .sum').first().textContent()).startsWith('≥'),
    held(reported) > sum,
    'a lower bound where more of that text is in the rest',
  );
  assert.ok(total > sum);
  const again = await shop.show(mixed, { hash: await page.evaluate(() => location.hash) });
  assert.deepEqual((await legend(again)).rows, wanted);
  assert.equal(await again.locator('.chart .filter').first().inputValue(), 'LAYER 2');
  await page.keyboard.press('Escape');
  await drawn(page);
  assert.deepEqual((await legend(page)).rows, all);
});

test('a row with the focus keeps it while the order changes', async () => {
  const page = await shop.show(mixed);
  const name = page.locator('.chart .legend tbody tr .name').nth(2);
  await name.focus();
  const focused = () =>
    page.evaluate(() => /** @type {HTMLElement} */ (document.activeElement.closest('tr'))?.dataset.name);
  const before = await focused();
  for (let i = 1; i < 8; i++) {
    const { x, y } = await spot(page, '.chart', i / 8);
    await page.mouse.move(x, y);
    await drawn(page);
    assert.equal(await focused(), before);
  }
});

test('a wide legend has the shape of each band, beside its chart or below it', async () => {
  const page = await shop.show(mixed);
  for (const width of [1600, 768]) {
    await page.setViewportSize({ width, height: 900 });
    await drawn(page);
    const painted = await page.locator('.chart .legend tbody tr:not([hidden]) .shape').evaluateAll((all) =>
      all.map((canvas) => {
        const of = /** @type {HTMLCanvasElement} */ (canvas),
          { data } = of.getContext('2d').getImageData(0, 0, of.width, of.height);
        return of.offsetWidth > 0 && data.some((part, i) => i % 4 === 3 && part > 0);
      }),
    );
    assert.ok(painted.length > 4 && painted.every(Boolean), `${width}: ${painted.join()}`);
  }
});

test('of a call that is cut its function and its line are in sight', async () => {
  const workers = fileURLToPath(new URL('../golden/workers', import.meta.url)),
    page = await shop.show(shop.html('workers.html', workers), { viewport: { width: 1024, height: 900 } });
  const names = await page.locator('.legend .name .text:has(.caller)').evaluateAll((all) =>
    all.map((text) => {
      const [, head, tell] = text.children;
      return { text: text.textContent, head: head.clientWidth, whole: tell.scrollWidth <= tell.clientWidth };
    }),
  );
  assert.ok(names.length > 1 && names.every(({ head, whole }) => head > 60 && whole), JSON.stringify(names));
});

test('on a phone no name of a table lies under a number, and what was found is told in full', async () => {
  for (const name of ['h100-spike', 'h200-graphs-oom']) {
    const file = shop.html(`${name}-phone.html`, fileURLToPath(new URL(`../golden/${name}.zst`, import.meta.url))),
      page = await shop.show(file, { viewport: { width: 390, height: 800 } });
    const under = await page.locator('main tr:has(th .name)').evaluateAll((rows) =>
      rows
        .filter((row) => {
          const text = row.querySelector('.name .text, .name').getBoundingClientRect();
          return [...row.querySelectorAll('td')]
            .map((cell) => ({ cell: cell.getBoundingClientRect(), said: cell.textContent }))
            .some(({ cell, said }) => said && cell.left < text.right - 1 && cell.top < text.bottom - 3 && cell.width);
        })
        .map((row) => row.textContent),
    );
    assert.deepEqual(under, [], name);
    const cut = await page
      .locator('.findings button')
      .evaluateAll((all) => all.filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.textContent));
    assert.deepEqual(cut, [], name);
    await page.context().close();
  }
});

test('tables of peaks, pins and blocks have room for names, however narrow the page is', async () => {
  for (const name of ['h100-spike', 'h200-graphs-oom']) {
    const file = shop.html(`${name}-room.html`, fileURLToPath(new URL(`../golden/${name}.zst`, import.meta.url))),
      page = await shop.show(file);
    await page.evaluate(() => {
      const { heap, log } = memprof.charts.find((chart) => chart.stack).stack;
      memprof.pin([{ heap: heap.name, log: log.index, at: heap.peakTime }]);
      memprof.select(...memprof.whole);
    });
    for (const width of [390, 768, 1024]) {
      await page.setViewportSize({ width, height: 900 });
      await drawn(page);
      const cut = await page.locator('[data-panel] tbody th .name .text').evaluateAll((all) =>
        all
          .map((name) => ({
            text: name.textContent,
            panel: /** @type {HTMLElement} */ (name.closest('[data-panel]')).dataset.panel,
            room: name.getBoundingClientRect().width,
            whole: [...name.children].reduce(
              (sum, part) => sum + part.firstElementChild.getBoundingClientRect().width,
              0,
            ),
          }))
          .filter(({ panel }) => ['peak', 'pin', 'blocks', 'kept', 'segments'].includes(panel))
          .filter(({ room, whole }) => room < 0.95 * Math.min(140, whole)),
      );
      assert.deepEqual(cut, [], `${name}, ${width}`);
    }
    await page.context().close();
  }
});

test('on a phone segments and the account of the device are seen as a whole', async () => {
  const log = fileURLToPath(new URL('../golden/h200-graphs-oom.zst', import.meta.url)),
    page = await shop.show(shop.html('phone.html', log), { viewport: { width: 390, height: 800 } });
  const hidden = await page
    .locator('.panel.segments, .chart[data-account] .legend')
    .evaluateAll((all) => all.map((of) => [of.scrollWidth - of.clientWidth, of.scrollHeight - of.clientHeight]));
  assert.deepEqual(hidden, [
    [0, 0],
    [0, 0],
  ]);
});

test('on a phone the controls leave the screen to the charts', async () => {
  const page = await shop.show(gpt, { viewport: { width: 390, height: 800 } });
  await page.evaluate(() => scrollTo(0, 600));
  assert.ok((await page.locator('#bar').boundingBox()).y < -100);
  await page.setViewportSize({ width: 1024, height: 800 });
  assert.equal((await page.locator('#bar').boundingBox()).y, 0);
});
