/** A chart and its legend side by side. The line between them sets the width of all legends. */
import { element } from './dom.js';

/** @typedef {import('./app.js').App} App */

const STEP = 24, // CSS pixels per key
  LEAST = 200; // of a legend and of a chart

/** Sets the width of the legends, or the default for 0. @param {App} app @param {number} width CSS pixels */
export function setLegendWidth(app, width) {
  app.state.legend = width;
  if (width) app.root.style.setProperty('--legend-width', `${width}px`);
  else app.root.style.removeProperty('--legend-width');
}

/** @param {App} app @param {HTMLElement} canvas @param {HTMLElement} legend */
export function pair(app, canvas, legend) {
  const line = element('div', {
    class: 'splitter',
    role: 'separator',
    tabindex: 0,
    'aria-orientation': 'vertical',
    'aria-label': 'width of the legends',
    'aria-valuenow': 38,
    title: 'drag, or use the arrow keys: width of the legends; double click: default',
  });
  const set = (/** @type {number} */ width) => {
    const most = pair.clientWidth - LEAST;
    setLegendWidth(app, Math.round(Math.max(LEAST, Math.min(most, width))));
    line.setAttribute('aria-valuenow', String(Math.round((100 * app.state.legend) / pair.clientWidth)));
    app.resize();
  };
  line.addEventListener('pointerdown', (event) => {
    const move = (/** @type {PointerEvent} */ e) => set(pair.getBoundingClientRect().right - e.clientX);
    event.preventDefault();
    line.setPointerCapture(event.pointerId);
    line.addEventListener('pointermove', move);
    line.addEventListener('pointerup', () => line.removeEventListener('pointermove', move), { once: true });
  });
  line.addEventListener('dblclick', () => {
    setLegendWidth(app, 0);
    app.resize();
  });
  line.addEventListener('keydown', (event) => {
    const by = event.key === 'ArrowLeft' ? STEP : event.key === 'ArrowRight' ? -STEP : 0;
    if (!by) return;
    event.preventDefault();
    event.stopPropagation();
    set(legend.clientWidth + by);
  });
  const pair = element('div', { class: 'pair' }, canvas, line, legend);
  return pair;
}
