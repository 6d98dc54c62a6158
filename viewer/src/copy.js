/** A command with a button that copies it. */
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

/** @param {string} command */
export function copied(command) {
  const made = button('copy', `copy: ${command}`, async () => {
    try {
      await navigator.clipboard.writeText(command);
    } catch {
      copyBySelection(command);
      made.focus();
    }
    made.textContent = 'copied';
    setTimeout(() => (made.textContent = 'copy'), SHOWN);
  });
  made.className = 'copy';
  return element('span', { class: 'copied' }, element('code', {}, command), made);
}
