/** Reads the page's data and begins. */
import { App } from './app.js';
import { readPage } from './data.js';
import { listen } from './keys.js';
import { fromHash, repaired } from './state.js';

/** @param {unknown} error */
function complain(error) {
  const trouble = /** @type {HTMLElement} */ (document.getElementById('trouble'));
  const why = error instanceof Error ? error.message : error;
  trouble.textContent =
    `The charts cannot be shown: the data in this file is damaged (${why}). ` +
    'The tables below are as memprof-report wrote them.';
  trouble.hidden = false;
}

async function begin() {
  try {
    const app = new App(await readPage(document));
    app.build();
    listen(app);
    Object.assign(globalThis, { memprof: app }); // for the browser's console
    /** @type {HTMLDetailsElement} */ (document.getElementById('tables')).open = false;
    addEventListener('resize', () => {
      const width = app.chartWidth();
      for (const chart of app.charts) chart.plot?.resize(width, chart.height);
      app.later();
    });
    // paper is light, and not as wide as a screen
    for (const media of ['print', '(prefers-color-scheme: dark)'])
      matchMedia(media).addEventListener('change', () => app.build());
    addEventListener('hashchange', () => {
      app.state = repaired(fromHash(location.hash, app.first), app.logs);
      app.build();
    });
    document.documentElement.dataset.ready = String(Math.round(performance.now()));
  } catch (error) {
    complain(error);
    document.documentElement.dataset.ready = 'failed';
  }
}

begin();
