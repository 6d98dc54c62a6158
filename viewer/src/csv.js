/** Writes tables as CSV for spreadsheets, like postproc/render/csv.c. */

/** Returns a quoted field. A spreadsheet would read a cell with one of these first characters as a formula, so an
 *  apostrophe is put before it. @param {string} text */
export const quote = (text) => `"${text.replace(/^[=+\-@]/, "'$&").replaceAll('"', '""')}"`;

/** @param {(string | number)[][]} records texts are quoted */
export const csv = (records) =>
  records
    .map((fields) => fields.map((field) => (typeof field === 'string' ? quote(field) : field)).join(',') + '\n')
    .join('');
