/**
 * The lines of a table: the bytes of each holder at one instant, or at two side by side.
 * @typedef {{ name: string, values: (number | null)[], least: boolean[], blocks: (number | null)[], about: boolean[],
 *   errors: number[] }} Line least: lower bounds; about: estimates; errors: one standard error
 * @typedef {{ held: Map<string, { bytes: number, least?: boolean, blocks?: number, about?: boolean, error?: number }>,
 *   more: boolean }} Side more: names that are not listed may also have held bytes
 */
import { csv } from './csv.js';
import { isUnnamed } from './model.js';

/**
 * Returns the lines of one or two runs side by side, the largest first.
 * @param {Side[]} sides
 * @returns {Line[]}
 */
export function lines(sides) {
  const names = new Set(sides.flatMap(({ held }) => [...held.keys()]));
  const all = [...names].map((name) => {
    const found = sides.map(({ held, more }) => held.get(name) ?? { bytes: 0, least: more && !isUnnamed(name) });
    return {
      name,
      values: found.map(({ bytes, least }) => (bytes || least ? bytes : null)),
      least: found.map(({ least }) => least ?? false),
      about: found.map((of) => ('about' in of && of.about) || false),
      errors: found.map((of) => ('error' in of && of.error) || 0),
      blocks: found.map((of) => ('blocks' in of ? (of.blocks ?? null) : null)),
    };
  });
  const weight = (/** @type {Line} */ line) => Math.max(...line.values.map((value) => value ?? 0));
  return all.filter(weight).sort((a, b) => weight(b) - weight(a) || (a.name < b.name ? -1 : 1));
}

/** @param {string[]} heads @param {Line[]} all */
export function csvOf(heads, all) {
  const bounded = all.some((line) => [...line.least, ...line.about].some(Boolean)),
    bound = (/** @type {string} */ text) => (bounded ? [text] : []);
  const head = ['range', ...heads.flatMap((head) => [...bound(`${head} is`), `${head} bytes`])];
  const records = all.map(({ name, values, least, about }) => [
    name,
    ...values.flatMap((value, i) => [...bound(least[i] ? 'at least' : about[i] ? 'about' : 'exactly'), value ?? 0]),
  ]);
  return csv([head, ...records]);
}
