// Measures the page: size, time until it is ready, time of a wheel's frame, memory of its tab, and the cost of `html`
// compared with `peaks`.
// usage: node bench.mjs BUILD [EVENTS [RANK_EVENTS]]       BUILD: a build folder with tests; EVENTS of the single run
// (10000000), RANK_EVENTS of the eight ranks of run A in total (EVENTS), and of 64 ranks; run B has a tenth of them
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const build = resolve(process.argv[2] ?? 'build/ci'),
  events = Number(process.argv[3] ?? 1e7),
  rankEvents = Number(process.argv[4] ?? events),
  RANKS = 8,
  MANY = 64,
  ROUNDS = 5,
  PAIRS = 15;
const chromiumPath = process.env.CHROMIUM ?? '/usr/bin/chromium';
const { chromium } = createRequire(join(build, 'viewer', 'npm', '/'))('playwright-core');
const folder = mkdtempSync(join(tmpdir(), 'memprof-bench.'));
const report = join(build, 'postproc', 'memprof-report'),
  makers = join(build, 'tests', 'postproc');

/* @param {number[]} all @param {number} share of the values that are smaller */
const quantile = (all, share) =>
  [...all].sort((a, b) => a - b)[Math.min(all.length - 1, Math.floor(all.length * share))];
const median = (all) => quantile(all, 0.5);

/* Makes a log. @param {string} name @param {number} count of its events @param {string[]} kind maker and scenario */
function make(name, count, [maker, scenario] = ['make_gpu_log', 'training']) {
  const path = join(folder, name);
  execFileSync(join(makers, maker), [scenario, path, String(Math.round(count))]);
  return path;
}

/* Returns the user seconds of a command. */
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

/* Returns the milliseconds of script per turn of the wheel: its listener, and its frame until the charts are drawn. */
const wheel = (page) =>
  page.evaluate(async () => {
    const over = document.querySelector('.u-over'),
      { left, top, width } = over.getBoundingClientRect(),
      times = [];
    for (let i = 0; i < 60; i++) {
      // callbacks of a frame run in the order in which they were requested, so the page's own runs between the two
      const begins = new Promise((done) => requestAnimationFrame(() => done(performance.now()))),
        start = performance.now();
      over.dispatchEvent(
        new WheelEvent('wheel', {
          ctrlKey: true,
          cancelable: true,
          bubbles: true,
          clientX: left + width * 0.4,
          clientY: top + 20,
          deltaY: i % 20 < 10 ? -120 : 120,
        }),
      );
      const listened = performance.now() - start,
        ends = new Promise((done) => requestAnimationFrame(() => done(performance.now())));
      times.push(listened + (await ends) - (await begins));
    }
    return times;
  });

/* Returns the bytes that only the process of the tab uses. The browser has one tab. */
async function privateBytes(session) {
  const { processInfo } = await session.send('SystemInfo.getProcessInfo');
  const each = processInfo
    .filter(({ type }) => type === 'renderer')
    .map(({ id }) =>
      [...readFileSync(`/proc/${id}/smaps_rollup`, 'utf8').matchAll(/^Private_\w+: +(\d+) kB/gm)].reduce(
        (sum, [, kib]) => sum + Number(kib) * 1024,
        0,
      ),
    );
  return Math.max(...each);
}

async function measure(name, file) {
  const ready = [];
  let frames = [],
    tab = 0;
  for (let i = 0; i < ROUNDS; i++) {
    const browser = await chromium.launch({ executablePath: chromiumPath, args: ['--no-sandbox'] });
    const shown = await open(browser, file);
    ready.push(shown.ready);
    if (i === 0) {
      frames = await wheel(shown.page);
      tab = await privateBytes(await browser.newBrowserCDPSession());
    }
    await browser.close();
  }
  console.log(
    `${name.padEnd(44)} ${(statSync(file).size / 1e6).toFixed(2)} MB   ready ${median(ready).toFixed(0)} ms   ` +
      `wheel's frame ${median(frames).toFixed(1)} ms, p95 ${quantile(frames, 0.95).toFixed(1)}, ` +
      `worst ${Math.max(...frames).toFixed(1)}   tab ${(tab / 1e6).toFixed(0)} MB`,
  );
}

/* Makes a page. @param {string} name @param {string[]} logs */
function pageOf(name, logs) {
  const path = join(folder, name);
  execFileSync(report, ['html', '-o', path, ...logs]);
  return path;
}

const one = make('one.zst', events),
  page = pageOf('one.html', [one]),
  mixed = pageOf('mixed.html', [make('mixed.zst', events, ['make_log', 'mixed'])]),
  many = pageOf(
    'many.html',
    [...Array(MANY)].map((_, i) => make(`rank${i}.zst`, rankEvents / MANY)),
  );
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
await measure(`a training run of ${events} events`, page);
await measure(`${events} events of four threads`, mixed);
await measure(`two runs of ${RANKS} ranks, ${rankEvents} and ${rankEvents / 10}`, all);
await measure(`a run of ${MANY} ranks, ${rankEvents}`, many);
// alternating, so that other load of the machine affects both
const pairs = Array.from({ length: PAIRS }, () => [cost(report, 'peaks', one), cost(report, 'html', '-o', page, one)]);
const fastest = [0, 1].map((i) => Math.min(...pairs.map((pair) => pair[i])));
console.log(
  `peaks ${fastest[0].toFixed(2)} s, html ${fastest[1].toFixed(2)} s, the fastest of ${PAIRS}: ${(fastest[1] / fastest[0]).toFixed(2)} times; ` +
    `median of the pairs ${median(pairs.map(([peaks, html]) => html / peaks)).toFixed(2)}`,
);
rmSync(folder, { recursive: true });
