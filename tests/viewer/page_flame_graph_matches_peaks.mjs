// The flame graph: its sums equal those of the legend and the reports, a click filters the charts, and keys move in it.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { WHOLE_PATHS, Workshop, bytesOf, drawn, spot, tableRows } from './browser.mjs';

const shop = new Workshop();
const golden = (name) => fileURLToPath(new URL(`../golden/${name}.zst`, import.meta.url));
const OOM = golden('h200-graphs-oom'),
  EAGER = golden('h200-graphs-eager');
let whole, oom, two;
before(async () => {
  await shop.open();
  whole = shop.html('whole.html', shop.log('whole.zst', 'whole'));
  oom = shop.html('oom.html', OOM);
  two = shop.html('two.html', EAGER, OOM);
});
after(() => shop.close());

/** Returns every box of the tree, whether it is drawn or not. */
const boxes = (page) =>
  page.evaluate(() => {
    const all = [];
    const add = ({ children, ...box }) => {
      all.push({ ...box, inner: children.length });
      children.forEach(add);
    };
    add(memprof.flame.shown.root);
    return all;
  });
const panel = '[data-panel="flame"]';
const sum = (numbers) => numbers.reduce((all, one) => all + one, 0);

/** Returns the rows of `peaks --by range` for a range and the ranges in it. */
const under = (rows, range) =>
  sum(
    rows
      .filter(({ path }) => {
        const name = path.length ? path.join(' > ') : 'outside any range';
        return name === range || name.startsWith(`${range} > `);
      })
      .map((row) => row.bytes_at_peak),
  );

test('each range of it holds at the peak what the peaks report has in and below that range', async () => {
  for (const [file, log] of [
    [whole, shop.path('whole.zst')],
    [oom, OOM],
    [shop.html('gpt.html', golden('h100-gpt2')), golden('h100-gpt2')],
  ]) {
    const page = await shop.show(file, { hash: WHOLE_PATHS }),
      [heap] = shop.report('peaks', '--by', 'range', log).logs[0].heaps,
      all = await boxes(page),
      ranges = all.filter(({ range }) => range);
    assert.equal(all[0].bytes[0], heap.peak_bytes);
    assert.ok(ranges.length > 1);
    for (const { range, bytes, least } of ranges)
      assert.deepEqual([range, bytes, least], [range, [under(heap.ranges, range)], [false]]);
  }
});

/** Returns the bytes of its stacks, summed over all ranges, without stacks that are a lower bound in one of them. */
async function stacksOf(page) {
  const leaves = await page.evaluate(() => {
    const found = [];
    const add = ({ range, frames, bytes, least, children }, path) => {
      const here = range === null ? [...path, ...frames] : path,
        own = bytes[0] - children.reduce((all, child) => all + child.bytes[0], 0);
      if (range === null && own) found.push([here.join(' > '), least[0] ? NaN : own]);
      children.forEach((child) => add(child, here));
    };
    add(memprof.flame.shown.root, []);
    return found;
  });
  const held = new Map();
  for (const [stack, own] of leaves) held.set(stack, (held.get(stack) ?? 0) + own);
  return [...held].filter(([stack, bytes]) => stack !== 'several, small' && !Number.isNaN(bytes));
}

test('its stacks hold what the peaks report has by them', async () => {
  let compared = 0;
  for (const name of ['h200-walk', 'h200-graphs-oom', 'h100-resnet']) {
    const log = golden(name),
      page = await shop.show(shop.html(`${name}.html`, log), { hash: WHOLE_PATHS }),
      expected = new Map();
    for (const by of ['stack', 'python'])
      for (const { path, bytes_at_peak } of shop.report('peaks', '--by', by, log).logs[0].heaps[0].ranges)
        expected.set(path.join(' > '), bytes_at_peak);
    for (const [stack, bytes] of await stacksOf(page)) {
      assert.equal(bytes, expected.get(stack), stack);
      compared++;
    }
  }
  assert.ok(compared > 8, `${compared}`);
});

test('at a pin it has the bytes of the legend, name by name, folded as there', async () => {
  const page = await shop.show(shop.html('gpt2.html', golden('h100-gpt2')), {
    hash: '#' + encodeURIComponent(JSON.stringify({ by: 'range' })),
  });
  for (const share of [0.3, 0.6, 0.9]) {
    await page.keyboard.press('Escape');
    const { x, y } = await spot(page, '.chart', share);
    await page.mouse.click(x, y);
    await page.mouse.move(5, 5);
    await drawn(page);
    const rows = (await tableRows(page, '[data-panel="pin"]')).filter(
        ({ name }) => !/^(everything|several)/.test(name),
      ),
      all = await boxes(page);
    assert.equal(all[0].bytes[0], bytesOf(await page.locator('[data-panel="pin"] tfoot .total').getAttribute('title')));
    assert.ok(rows.length > 1);
    for (const { name, bytes } of rows) {
      const box = all.find(({ range }) => range === name),
        inside = sum(
          all
            .filter(
              ({ range }) =>
                range?.startsWith(`${name} > `) && range.split(' > ').length === name.split(' > ').length + 1,
            )
            .map((one) => one.bytes[0]),
        );
      assert.equal(box.bytes[0] - inside, bytes[0], name);
    }
  }
});

test('of two pins it shows what changed, and of two runs what differs at their peaks', async () => {
  const page = await shop.show(whole);
  for (const share of [25 / 51, 45 / 51]) {
    const { x, y } = await spot(page, '.chart', share);
    await page.mouse.click(x, y);
  }
  await drawn(page);
  const changes = (await boxes(page)).map(({ range, bytes }) => [range, bytes[1] - bytes[0]]);
  const [before, after] = await page
    .locator('[data-panel="pin"] tfoot .total')
    .evaluateAll((all) => all.map((cell) => Number(cell.title.replace(/\D/g, ''))));
  assert.deepEqual(changes[0], ['', after - before]);
  assert.ok(changes.some(([range, bytes]) => range === 'step 1 > forward' && bytes === -6 << 20));
  const both = await shop.show(two);
  await both.locator(`${panel} .tools button`, { hasText: 'difference' }).click();
  const [a, b] = [EAGER, OOM].map((log) => shop.report('peaks', '--by', 'range', log).logs[0].heaps[0]);
  const [root, ...others] = await boxes(both);
  assert.deepEqual(root.bytes, [a.peak_bytes, b.peak_bytes]);
  for (const { range, bytes } of others.filter((box) => box.range))
    assert.deepEqual(bytes, [under(a.ranges, range), under(b.ranges, range)], range);
  const hash = await both.evaluate(() => location.hash);
  const again = await shop.show(two, { hash });
  assert.equal(await again.locator(`${panel} [aria-pressed="true"]`).textContent(), 'difference');
});

test('a click fills it with a box, and the charts with its range; the way back is above it', async () => {
  const page = await shop.show(oom);
  const [, first] = (await boxes(page)).filter(({ inner, depth }) => depth === 1 && inner);
  const inside = () => page.evaluate(() => [...new Set(memprof.charts[0].edges().map(({ group }) => group.name))]);
  const everything = await inside();
  await page.locator(`${panel} .icicle button[data-key=${JSON.stringify(first.key).replace('\\n', '\\a ')}]`).click();
  await drawn(page);
  assert.equal(
    await page.locator(`${panel} .icicle button`).first().getAttribute('data-bytes'),
    String(first.bytes[0]),
  );
  const shown = await inside();
  assert.ok(shown.length && shown.length < everything.length);
  assert.ok(
    shown.every((name) => name === first.range || name.startsWith(`${first.range} > `)),
    shown.join(),
  );
  await page.locator(`${panel} .path button`).first().click();
  await drawn(page);
  assert.deepEqual(await inside(), everything);
});

test('charts that show a range alone show all of it: what it holds at the peak, small ranges, too', async () => {
  let small = 0;
  const letters = [...'abcdefghijklmnopqrstuvwxyz'],
    blocks = ['step', 'other'].flatMap((outer) => letters.map((letter, i) => `${90 - i} ${outer} > ${letter}`));
  const logs = ['h100-gpt2', 'h100-lora', 'h100-spike', 'h200-nccl-rank1'].map((name) =>
    fileURLToPath(new URL(`../golden/${name}.zst`, import.meta.url)),
  );
  for (const log of [...logs, shop.log('letters.zst', 'ranges', ...blocks)]) {
    const page = await shop.show(shop.html('inside.html', log));
    const inner = (await boxes(page)).filter(({ range, depth }) => range && depth === 1),
      legend = `.chart[data-heap="${await page.evaluate(() => memprof.shownHeaps()[0])}"] .legend`;
    for (const { key, range, bytes } of inner.slice(0, 6)) {
      const narrowed = await page.evaluate((at) => {
        const box = memprof.flame.rows.flat().find((laid) => laid.box.key === at)?.box;
        if (box) memprof.flame.zoom(box);
        return Boolean(box) && memprof.inside !== '';
      }, key);
      await drawn(page);
      if (narrowed) {
        const sum = page.locator(`${legend} .sum`).first(),
          text = await sum.textContent(),
          held = Number((await sum.getAttribute('title')).replace(/\D/g, ''));
        if (text.startsWith('≥')) assert.ok(held <= bytes[0], `${range}: ${text}`);
        else assert.equal(held, bytes[0], range);
        assert.match(await page.locator(`${legend} tfoot`).first().textContent(), /^\d+ in /);
        const drawnBytes = await page.evaluate(() => {
          const { stack, peak } = memprof.charts.find((chart) => chart.stack?.heap.name === memprof.shownHeaps()[0]);
          return stack.groups.filter((g) => memprof.visible(g.name)).reduce((all, g) => all + g.bytes[peak], 0);
        });
        assert.equal(drawnBytes, held);
        if (!text.startsWith('≥'))
          small += await page.evaluate(() =>
            memprof.charts
              .find((chart) => chart.stack?.heap.name === memprof.shownHeaps()[0])
              .stack.groups.filter((g) => g.rest && memprof.visible(g.name))
              .reduce((all, g) => all + g.largest, 0),
          );
      }
      await page.keyboard.press('Escape');
      await drawn(page);
    }
    assert.equal(await page.evaluate(() => memprof.inside), '');
    await page.context().close();
  }
  assert.ok(small > 0, 'some range had names that have no band of their own');
});

test('a box has the colour of the band of its range', async () => {
  const page = await shop.show(oom);
  const pairs = await page.evaluate(() =>
    [.../** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll('.icicle button'))].flatMap((box, i) => {
      const { box: of } = memprof.flame.rows.flat()[i],
        row = [...document.querySelectorAll('.chart .legend tr[data-name]')].find(
          (one) => /** @type {HTMLElement} */ (one).dataset.name === of.within,
        ),
        swatch = row?.querySelector('canvas');
      if (!swatch) return [];
      const colours = new Set(),
        { data } = swatch.getContext('2d').getImageData(0, 0, swatch.width, swatch.height);
      for (let k = 0; k < data.length; k += 4) colours.add(`rgb(${data[k]}, ${data[k + 1]}, ${data[k + 2]})`);
      return [
        {
          line: getComputedStyle(box).borderBottomColor,
          colours: [...colours],
          tone: box.style.getPropertyValue('--tone'),
        },
      ];
    }),
  );
  assert.ok(pairs.length > 3);
  for (const { line, colours, tone } of pairs) assert.ok(colours.includes(line) && tone, `${line} ${colours}`);
});

test('a search lights up names and sums them', async () => {
  const page = await shop.show(oom);
  const all = await boxes(page),
    [box] = all.filter(({ range }) => range && range.includes(' > '));
  await page.keyboard.press('/');
  await page.keyboard.type(box.name.toUpperCase());
  await drawn(page);
  const lit = await page.locator(`${panel} .found`).allTextContents();
  assert.ok(lit.length && lit.every((text) => text.toLowerCase().includes(box.name.toLowerCase())), lit.join(' | '));
  assert.ok(Number(await page.locator(`${panel} .icicle`).getAttribute('data-found')) >= box.bytes[0]);
});

test('the keyboard walks from box to box', async () => {
  const page = await shop.show(oom);
  await page.locator(`${panel} .icicle button[tabindex="0"]`).focus();
  const focused = () =>
    page.evaluate(() => /** @type {HTMLElement} */ (document.activeElement).dataset.key.split('\n').length);
  const view = await page.evaluate(() => [...memprof.view]);
  assert.equal(await focused(), 1);
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  assert.equal(await focused(), 3);
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowUp');
  assert.equal(await focused(), 2);
  const key = await page.evaluate(() => /** @type {HTMLElement} */ (document.activeElement).dataset.key);
  await page.keyboard.press('Enter');
  await drawn(page);
  assert.equal(await page.evaluate(() => memprof.state.flameAt), key);
  assert.equal(await page.evaluate(() => /** @type {HTMLElement} */ (document.activeElement).dataset.key), key);
  assert.deepEqual(await page.evaluate(() => [...memprof.view]), view);
});

test('stacks that only a sample of the blocks has are the estimates of peaks, ranges are exact', async () => {
  const log = golden('workers/python3.vm.3315'),
    page = await shop.show(shop.html('workers.html', log));
  const all = await boxes(page),
    stacks = all.filter(({ range }) => range === null);
  assert.ok(stacks.length > 2 && stacks.some(({ about }) => about) && stacks.every(({ least }) => !least[0]));
  assert.ok(all.filter(({ range }) => range !== null).every(({ about, least }) => !about && !least[0]));
  const [{ ranges }] = shop.report('peaks', '--by', 'python', log).logs[0].heaps,
    [largest] = ranges,
    sums = await page.evaluate((frames) => {
      const found = [];
      const add = (box) => {
        if (box.range === null && box.frames.at(-1) === frames.at(-1)) found.push(box.bytes[0]);
        box.children.forEach(add);
      };
      add(memprof.flame.shown.root);
      return found;
    }, largest.path);
  assert.ok(largest.estimated);
  assert.equal(sums.length, 1);
  assert.ok(Math.abs(sums[0] - largest.bytes_at_peak) <= 1, `${sums[0]}, expected ${largest.bytes_at_peak}`);
  const title = await page.locator(`${panel} .icicle button[title*="~"]`).last().getAttribute('title'),
    [, error] = title.match(/ ± ([\d,]+) bytes/);
  assert.ok(Number(error.replaceAll(',', '')) > 0);
});

test('at the peak every call site is in it, also those that are too small for a band', async () => {
  const sites = 600,
    define = `"".join(f"def site{i}():\\n    return bytearray(1 << 14)\\n" for i in range(${sites}))`,
    code = `ns = {}\nexec(${define}, ns)\nlive = [ns[f"site{i}"]() for i in range(${sites})]`;
  process.env.MEMPROF_STACKS = 'all';
  const log = shop.record('sites.zst', '/usr/bin/python3', '-S', '-c', code),
    page = await shop.show(shop.html('sites.html', log)),
    all = await boxes(page);
  delete process.env.MEMPROF_STACKS;
  assert.ok(await page.evaluate(() => memprof.logs[0].heaps[0].bands.length < 300));
  assert.equal(all.filter(({ name, bytes }) => name.startsWith('site') && bytes[0] > 1 << 14).length, sites);
  const rest = all.filter(({ name }) => /^(everything else|several)/.test(name));
  assert.ok(sum(rest.map(({ bytes }) => bytes[0])) < all[0].bytes[0] / 1000);
  const rows = page.locator('[data-panel="peak"] tbody tr'),
    names = await rows.evaluateAll((of) => of.map((row) => /** @type {HTMLElement} */ (row).dataset.name));
  assert.ok(!names.includes('everything else'), names.join());
});
