// What explains the difference of two runs: the rows of diff, which sum to the difference of the peaks.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Workshop } from './browser.mjs';

const shop = new Workshop();
before(() => shop.open());
after(() => shop.close());

const golden = (name) => fileURLToPath(new URL(`../golden/${name}.zst`, import.meta.url));
const PANEL = '[data-panel="differences"]';

/** The table as it is shown. */
const shown = (page) =>
  page.locator(`${PANEL} tr:has(td[title])`).evaluateAll((rows) =>
    rows.map((row) => ({
      name: row.querySelector('th').textContent,
      bytes: [...row.querySelectorAll('td[title$="bytes"]')].map((cell) =>
        Number(/** @type {HTMLElement} */ (cell).title.replace(/ bytes|,/g, '')),
      ),
      bar: /** @type {HTMLElement | null} */ (row.querySelector('.diverging i'))?.className,
    })),
  );

for (const [a, b] of [
  ['h200-graphs-eager', 'h200-graphs-oom'],
  ['h100-gpt2', 'h100-lora'],
]) {
  test(`bars of ${a} and ${b} are diff's rows of every account, and sum to its change`, async () => {
    const logs = [golden(a), golden(b)],
      page = await shop.show(shop.html('two.html', ...logs)),
      accounts = shop.report('diff', ...logs).accounts.filter((account) => account.rows.length);
    const tabs = page.locator(`${PANEL} .tabs button`);
    assert.equal(await tabs.count(), accounts.length);
    const peaks = accounts.filter((account) => ['device', 'heap'].includes(account.of)),
      most = Math.max(...peaks.map((account) => Math.abs(account.change_bytes)));
    assert.equal(Math.abs((await shown(page)).at(-1).bytes[2]), most);
    for (let i = 0; i < accounts.length; i++) {
      await tabs.nth(i).click();
      const rows = await shown(page),
        sum = rows.pop(),
        account = accounts.find((of) => of.name === sum.name);
      assert.deepEqual(sum.bytes, [account.base_bytes, account.new_bytes, account.change_bytes], sum.name);
      const changes = rows.map((row) => row.bytes[2]);
      assert.equal(
        changes.reduce((all, bytes) => all + bytes, 0),
        account.change_bytes,
        sum.name,
      );
      const told = changes.slice(0, 12).map(Math.abs);
      assert.deepEqual(
        told,
        [...told].sort((x, y) => y - x),
        'the largest first',
      );
      for (const row of rows) assert.equal(row.bar, row.bytes[2] > 0 ? 'more' : 'less', row.name);
      const single = new Map(account.rows.map((row) => [row.path.join(' > '), row.change_bytes]));
      for (const row of rows) if (single.has(row.name)) assert.equal(row.bytes[2], single.get(row.name), row.name);
    }
    assert.deepEqual(page.trouble, []);
  });
}

test('it is the first panel, turns with the runs, and is not there for one run or two that are alike', async () => {
  const logs = [golden('h200-graphs-eager'), golden('h200-graphs-oom')],
    page = await shop.show(shop.html('turned.html', ...logs));
  const before = await shown(page);
  assert.ok(
    await page.evaluate(() => {
      const panel = document.querySelector('[data-panel="differences"]'),
        chart = document.querySelector('.chart');
      return Boolean(panel.compareDocumentPosition(chart) & Node.DOCUMENT_POSITION_FOLLOWING);
    }),
  );
  await page.evaluate(() => memprof.change({ a: 1, b: 0 }));
  assert.deepEqual(
    (await shown(page)).map((row) => row.bytes[2]),
    before.map((row) => -row.bytes[2]),
  );
  await page.evaluate(() => memprof.change({ a: 0, b: -1 }));
  assert.equal(await page.locator(PANEL).count(), 0);
  const alike = await shop.show(shop.html('alike.html', logs[0], logs[0]));
  assert.equal(await alike.locator(PANEL).count(), 0);
});

/** The page's own data. */
const dataOf = (page) => page.evaluate(() => JSON.parse(document.getElementById('data').textContent));

test('changes of one size are in the order of their names', async () => {
  const names = ['delta', 'alpha', 'charlie', 'bravo'],
    old = shop.log('old.zst', 'ranges', '1 base', ...names.map((name) => `9 was ${name}`)),
    now = shop.log('new.zst', 'ranges', '1 base', ...names.map((name) => `9 is ${name}`)),
    data = await dataOf(await shop.show(shop.html('order.html', old, now)));
  assert.deepEqual(
    data.logs[1].differences[0].rows.map((row) => row.path[0]),
    ['is', 'was'].flatMap((word) => [...names].sort().map((name) => `${word} ${name}`)),
  );
});
