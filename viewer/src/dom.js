/** Creates elements without markup: names from logs are text, never HTML. */
import { time } from './format.js';
import { callParts, partsOf } from './names.js';

/**
 * @param {string} tag
 * @param {Record<string, any>} [attributes] `on...` are listeners
 * @param {...(Node | string | null | false)} children
 * @returns {HTMLElement}
 */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false || value === null) continue;
    if (name.startsWith('on')) made.addEventListener(name.slice(2), value);
    else if (name === 'class') made.className = value;
    else made.setAttribute(name, value === true ? '' : String(value));
  }
  for (const child of children) if (child !== null && child !== false) made.append(child);
  return made;
}

/** Returns a select box. @param {string} label @param {[string, string][]} options value and text
 *  @param {string} chosen @param {(value: string) => void} change */
export function choice(label, options, chosen, change) {
  const select = /** @type {HTMLSelectElement} */ (element('select', { 'aria-label': label, title: label }));
  for (const [value, text] of options) select.append(element('option', { value, selected: value === chosen }, text));
  select.addEventListener('change', () => change(select.value));
  return select;
}

/** Returns true on a narrow screen, such as a phone's. */
export const isNarrow = () => matchMedia('(max-width: 700px)').matches;

/** Returns the name of a control for people who do not see it. It has the visible words, by which a voice selects it.
 *  @param {string} text @param {string} title */
const labelOf = (text, title) =>
  !/\w/.test(text) || title.toLowerCase().includes(text.toLowerCase()) ? title : `${text}: ${title}`;

/** @param {string} text @param {string} title @param {() => void} click @param {boolean} [pressed] */
export function button(text, title, click, pressed) {
  return element(
    'button',
    {
      type: 'button',
      title,
      'aria-label': labelOf(text, title),
      'aria-pressed': pressed === undefined ? undefined : String(pressed),
      onclick: click,
    },
    text,
  );
}

/** Returns a small canvas with a band's colour. @param {string | CanvasPattern} paint */
export function swatch(paint) {
  const ratio = globalThis.devicePixelRatio || 1;
  const canvas = /** @type {HTMLCanvasElement} */ (
    element('canvas', { class: 'swatch', width: 12 * ratio, height: 12 * ratio, 'aria-hidden': 'true' })
  );
  const c = canvas.getContext('2d');
  if (c) {
    c.fillStyle = paint;
    c.fillRect(0, 0, 12 * ratio, 12 * ratio);
  }
  return canvas;
}

/** Returns an element with a name. If the name is too long, its middle is cut, but not the part that distinguishes it
 *  from the other names. @param {string} name @param {Iterable<string>} [among] the other names */
export function nameText(name, among = []) {
  const parts = Object.entries(callParts(name, among) ?? partsOf(name, among)).filter(([, text]) => text),
    of = (/** @type {string} */ part) => (parts.length > 1 ? { class: part } : {});
  return element(
    'span',
    { class: 'text' },
    ...parts.map(([part, text]) => element('span', of(part), element('bdi', {}, text))),
  );
}

/** Returns a time whose title has all digits. @param {number} ns */
export const timeText = (ns) => element('span', { class: 'time', title: time(ns, 1) }, time(ns));

/**
 * Returns a table row. Its first cell is a header.
 * @param {(Node | string)[]} cells
 * @param {Record<string, any>} [attributes]
 */
export function row(cells, attributes = {}) {
  return element(
    'tr',
    attributes,
    ...cells.map((cell, i) => (i ? element('td', {}, cell) : element('th', { scope: 'row' }, cell))),
  );
}

/** @param {string | Node} caption @param {(Node | string)[]} heads @param {HTMLElement[]} rows */
export function table(caption, heads, rows) {
  return element(
    'table',
    {},
    element('caption', {}, caption),
    element('thead', {}, element('tr', {}, ...heads.map((head) => element('th', { scope: 'col' }, head)))),
    element('tbody', {}, ...rows),
  );
}

/** The colours of `:root` in the style sheet, because asking the element for its style costs a layout.
 *  @type {Map<string, string>} */
const colours = new Map();

/** @param {string} name */
export const colour = (name) => colours.get(name) ?? '';

/** Switches the colours to a theme. @param {'dark' | 'light'} theme */
export function setTheme(theme) {
  const root = document.documentElement,
    [sheet] = document.styleSheets;
  root.dataset.theme = theme;
  for (const rule of sheet.cssRules)
    if (rule instanceof CSSStyleRule && rule.selectorText.startsWith(':root') && root.matches(rule.selectorText))
      for (const name of rule.style) colours.set(name, rule.style.getPropertyValue(name).trim());
}

/** Returns a collapsed section. Its content is made when it is first opened. @param {string} text
 *  @param {() => (Node | string)[]} make */
export function folded(text, make) {
  const made = element('details', {}, element('summary', {}, text));
  made.addEventListener('toggle', () => made.append(...make()), { once: true });
  return made;
}

/** Returns a key for an element that distinguishes it from most others. @param {Element} of */
const calledAs = (of) =>
  `${of.tagName} ${of.getAttribute('data-key') ?? of.getAttribute('aria-label') ?? of.textContent}`;

const FOCUSABLE = 'button, select, input, summary, [tabindex]';

/** @param {ParentNode} of */
const controls = (of) => /** @type {HTMLElement[]} */ ([...of.querySelectorAll(FOCUSABLE)]);

/** Returns a key for a section that distinguishes it from others. @param {Element | null | undefined} section */
const sectionKey = (section) =>
  section
    ? ['panel', 'heap', 'log', 'gpu', 'account', 'role'].map((of) => section.getAttribute(`data-${of}`)).join()
    : '';

/** Runs a function that replaces elements, then restores the focus: to the new element with the same key, otherwise to
 *  the first control of its section, otherwise to the chart above it. @param {() => void} rebuild
 *  @param {Node[]} [places] the parents of the replaced elements, or undefined for the whole page */
export function keepingFocus(rebuild, places) {
  const focused = document.activeElement;
  if (!focused || focused === document.body || (places && !places.some((place) => place.contains(focused))))
    return rebuild();
  const SECTIONS = '[data-panel], .chart',
    name = calledAs(focused),
    alike = () => controls(document).filter((e) => calledAs(e) === name),
    which = alike().findIndex((e) => e === focused),
    before = controls(document),
    above = before
      .slice(
        0,
        before.findIndex((e) => e === focused),
      )
      .reverse(),
    key = sectionKey(focused.closest(SECTIONS));
  rebuild();
  if (focused.isConnected || (document.activeElement && document.activeElement !== document.body)) return;
  const section = [...document.querySelectorAll(SECTIONS)].find((of) => sectionKey(of) === key),
    charts = above.filter((e) => e.isConnected && e.matches('.plot')),
    again = (which >= 0 ? alike()[which] : undefined) ?? (section && controls(section)[0]) ?? charts[0];
  again?.focus({ preventScroll: true });
}

/** The steps of arrow keys in a grid: rows down, columns to the right.
 *  @type {Record<string, [number, number] | undefined>} */
export const ARROWS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
