// Bundles src/ into one page.html: usage: node build.mjs OUTPUT
import { build } from 'esbuild';
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const output = process.argv[2] ?? join(here, 'page.html');

/** @param {string} entry */
async function bundle(entry) {
  const result = await build({
    entryPoints: [join(here, 'src', entry)],
    bundle: true,
    minify: true,
    write: false,
    format: 'iife',
    target: ['es2022'],
    charset: 'utf8',
    legalComments: 'none',
  });
  return result.outputFiles[0].text.replaceAll('</script', '<\\/script').trim();
}

/** @param {string} text */
const hash = (text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

const script = await bundle('main.js');
const style = await bundle('page.css');
const licence = readFileSync(join(here, 'node_modules', 'uplot', 'LICENSE'), 'utf8').trim();
const page = readFileSync(join(here, 'src', 'page.html'), 'utf8');
const parts = {
  csp:
    `default-src 'none'; script-src ${hash(script)}; style-src ${hash(style)}; ` +
    "img-src blob: data:; base-uri 'none'; form-action 'none'",
  licence: `Charts by uPlot.\n${licence}`.replaceAll('--', '- -'),
  style,
  script,
};
writeFileSync(
  output,
  page.replace(/<!--(csp|licence|style|script)-->/g, (_, name) => parts[/** @type {keyof typeof parts} */ (name)]),
);
