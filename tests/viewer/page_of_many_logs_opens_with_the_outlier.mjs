// The page of many logs opens with the log that differs most, next to the median log, and explains the difference.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Workshop, chosen } from './browser.mjs';

const shop = new Workshop();
const MANY = 66;
let logs;
before(async () => {
  await shop.open();
  logs = Array.from({ length: MANY }, (_, i) => shop.log(`r${i}.zst`, 'rank', `${i}`));
});
after(() => shop.close());

const golden = (name) => fileURLToPath(new URL(`../golden/${name}.zst`, import.meta.url));
const PANEL = '[data-panel="ranks"]';

/** Formats a signed size as the page does. */
function size(bytes) {
  const sign = bytes < 0 ? '−' : '+';
  let value = Math.abs(bytes),
    unit = -1;
  if (value < 1024) return `${sign}${value} B`;
  while (value >= 1024 && unit < 3) {
    value /= 1024;
    unit++;
  }
  return `${sign}${value.toFixed(2)} ${['KiB', 'MiB', 'GiB', 'TiB'][unit]}`;
}

test('a page of ranks opens with the median one as A and the one that differs most as B', async () => {
  const page = await shop.show(shop.html('ranks.html', ...logs.slice(0, 8)));
  const { a, b } = await page.evaluate(() => memprof.state);
  assert.equal(b, 5);
  const peaks = logs.slice(0, 8).map((log) => shop.report('peaks', log).logs[0].heaps[0].peak_bytes);
  assert.equal(peaks[a], [...peaks].sort((x, y) => x - y)[4]);
  assert.match(await page.locator('.cards').textContent(), /A.*B.*rank 5/);
  assert.equal(await page.evaluate(() => location.hash), '');
  assert.match(await page.locator('.ranks button').first().textContent(), /rank 5.*differs most/);
  const top = (selector) =>
    page
      .locator(selector)
      .first()
      .evaluate((element) => element.getBoundingClientRect().top);
  assert.ok((await top(PANEL)) < (await top('.minimap')));
});

test('what makes it differ is what diff says of the two', async () => {
  const page = await shop.show(shop.html('why.html', ...logs.slice(0, 8)));
  const { a, b } = await page.evaluate(() => memprof.state);
  const account = shop
    .report('diff', logs[a], logs[b])
    .accounts.find(({ of, name }) => of === 'heap' && name === 'host/heap');
  const told = await page.locator('.differs').textContent();
  assert.ok(
    told.startsWith(`rank 5 differs most from rank ${a}, the median: host/heap ${size(account.change_bytes)}:`),
    told,
  );
  const [most] = [...account.rows].sort((x, y) => Math.abs(y.change_bytes) - Math.abs(x.change_bytes));
  assert.ok(told.includes(`${most.path.join(' > ') || 'outside any range'} ${size(most.change_bytes)}`), told);
  assert.equal(await page.locator('[data-panel="differences"]').count(), 1);
  await page.getByLabel('run A').selectOption('7');
  await chosen(page, 'a', 7);
  const panel = page.locator('[data-panel="differences"]');
  assert.match(await panel.locator('h2').textContent(), /of the peaks, by owner/);
  const changes = await panel
    .locator('tbody td:last-child')
    .evaluateAll((all) => all.map((cell) => Number(cell.getAttribute('title').replace(/≈ | bytes|,/g, ''))));
  const [from, to] = [logs[7], logs[b]].map((log) => shop.report('peaks', log).logs[0].heaps[0].peak_bytes);
  assert.equal(
    changes.reduce((all, bytes) => all + bytes, 0),
    to - from,
  );
});

test('of very many ranks a picture of ranks and ranges says which differs in what, and a click compares it', async () => {
  const page = await shop.show(shop.html('many.html', ...logs));
  assert.equal((await page.evaluate(() => memprof.state)).b, 5);
  assert.equal(await page.locator('.ranks button').count(), 10);
  await page.locator('[data-panel="ranks"] summary').click();
  await page.waitForFunction((all) => document.querySelectorAll('.ranks button').length === all, MANY);
  await page.evaluate(() => scrollTo(0, 0));
  const box = await page.locator('.heat').boundingBox();
  const columns = await page.evaluate(
    () => new Set(memprof.stackOf(memprof.logs[5], 'host/heap').groups.map((g) => g.name)).size,
  );
  const said = new Map();
  for (let i = 0; i < columns + 2; i++) {
    await page.mouse.move(box.x + ((i + 0.5) / (columns + 2)) * box.width, box.y + 2);
    const [, rank, name, bytes] = (await page.locator('[data-said="heat"]').textContent()).match(
      /^(rank \d+), (.*): (.*), [+−\d].* from the median/,
    );
    assert.equal(rank, 'rank 5');
    said.set(name, bytes);
  }
  const [heap] = shop.report('peaks', logs[5]).logs[0].heaps;
  const [most] = heap.ranges;
  assert.equal(said.get(most.path.join(' > ') || 'outside any range'), size(most.bytes_at_peak).slice(1));
  const eleventh = await page.evaluate(
    () => /** @type {HTMLElement} */ (document.querySelectorAll('.ranks button')[10]).dataset.log,
  );
  await page.mouse.click(box.x + box.width / 2, box.y + (10.5 * box.height) / MANY);
  await chosen(page, 'b', Number(eleventh));
  assert.deepEqual(page.trouble, []);
});

test('rows and columns of that picture have their names beside them, and arrow keys and Enter do what the mouse does', async () => {
  const page = await shop.show(shop.html('names.html', ...logs));
  const shown = await page.evaluate(() => {
    const heat = document.querySelector('.heat').getBoundingClientRect(),
      boxes = (selector) =>
        [...document.querySelectorAll(selector)].map((name) => ({
          name: name.title,
          text: name.textContent,
          font: parseFloat(getComputedStyle(name).fontSize),
          ...name.getBoundingClientRect().toJSON(),
        }));
    return { heat: heat.toJSON(), rows: boxes('.heats .rows > span'), columns: boxes('.heats .columns > span') };
  });
  const { heat, rows, columns } = shown;
  assert.equal(rows.length, MANY);
  assert.ok(columns.length > 1);
  const near = (a, b) => Math.abs(a - b) < 1.5;
  rows.forEach(({ name, text, font, top, bottom, right }, i) => {
    assert.equal(text, name);
    assert.ok(font >= 10 && bottom - top >= font, `${bottom - top} for ${font}`);
    assert.ok(near((top + bottom) / 2, heat.top + ((i + 0.5) * heat.height) / MANY) && right <= heat.left, name);
  });
  columns.forEach(({ name, text, font, left, right, bottom }, i) => {
    assert.equal(text, name);
    assert.ok(font >= 10 && right - left >= font, `${right - left} for ${font}`);
    assert.ok(
      near((left + right) / 2, heat.left + ((i + 0.5) * heat.width) / columns.length) && bottom <= heat.top,
      name,
    );
  });
  const grid = page.locator('.heats .grid'),
    said = page.locator('[data-said="heat"]');
  await grid.focus();
  for (const key of ['ArrowRight', 'ArrowDown', 'ArrowDown', 'ArrowUp', 'ArrowLeft', 'ArrowRight'])
    await grid.press(key);
  const told = await said.textContent();
  assert.ok(told.startsWith(`${rows[1].name}, ${columns[1].name}: `), told);
  assert.ok((await page.locator('.heats .cells').getAttribute('title')).startsWith(told));
  assert.deepEqual(await page.locator('.heats .lit').evaluateAll((all) => all.map((name) => name.title)), [
    columns[1].name,
    rows[1].name,
  ]);
  for (let i = 0; i < MANY + 3; i++) await grid.press('ArrowDown');
  assert.ok((await said.textContent()).startsWith(`${rows[MANY - 1].name}, `));
  const { y, height } = await page.locator('.heats .frame').boundingBox(),
    box = await grid.boundingBox();
  assert.ok(y >= box.y && y + height <= box.y + box.height + 1, 'what was chosen is in view');
  await grid.press('Enter');
  await chosen(page, 'b', Number(rows[MANY - 1].name.replace('rank ', '')));
  assert.ok(await grid.evaluate((element) => element === document.activeElement));
  assert.ok((await said.textContent()).startsWith(`${rows[MANY - 1].name}, ${columns[1].name}: `));
  assert.deepEqual(page.trouble, []);
});

test('the picture turns to time: the most that each rank held in each slice, the peak as the report has it', async () => {
  const few = logs.slice(0, 20),
    page = await shop.show(shop.html('over-time.html', ...few)),
    turn = (name) => page.locator('.heats .turns').getByText(name, { exact: true });
  assert.equal(await turn('by range').getAttribute('aria-pressed'), 'true');
  await turn('over time').focus();
  await page.keyboard.press('Enter');
  await page.locator('[data-heat="time"]').waitFor();
  assert.equal(await turn('over time').getAttribute('aria-pressed'), 'true');
  assert.ok(await turn('over time').evaluate((element) => element === document.activeElement));
  assert.match(page.url(), /heat/);
  const columns = await page.locator('.heats .columns > span').count(),
    said = page.locator('[data-said="heat"]'),
    grid = page.locator('.heats .grid');
  assert.equal(columns, 48);
  const peaks = new Map(
    few.map((log, rank) => [`rank ${rank}`, shop.report('peaks', log).logs[0].heaps[0].peak_bytes]),
  );
  await grid.focus();
  for (let row = 0; row < 3; row++) {
    const told = [];
    for (let i = 0; i < columns; i++) {
      told.push({ text: await said.textContent(), bytes: await said.getAttribute('title') });
      await grid.press('ArrowRight');
    }
    const [rank] = told[0].text.split(','),
      most = Math.max(...told.map(({ bytes }) => Number(bytes.replace(/\D/g, '') || 0)));
    assert.equal(most, peaks.get(rank), rank);
    assert.ok(
      told.every(
        ({ text, bytes }) =>
          /: (at most |has ended|has not begun)/.test(text) && (bytes !== '') === /at most/.test(text),
      ),
    );
    await grid.press('ArrowDown');
    for (let i = 0; i < columns; i++) await grid.press('ArrowLeft');
  }
  await page.reload();
  await page.locator('[data-heat="time"]').waitFor();
  await turn('by range').click();
  await page.locator('[data-heat="range"]').waitFor();
  assert.deepEqual(page.trouble, []);
});

test('ranks that have a GPU each are compared, whatever its number', async () => {
  const page = await shop.show(
    shop.html('gpus.html', golden('h200-nccl-rank0'), golden('h200-nccl-rank1'), golden('h100-fsdp-rank0')),
  );
  const sizes = await page.locator('.ranks .sub').allTextContents();
  assert.equal(sizes.length, 3);
  for (const text of sizes) assert.ok(!text.startsWith('0 B'), sizes.join());
});

test('ranks that are alike open as they are, and nobody is said to differ', async () => {
  const page = await shop.show(shop.html('alike.html', ...[0, 1, 2].map((i) => shop.log(`s${i}.zst`, 'rank', `${i}`))));
  assert.deepEqual(await page.evaluate(() => [memprof.state.a, memprof.state.b]), [0, -1]);
  assert.equal(await page.locator('.differs').count(), 0);
});

test('what only a run that is shown needs is read when it is chosen, and is what its own page has', async () => {
  const page = await shop.show(shop.html('lazy.html', ...logs.slice(0, 8))),
    own = await shop.show(shop.html('own.html', logs[7], logs[0], logs[1]));
  const details = (of, log) =>
    of.evaluate((i) => {
      const { lanes, heaps } = memprof.logs[i];
      return lanes && { lanes, taken: [...lanes.taken], heaps: heaps.map(({ blocks, flows }) => ({ blocks, flows })) };
    }, log);
  assert.equal(await details(page, 7), undefined);
  await page.evaluate(() => memprof.choose('b', 7));
  await own.evaluate(() => memprof.choose('a', 0));
  const read = await details(page, 7);
  assert.ok(read.heaps[0].blocks.from[0] > 0 && read.lanes.from[0] >= 0);
  assert.deepEqual(read, await details(own, 0));
  assert.deepEqual(page.trouble, []);
});

test('of a tree of workers the workers are compared with each other, not with their parent', async () => {
  const run = fileURLToPath(new URL('../golden/workers', import.meta.url)),
    page = await shop.show(shop.html('workers.html', run)),
    { logs: processes } = shop.report('processes', run),
    peaks = processes.slice(1).map(({ heaps }) => heaps.find(({ heap }) => heap === 'host/heap').peak_bytes),
    middle = [...peaks].sort((a, b) => a - b)[1],
    cards = await page
      .locator('.ranks button')
      .evaluateAll((all) =>
        all.map((card) => [card.querySelector('.sub').textContent, card.classList.contains('outlier')]),
      );
  const most = peaks.filter((peak) => Math.abs(peak - middle) > middle / 20);
  assert.equal(cards.filter(([, odd]) => odd).length, most.length);
  for (const peak of most)
    assert.ok(
      cards.some(([text]) => text.includes(` ${size(peak - middle)}`)),
      `${cards}`,
    );
  assert.equal(cards.at(-1)[1], false);
  assert.match(cards.at(-1)[0], /^2\.06 MiB$/);
  assert.match(await page.locator(`${PANEL} h2`).textContent(), /of 3 that are alike/);
});
