/** The row of a band in a chart's table: its name hides the band, shows it alone and highlights it. */
import { fill } from './colours.js';
import { element, nameText, swatch } from './dom.js';
import { folder } from './folder.js';

/** @param {import('./app.js').App} app @param {string} name @param {string[]} among the names of the table
 *  @param {Node[]} beside elements next to the name @param {Node[]} cells */
export function bandRow(app, name, among, beside, cells) {
  const toggle = element(
    'button',
    { type: 'button', class: 'name', title: `${name}\nclick or Enter: hide, double click or Space: only this` },
    swatch(fill(app.slotOf(name), app.dark)),
    nameText(name, among),
  );
  const row = element(
    'tr',
    {
      'data-name': name,
      onmouseenter: () => app.light(name),
      onmouseleave: () => app.light(null),
      onfocusin: () => app.light(name),
      onfocusout: () => app.light(null),
      onclick: () => app.toggle(name),
      ondblclick: () => app.solo(name),
    },
    element('th', { scope: 'row' }, element('span', { class: 'named' }, toggle, ...beside, folder(app, name))),
    ...cells,
  );
  /** Updates the row after a change of the hidden bands, the highlighted one or the search. */
  const mark = () => {
    toggle.setAttribute('aria-pressed', String(app.visible(name)));
    row.classList.toggle('hidden-band', !app.visible(name));
    row.classList.toggle('lit', app.lit === name);
    row.classList.toggle('miss', app.misses(name));
  };
  return { row, mark };
}

/** @param {string} name @param {string} text */
export const holdsText = (name, text) => name.toLowerCase().includes(text.toLowerCase());

/** Puts children into an order and keeps the focus on the same element. @param {HTMLElement} parent
 *  @param {HTMLElement[]} order */
export function placed(parent, order) {
  if (order.every((child, i) => parent.children[i] === child)) return;
  const focused = document.activeElement;
  parent.append(...order);
  if (focused instanceof HTMLElement && parent.contains(focused)) focused.focus({ preventScroll: true });
}
