// Bytes that a selected span allocated, freed and kept: exact sums that agree with the chart and the reports.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { WHOLE_PATHS, Workshop, drawn } from './browser.mjs';

const shop = new Workshop();
const golden = (name) => fileURLToPath(new URL(`../golden/${name}.zst`, import.meta.url));
before(() => shop.open());
after(() => shop.close());

const panel = '[data-panel="flame"]';

/** Returns the flame graph's bytes of each range in a span, with the sum under "". */
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

test('a link keeps the chosen span and what the flame graph shows of it; drawing changes nothing that it keeps', async () => {
  const file = shop.html('link.html', shop.log('link.zst', 'whole')),
    page = await shop.show(file);
  await deed(page, 'freed', 15e6, 45e6);
  const texts = async (of) => ({
    mode: await of.locator(`${panel} [aria-pressed="true"]`).textContent(),
    said: await of.locator(`${panel} .sub`).textContent(),
    status: await of.locator('.status').textContent(),
    kept: await of.locator('[data-panel="kept"]').textContent(),
  });
  const again = await shop.show(file, { hash: await page.evaluate(() => location.hash) });
  assert.equal((await texts(page)).mode, 'freed');
  assert.deepEqual(await texts(again), await texts(page));
  const [before, after] = await again.evaluate(() => {
    memprof.state.flameAt = 'nowhere';
    const was = JSON.stringify(memprof.state);
    memprof.flame.fill();
    return [was, JSON.stringify(memprof.state)];
  });
  assert.equal(after, before);
  for (const span of [[1], ['a', 2], [null, 3], [5e6, 4e6], [1e30, 2e30]]) {
    const odd = await shop.show(file, { hash: '#' + encodeURIComponent(JSON.stringify({ span })) });
    assert.ok(await odd.locator('.status').isHidden());
    assert.deepEqual(odd.trouble, []);
  }
});

/** Returns the bytes that the report gives a heap at the end of an instant. @param {string} log @param {string} heap
 *  @param {number} ns */
const heldAt = (log, heap, ns) =>
  shop.report('peaks', '--by', 'range', '--at', `${ns}ns`, log).logs[0].heaps.find((of) => of.heap === heap)
    ?.peak_bytes ?? 0;

test('what a span allocated less what it freed is what the report says that the heap changed by', async () => {
  for (const name of ['h200-graphs-eager', 'h200-pytorch', 'h100-gpt2', 'h200-nccl-rank0', 'h100-fragments']) {
    const log = golden(name),
      page = await shop.show(shop.html(`${name}.html`, log)),
      { heap, end, changes, times } = await page.evaluate(() => {
        const [{ heaps, duration }] = memprof.logs,
          first = heaps.find((one) => one.name === memprof.shownHeaps()[0]);
        return { heap: first.name, end: duration, changes: first.flows.changes, times: [...first.flows.time] };
      });
    let seen = 0;
    for (const [low, high] of [
      [0.1, 0.6],
      [0.45, 0.55],
      [0.5, 0.97],
    ]) {
      const between = (share) => {
          const i = Math.floor(share * (times.length - 1));
          return Math.floor((times[i] + times[i + 1]) / 2);
        },
        [from, to] = [between(low), between(high)],
        net = (await deed(page, 'allocated', from, to))[''] - (await deed(page, 'freed', from, to))[''];
      const slice = (ns) => times.filter((time) => time <= ns).length - 1,
        known =
          changes === 1 ? [from, to] : [times[Math.max(0, slice(from))] - 1, (times[slice(to) + 1] ?? end + 1) - 1];
      assert.equal(net, heldAt(log, heap, known[1]) - heldAt(log, heap, known[0]), `${name} ${heap} ${known}`);
      seen += Math.abs(net);
    }
    assert.ok(seen > 0, name);
    await page.context().close();
  }
});

test('in every heap slices begin and end where the chart has the changes, of memory with a handle, too', async () => {
  for (const name of ['h200-nccl-rank0', 'h100-sleep', 'h200-walk']) {
    const page = await shop.show(shop.html(`all-${name}.html`, golden(name)));
    const apart = await page.evaluate(() =>
      memprof.logs[0].heaps
        .filter(({ width, flows }) => width === 1 && flows.rows.born.length)
        .map(({ name: of, spans, flows: { time, changes, rows } }) => {
          const net = new Float64Array(time.length);
          rows.born.forEach((born, i) => {
            net[born] += rows.bytes[i];
            if (rows.life[i]) net[born + rows.life[i] - 1] -= rows.bytes[i];
          });
          let sum = 0;
          const held = net.map((bytes) => (sum += bytes)),
            chart = new Map([...spans.start].map((start, i) => [start, spans.close[i]]));
          const last = [...time.keys()].filter((i) => time[i] !== time[i + 1]);
          return { of, changes, off: last.filter((i) => chart.get(time[i]) !== held[i]).length };
        }),
    );
    // in h200-walk a pool keeps memory that belongs to no block
    assert.equal(
      apart.some(({ of }) => of === 'gpu0/device'),
      name !== 'h200-walk',
      name,
    );
    for (const { of, changes, off } of apart) if (changes === 1) assert.equal(off, 0, `${name} ${of}`);
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
