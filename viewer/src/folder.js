/** The button that expands a line into its rows, or collapses them again. */
import { element } from './dom.js';
import { count, size } from './format.js';
import { isFold } from './folds.js';

/**
 * @typedef {import('./app.js').App} App
 * @typedef {import('./folds.js').Line} Line
 */

/** Returns the line that has this name or contains a row of this name. @param {App} app @param {string} name
 *  @returns {Line | undefined} */
function lineOf(app, name) {
  for (const { folds } of app.stacks.values()) if (folds.has(name)) return folds.get(name);
  for (const log of app.runs())
    for (const { lines } of log.heaps) {
      const found = lines.auto.lines.find((line) => isFold(line) && line.name === name);
      if (found) return found;
    }
}

/** Returns the sizes of the siblings of a line that `peaks` lists apart from them. @param {Line} line */
function siblings({ least, most }) {
  if (!most) return '';
  return least === most ? `siblings ${size(most)}` : `siblings ${size(least)} to ${size(most)}`;
}

/** Returns the button, or null if the name is not a line of several rows. @param {App} app @param {string} name */
export function folder(app, name) {
  const line = lineOf(app, name),
    { unfolded } = app.state;
  if (!line) return null;
  const open = unfolded.includes(line.name),
    title = open ? `fold to ${line.name}` : `${line.name}: show its ${count(line.rows)} parts`;
  return element(
    'button',
    {
      type: 'button',
      class: 'folder',
      'data-key': `parts of ${line.name}`,
      title: [title, siblings(line)].filter(Boolean).join('; '),
      'aria-label': title,
      'aria-expanded': String(open),
      onclick: (/** @type {Event} */ event) => {
        event.stopPropagation();
        app.change({ unfolded: open ? unfolded.filter((other) => other !== line.name) : [...unfolded, line.name] });
      },
    },
    open ? '−' : `+${count(line.rows)}`,
  );
}
