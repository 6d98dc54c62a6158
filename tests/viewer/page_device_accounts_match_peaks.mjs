// A device's account over time: at each of its instants, the page gives every byte the same use as `peaks --at`.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Workshop, bytesOf, drawn, spot } from './browser.mjs';

const shop = new Workshop();
before(() => shop.open());
after(() => shop.close());

const golden = (name) => fileURLToPath(new URL(`../golden/${name}.zst`, import.meta.url));
const INSTANTS = 4; // tested instants that are spread over the run

/** Returns the content of the chart's table: the bytes of each part, their sum, and whether it calls them exact. */
const told = (page, gpu) =>
  page.evaluate((name) => {
    const chart = document.querySelector(`.chart[data-account="${name}"]`),
      bytes = (cell) => Number(cell.title.replace(/ bytes|,/g, ''));
    const rows = /** @type {HTMLElement[]} */ ([...chart.querySelectorAll('tbody tr')]);
    return {
      parts: Object.fromEntries(
        rows.map((row) => [row.dataset.part, bytes(row.querySelector('td'))]).filter(([, held]) => held),
      ),
      total: bytes(chart.querySelector('tfoot .total')),
      caption: chart.querySelector('caption').textContent,
      exact: chart.querySelector('.badge').classList.contains('exact'),
    };
  }, gpu);

/** Returns the same from the report. */
function expected(log, index, at) {
  const { parts } = shop.report('peaks', '--at', `${at}ns`, log).logs[0].devices.find((d) => d.index === index);
  const held = parts.filter(({ bytes }) => bytes);
  return {
    parts: Object.fromEntries(held.map(({ part, bytes }) => [part, bytes])),
    total: held.reduce((sum, { bytes }) => sum + bytes, 0),
  };
}

test('at the peak, where memory ran out and at other instants the account is that of the peaks report', async () => {
  for (const [log, index] of /** @type {[string, number][]} */ ([
    [shop.gpuLog('segments.zst', 'segments'), 0],
    [golden('h200-graphs-oom'), 0],
    [golden('h200-pytorch'), 0],
    [golden('h200-nccl-rank1'), 1],
    [golden('h100-sleep'), 0],
  ])) {
    const page = await shop.show(shop.html('account.html', log));
    const { time, kind } = await page.evaluate(() => {
      const [account] = memprof.logs[0].accounts;
      return { time: [...account.time], kind: [...account.kind] };
    });
    const some = [...time.keys()].filter((i) => kind[i] || i % Math.ceil(time.length / INSTANTS) === 1);
    assert.ok(kind.includes(1) && some.length > INSTANTS - 1);
    for (const i of some) {
      await page.evaluate((at) => memprof.pin([{ heap: memprof.logs[0].heaps[0].name, log: 0, at }]), time[i]);
      await drawn(page);
      const { parts, total, exact } = await told(page, `gpu${index}`);
      assert.deepEqual({ parts, total }, expected(log, index, time[i]), `${log} at ${time[i]}`);
      assert.ok(exact);
    }
    assert.deepEqual(page.trouble, []);
    await page.context().close();
  }
});

test('the chart opens with the account of the device at its peak, and says what it does not know', async () => {
  const log = golden('h200-graphs-oom'),
    page = await shop.show(shop.html('opens.html', log));
  const chart = page.locator('.chart[data-account="gpu0"]');
  const [device] = shop.report('peaks', log).logs[0].devices;
  const { parts, total, caption } = await told(page, 'gpu0');
  assert.equal(total, device.used_bytes);
  assert.deepEqual({ parts, total }, expected(log, 0, device.time_ns));
  assert.match(caption, /^at the peak of the device/);
  const { instants } = shop.report('timeline', log).devices[0],
    count = instants.filter(({ kind }) => kind === 'spread').length;
  assert.match(
    await chart.locator('h2').textContent(),
    new RegExp(`exact at ${count} instants; values between them are not known`),
  );
  assert.ok(await chart.locator('.plot').getAttribute('aria-label'));
});

/** Returns name and bytes of the account's rows. */
const named = (page, gpu) =>
  page.evaluate(
    (name) =>
      /** @type {HTMLElement[]} */ ([...document.querySelectorAll(`.chart[data-account="${name}"] tbody tr`)]).map(
        (row) => [
          row.querySelector('.name').textContent,
          Number(row.querySelector('td').title.replace(/ bytes|,/g, '')),
        ],
      ),
    gpu,
  );

test('at the peak of a shared device each process with a log has its name and its bytes', async () => {
  for (const [job, words] of /** @type {const} */ ([
    ['three_workers', ({ pid }) => `pid ${pid}, python3`],
    ['checkpoint_on_gpu0', ({ pid }) => `rank 1, pid ${pid}`],
  ])) {
    const folder = fileURLToPath(new URL(`../causes/logs/${job}`, import.meta.url)),
      [{ processes, time_ns: time, used_bytes: used }] = shop.report('peaks', folder).logs[0].devices,
      page = await shop.show(shop.html('shared.html', folder));
    await page.evaluate((at) => {
      const log = memprof.logs.findIndex(({ card }) => card?.shared.some((of) => of.time === at));
      memprof.pin([{ heap: memprof.logs[log].heaps[0].name, log, at }]);
    }, time);
    await drawn(page);
    const rows = await named(page, 'gpu0');
    for (const process of processes) {
      const row = rows.find(([name]) => name === words(process));
      assert.ok(row, `${words(process)} is not among ${rows.map(([name]) => name).join('; ')}`);
      assert.equal(row[1], process.bytes);
    }
    assert.ok(processes.length > 0);
    assert.equal(
      rows.reduce((sum, [, bytes]) => sum + bytes, 0),
      used,
    );
    await page.context().close();
  }
});

test('at other instants of a shared device the processes have one part', async () => {
  const folder = fileURLToPath(new URL('../causes/logs/checkpoint_on_gpu0', import.meta.url)),
    page = await shop.show(shop.html('others.html', folder));
  const at = await page.evaluate(() => {
    const log = memprof.logs.findIndex(({ card }) => card?.shared.length),
      { accounts, card, heaps } = memprof.logs[log],
      [account] = accounts;
    const i = [...account.time.keys()].filter((k) => !card.shared.some(({ time }) => time === account.time[k])).at(-1);
    memprof.pin([{ heap: heaps[0].name, log, at: account.time[i] }]);
    return account.time[i];
  });
  await drawn(page);
  const names = (await named(page, 'gpu0')).map(([name]) => name);
  assert.ok(at > 0 && names.length > 0);
  assert.ok(!names.some((name) => / pid /.test(name)), names.join('; '));
});

test('under the cursor the account of an instant beside it is not called exact, and a click pins that instant', async () => {
  const log = golden('h200-graphs-oom'),
    page = await shop.show(shop.html('cursor.html', log));
  await page.locator('.chart[data-account="gpu0"]').scrollIntoViewIfNeeded();
  const gap = await page.evaluate(() => {
    const [{ time, since }] = memprof.logs[0].accounts;
    const i = [...time.keys()].find((k) => since[k + 1] - time[k] > 1e5);
    memprof.setView(time[i] - 1e5, since[i + 1] + 1e5);
    return {
      at: time[i],
      share: ((since[i + 1] + time[i]) / 2 - memprof.view[0]) / (memprof.view[1] - memprof.view[0]),
    };
  });
  await drawn(page);
  const { x, y } = await spot(page, '.chart[data-account="gpu0"]', gap.share);
  await page.mouse.move(x, y);
  await drawn(page);
  const under = await told(page, 'gpu0');
  assert.ok(!under.exact);
  await page.mouse.click(x, y);
  await page.mouse.move(5, 5);
  await drawn(page);
  assert.deepEqual(await page.evaluate(() => memprof.pins.map((pin) => pin.at)), [gap.at]);
  const { parts, total, exact } = await told(page, 'gpu0');
  assert.ok(exact);
  assert.deepEqual({ parts, total }, expected(log, 0, gap.at));
});

test('at the peak of the heap that P pins, microseconds before that of the device, it is the account of the device at its peak', async () => {
  const log = golden('h200-graphs-oom'),
    page = await shop.show(shop.html('near.html', log));
  await page.keyboard.press('p');
  await drawn(page);
  const { parts, total, caption, exact } = await told(page, 'gpu0');
  assert.match(caption, /^no values pinned; nearest: /);
  assert.ok(!exact);
  assert.deepEqual({ parts, total }, expected(log, 0, shop.report('peaks', log).logs[0].devices[0].time_ns));
});

test('a second click, and Enter at the cursor, pin as they do in the other charts', async () => {
  const page = await shop.show(shop.html('pins.html', golden('h200-graphs-oom')));
  const chart = '.chart[data-account="gpu0"]';
  await page.locator(chart).scrollIntoViewIfNeeded();
  for (const share of [0.3, 0.8]) {
    const { x, y } = await spot(page, chart, share);
    await page.mouse.click(x, y);
  }
  await page.mouse.move(5, 5);
  await drawn(page);
  const pins = () => page.evaluate(() => memprof.pins);
  assert.equal((await pins()).length, 2);
  const { parts, total } = await told(page, 'gpu0');
  assert.deepEqual({ parts, total }, expected(golden('h200-graphs-oom'), 0, (await pins())[0].at));
  assert.match(await page.locator('[data-panel="pin"] h2').textContent(), /From the first pin to the second/);
  await page.keyboard.press('Escape');
  await page.locator(`${chart} .plot`).focus();
  for (let i = 0; i < 5; i++) await page.keyboard.press('ArrowRight');
  await page.keyboard.press('Enter');
  await drawn(page);
  const [pin, ...others] = await pins();
  assert.deepEqual(others, []);
  const times = await page.evaluate(() => [...memprof.logs[0].accounts[0].time]),
    cursor = await page.evaluate(() => memprof.cursor);
  assert.ok(times.includes(pin.at) || Math.round(cursor) === pin.at, `${pin.at}`);
  assert.equal(pin.heap.split('/')[0], 'gpu0');
});

test('the same part has one colour in both runs, and all colours of a chart differ', async () => {
  const page = await shop.show(shop.html('two.html', golden('h200-graphs-oom'), golden('h200-graphs-eager')));
  const colours = await page.evaluate(() =>
    [...document.querySelectorAll('.chart[data-account]')].map((chart) =>
      Object.fromEntries(
        /** @type {HTMLElement[]} */ ([...chart.querySelectorAll('tbody tr')]).map((row) => [
          row.dataset.part,
          row.querySelector('canvas').toDataURL(),
        ]),
      ),
    ),
  );
  assert.equal(colours.length, 2);
  const [a, b] = colours;
  for (const [part, colour] of Object.entries(b)) if (part in a) assert.equal(colour, a[part], part);
  for (const chart of colours) assert.equal(new Set(Object.values(chart)).size, Object.keys(chart).length);
});

test('communicators of NCCL are those of the peaks report, and come before the charts', async () => {
  const log = fileURLToPath(new URL('../golden/h200-nccl-rank1.zst', import.meta.url)),
    page = await shop.show(shop.html('nccl.html', log)),
    [device] = shop.report('peaks', log).logs[0].devices,
    sum = device.communicators.reduce((all, { bytes }) => all + bytes, 0);
  assert.ok(device.communicators.length > 1 && sum > 0);
  const rows = await page.locator('[data-panel="communicators"] .comms tbody tr').evaluateAll((all) =>
    all.map((row) => [
      row.querySelector('.name').textContent,
      Number(
        row
          .querySelector('td [title]')
          .getAttribute('title')
          .replace(/ bytes|,/g, ''),
      ),
      ...[...row.querySelectorAll('td')].slice(1).map((cell) => cell.textContent),
    ]),
  );
  assert.deepEqual(
    rows,
    device.communicators.map(({ id, bytes, ranks, rank, first_use: use }) => [id, bytes, `${ranks}`, `${rank}`, use]),
  );
  assert.match(await page.locator('.comms caption').textContent(), /2 communicators, 968\.00 MiB at the peak/);
  const tops = await page
    .locator('[data-panel="communicators"], .chart')
    .evaluateAll((all) => all.map((of) => of.getAttribute('data-panel')));
  assert.equal(tops[0], 'communicators');
});
