// The page's numbers: size, time until it is ready, time of a zoom frame, and what `html` costs against `peaks`.
// usage: node bench.mjs BUILD [EVENTS [RANK_EVENTS]]       BUILD: a build folder with tests; EVENTS of the one run
// (10000000), RANK_EVENTS of the eight ranks of run A in all (EVENTS); run B has a tenth of them
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const build = resolve(process.argv[2] ?? 'build/ci'),
  events = Number(process.argv[3] ?? 1e7),
  rankEvents = Number(process.argv[4] ?? events),
  RANKS = 8,
  ROUNDS = 5,
  PAIRS = 15;
const chromiumPath = process.env.CHROMIUM ?? '/usr/bin/chromium';
const { chromium } = createRequire(join(build, 'viewer', 'npm', '/'))('playwright-core');
const folder = mkdtempSync(join(tmpdir(), 'memprof-bench.'));
const report = join(build, 'postproc', 'memprof-report'),
  makeLog = join(build, 'tests', 'postproc', 'make_log');

const median = (all) => [...all].sort((a, b) => a - b)[all.length >> 1];

function make(name, count) {
  const path = join(folder, name);
  execFileSync(makeLog, ['mixed', path, String(Math.round(count))]);
  return path;
}

/** User seconds of a command. */
function cost(...command) {
  const { stderr } = spawnSync('bash', ['-c', 'TIMEFORMAT=%U; time "$@" >/dev/null', 'bash', ...command], {
    encoding: 'utf8',
  });
  return Number(stderr.trim().split('\n').at(-1));
}

async function open(browser, file) {
  const page = await browser.newPage({ viewport: { width: 1600, height: 1000 } });
  const start = performance.now();
  await page.goto(pathToFileURL(file).href);
  await page.waitForFunction(() => document.documentElement.dataset.ready);
  return {
    page,
    wall: performance.now() - start,
    ready: Number(await page.evaluate(() => document.documentElement.dataset.ready)),
  };
}

/** Milliseconds from a wheel's step to the drawn charts. */
const zoom = (page) =>
  page.evaluate(async () => {
    const times = [];
    for (let i = 0; i < 40; i++) {
      memprof.zoom(0.4, i % 20 < 10 ? 0.8 : 1.25);
      const start = performance.now();
      memprof.update();
      times.push(performance.now() - start);
      await new Promise((done) => requestAnimationFrame(done));
    }
    return times;
  });

async function measure(browser, name, file) {
  const ready = [];
  let frames = [];
  for (let i = 0; i < ROUNDS; i++) {
    const shown = await open(browser, file);
    ready.push(shown.ready);
    if (i === 0) frames = await zoom(shown.page);
    await shown.page.close();
  }
  console.log(
    `${name.padEnd(34)} ${(statSync(file).size / 1e6).toFixed(2)} MB   ready ${median(ready).toFixed(0)} ms   ` +
      `zoom frame ${median(frames).toFixed(1)} ms (worst ${Math.max(...frames).toFixed(1)})`,
  );
}

const one = make('one.zst', events),
  page = join(folder, 'one.html');
execFileSync(report, ['html', '-o', page, one]);
const seconds = (/** @type {() => unknown} */ work) => {
  const start = performance.now();
  work();
  return ((performance.now() - start) / 1000).toFixed(0);
};
/** @type {string[]} */
let ranks = [];
const all = join(folder, 'all.html'),
  made = seconds(() => {
    ranks = [...Array(RANKS)].flatMap((_, i) => [
      make(`a${i}.zst`, rankEvents / RANKS),
      make(`b${i}.zst`, rankEvents / RANKS / 10),
    ]);
  }),
  read = seconds(() => execFileSync(report, ['html', '-o', all, ...ranks]));
console.log(`logs of ${RANKS} ranks made in ${made} s, their page in ${read} s`);
const browser = await chromium.launch({ executablePath: chromiumPath, args: ['--no-sandbox'] });
await measure(browser, `one run of ${events} events`, page);
await measure(browser, `two runs of ${RANKS} ranks, ${rankEvents} and ${rankEvents / 10}`, all);
await browser.close();
// in turn: what else the machine does touches both
const pairs = Array.from({ length: PAIRS }, () => [cost(report, 'peaks', one), cost(report, 'html', '-o', page, one)]);
const least = [0, 1].map((i) => Math.min(...pairs.map((pair) => pair[i])));
console.log(
  `peaks ${least[0].toFixed(2)} s, html ${least[1].toFixed(2)} s, the least of ${PAIRS}: ${(least[1] / least[0]).toFixed(2)} times; ` +
    `median of the pairs ${median(pairs.map(([peaks, html]) => html / peaks)).toFixed(2)}`,
);
rmSync(folder, { recursive: true });
