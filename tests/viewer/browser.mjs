// Opens pages that memprof-report makes from test logs in a headless Chromium, or in FIREFOX. Environment: CHROMIUM,
// VIEWER_MODULES (holds node_modules), REPORT, MAKE_LOG, MAKE_GPU_LOG, MAKE_STACK_LOG, MEMPROF (programs, library).
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const INCOMPLETE = 3;
const { CHROMIUM, FIREFOX, VIEWER_MODULES, REPORT, MAKE_LOG, MAKE_GPU_LOG, MAKE_STACK_LOG, MEMPROF } = process.env;
const { chromium, firefox } = createRequire(VIEWER_MODULES)('playwright-core');

const inChromium = () =>
  chromium.launch({
    executablePath: CHROMIUM,
    // partial redraws give round corners another shade than a full redraw does
    args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-partial-raster'],
  });

/** Features that Playwright does not support in Firefox with WebDriver BiDi. Tests of these are skipped in Firefox. */
export const CHROMIUM_ONLY = FIREFOX ? 'not by WebDriver BiDi' : false;

/** Starts any installed Firefox with WebDriver BiDi, not Playwright's own build. */
const inFirefox = () => firefox.launch({ channel: 'moz-firefox', executablePath: FIREFOX });

export class Workshop {
  async open() {
    this.folder = mkdtempSync(join(tmpdir(), 'memprof-page.'));
    this.browser = await (FIREFOX ? inFirefox() : inChromium());
  }

  async close() {
    await this.browser.close();
    rmSync(this.folder, { recursive: true });
  }

  path(name) {
    return join(this.folder, name);
  }

  log(name, scenario, ...arguments_) {
    execFileSync(MAKE_LOG, [scenario, this.path(name), ...arguments_]);
    return this.path(name);
  }

  gpuLog(name, scenario, ...more) {
    execFileSync(MAKE_GPU_LOG, [scenario, this.path(name), ...more]);
    return this.path(name);
  }

  stackLog(name, scenario) {
    execFileSync(MAKE_STACK_LOG, [scenario, this.path(name)]);
    return this.path(name);
  }

  /** Runs a real program under memprof. */
  record(name, program, ...arguments_) {
    execFileSync(program, arguments_, {
      env: {
        ...process.env,
        LD_PRELOAD: MEMPROF,
        MEMPROF_OUT: this.path(name),
        MEMPROF_QUIET: '1',
        MEMPROF_MIN_RSS: '0',
      },
    });
    return this.path(name);
  }

  report(command, ...arguments_) {
    const options = { encoding: /** @type {const} */ ('utf8'), maxBuffer: 1 << 28 };
    return JSON.parse(execFileSync(REPORT, [command, ...arguments_, '--format', 'json'], options));
  }

  html(name, ...logs) {
    const { status, stderr } = spawnSync(REPORT, ['html', '-o', this.path(name), ...logs]);
    if (status !== 0 && status !== INCOMPLETE) throw new Error(String(stderr));
    return this.path(name);
  }

  /**
   * Opens a page and waits for it to be ready; `trouble` collects what a console or a page says, `requests` all
   * requests.
   * @param {string} file
   * @param {{ hash?: string } & import('playwright-core').BrowserContextOptions} [how]
   */
  async show(file, { hash = '', ...options } = {}) {
    const context = await this.browser.newContext({
      viewport: { width: 1280, height: 900 },
      acceptDownloads: true,
      ...options,
    });
    const page = await context.newPage();
    page.trouble = [];
    page.requests = [];
    page.on('console', (message) => {
      if (/error|warning/.test(message.type())) page.trouble.push(message.text());
    });
    page.on('pageerror', (error) => page.trouble.push(String(error)));
    page.on('request', (request) => page.requests.push(request.url()));
    await page.goto(pathToFileURL(file).href + hash);
    if (options.javaScriptEnabled !== false) await page.waitForFunction(() => document.documentElement.dataset.ready);
    return page;
  }

  edit(file, change) {
    writeFileSync(file, change(readFileSync(file, 'utf8')));
  }
}

/** Waits until the requested change has been drawn. */
export const drawn = (page) =>
  page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));

/** Waits until a log is one of the shown runs. The page first reads the details that only shown runs need.
 *  @param {'a' | 'b'} side */
export const chosen = (page, side, log) =>
  page.waitForFunction(([which, number]) => memprof.state[which] === number, /** @type {const} */ ([side, log]));

/** Returns the place in a chart's plot area at these shares of its width and height, by default the middle. */
export async function spot(page, chart, x = 0.5, y = 0.5) {
  const area = page.locator(`${chart} .u-over`).first();
  await area.scrollIntoViewIfNeeded();
  const box = await area.boundingBox();
  return { x: Math.round(box.x + box.width * x), y: Math.round(box.y + box.height * y) };
}

/** Returns the bytes in a cell's title, without the error of an estimate. */
export const bytesOf = (title) => Number(title.replace(/ ±.*| bytes|,/g, ''));

/** Returns names as the reports write them in JSON. */
export const WHOLE_PATHS = '#' + encodeURIComponent(JSON.stringify({ depth: 999 }));

/** Returns a table's rows: the name, and the exact bytes of each value cell. */
export const tableRows = (page, selector) =>
  page.evaluate(
    (s) =>
      [...document.querySelectorAll(`${s} tbody tr`)].map((row) => ({
        name: /** @type {HTMLElement} */ (row).dataset.name ?? row.querySelector('th')?.textContent,
        bytes: [...row.querySelectorAll('td [title$="bytes"], td[title$="bytes"]')].map((cell) =>
          Number(cell.getAttribute('title').replace(/ ±.*| bytes|,/g, '')),
        ),
      })),
    selector,
  );
