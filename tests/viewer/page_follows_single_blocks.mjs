// A single block: its allocation and its free. Also the blocks that a selected span kept.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Workshop, bytesOf, drawn, tableRows } from './browser.mjs';

const SPIKE = fileURLToPath(new URL('../golden/h100-spike.zst', import.meta.url));
const shop = new Workshop();
let whole, loop;
before(async () => {
  await shop.open();
  whole = shop.html('whole.html', shop.log('whole.zst', 'whole'));
  loop = shop.html('loop.html', shop.log('loop.zst', 'loop', '12'));
});
after(() => shop.close());

const MIB = 1 << 20;
const kept = '[data-panel="kept"]';

/** Returns the description of a block in the chart of blocks. */
const said = (page) =>
  page.evaluate(() =>
    Object.fromEntries(
      [...document.querySelectorAll('[data-blocks] .said tr')].map((row) => [
        row.querySelector('th').textContent,
        row.querySelector('td').textContent,
      ]),
    ),
  );

test('a selection lists the blocks that it kept, and what the others of them hold', async () => {
  const page = await shop.show(whole);
  assert.equal(await page.locator(kept).count(), 0);
  await page.evaluate(() => memprof.select(2.5e6, 35e6));
  assert.deepEqual(await tableRows(page, kept), [
    { name: 'step 1 > forward', bytes: [6 * MIB] },
    { name: 'step 1', bytes: [4 * MIB] },
    { name: 'NCCL:AllReduce', bytes: [2 * MIB] },
  ]);
  assert.match(await page.locator(`${kept} h2`).textContent(), /the selection kept: 12\.00 MiB/);
  await page.evaluate(() => memprof.select(2.5e6, 45e6));
  assert.deepEqual(
    (await tableRows(page, kept)).map(({ bytes }) => bytes[0]),
    [4 * MIB, 2 * MIB],
  );
  await page.keyboard.press('Escape');
  assert.equal(await page.locator(kept).count(), 0);
});

test('of a long run its rows and the others sum to what the flame graph says that was kept', async () => {
  const page = await shop.show(shop.html('churn.html', shop.log('churn.zst', 'churn', '300000')));
  const [low, high] = await page.evaluate(() => memprof.whole);
  await page.evaluate(([from, to]) => memprof.select(from, to), [low + (high - low) / 3, low + (high - low) / 2]);
  const rows = await tableRows(page, kept),
    others = bytesOf(await page.locator(`${kept} tfoot .total`).getAttribute('title'));
  await page.locator('[data-panel="flame"] .tools button', { hasText: /^kept$/ }).click();
  await drawn(page);
  assert.equal(
    rows.reduce((sum, { bytes }) => sum + bytes[0], others),
    await page.evaluate(() => memprof.flame.shown.root.bytes[0]),
  );
  assert.ok(rows.length > 5 && others > 0);
});

test('a click on a block tells its life: in which instance of its range it came, and during which it went', async () => {
  const page = await shop.show(loop);
  const [heap, at] = await page.evaluate(() => {
    const { name, blocks } = memprof.logs[0].heaps[0];
    return [name, blocks.from[blocks.live.indexOf(0)]];
  });
  await page.evaluate(([name, ns]) => memprof.pin([{ heap: String(name), log: 0, at: Number(ns) }]), [heap, at]);
  const rows = page.locator('[data-panel="blocks"] tbody button'),
    told = [];
  for (let i = 0; i < (await rows.count()); i++) {
    await rows.nth(i).click();
    await drawn(page);
    const block = await said(page),
      expected = await page.evaluate(() => {
        const { lanes, paths, heaps } = memprof.logs[0],
          [{ blocks }] = heaps,
          { lit } = /** @type {any} */ (memprof.charts.find((chart) => 'held' in chart && chart.held)),
          open = (ns, will) =>
            [...lanes.from.keys()]
              .filter((k) => lanes.from[k] <= ns && lanes.to[k] >= ns && will(k))
              .map((k) => paths[lanes.node[k]].at(-1) + (lanes.number[k] ? `:${lanes.number[k]}` : ''))
              .join(' > ');
        return {
          born: open(blocks.from[lit], (k) => lanes.thread[k] === blocks.thread[lit]) || 'outside any range',
          during: open(blocks.from[lit], (k) => lanes.outer[k]) || undefined,
          freedIn: blocks.live[lit]
            ? undefined
            : open(blocks.to[lit], (k) => lanes.thread[k] === blocks.freer[lit] - 1) || 'outside any range',
          freed: (!blocks.live[lit] && open(blocks.to[lit], (k) => lanes.outer[k])) || undefined,
        };
      });
    assert.equal(block['born in'], expected.born);
    assert.equal(block['born during'], expected.during);
    assert.equal(block['freed during'], expected.freed);
    assert.equal(block['freed in'], expected.freedIn);
    told.push(block);
  }
  assert.ok(
    told.some((block) => /^step:\d/.test(block['born in']) && /^step:\d/.test(block['freed during'] ?? '')),
    JSON.stringify(told),
  );
});

test('a block of a thread that was in no range is not said to be born in those of another', async () => {
  const page = await shop.show(shop.html('autograd.html', SPIKE));
  const [number, thread] = await page.evaluate(() => {
    const [log] = memprof.logs,
      heap = log.heaps.find(({ name }) => name === 'gpu0/torch'),
      { lanes } = log,
      { from, thread: threads } = heap.blocks,
      isOpen = (k, will) => lanes.from.some((at, j) => at <= from[k] && lanes.to[j] >= from[k] && will(j)),
      i = [...from.keys()].find(
        (k) =>
          isOpen(k, (j) => lanes.outer[j]) &&
          !isOpen(k, (j) => lanes.thread[j] === threads[k]) &&
          log.threads[threads[k]].startsWith('pt_autograd'),
      );
    memprof.showBlock(log, heap, i);
    return [i, log.threads[heap.blocks.thread[i]]];
  });
  assert.ok(number >= 0);
  await drawn(page);
  const block = await said(page);
  assert.equal(block.thread, thread);
  assert.equal(block['born in'], 'outside any range');
  assert.match(block['born during'], /^step:\d+$/);
});

/** Returns for each freed block the number of the thread that freed it, as in `export`, or null if memprof was built
 *  without SQLite. */
function freers(log) {
  const database = shop.path('freers.sqlite'),
    { status } = spawnSync(process.env.REPORT, ['export', '--to', 'sqlite', '-o', database, log]),
    ask = `import json, sqlite3, sys
rows = sqlite3.connect(sys.argv[1]).execute("SELECT heap, address, made_ns, freed_thread_id FROM blocks")
print(json.dumps([[f"{heap} {address} {made}", thread] for heap, address, made, thread in rows]))`;
  if (status !== 0) return null;
  return new Map(JSON.parse(execFileSync('python3', ['-c', ask, database], { encoding: 'utf8', maxBuffer: 1 << 26 })));
}

test('the thread that freed a block is the one that export names, though another made it', async (t) => {
  const told = freers(SPIKE);
  if (!told) return t.skip('built without SQLite');
  const page = await shop.show(shop.html('freers.html', SPIKE)),
    kept = await page.evaluate(() =>
      memprof.logs[0].heaps.flatMap(({ name, blocks }) =>
        [...blocks.from.keys()].map((i) => ({
          key: `${name} ${blocks.high[i] * 2 ** 32 + blocks.low[i]} ${blocks.from[i]}`,
          thread: blocks.thread[i],
          freer: blocks.freer[i] - 1,
          i,
        })),
      ),
    );
  for (const { key, freer } of kept) assert.equal(freer < 0 ? null : freer, told.get(key), key);
  const other = kept.find(({ key, thread, freer }) => key.startsWith('gpu0/torch') && freer >= 0 && freer !== thread);
  await page.evaluate(
    (i) =>
      memprof.showBlock(
        memprof.logs[0],
        memprof.logs[0].heaps.find(({ name }) => name === 'gpu0/torch'),
        i,
      ),
    other.i,
  );
  await drawn(page);
  const block = await said(page),
    threads = await page.evaluate(() => memprof.logs[0].threads);
  assert.equal(block.thread, threads[other.thread]);
  assert.equal(block['freed by'], threads[other.freer]);
  assert.ok(block['freed in']);
});

test('blocks of the list are reached and told by the keyboard', async () => {
  const page = await shop.show(whole);
  await page.evaluate(() => memprof.select(2.5e6, 45e6));
  await page.locator(`${kept} tbody button`).nth(1).focus();
  await page.keyboard.press('Enter');
  await drawn(page);
  const block = await said(page);
  assert.match(block.size, /^2\.00 MiB/);
  assert.equal(block.freed, 'never');
  assert.match(block['born in'], /AllReduce/);
});
