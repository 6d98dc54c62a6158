/** Text of tables for spreadsheets, as postproc/render/csv.c writes it. */

/** A spreadsheet takes a cell that begins so for a formula; behind an apostrophe it is text. @param {string} text */
export const quote = (text) => `"${text.replace(/^[=+\-@]/, "'$&").replaceAll('"', '""')}"`;

/** @param {(string | number)[][]} records texts are quoted */
export const csv = (records) =>
  records
    .map((fields) => fields.map((field) => (typeof field === 'string' ? quote(field) : field)).join(',') + '\n')
    .join('');
