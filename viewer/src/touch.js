/** Fingers on a chart: one moves the view, two zoom it. Moving up and down scrolls the page. */

/** @param {HTMLElement} over the element that covers the chart @param {import('./app.js').App} app */
export function listenToTouch(over, app) {
  /** The x of each finger. @type {Map<number, number>} */
  const fingers = new Map();
  const middle = () => [...fingers.values()].reduce((sum, x) => sum + x, 0) / fingers.size,
    apart = () => Math.max(1, Math.max(...fingers.values()) - Math.min(...fingers.values()));
  over.addEventListener('pointerdown', (event) => {
    if (event.pointerType === 'touch') fingers.set(event.pointerId, event.clientX);
  });
  over.addEventListener('pointermove', (event) => {
    if (!fingers.has(event.pointerId)) return;
    const before = { middle: middle(), apart: apart() },
      { left, width } = over.getBoundingClientRect();
    fingers.set(event.pointerId, event.clientX);
    if (fingers.size > 1) app.zoom((before.middle - left) / width, before.apart / apart());
    app.pan((before.middle - middle()) / width);
  });
  for (const gone of ['pointerup', 'pointercancel', 'pointerleave'])
    over.addEventListener(gone, (event) => fingers.delete(/** @type {PointerEvent} */ (event).pointerId));
}
