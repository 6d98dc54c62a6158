// The page's findings are those of insights, in the same words, and each links to its place.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Workshop, drawn } from './browser.mjs';

const shop = new Workshop();
before(() => shop.open());
after(() => shop.close());

const FOLDER = fileURLToPath(new URL('../golden/', import.meta.url));
const golden = (name) => `${FOLDER}${name}.zst`;

/** Returns a line with file names instead of paths: a page is read on other machines. @param {string} line */
const withoutFolders = (line) => (line.startsWith('see:') ? line.replace(/ \S*\/(?=[^/\s]+$)/, ' ') : line);

/** Returns the findings of the report as lines, beginning with their heading. @param {string[]} logs */
function told(...logs) {
  const text = execFileSync(process.env.REPORT, ['summary', '--all', ...logs], { encoding: 'utf8', stdio: 'pipe' }),
    lines = text.split('\n').filter(Boolean),
    from = lines.findIndex((line) => /^(findings, each|no findings)/.test(line));
  return lines.slice(from).map((line) => withoutFolders(line.trim()));
}

/** Returns the page's findings in the format of the report. @param {import('playwright-core').Page} page
 *  @param {number} log */
async function shown(page, log) {
  const worth = page.locator(`.worth[data-log="${log}"]`),
    heading = await page.locator(`.heading[data-log="${log}"]`).textContent();
  for (const summary of await worth.locator('summary').all()) await summary.click();
  if (!(await worth.count())) return [heading];
  const items = await worth.evaluate((place) => {
    const text = (of, part) => of.querySelector(part)?.textContent ?? '',
      sentence = (of) => of.querySelector('.what').firstChild.textContent;
    return [...place.querySelectorAll('li')].flatMap((item) => [
      `${text(item, 'b')}  ${text(item, '.where').padEnd(4)}  ${sentence(item)}`,
      text(item, '.do'),
      `see: ${text(item, '.see code')}`,
    ]);
  });
  return [heading, ...items];
}

test('of every golden log the page has the findings that the report has, in its words', async () => {
  const logs = readdirSync(FOLDER).filter((name) => name.endsWith('.zst'));
  assert.ok(logs.length > 15);
  for (const name of logs) {
    const page = await shop.show(shop.html('one.html', FOLDER + name));
    assert.deepEqual(await shown(page, 0), told(FOLDER + name), name);
    assert.deepEqual(page.trouble, []);
    await page.close();
  }
});

test('of two runs each has its own; of the processes of a run the one that was killed has what is of all', async () => {
  const two = [golden('h100-gpt2'), golden('h100-lora')],
    both = await shop.show(shop.html('two.html', ...two));
  for (const [i, log] of two.entries()) assert.deepEqual(await shown(both, i), told(log));
  const run = `${FOLDER}workers`,
    page = await shop.show(shop.html('run.html', run)),
    { a } = await page.evaluate(() => memprof.state),
    lines = told(run);
  assert.match(lines[1], /forked workers hold about the same memory each/);
  assert.deepEqual((await shown(page, a)).slice(0, 2), lines.slice(0, 2));
});

test('of up to 16 runs each has its findings when it is shown; of more it is said what tells them', async () => {
  const few = ['h100-gpt2', 'h100-lora', 'h100-spike'].map(golden),
    page = await shop.show(shop.html('few.html', ...few)),
    ranks = Array.from({ length: 17 }, (_, i) => shop.log(`f${i}.zst`, 'rank', `${i}`)),
    many = await shop.show(shop.html('many.html', ...ranks));
  for (const [i, log] of few.entries()) {
    await page.evaluate((of) => memprof.choose('a', of), i);
    assert.deepEqual(await shown(page, i), told(log));
  }
  const heading = (log) => many.locator(`.heading[data-log="${log}"]`).textContent();
  const { a, b } = await many.evaluate(() => memprof.state);
  for (const log of [a, b]) assert.doesNotMatch(await heading(log), /were not computed/);
  const other = ranks.findIndex((_, i) => i !== a && i !== b);
  await many.evaluate((of) => memprof.choose('a', of), other);
  assert.match(await heading(other), /findings were not computed for this run: memprof-report summary --all/);
});

test('each finding goes to where it was seen, and pins it', async () => {
  const page = await shop.show(shop.html('spike.html', golden('h100-spike')));
  await shown(page, 0);
  for (const button of await page.locator('.worth li > button').all()) {
    await button.click();
    await drawn(page);
    const { pin, view } = await page.evaluate(() => ({ pin: memprof.pins, view: memprof.view }));
    assert.equal(pin.length, 1);
    assert.equal(pin[0].heap, 'gpu0/torch');
    assert.ok(pin[0].at >= view[0] && pin[0].at <= view[1], `${pin[0].at} in ${view}`);
  }
  const [instance] = shop
    .report('steps', golden('h100-spike'))
    .heaps.filter(({ heap }) => heap === 'gpu0/torch')
    .flatMap(({ instances }) => instances.filter((of) => of.name === 'step:7'));
  await page.locator('[data-finding="instance"] > button').click();
  assert.equal(await page.evaluate(() => memprof.pins[0].at), instance.peak_time_ns);
  assert.match(await page.locator('.lanes .legend').textContent(), /^step:7,/);
});

test('what stands out is named with what made it larger, as steps names it', async () => {
  const spike = golden('h100-spike'),
    page = await shop.show(shop.html('cause.html', spike)),
    text = execFileSync(process.env.REPORT, ['steps', spike], { encoding: 'utf8' }),
    cause = /\(([\d.]+ \w+ more in [^;]+)\);/.exec(text)[1];
  assert.match(cause, /layers\.5/);
  assert.ok((await page.locator('.stands-out button').textContent()).endsWith(`: ${cause}`));
  assert.equal(await page.locator('[data-panel="steps"] .cause').textContent(), cause);
  const lines = /by python +more .*\n((?: {2}.*\n)+)/.exec(text)[1].split('\n').filter(Boolean),
    rows = await page
      .locator('[data-panel="steps"] .by-stack tbody tr')
      .evaluateAll((all) =>
        all.map((row) => [row.querySelector('.name').getAttribute('title'), row.querySelector('.more').textContent]),
      );
  assert.deepEqual(
    rows,
    lines.map((line) => line.trim().split(/ {2,}/).slice(0, 2)).map(([name, bytes]) => [name, `+${bytes}`]),
  );
});

test('what was not recorded is said as in the summary, with the command that records it', async () => {
  const notes = async (log) => {
      const page = await shop.show(shop.html('notes.html', log)),
        all = (await page.locator('.notes p').allTextContents()).map((text) => text.replace(/copy$/, ''));
      assert.deepEqual(page.trouble, []);
      return { all, commands: await page.locator('.notes code').allTextContents() };
    },
    summary = (log) =>
      execFileSync(process.env.REPORT, ['summary', '--width=full', log], { encoding: 'utf8' })
        .split('\n')
        .map((line) => line.trim());
  const small = await notes(shop.stackLog('small.zst', 'small')),
    told = summary(shop.path('small.zst'));
  assert.match(small.all.at(-2), /^37\.50 MiB of host\/heap.* without a call stack \(blocks below 1\.00 MiB\)$/);
  assert.match(small.commands[0], /^memprof run --stacks=sample -- python3 -c/);
  for (const line of small.all) assert.ok(told.includes(line), line);
  const off = await notes(golden('host-off'));
  assert.deepEqual(off.all, ['host blocks were not recorded (MEMPROF_HOST=off)']);
  assert.deepEqual((await notes(golden('host-run'))).all, []);
});
