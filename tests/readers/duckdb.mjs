// DuckDB reads the files of `ranks --tables` and `export --to sqlite` without conversion. duckdb.mjs, with READERS (the
// folder of the packages), REPORT, MAKE_RANKS, GOLDEN, and CLUSTER and MAN (the pages whose queries are run).
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';

const { READERS = '', REPORT = '', MAKE_RANKS = '', GOLDEN = '', CLUSTER = '', MAN = '' } = process.env;
const RANKS = 12;
const { DuckDBInstance } = createRequire(join(READERS, 'package.json'))('@duckdb/node-api');

const folder = mkdtempSync(join(tmpdir(), 'memprof-test.'));
after(() => rmSync(folder, { recursive: true }));

const log = join(GOLDEN, 'h100-lora.zst');
const report = (/** @type {string[]} */ ...words) =>
  execFileSync(REPORT, words, { encoding: 'utf8', maxBuffer: 1 << 28 });
mkdirSync(join(folder, 'digests'));
execFileSync('python3', ['-B', MAKE_RANKS, REPORT, join(folder, 'digests'), String(RANKS), log]);
report('ranks', `--tables=${join(folder, 'job17')}`, join(folder, 'digests'));
const ranks = JSON.parse(report('ranks', '--format', 'json', join(folder, 'digests')));

const instance = await DuckDBInstance.create(':memory:', { autoinstall_known_extensions: 'false' });
const duckdb = await instance.connect();
/* Returns the rows of a query as objects. */
const rows = async (/** @type {string} */ sql) => (await duckdb.runAndReadAll(sql)).getRowObjectsJson();
const table = (/** @type {string} */ name) => `read_csv('${folder}/job17/${name}/*/*.csv', hive_partitioning = true)`;

test('each table is one over all ranks', async () => {
  for (const name of readdirSync(join(folder, 'job17'))) {
    const [{ ranks, n }] = await rows(`SELECT count(DISTINCT rank) AS ranks, count(*) AS n FROM ${table(name)}`);
    const files = readdirSync(join(folder, 'job17', name)).map((rank) =>
      readFileSync(join(folder, 'job17', name, rank, 'data.csv'), 'utf8'),
    );
    const lines = files.map((text) => text.replace(/"[^"]*"/g, '').split('\n').length - 2);
    assert.equal(
      Number(n),
      lines.reduce((sum, each) => sum + each, 0),
      name,
    );
    assert.equal(Number(ranks), lines.filter((each) => each > 0).length, name);
  }
});

test('ranks have the peaks that ranks tells', async () => {
  const sum =
    'SELECT rank, max(peak_bytes) AS bytes FROM ' +
    table('heaps') +
    " WHERE heap = 'gpu0/torch' GROUP BY rank ORDER BY rank";
  const found = (await rows(sum)).map((row) => [Number(row.rank), Number(row.bytes)]);
  const wanted = ranks.outliers.filter((/** @type {any} */ o) => o.causes_of === 'gpu0/torch');
  assert.equal(found.length, RANKS);
  assert.ok(wanted.length > 0, 'some ranks hold more');
  const median = found.map(([, bytes]) => bytes).sort((a, b) => a - b)[RANKS / 2 - 1];
  for (const o of wanted) assert.equal(found[o.rank][1] - median, o.change_bytes, `rank ${o.rank}`);
});

test("the manual's query runs", async () => {
  const query = /duckdb -c "(.*)"$/m.exec(readFileSync(CLUSTER, 'utf8'))?.[1] ?? '';
  const found = await rows(query.replace("'job17/", `'${folder}/job17/`));
  assert.deepEqual(
    [...new Set(found.map((row) => Number(row.rank)))].sort((a, b) => a - b),
    [...Array(RANKS).keys()],
  );
  assert.ok(found.every((row) => Number(row.peak_bytes) > 0));
});

// DuckDB's extension for SQLite is not part of the package, so it cannot be tested on every machine. The tables and the
// manual's queries can.
report('export', '--to', 'sqlite', '-o', join(folder, 'log.db'), log, join(GOLDEN, 'h200-graphs-oom.zst'));
const sqlite = (/** @type {string[]} */ ...words) =>
  execFileSync('sqlite3', [join(folder, 'log.db'), ...words], { encoding: 'utf8', maxBuffer: 1 << 28 });

test('an exported log is opened', async (t) => {
  try {
    await duckdb.run('LOAD sqlite');
  } catch (error) {
    t.skip(`DuckDB's extension for SQLite is not installed: ${String(error.message).split('\n')[0]}`);
    return;
  }
  await duckdb.run(`ATTACH '${folder}/log.db' AS log (TYPE sqlite, READ_ONLY)`);
  const [{ n }] = await rows('SELECT count(*) AS n FROM log.blocks');
  assert.ok(Number(n) > 0);
});

test("the manual's queries of an exported log have SQLite's answers", async () => {
  const tables = JSON.parse(sqlite('-json', "SELECT name, sql FROM sqlite_master WHERE type = 'table'"));
  for (const { name, sql } of tables) {
    await duckdb.run(sql.replaceAll('INTEGER', 'BIGINT'));
    writeFileSync(join(folder, `${name}.csv`), sqlite('-csv', '-nullvalue', 'NULL', `SELECT * FROM ${name}`));
    await duckdb.run(`COPY ${name} FROM '${folder}/${name}.csv' (FORMAT csv, AUTO_DETECT false, NULLSTR 'NULL')`);
  }
  const page = readFileSync(MAN, 'utf8').split('.SS A database')[1].split('.SS ')[0].replaceAll('\\-', '-');
  const queries = [...page.matchAll(/\.EX\n(.*?)\.EE/gs)].map(([, text]) => text.replace(/ LIMIT 10;/, ';'));
  assert.ok(queries.length > 10);
  for (const query of queries) {
    const wanted = JSON.parse(sqlite('-json', query) || '[]');
    assert.deepEqual(plain(await rows(query)), plain(wanted), query);
  }
});

/* Returns rows in a fixed order, because rows with equal sort keys have no order. Sums are wide integers in DuckDB, and
 * texts here. */
function plain(/** @type {any[]} */ all) {
  const number = (/** @type {any} */ x) => (x === null || isNaN(x) ? x : Number(Number(x).toPrecision(12)));
  return all.map((row) => JSON.stringify(Object.values(row).map(number))).sort();
}
