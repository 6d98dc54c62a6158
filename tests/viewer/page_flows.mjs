// What a selected span allocated, freed and kept: exact sums, in agreement with the chart and the reports.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { WHOLE_PATHS, Workshop, drawn } from './browser.mjs';

const shop = new Workshop();
const golden = (name) => fileURLToPath(new URL(`../golden/${name}.zst`, import.meta.url));
before(() => shop.open());
after(() => shop.close());

const panel = '[data-panel="flame"]';

/** What the flame graph says of a span: bytes of each range, "" the sum. */
async function deed(page, name, from, to) {
  await page.evaluate(([a, b]) => memprof.select(a, b), [from, to]);
  await page.locator(`${panel} .tools button`, { hasText: new RegExp(`^${name}$`) }).click();
  await drawn(page);
  return page.evaluate(() => {
    /** @type {Record<string, number>} */
    const found = {};
    const add = ({ range, bytes, children }) => {
      if (range !== null) found[range] = bytes[0];
      children.forEach(add);
    };
    add(memprof.flame.shown.root);
    return found;
  });
}

const MIB = 1 << 20;

test('a span of few changes tells what it allocated, freed and kept', async () => {
  const page = await shop.show(shop.html('whole.html', shop.log('whole.zst', 'whole')));
  const [from, to] = [15e6, 45e6];
  assert.deepEqual(await deed(page, 'allocated', from, to), {
    '': 8 * MIB,
    'step 1': 6 * MIB,
    'step 1 > forward': 6 * MIB,
    'NCCL:AllReduce': 2 * MIB,
  });
  assert.deepEqual(await deed(page, 'freed', from, to), {
    '': 6 * MIB,
    'step 1': 6 * MIB,
    'step 1 > forward': 6 * MIB,
  });
  assert.deepEqual(await deed(page, 'kept', from, to), { '': 2 * MIB, 'NCCL:AllReduce': 2 * MIB });
  assert.deepEqual(await deed(page, 'kept', 15e6, 35e6), {
    '': 8 * MIB,
    'step 1': 6 * MIB,
    'step 1 > forward': 6 * MIB,
    'NCCL:AllReduce': 2 * MIB,
  });
  await page.keyboard.press('Escape');
  assert.equal(await page.locator(`${panel} .tools button`).count(), 1);
});

test('what a span allocated less what it freed is what the chart says that it changed by', async () => {
  for (const name of ['h200-graphs-eager', 'h200-pytorch', 'h100-gpt2', 'h200-walk', 'h100-fragments']) {
    const page = await shop.show(shop.html(`${name}.html`, golden(name)));
    const wrong = await page.evaluate(async () => {
      const found = [],
        [log] = memprof.logs,
        level = (heap, ns) => {
          const i = heap.spans.start.filter((start) => start <= ns).length - 1;
          return i < 0 ? 0 : heap.spans.close[i];
        };
      let compared = 0;
      for (const heap of log.heaps.filter((one) => one.width === 1 && one.flows.rows.life.length))
        for (let i = 0; i < 40; i++) {
          const [from, to] = [((i * 7919) % 97) / 97, ((i * 104729) % 89) / 89]
              .sort()
              .map((x) => Math.round(x * log.duration)),
            { time, changes, rows } = heap.flows,
            first =
              changes === 1
                ? time.filter((t) => t < from).length
                : Math.max(0, time.filter((t) => t <= from).length - 1),
            last = time.filter((t) => t <= to).length - 1;
          let net = 0;
          rows.born.forEach((born, k) => {
            const gone = rows.life[k] ? born + rows.life[k] - 1 : Infinity;
            if (born >= first && born <= last) net += rows.bytes[k];
            if (gone >= first && gone <= last) net -= rows.bytes[k];
          });
          const end = time[last + 1] ?? log.duration + 1,
            own =
              changes === 1
                ? level(heap, to) - level(heap, from - 1)
                : level(heap, end - 1) - level(heap, (time[first] ?? end) - 1);
          compared++;
          if (net !== own) found.push([heap.name, from, to, net, own]);
        }
      return compared ? found : ['nothing compared'];
    });
    assert.deepEqual(wrong, [], name);
  }
});

test('what the whole run kept is what is live at its end, as peaks has it', async () => {
  const log = golden('h100-gpt2'),
    page = await shop.show(shop.html('gpt.html', log), { hash: WHOLE_PATHS });
  const [heap] = shop.report('peaks', '--by', 'range', '--at', '24:00:00', log).logs[0].heaps;
  const [low, high] = await page.evaluate(() => memprof.whole),
    kept = await deed(page, 'kept', low, high),
    under = (range) =>
      heap.ranges
        .filter(
          ({ path }) =>
            !range ||
            [path.join(' > ') || 'outside any range'].some((name) => name === range || name.startsWith(`${range} > `)),
        )
        .reduce((sum, row) => sum + row.bytes_at_peak, 0);
  assert.equal(kept[''], heap.peak_bytes);
  for (const [range, bytes] of Object.entries(kept)) assert.equal(bytes, under(range), range);
  assert.ok(Object.keys(kept).length > 2);
});

test('of a long run the span is widened to what is known to the byte, and says so', async () => {
  const page = await shop.show(shop.html('churn.html', shop.log('churn.zst', 'churn', '300000')));
  const [low, high] = await page.evaluate(() => memprof.whole),
    third = (high - low) / 3;
  const allocated = await deed(page, 'allocated', low + third, low + 2 * third),
    freed = await deed(page, 'freed', low + third, low + 2 * third);
  const text = await page.locator(`${panel} .sub`).textContent();
  assert.match(text, /freed from .* to .*, to [\d,]+ changes at its ends/);
  const change = await page.evaluate(() => {
    const [heap] = memprof.logs[0].heaps,
      { time } = heap.flows,
      slice = (ns) => time.filter((t) => t <= ns).length - 1,
      { from, to } = memprof.selection;
    return [time[slice(from)], time[slice(to) + 1]];
  });
  const at = (ns) =>
    shop.report('peaks', '--by', 'range', '--at', `${((ns - 1) / 1e9).toFixed(9)}s`, shop.path('churn.zst')).logs[0]
      .heaps[0].peak_bytes;
  assert.equal(allocated[''] - freed[''], at(change[1]) - at(change[0]));
});
