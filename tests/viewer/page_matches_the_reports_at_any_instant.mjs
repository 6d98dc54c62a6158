// At any instant, the page agrees with the reports on any heap: in its legends, its pins, its segments and its graphs.
// Numbers that it knows only in part are marked as lower or upper bounds, and the bounds are correct.
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { CHROMIUM_ONLY, Workshop, bytesOf } from './browser.mjs';

const shop = new Workshop();
before(() => shop.open());
after(() => shop.close());

const GOLDEN = fileURLToPath(new URL('../golden/', import.meta.url));
const GOLDEN_LOGS = readdirSync(GOLDEN, { recursive: true, encoding: 'utf8' })
  .filter((name) => /^(workers\/)?[^/]*\.zst$/.test(name))
  .sort();
/** Firefox tests only a few of each kind, because all browsers run the same script. */
const COMPARED = CHROMIUM_ONLY
  ? GOLDEN_LOGS.filter((name) => /fragments|spike|graphs-oom|nccl-rank0|host-sample|3315/.test(name))
  : GOLDEN_LOGS;
/** @typedef {'auto' | 'range' | 'python' | 'stack' | 'thread' | 'size' | 'library'} Grouping */
/** @type {Grouping[]} */
const ALL = ['auto', 'range', 'python', 'stack', 'thread', 'size', 'library'];
/** PAGE_INSTANTS=N compares each log in all groupings, at N instants of each. The default is one instant of some groupings. */
const INSTANTS = Number(process.env.PAGE_INSTANTS ?? 1);
const SOME = 3;

/** Returns the groupings to compare for a log. Logs of one kind follow each other, and take different groupings. */
const groupingsOf = (/** @type {number} */ place) =>
  process.env.PAGE_INSTANTS ? ALL : Array.from({ length: SOME }, (_, i) => ALL[(place * SOME + i) % ALL.length]);

const NONE = { stack: '(no call stack)', python: '(no Python call stack)' };
const SUMS = /^(everything else|several, small)$/;

/** Returns every chart's legend and the pin table, as they are in the DOM. */
const seen = (page) =>
  page.evaluate(() => {
    const rows = (/** @type {HTMLTableElement} */ table) =>
      [.../** @type {NodeListOf<HTMLElement>} */ (table.querySelectorAll('tbody tr'))].map((row) => {
        const cell = /** @type {HTMLElement} */ (row.querySelector('td [title$="bytes"], td[title$="bytes"]'));
        return {
          name: row.dataset.name,
          bytes: Number(cell.title.replace(/ ±.*| bytes|,|≥ /g, '')),
          error: Number(cell.title.match(/± ([\d,]+)/)?.[1].replaceAll(',', '') ?? 0),
          least: cell.textContent.startsWith('≥'),
          about: cell.textContent.includes('~'),
        };
      });
    /** Returns the caption with all digits of its time. */
    const captionOf = (table) =>
      `${table.caption.textContent} (${table.caption.querySelector('.time')?.getAttribute('title') ?? ''})`;
    const total = (table) => Number(table.querySelector('tfoot .total').title.replace(/ bytes|,/g, ''));
    const legends = [
      .../** @type {NodeListOf<HTMLTableElement>} */ (document.querySelectorAll('.chart .legend table.bands')),
    ].map((table) => ({
      heap: /** @type {HTMLElement} */ (table.closest('.chart')).dataset.heap,
      caption: captionOf(table),
      exact: table.querySelector('.badge').classList.contains('exact'),
      total: total(table),
      rows: rows(table),
    }));
    const table = /** @type {HTMLTableElement | null} */ (document.querySelector('[data-panel="pin"] table'));
    const cut = /with .* more/.test(table?.tFoot.textContent); // only the largest names are listed
    return {
      legends,
      pin: table && { caption: captionOf(table), total: total(table), rows: rows(table), cut },
    };
  });

/** Returns a report's rows of a heap, by the page's names. */
function namesOf(heap, by) {
  const held = new Map();
  for (const { path, bytes_at_peak: bytes, estimated, error_bytes: error = 0 } of heap.ranges) {
    const name = path.length ? path.join(' > ') : (NONE[by] ?? 'outside any range'),
      same = held.get(name) ?? { bytes: 0, about: false, errors: [], rows: 0 };
    held.set(name, {
      bytes: same.bytes + bytes,
      about: same.about || estimated === true,
      errors: [...same.errors, error ?? 0],
      rows: same.rows + 1,
    });
  }
  return held;
}

const NOTHING = { bytes: 0, about: false, errors: [0], rows: 1 };

const printed = (caption) => caption.match(/\(([\d:]+\.\d{9}( s)?)\)/)?.[1].replace(' ', '');

class Comparison {
  constructor(log, by) {
    this.log = log;
    this.by = by;
    this.count = this.bounds = this.estimates = 0;
    this.wrong = [];
  }

  heaps(at) {
    return new Map(
      shop.report('peaks', '--by', this.by, '--at', at, this.log).logs[0].heaps.map((heap) => [heap.heap, heap]),
    );
  }

  equal(got, expected, what) {
    this.count++;
    if (got !== expected) this.wrong.push(`${what}: ${got}, expected ${expected}`);
  }

  /** Compares an estimate: a byte may be rounded otherwise, and variances are stored with three digits. */
  estimate({ name, bytes, error }, { bytes: expected, errors, rows }, what) {
    this.estimates++;
    this.count++;
    if (Math.abs(bytes - expected) > rows) this.wrong.push(`${what}, ${name}: ~${bytes}, expected ~${expected}`);
    if (bytes && rows === 1 && Math.abs(error - errors[0]) > 1 + errors[0] / 500)
      this.wrong.push(`${what}, ${name}: ± ${error}, expected ± ${errors[0]}`);
  }

  rows(rows, heap, what, cut = false) {
    const names = namesOf(heap, this.by);
    for (const row of rows) {
      const { name, bytes, least, about } = row,
        expected = names.get(name) ?? NOTHING;
      if (SUMS.test(name)) continue;
      if (least) this.bounds++;
      if (least && bytes <= expected.bytes + expected.rows) continue;
      if (about !== expected.about && bytes) this.wrong.push(`${what}, ${name}: is ${about ? 'an' : 'no'} estimate`);
      if (about) this.estimate(row, expected, what);
      else this.equal(bytes, expected.bytes, `${what}, ${name}`);
    }
    if (!cut)
      this.equal(
        rows.reduce((sum, row) => sum + row.bytes, 0),
        heap.peak_bytes,
        `${what}, sum`,
      );
  }
}

/** Pins instants of all heaps, and compares each legend and the pin's table with peaks at the times that they print. */
async function comparePins(page, log, by, instants) {
  const found = new Comparison(log, by);
  await page.evaluate((how) => memprof.change({ by: how, depth: 999 }), by); // whole paths
  for (const { heap, at } of instants) {
    await page.evaluate(([name, ns]) => memprof.pin([{ heap: name, log: 0, at: ns }]), [heap, at]);
    const { legends, pin } = await seen(page);
    const then = found.heaps(`${at}ns`);
    for (const legend of legends) {
      if (!printed(legend.caption)) continue;
      const heapThen = legend.exact ? then.get(legend.heap) : found.heaps(printed(legend.caption)).get(legend.heap);
      const what = `${by}, ${heap} pinned at ${at}: ${legend.heap}, ${legend.caption}`;
      found.equal(legend.total, heapThen.peak_bytes, what);
      found.rows(legend.rows, heapThen, what);
      if (legend.heap !== heap) continue;
      found.equal(pin.total, legend.total, `${what}, pin and legend`);
      found.equal(printed(pin.caption), printed(legend.caption), `${what}, time of pin and legend`);
      found.rows(pin.rows, heapThen, `${what}, table of the pin`, pin.cut);
    }
  }
  return found;
}

/** Chooses instants inside spans of any heap; one in four is the time of a mark. Each seed gives different instants. */
function chooseInstants(page, seed) {
  return page.evaluate(
    ([most, first]) => {
      const { heaps, marks } = memprof.logs[0];
      let state = Math.imul(first + 1, 0x9e3779b9); // consecutive seeds give unrelated numbers
      const dice = (sides) => {
        state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
        return Math.floor((state / 2 ** 32) * sides);
      };
      const of = (heap) => {
        const { start, time } = heap.spans,
          i = dice(start.length);
        return { heap: heap.name, at: [time[i], start[i], i + 1 < start.length ? start[i + 1] - 1 : time[i]][dice(3)] };
      };
      const marked = marks.filter((mark) => heaps.some((heap) => heap.name === mark.heap));
      return Array.from({ length: most }, () =>
        dice(4) === 3 && marked.length
          ? { heap: marked[dice(marked.length)].heap, at: marked[dice(marked.length)].time }
          : of(heaps[dice(heaps.length)]),
      );
    },
    [INSTANTS, seed],
  );
}

/** At the instant of the panel, or at a pin. */
async function compareSegments(page, log, at) {
  const wrong = [];
  let count = 0;
  if (at !== null)
    await page.evaluate((ns) => memprof.pin([{ heap: memprof.logs[0].heaps[0].name, log: 0, at: ns }]), at);
  else await page.evaluate(() => memprof.clear());
  const peaks = await page.evaluate(() =>
    memprof.logs[0].heaps.filter((heap) => heap.name.endsWith('/device')).map((heap) => heap.peakTime),
  );
  if (peaks.includes(at)) return { wrong, count }; // tested by page_shows_device_memory
  for (const device of shop.report('segments', ...(at === null ? [] : ['--at', `${at}ns`]), log).devices) {
    const panel = page.locator(`[data-panel="segments"][data-gpu="gpu${device.device}"]`);
    if (!device.segments.length || !(await panel.count())) continue;
    const held = await panel.locator('.sub .held'),
      sum = await panel.locator('.sub .free');
    const bound = /^≤/.test(await sum.textContent());
    const numbers = [bytesOf(await held.getAttribute('title')), bytesOf(await sum.getAttribute('title'))];
    const expected = [device.bytes, device.bytes - device.live_bytes];
    count++;
    if (bound ? numbers[0] > expected[0] : numbers.join() !== expected.join())
      wrong.push(`gpu${device.device} at ${at}: ${numbers}, expected ${expected}`);
    if (bound) continue;
    const states = await panel
      .locator('.sub .state')
      .evaluateAll((all) => all.map((part) => Number(part.title.replace(/ bytes|,/g, ''))));
    const free = [device.split_free_bytes, device.releasable_bytes, device.graph_free_bytes];
    if (states.join() !== free.join()) wrong.push(`gpu${device.device} at ${at}: ${states}, expected ${free}`);
    const rows = await panel
      .locator('.listed tbody tr')
      .evaluateAll((all) =>
        all.map((row) =>
          [
            ...[...row.querySelectorAll('td[title]')].map((cell) => Number(cell.title.replace(/ bytes|,/g, ''))),
            Number(row.lastElementChild.textContent.replaceAll(',', '')),
            row.dataset.state,
          ].join(),
        ),
      );
    const listed = device.segments.slice(0, rows.length).map((s) => [s.bytes, s.free_bytes, s.blocks, s.state].join());
    if (rows.join(';') !== listed.join(';'))
      wrong.push(`gpu${device.device} at ${at}: ${rows.join(';')}, expected ${listed.join(';')}`);
  }
  return { wrong, count };
}

async function compareGraphs(page, log) {
  const marks = await page.evaluate(() =>
    memprof.logs[0].marks
      .filter((m) => m.graph)
      .map((m) => [m.time, m.graph.segment_bytes, m.graph.executable_bytes, m.graph.launch_bytes, m.graph.bytes]),
  );
  const expected = shop
    .report('graphs', log)
    .graphs.map((g) => [
      g.time_ns,
      g.segment_bytes,
      g.executable_bytes,
      g.first_launch_bytes,
      g.segment_bytes + g.executable_bytes + g.first_launch_bytes,
    ]);
  assert.deepEqual(marks, expected);
}

/** Checks that each graph's bar has the report's numbers, the largest first. */
async function compareGraphPanel(page, log) {
  const rows = await page
    .locator('[data-panel="graphs"] tbody tr:has(button)')
    .evaluateAll((all) =>
      all.map((row) =>
        [...row.querySelectorAll('td > [title$=" bytes"]')].map((cell) =>
          Number(cell.getAttribute('title').replace(/ bytes|,/g, '')),
        ),
      ),
    );
  const expected = shop
    .report('graphs', log)
    .graphs.map((g) => [g.segment_bytes, g.executable_bytes, g.first_launch_bytes])
    .map((parts) => [...parts, parts.reduce((sum, bytes) => sum + bytes, 0)])
    .sort((a, b) => b[3] - a[3])
    .slice(0, 40);
  assert.deepEqual(rows, expected);
}

/** The number of logs and values that were compared in each grouping. */
const done = new Map(ALL.map((by) => [by, { logs: 0, values: 0 }]));

/** Compares a log in some groupings. Returns the numbers of values and of lower bounds. @param {string} log @param {Grouping[]} groupings */
async function compareAll(log, groupings) {
  const page = await shop.show(shop.html('same.html', log));
  let compared = 0,
    bounds = 0,
    estimates = 0;
  for (const by of groupings) {
    const found = await comparePins(page, log, by, await chooseInstants(page, ALL.indexOf(by)));
    assert.deepEqual(found.wrong.slice(0, 5), [], `${found.wrong.length} of ${found.count}`);
    compared += found.count;
    bounds += found.bounds;
    estimates += found.estimates;
    done.get(by).logs++;
    done.get(by).values += found.count;
  }
  for (const at of [null, ...(await chooseInstants(page, ALL.length)).map((instant) => instant.at)]) {
    const found = await compareSegments(page, log, at);
    assert.deepEqual(found.wrong, []);
    compared += found.count;
  }
  await compareGraphs(page, log);
  await compareGraphPanel(page, log);
  assert.deepEqual(page.trouble, []);
  await page.context().close();
  assert.ok(compared > 4 * groupings.length * INSTANTS, `${compared} values of ${log}`);
  return { compared, bounds, estimates };
}

for (const name of COMPARED) {
  test(`every number of ${name} is that of the reports, at any instant`, async () => {
    const groupings = groupingsOf(GOLDEN_LOGS.indexOf(name));
    const { compared, bounds, estimates } = await compareAll(GOLDEN + name, groupings);
    console.log(`${name}: ${compared} compared by ${groupings.join(', ')}, ${bounds} bounds, ${estimates} estimates`);
  });
}

for (const name of GOLDEN_LOGS.filter((log) => /^workers|^host-sample|^python-small/.test(log)))
  test(`every estimate of ${name} is that of peaks, in all groupings`, async () => {
    const { estimates } = await compareAll(GOLDEN + name, CHROMIUM_ONLY ? ['auto', 'python'] : ALL);
    assert.ok(estimates > (name.startsWith('python-small') ? 0 : 4), `${estimates} estimates`);
  });

test('so is every number of made logs', async () => {
  for (const [scenario, ...n] of [['whole'], ['ticks', '200000'], ['mixed', '60000']])
    await compareAll(shop.log(`${scenario}.zst`, scenario, ...n), ['range', 'thread', 'size']);
  for (const [i, scenario] of ['segments', 'reset'].entries())
    await compareAll(shop.gpuLog(`${scenario}.zst`, scenario), groupingsOf(i));
});

test('each grouping was compared in many logs', { skip: CHROMIUM_ONLY }, () => {
  for (const [by, { logs, values }] of done) {
    console.log(`${by}: ${values} values of ${logs} logs`);
    assert.ok(logs >= 10 && values > 7 * logs * INSTANTS, `${by}: ${values} values of ${logs} logs`);
  }
});
