// Pages made by memprof-report from logs made here, in a headless Chromium, or in FIREFOX.  Environment: CHROMIUM, VIEWER_MODULES
// (a folder with node_modules), REPORT, MAKE_LOG, MAKE_GPU_LOG, MAKE_STACK_LOG, MEMPROF (programs and the library).
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
    // what is drawn over a part of a picture has round corners of another shade than what is drawn at once
    args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-partial-raster'],
  });

/** What Playwright does not do in Firefox by WebDriver BiDi: tests of that are skipped there. */
export const CHROMIUM_ONLY = FIREFOX ? 'not by WebDriver BiDi' : false;

/** By WebDriver BiDi: any Firefox, none of Playwright's own. */
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

  /** A real program under memprof. */
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

/** After what was asked for has been drawn. */
export const drawn = (page) =>
  page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));

/** After a log has become a run that is shown: what only such ones need is read first. @param {'a' | 'b'} side */
export const chosen = (page, side, log) =>
  page.waitForFunction(([which, number]) => memprof.state[which] === number, /** @type {const} */ ([side, log]));

/** Middle of a chart's plot area, and a place in it by shares of its width and height. */
export async function spot(page, chart, x = 0.5, y = 0.5) {
  const box = await page.locator(`${chart} .u-over`).first().boundingBox();
  return { x: Math.round(box.x + box.width * x), y: Math.round(box.y + box.height * y) };
}

/** The exact bytes that a cell's title says. */
export const bytesOf = (title) => Number(title.replace(/ bytes|,/g, ''));

/** Names as the reports have them in JSON. */
export const WHOLE_PATHS = '#' + encodeURIComponent(JSON.stringify({ depth: 999 }));

/** A table's rows: name and exact bytes of each value cell. */
export const tableRows = (page, selector) =>
  page.evaluate(
    (s) =>
      [...document.querySelectorAll(`${s} tbody tr`)].map((row) => ({
        name: /** @type {HTMLElement} */ (row).dataset.name ?? row.querySelector('th')?.textContent,
        bytes: [...row.querySelectorAll('td [title$="bytes"], td[title$="bytes"]')].map((cell) =>
          Number(cell.getAttribute('title').replace(/ bytes|,/g, '')),
        ),
      })),
    selector,
  );
