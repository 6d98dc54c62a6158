/**
 * A canvas that is redrawn at every change of the view. Its size is read, and its pixels are allocated, only when the
 * size changes: a frame that asked for the layout after others have written to the page would wait for a full layout.
 */
export class Sheet {
  /** @param {HTMLCanvasElement} canvas @param {() => void} draw when its size has changed */
  constructor(canvas, draw) {
    this.canvas = canvas;
    this.width = 0;
    this.height = 0;
    new ResizeObserver(() => {
      const { width, height } = this;
      this.measure();
      if (width !== this.width || height !== this.height) draw();
    }).observe(canvas);
  }

  measure() {
    this.width = this.canvas.clientWidth;
    this.height = this.canvas.clientHeight;
  }

  /** Returns an empty sheet for drawing, or null if it is not shown. Coordinates are pixels of the canvas, `ratio` per
   *  CSS pixel. */
  begin() {
    const { canvas } = this,
      ratio = globalThis.devicePixelRatio || 1;
    if (!this.width) this.measure();
    if (!this.width) return null;
    const c = canvas.getContext('2d'),
      [width, height] = [this.width, this.height].map((size) => Math.floor(size * ratio));
    if (!c) return null;
    if (canvas.width !== width) canvas.width = width;
    if (canvas.height !== height) canvas.height = height;
    c.clearRect(0, 0, width, height);
    return { c, ratio };
  }
}
