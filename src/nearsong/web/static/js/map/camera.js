// The visible part of the map: map positions (0 to 1) <-> CSS pixels of the stage.

const MIN_ZOOM = 0.7;

export class Camera {
  /** @param {number} n songs; more songs allow a higher zoom */
  constructor(n) {
    Object.assign(this, {
      width: 1,
      height: 1,
      left: 0,
      top: 0,
      right: 0,
      bottom: 0,
      x: 0.5,
      y: 0.5,
      zoom: 1,
      flight: 0,
    });
    this.most = Math.min(Math.max(Math.sqrt(n) / 2, 12), 120);
    this.n = n;
    this.changed = () => {};
    this.anchor = () => this.centre; // the pixel that keys and buttons zoom at
  }

  /** Set the size of the stage, and how much of its edges is covered: {left, top, right, bottom}. */
  fit(width, height, covered) {
    Object.assign(this, { width: Math.max(width, 1), height: Math.max(height, 1), ...covered });
    this.changed();
  }

  get centre() {
    return [(this.width + this.left - this.right) / 2, (this.height + this.top - this.bottom) / 2];
  }

  /** Size of the whole map in pixels; a little wider than high on a wide stage. */
  get scale() {
    const across = Math.max(this.width - this.left - this.right, 1);
    const down = Math.max(this.height - this.top - this.bottom, 1);
    const low = Math.min(across, down);
    const wide = Math.min(Math.max(across / down, 0.72), 1.4);
    return wide > 1
      ? [Math.min(low * wide, across) * this.zoom, low * this.zoom]
      : [low * this.zoom, Math.min(low / wide, down) * this.zoom];
  }

  /** [ax, bx, ay, by] of  pixel = a * position + b. */
  get affine() {
    const [kx, ky] = this.scale;
    const [cx, cy] = this.centre;
    return [kx, cx - this.x * kx, ky, cy - this.y * ky];
  }

  screen(x, y) {
    const [ax, bx, ay, by] = this.affine;
    return [ax * x + bx, ay * y + by];
  }

  map(px, py) {
    const [ax, bx, ay, by] = this.affine;
    return [(px - bx) / ax, (py - by) / ay];
  }

  /** Radius of a point in CSS pixels: smaller with many songs, larger when zoomed in. */
  get radius() {
    const room = 0.3 * Math.sqrt((this.width * this.height) / Math.max(this.n, 1));
    return Math.min(Math.max(room * this.zoom ** 0.55, 1.15), 6.5);
  }

  bounded(zoom) {
    return Math.min(Math.max(zoom, MIN_ZOOM), this.most);
  }

  look(x, y, zoom = this.zoom) {
    this.zoom = this.bounded(zoom);
    this.x = Math.min(Math.max(x, 0), 1);
    this.y = Math.min(Math.max(y, 0), 1);
    this.changed();
  }

  pan(dx, dy) {
    const [kx, ky] = this.scale;
    this.look(this.x - dx / kx, this.y - dy / ky);
  }

  /** Zoom in (factor > 1) or out around a pixel. */
  zoomAt(factor, px = this.centre[0], py = this.centre[1]) {
    const [x, y] = this.map(px, py);
    const before = this.zoom;
    const zoom = this.bounded(before * factor);
    const share = before / zoom;
    this.look(x + (this.x - x) * share, y + (this.y - y) * share, zoom);
  }

  /** The view after zooming by `factor` around the anchor: [x, y, zoom]. */
  nearer(factor) {
    const [x, y] = this.map(...this.anchor());
    const zoom = this.bounded(this.zoom * factor);
    const share = this.zoom / zoom;
    return factor < 1 ? [this.x, this.y, zoom] : [x + (this.x - x) * share, y + (this.y - y) * share, zoom];
  }

  stop() {
    cancelAnimationFrame(this.flight);
  }

  fly(x, y, zoom = this.zoom) {
    this.stop();
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return this.look(x, y, zoom);
    const from = [this.x, this.y, Math.log(this.zoom)];
    const to = [x, y, Math.log(this.bounded(zoom))];
    let start = null;
    const step = (now) => {
      start ??= now;
      const t = Math.min(Math.max((now - start) / 420, 0), 1);
      const ease = 1 - (1 - t) ** 3;
      const at = from.map((value, i) => value + (to[i] - value) * ease);
      this.look(at[0], at[1], Math.exp(at[2]));
      if (t < 1) this.flight = requestAnimationFrame(step);
    };
    this.flight = requestAnimationFrame(step);
  }
}
