/** Buttons that copy a text, and a command with such a button. */
import { button, element } from './dom.js';

const SHOWN = 1500; // ms

/** Copies a text without the clipboard's interface, which a browser may refuse to a local file. @param {string} text */
function copyBySelection(text) {
  const area = /** @type {HTMLTextAreaElement} */ (element('textarea', { 'aria-hidden': 'true', class: 'outside' }));
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand('copy');
  area.remove();
}

/** Returns a button that copies a text. @param {string} label @param {string} title @param {() => string} text */
export function copyButton(label, title, text) {
  const made = button(label, title, async () => {
    try {
      await navigator.clipboard.writeText(text());
    } catch {
      copyBySelection(text());
      made.focus();
    }
    made.textContent = 'copied';
    setTimeout(() => (made.textContent = label), SHOWN);
  });
  return made;
}

/** @param {string} command */
export function copied(command) {
  const made = copyButton('copy', `copy: ${command}`, () => command);
  made.className = 'copy';
  return element('span', { class: 'copied' }, element('code', {}, command), made);
}
