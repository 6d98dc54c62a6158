/** Shows an error instead of the charts. @param {unknown} error */
export function complain(error) {
  const trouble = /** @type {HTMLElement} */ (document.getElementById('trouble'));
  const why = error instanceof Error ? error.message : error;
  trouble.textContent =
    `The charts cannot be shown: the data in this file is damaged (${why}). ` +
    'The tables below are as memprof-report wrote them.';
  trouble.hidden = false;
}
