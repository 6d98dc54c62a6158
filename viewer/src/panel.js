/** A panel whose table can be downloaded. */
import { button, element } from './dom.js';
import { saveCsv } from './exports.js';

/**
 * @param {Record<string, any>} attributes of the section; `class` is added to that of a panel
 * @param {{ name: string, text: () => string, tools?: Node[] }} file the table as CSV; tools: more buttons
 * @param {Node | string | (Node | string)[]} title
 * @param {...Node} content
 */
export function panel({ class: more, ...attributes }, { name, text, tools = [] }, title, ...content) {
  return element(
    'section',
    { class: more ? `panel ${more}` : 'panel', ...attributes },
    element(
      'div',
      { class: 'tools' },
      button('CSV', 'download this table as CSV', () => saveCsv(name, text())),
      ...tools,
    ),
    element('h2', {}, ...[title].flat()),
    ...content,
  );
}
