// Makes the lists of html_columns.c available to the page. usage: node columns.mjs [--check] SOURCE_ROOT
// Writes viewer/src/columns.js from page.def, timeline.h and device.h. With --check, only compares them.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const check = process.argv[2] === '--check';
const root = process.argv[check ? 3 : 2];
const output = join(root, 'viewer/src/columns.js');
const WIDTH = 120;

/** Returns the entries of a list, each as its words. @param {string} text @param {string} name @returns {string[][]} */
function entries(text, name) {
  const body = text.match(new RegExp(`#define ${name}\\(X\\)((?:.*\\\\\n)*.*)`));
  if (!body) throw new Error(`no list ${name}`);
  return [...body[1].matchAll(/X\(([^)]*)\)/g)].map(([, words]) => words.split(',').map((word) => word.trim()));
}

const def = readFileSync(join(root, 'postproc/render/page.def'), 'utf8');
const result = readFileSync(join(root, 'postproc/analysis/timeline/timeline.h'), 'utf8');

/** @param {string} list @param {string} type */
function coded(list, type) {
  const columns = entries(def, `PAGE_${list}`);
  const lines = columns.map(([name, coding, , of]) => `  ['${name}', '${coding}'${of ? `, '${of}'` : ''}],\n`).join('');
  const names = columns.map(([name]) => `'${name}'`).join(' | ');
  return `/** @typedef {Record<${names}, Float64Array>} ${type} */\nexport const ${list} = [\n${lines}];\n`;
}

/** @param {string} list @param {string} type */
function plain(list, type) {
  const names = entries(def, `PAGE_${list}`).map(([name]) => `'${name}'`);
  const line = `export const ${list} = [${names.join(', ')}];\n`,
    made =
      line.length <= WIDTH ? line : `export const ${list} = [\n${names.map((name) => `  ${name},\n`).join('')}];\n`;
  return `/** @typedef {Record<${names.join(' | ')}, number>} ${type} */\n${made}`;
}

const views = entries(result, 'MPR_PAGE_VIEWS').map(([name]) => `'${name.toLowerCase()}'`);
const accounts = readFileSync(join(root, 'postproc/analysis/devices/device.h'), 'utf8'),
  exact = entries(accounts, 'MPR_ACCOUNT_KINDS').map(([, text]) => text.replaceAll('"', "'"));
const kinds = entries(result, 'MPR_BAND_KINDS').map(([name], i) => `${name} = ${i}`);
const facts = entries(result, 'MPR_BAND_FACTS').map(([name], i) => `${name} = ${1 << i}`);
const made = `// Made by viewer/columns.mjs from postproc/render/page.def and postproc/analysis/timeline/timeline.h. Change those.

${coded('SPANS', 'SpanLevels')}
${coded('SPAN_DETAILS', 'SpanDetails')}
${coded('BLOCKS', 'Blocks')}
${coded('FLOWS', 'Flows')}
${coded('INSTANCES', 'Instances')}
${coded('BOXES', 'Boxes')}
${coded('TAKEN', 'Taken')}
${coded('POINTS', 'Points')}
${coded('ACCOUNT', 'AccountInstants')}
${coded('SEGMENTS', 'SegmentRows')}
${coded('PINS', 'PinRows')}
${coded('HOLDERS', 'HolderRows')}
${coded('PLACES', 'Places')}
${plain('BANDS', 'BandNumbers')}
${plain('THEN', 'ThenNumbers')}
${plain('LINES', 'LineNumbers')}
/** @typedef {${views.join(' | ')}} By */
/** @type {By[]} */
export const VIEWS = [${views.join(', ')}];
/** The views whose rows are grouped into lines by memprof-report. */
export const LINE_VIEWS = VIEWS.slice(0, VIEWS.indexOf('size'));

/** The kinds of instants of a device's account. */
export const ACCOUNT_KINDS = [${exact.join(', ')}];

export const ${kinds.join(',\n  ')};

/** Facts about a band, as bits. */
export const ${facts.join(',\n  ')};
`;

if (!check) writeFileSync(output, made);
else if (readFileSync(output, 'utf8') !== made) {
  console.error('viewer/src/columns.js does not match the lists; run: node viewer/columns.mjs .');
  process.exit(1);
}
