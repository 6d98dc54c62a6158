// The page asks for nothing, survives damage and hostile names, and says what it has without scripting.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Workshop, drawn } from './browser.mjs';

const shop = new Workshop();
before(() => shop.open());
after(() => shop.close());

test('one request, no complaint, and a policy that allows nothing else', async () => {
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

test('an element in a name is never made', async () => {
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
    (text) => text.replace(/(<script type="application\/gzip" id="b0-heap0">.{40})..../, '$1AAAA'),
    (text) => text.replace(/(<script type="application\/gzip" id="b0-heap0">)[^<]*/, '$1'),
    (text) => text.replace(/(id="data">\{.{30})/, '$1}'),
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

test('without scripting the tables are there, with exact bytes', async () => {
  const page = await shop.show(shop.html('whole3.html', shop.log('whole3.zst', 'whole')), { javaScriptEnabled: false });
  const text = await page.locator('#tables').innerText();
  for (const part of [
    'host/heap: peak 12.00 MiB (12,583,212 bytes) at 00:00:00.030',
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
