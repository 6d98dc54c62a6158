// The page makes no requests, survives damage and hostile names, and shows its tables without scripting.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { CHROMIUM_ONLY, Workshop, drawn } from './browser.mjs';

const shop = new Workshop();
before(() => shop.open());
after(() => shop.close());

test('one request, no complaint, and a policy that allows nothing else', { skip: CHROMIUM_ONLY }, async () => {
  const file = shop.html('whole.html', shop.log('whole.zst', 'whole'));
  const page = await shop.show(file);
  await page.keyboard.press('t');
  await drawn(page);
  assert.equal(page.requests.length, 1);
  assert.deepEqual(page.trouble, []);
  const policy = await page.locator('meta[http-equiv="Content-Security-Policy"]').getAttribute('content');
  assert.match(policy, /^default-src 'none'; script-src 'sha256-[^']+'; style-src 'sha256-[^']+';/);
  const blocked = await page.evaluate(
    () =>
      new Promise((done) => {
        addEventListener('securitypolicyviolation', (event) => done(event.violatedDirective));
        const script = document.createElement('script');
        script.textContent = 'document.title = "broken in"';
        document.body.append(script);
      }),
  );
  assert.match(blocked, /^script-src/);
  assert.doesNotMatch(await page.title(), /broken in/);
});

test('names that would break a page stay text', async () => {
  const page = await shop.show(shop.html('nasty.html', shop.log('nasty.zst', 'nasty')));
  assert.deepEqual(page.trouble, []);
  const names = await page.locator('.chart .legend .name').allTextContents();
  assert.ok(
    names.some((name) => name === '</script>"quoted" \\'),
    names.join(' | '),
  );
  assert.equal(await page.locator('img').count(), 0);
  assert.equal(await page.locator('#tables th', { hasText: '</script>"quoted"' }).count(), 1);
});

test('an element in a name is never made', { skip: CHROMIUM_ONLY }, async () => {
  const log = shop.log('img.zst', 'named', '</script><img src=x onerror="document.title=1">');
  const page = await shop.show(shop.html('img.html', log));
  await drawn(page);
  assert.equal(await page.locator('img').count(), 0);
  assert.deepEqual(page.trouble, []);
  assert.equal(page.requests.length, 1);
  assert.ok(
    (await page.locator('.chart .legend .name').allTextContents()).some((name) => name.startsWith('</script><img')),
  );
});

test('damaged data leaves a message and the tables', async () => {
  const whole = shop.log('whole2.zst', 'whole');
  const damage = [
    (text) => text.replace(/(<script type="application\/gzip" id="b0-levels">.{40})..../, '$1AAAA'),
    (text) => text.replace(/(<script type="application\/gzip" id="b0-levels">)[^<]*/, '$1'),
    (text) => text.replace(/(<script type="application\/gzip" id="b0-details">.{40})..../, '$1AAAA'),
    (text) => text.replace(/(id="b0">\{.{30})/, '$1}'),
    (text) => text.replace('memprof.page/1', 'memprof.page/9'),
  ];
  for (const [i, change] of damage.entries()) {
    const file = shop.html(`damaged${i}.html`, whole);
    shop.edit(file, change);
    const page = await shop.show(file);
    assert.match(await page.locator('#trouble').textContent(), /damaged/);
    assert.ok(await page.locator('#tables table').first().isVisible());
    assert.equal(await page.locator('.chart').count(), 0);
  }
});

test('damage to what only a chosen run needs is told when it is chosen; the charts stay', async () => {
  const logs = ['0', '1', '5'].map((rank) => shop.log(`r${rank}.zst`, 'rank', rank)),
    file = shop.html('damaged-rank.html', ...logs),
    shown = (page) => page.evaluate(() => [memprof.state.a, memprof.state.b]),
    before = await shown(await shop.show(file)),
    other = [0, 1, 2].find((log) => !before.includes(log));
  shop.edit(file, (text) => text.replace(new RegExp(`(id="b${other}-details">.{40})....`), '$1AAAA'));
  const page = await shop.show(file);
  assert.ok(await page.locator('#trouble').isHidden());
  await page.evaluate((log) => memprof.choose('a', log), other);
  assert.match(await page.locator('#trouble').textContent(), /damaged/);
  assert.deepEqual(await shown(page), before);
  assert.ok((await page.locator('.chart').count()) > 0);
});

test('a link by another hand shows what there is', async () => {
  const file = shop.html('whole4.html', shop.log('whole4.zst', 'whole'));
  for (const state of [
    '{"pins":[null]}',
    '{"pins":null}',
    '{"from":1e30}',
    '{"from":1e30,"to":2e30}',
    '{"from":-1e300,"to":1e999}',
    '{"by":"x","depth":-7,"compare":"y","align":"range:","theme":"z"}',
  ]) {
    const page = await shop.show(file, { hash: `#${encodeURIComponent(state)}` });
    assert.ok(await page.locator('#trouble').isHidden(), state);
    assert.deepEqual(page.trouble, [], state);
    assert.deepEqual(await page.evaluate(() => memprof.view), await page.evaluate(() => memprof.whole), state);
    assert.match(await page.locator('.chart caption').first().textContent(), /^at the peak/);
    await page.context().close();
  }
});

test('a run that allocated nothing says so', async () => {
  const page = await shop.show(shop.html('true.html', shop.record('true.zst', '/bin/true')));
  assert.match(await page.locator('#app').innerText(), /No allocations were recorded/);
  assert.deepEqual(page.trouble, []);
  for (const key of ['p', 'w', 's', '0', ']', 'Escape']) await page.keyboard.press(key);
  assert.deepEqual(page.trouble, []);
});

test('names of thousands of characters leave the numbers in view', async () => {
  const page = await shop.show(shop.html('long.html', shop.log('long.zst', 'named', 'a'.repeat(3000))));
  await page.evaluate(() => {
    memprof.change({ blocks: 'host/heap' });
    memprof.pin([{ heap: 'host/heap', log: 0, at: 2e6 }]);
    /** @type {HTMLDetailsElement} */ (document.getElementById('tables')).open = true;
  });
  const outside = await page
    .locator('td, th[scope="col"], p')
    .evaluateAll((all) =>
      all.filter((cell) => cell.getBoundingClientRect().right > innerWidth).map((c) => c.textContent),
    );
  assert.deepEqual(outside, []);
});

test('the page follows the system from light to dark while nobody has chosen', { skip: CHROMIUM_ONLY }, async () => {
  const page = await shop.show(shop.html('whole5.html', shop.log('whole5.zst', 'whole')), { colorScheme: 'light' });
  const theme = () => page.evaluate(() => document.documentElement.dataset.theme);
  await page.emulateMedia({ colorScheme: 'dark' });
  await drawn(page);
  assert.equal(await theme(), 'dark');
  await page.keyboard.press('t');
  await page.emulateMedia({ colorScheme: 'light' });
  await page.emulateMedia({ colorScheme: 'dark' });
  await drawn(page);
  assert.equal(await theme(), 'light');
});

test('without scripting the tables are there, with exact bytes', { skip: CHROMIUM_ONLY }, async () => {
  const page = await shop.show(shop.html('whole3.html', shop.log('whole3.zst', 'whole')), { javaScriptEnabled: false });
  const text = await page.locator('#tables').innerText();
  for (const part of [
    'host/heap: peak 12.00 MiB (12,583,212 bytes) at 0.030 s',
    'step 1 > forward',
    '6,291,456',
    'outside any range',
  ])
    assert.ok(text.includes(part), part);
  assert.ok(await page.locator('noscript').first().isVisible());
});

test('an incomplete log says so', async () => {
  const page = await shop.show(shop.html('lossy.html', shop.log('lossy.zst', 'lossy')));
  assert.match(await page.locator('.runs').textContent(), /incomplete.*7 lost/);
});
