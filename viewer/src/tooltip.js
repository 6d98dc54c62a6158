/** The tooltip at the mouse: the band under it, at the cursor's time. The legend has the same numbers, so screen readers
 *  skip it. */
import { element } from './dom.js';

/** @typedef {{ x: number, y: number }} Point in the window, CSS pixels */

const WIDTH = 380, // as in page.css
  HEIGHT = 90,
  APART = 14; // from the mouse

const root = element('div', { class: 'tooltip', 'aria-hidden': 'true', hidden: true });

/** Shows lines next to the mouse. @param {Point} mouse @param {...HTMLElement} lines */
export function showTooltip(mouse, ...lines) {
  if (!root.isConnected) document.body.append(root);
  const isRight = mouse.x + APART + WIDTH <= innerWidth,
    left = isRight ? `${mouse.x + APART}px` : `calc(${mouse.x - APART}px - 100%)`,
    top = mouse.y + APART + HEIGHT > innerHeight ? mouse.y - APART - HEIGHT : mouse.y + APART;
  root.replaceChildren(...lines);
  root.style.transform = `translate(${left}, ${top}px)`;
  root.hidden = false;
}

export function hideTooltip() {
  root.hidden = true;
}
