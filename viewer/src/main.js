/** Reads the page's data and starts the app. */
import { App } from './app.js';
import { readPage } from './data.js';
import { listen } from './keys.js';
import { fromHash, repaired } from './state.js';
import { complain } from './trouble.js';

async function begin() {
  try {
    const app = new App(await readPage(document));
    await app.open(app.state);
    listen(app);
    Object.assign(globalThis, { memprof: app }); // for the browser's console
    addEventListener('resize', () => app.resize());
    // paper needs the light theme, and is narrower than a screen; a phone has a menu and shows one chart first
    for (const media of ['print', '(prefers-color-scheme: dark)', '(max-width: 700px)'])
      matchMedia(media).addEventListener('change', () => app.build());
    addEventListener('hashchange', () => {
      app.open(repaired(fromHash(location.hash, app.first), app.logs)).catch(complain);
    });
    /** @type {HTMLDetailsElement} */ (document.getElementById('tables')).open = false;
    document.documentElement.dataset.ready = String(Math.round(performance.now()));
  } catch (error) {
    complain(error);
    document.documentElement.dataset.ready = 'failed';
  }
}

begin();
