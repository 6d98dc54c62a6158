// The card at the top of the page answers what happened, how much, who, when and what to change, in the sentences of
// `summary`, `oom` and `diff`. It is on the first screen of a desktop and of a phone, with the first chart.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Workshop } from './browser.mjs';

const shop = new Workshop();
before(() => shop.open());
after(() => shop.close());

const FOLDER = fileURLToPath(new URL('../golden/', import.meta.url));
const JOBS = fileURLToPath(new URL('../causes/logs/', import.meta.url));
const SCREENS = [
  { width: 1440, height: 900 },
  { width: 390, height: 844 },
];

/** Returns a report as text, one blank between words, with file names instead of paths. @param {string[]} of */
const report = (...of) =>
  execFileSync(process.env.REPORT, [...of, '--width=full'], { encoding: 'utf8', stdio: 'pipe' })
    .replaceAll(FOLDER, '')
    .replace(/\S*\/(?=\S+\.zst)/g, '')
    .replace(/\s+/g, ' ');

/** @param {string} text */
const plain = (text) => text.replace(/\s+/g, ' ').trim();

/** The situations: the state, and patterns of what happened, its size, its owner, its time and the advice. */
const SITUATIONS = [
  {
    name: 'graphs run out of memory',
    logs: ['h200-graphs-oom.zst'],
    state: 'oom',
    what: /OUT OF MEMORY on gpu0 at 5\.193 s: requested 2\.00 GiB/,
    missing: 'SHORT BY 300.88 MiB',
    who: /capture > batch 65536/,
    why: /8\.00 GiB was free in memory pools of CUDA graphs/,
    advice: /capture into the existing pool/,
    command: 'memprof-report oom h200-graphs-oom.zst',
    fits: ['no 298.13 MiB short', 'not computed (at most 8.00 GiB): fewer graphs, or one pool for all of them'],
  },
  {
    name: 'graphs hold several pools',
    logs: ['h200-findings.zst'],
    state: 'fine',
    what: /peak 5\.88 GiB of 139\.80 GiB used at 8\.745 s/,
    who: /local memory of kernels/,
    why: /3\.87 GiB/,
    advice: /cudaLimitStackSize/,
    command: 'memprof-report peaks h200-findings.zst',
  },
  {
    name: 'communicators hold the device',
    logs: ['h200-nccl-rank0.zst'],
    state: 'fine',
    what: /peak 1\.99 GiB of 139\.80 GiB used at 2\.976 s/,
    who: /NCCL 2 communicators/,
    why: /2 communicators of 2 ranks hold 968\.00 MiB together/,
    advice: /NCCL_MAX_CTAS/,
    command: 'memprof-report peaks h200-nccl-rank0.zst',
  },
  {
    name: 'one step needs more',
    logs: ['h100-spike.zst'],
    state: 'fine',
    what: /peak 5\.66 GiB of 79\.18 GiB used at 9\.321 s/,
    who: /\[layers\.5\] Block\.forward \(spike\.py:15\)/,
    why: /step:7, one of 12 instances, peaks at 4\.13 GiB of gpu0\/torch, 848\.00 MiB above the median/,
    advice: /bucket by length/,
    command: 'memprof-report peaks h100-spike.zst',
  },
  {
    name: 'workers are killed',
    logs: ['workers'],
    state: 'killed',
    what: /KILLED host 0\.162 s OOM-killed by the kernel/,
    who: /Images\.thumbnail \(workers\.py:14\)/,
    why: /3 forked workers hold about the same memory each/,
    advice: /fewer workers/,
    command: 'memprof-report oom python3.vm.3315.zst',
  },
  {
    name: 'free memory is split',
    logs: ['h100-fragments.zst'],
    state: 'oom',
    what: /OUT OF MEMORY on gpu0 at 7\.904 s: requested 11\.58 GiB, 7\.58 GiB free/,
    missing: 'SHORT BY 4.00 GiB',
    who: /preprocess > rope cache/,
    why: /10\.53 GiB is free in pieces between live blocks/,
    advice: /expandable_segments:True/,
    command: 'memprof-report oom h100-fragments.zst',
    fits: ['no 2.50 GiB short'],
  },
  {
    name: 'Python keeps objects',
    logs: ['python-leak.zst'],
    state: 'fine',
    what: /host\/mmap: peak 17\.02 MiB at 1\.488 s/,
    who: /handle \(python_leak\.py:11\) > loads/,
    why: /host\/python grew by ~7\.00 MiB/,
    advice: /find what keeps these blocks/,
    command: 'memprof-report leaks python-leak.zst',
  },
  {
    name: 'a native program is recorded by default',
    logs: ['host-run.zst'],
    state: 'fine',
    what: /host\/heap: peak 16\.25 KiB at 0\.000 s/,
    who: /host\/heap by size, at the peak: 16\.25 KiBover 1 KiB to 2 KiB4\.86 KiB/,
    command: 'memprof-report peaks host-run.zst',
  },
];

/** Returns the card's texts. @param {import('playwright-core').Page} page @param {string} card */
async function textsOf(page, card) {
  const all = (/** @type {string} */ part) => page.locator(`${card} ${part}`).allTextContents();
  return {
    headline: plain(await page.locator(`${card} .headline`).evaluate((h) => h.firstChild?.textContent ?? '')),
    missing: (await all('.missing')).map(plain),
    lines: (await all('dd > div')).map(plain),
    peaks: (await all('.numbers .open')).map(plain),
    fits: (await all('.fits td')).map(plain),
    answers: (await all('.worth .what')).map(plain),
    advice: (await all('.worth .do')).map(plain),
    commands: await all('.command code'),
  };
}

for (const of of SITUATIONS)
  test(`${of.name}: the card says what, how much, who, when and what to change`, async () => {
    const paths = of.logs.map((log) => FOLDER + log),
      file = shop.html('situation.html', ...paths);
    for (const viewport of SCREENS) {
      const page = await shop.show(file, { viewport }),
        card = page.locator('[data-panel="card"]').first(),
        { headline, missing, lines, fits, answers, advice, commands } = await textsOf(page, '[data-panel="card"]');
      assert.equal(await card.getAttribute('data-state'), of.state);
      assert.match(headline, of.what);
      assert.deepEqual(missing, of.missing ? [of.missing] : []);
      if (of.who) assert.match(plain(await card.textContent()), of.who);
      if (of.why) assert.match(answers.join(' '), of.why);
      if (of.advice) assert.match(advice.join(' '), of.advice);
      assert.deepEqual(commands, [of.command]);
      assert.deepEqual(fits, of.fits ?? []);
      const told = `${report('summary', ...paths)} ${report('oom', ...paths)} ${report('peaks', ...paths)}`;
      for (const line of lines) assert.ok(told.includes(line), line);
      if (of.state !== 'fine') assert.ok(told.includes(headline), headline);
      const top = await page.locator('.chart').first().boundingBox();
      assert.ok(top && top.y < viewport.height, `the first chart begins at ${top?.y} of ${viewport.height}`);
      assert.deepEqual(page.trouble, []);
      await page.context().close();
    }
  });

test('two runs: the card has the verdict of diff', async () => {
  const logs = ['h100-lora.zst', 'h100-gpt2.zst'].map((log) => FOLDER + log),
    { verdict, findings } = shop.report('diff', ...logs),
    file = shop.html('two.html', ...logs);
  for (const viewport of SCREENS) {
    const page = await shop.show(file, { viewport }),
      card = page.locator('[data-panel="verdict"]'),
      box = await card.boundingBox();
    assert.equal(await card.locator('.headline').textContent(), verdict.what);
    const lines = await card.locator('.what').allTextContents();
    assert.equal(lines.length, Math.min(3, findings.length));
    lines.forEach((line, i) => assert.ok(line.startsWith(findings[i].what), line));
    assert.ok(box && box.y < viewport.height / 4);
    await page.context().close();
  }
});

for (const job of ['checkpoint_on_gpu0', 'one_rank_out_of_memory', 'healthy_late_reduce'])
  test(`${job}: the card of the job comes first, with the lines that summary begins with`, async () => {
    const [about] = report('summary', JOBS + job).split(' look at '),
      file = shop.html('job.html', JOBS + job);
    for (const viewport of SCREENS) {
      const page = await shop.show(file, { viewport }),
        card = page.locator('[data-panel="job"]'),
        lines = (await card.locator('.headline, p').allTextContents()).map(plain),
        box = await card.boundingBox(),
        next = await page.locator('[data-panel="card"]').first().boundingBox();
      assert.equal(lines.filter((line) => !line.startsWith('look at ')).join(' '), plain(about));
      assert.match(lines[0], /^\d+ ranks on 1 node/);
      assert.ok(box && next && box.y < next.y && box.y < viewport.height / 4);
      assert.deepEqual(page.trouble, []);
      await page.context().close();
    }
  });

test('a run without ranks has no card of a job', async () => {
  for (const log of [`${FOLDER}h100-spike.zst`, `${JOBS}three_workers`]) {
    const page = await shop.show(shop.html('single.html', log));
    assert.equal(await page.locator('[data-panel="card"]').count(), 1);
    assert.equal(await page.locator('[data-panel="job"]').count(), 0);
    await page.context().close();
  }
});

test('findings that would have made room are marked, and come first', async () => {
  for (const [name, marked] of /** @type {const} */ ([
    ['h200-graphs-oom.zst', [true]],
    ['h100-fragments.zst', [false]], // how much of the free pieces is usable, only a replay tells
    ['h200-findings.zst', [false, false, false]],
  ])) {
    const page = await shop.show(shop.html('room.html', FOLDER + name)),
      found = await page
        .locator('.worth li')
        .evaluateAll((all) => all.map((item) => item.querySelector('.covers') !== null));
    assert.deepEqual(found, marked, name);
    await page.context().close();
  }
});

test('a command is copied without the folders of the machine that made the page', async () => {
  const page = await shop.show(shop.html('copy.html', `${FOLDER}h100-fragments.zst`));
  assert.doesNotMatch(await page.locator('#app').textContent(), /\/golden\//);
  assert.doesNotMatch(await page.content(), /\/golden\//);
  await page.locator('.command .copy').click();
  await page.locator('.command .copy', { hasText: 'copied' }).waitFor();
});

test('without names the card and the table have the size classes of peaks, and no flame graph', async () => {
  const log = `${FOLDER}host-run.zst`,
    [heap] = shop.report('peaks', '--by', 'size', log).logs[0].heaps,
    held = heap.ranges
      .filter((/** @type {any} */ row) => row.bytes_at_peak)
      .map((/** @type {any} */ row) => row.bytes_at_peak),
    page = await shop.show(shop.html('unnamed.html', log)),
    bytes = (/** @type {string} */ cells) =>
      page
        .locator(cells)
        .evaluateAll((all) => all.map((cell) => Number(cell.getAttribute('title')?.replace(/\D/g, ''))));
  assert.deepEqual(await bytes('[data-panel="card"] tbody td[title$="bytes"]'), held.slice(0, 5));
  assert.deepEqual(await bytes('[data-panel="peak"] tbody td [title$="bytes"]'), held);
  assert.equal(await page.locator('[data-panel="flame"]').isVisible(), false);
});

test('the first screen says that host blocks were not recorded', async () => {
  const file = shop.html('off.html', `${FOLDER}host-off.zst`);
  for (const viewport of SCREENS) {
    const page = await shop.show(file, { viewport }),
      note = page.locator('[data-panel="card"] .notes'),
      box = await note.boundingBox();
    assert.equal(plain(await note.textContent()), 'host blocks were not recorded (MEMPROF_HOST=off)');
    assert.ok(box && box.y + box.height < viewport.height);
    await page.context().close();
  }
});
