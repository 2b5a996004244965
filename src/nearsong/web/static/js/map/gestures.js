// Mouse, fingers, wheel and keys on the map's canvas -> camera moves, hover, taps and lassos.

const MAX_CLICK_PIXELS = 4; // movement that still counts as a click
const STEP = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/**
 * Listen on a canvas.
 *
 * on: {point(px, py, reach), leave(), tap(px, py, reach), draw(path), lasso(path), middle()}; listeners are
 * removed when `signal` is aborted. `gestures.lasso`: dragging draws an outline instead of moving the map.
 */
export class Gestures {
  constructor(canvas, camera, on, signal) {
    Object.assign(this, { canvas, camera, on, down: new Map(), moved: 0, path: null, lasso: false });
    const listen = (name, act, options = {}) => canvas.addEventListener(name, act, { signal, ...options });
    listen("pointerdown", (event) => this.press(event));
    listen("pointermove", (event) => this.move(event));
    listen("pointerup", (event) => this.release(event, true));
    listen("pointercancel", (event) => this.release(event, false));
    listen("pointerleave", () => on.leave());
    listen("wheel", (event) => this.roll(event), { passive: false });
    listen("keydown", (event) => this.key(event));
  }

  pixel(event) {
    const box = this.canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  reach(event) {
    return event.pointerType === "touch" ? 24 : Math.max(this.camera.radius + 5, 9);
  }

  press(event) {
    if (event.button) return;
    this.camera.stop();
    this.down.set(event.pointerId, this.pixel(event));
    try {
      this.canvas.setPointerCapture(event.pointerId);
    } catch {
      /* a pointer that is gone already */
    }
    if (this.down.size === 1) {
      this.moved = 0;
      if (this.lasso || event.shiftKey) this.path = [this.pixel(event)];
    } else if (this.path) {
      // a second finger: a pinch
      this.path = null;
      this.on.draw([]);
    }
  }

  move(event) {
    const at = this.pixel(event);
    const before = this.down.get(event.pointerId);
    if (!before) {
      if (event.pointerType !== "touch") this.on.point(...at, this.reach(event));
      return;
    }
    const dx = at[0] - before[0];
    const dy = at[1] - before[1];
    if (this.path) {
      if (Math.hypot(dx, dy) < 3) return;
      this.moved += Math.hypot(dx, dy);
      this.path.push(at);
      this.down.set(event.pointerId, at);
      this.on.leave();
      this.on.draw(this.path);
    } else if (this.down.size === 1) {
      this.moved += Math.hypot(dx, dy);
      if (this.moved <= MAX_CLICK_PIXELS) return;
      this.canvas.classList.add("is-dragged");
      this.on.leave();
      this.down.set(event.pointerId, at);
      this.camera.pan(dx, dy);
    } else if (this.down.size === 2) {
      this.pinch(event.pointerId, before, at);
    }
  }

  pinch(id, before, at) {
    const other = [...this.down].find(([key]) => key !== id)[1];
    const apart = ([x, y]) => Math.max(Math.hypot(x - other[0], y - other[1]), 1);
    this.moved += 2 * MAX_CLICK_PIXELS;
    this.down.set(id, at);
    this.camera.pan((at[0] - before[0]) / 2, (at[1] - before[1]) / 2);
    this.camera.zoomAt(apart(at) / apart(before), (at[0] + other[0]) / 2, (at[1] + other[1]) / 2);
  }

  release(event, finished) {
    if (!this.down.delete(event.pointerId)) return;
    this.canvas.classList.remove("is-dragged");
    const { path } = this;
    this.path = null;
    if (path && path.length > 2 && finished) return this.on.lasso(path);
    if (path) this.on.draw([]);
    if (finished && this.moved <= MAX_CLICK_PIXELS && !this.down.size)
      this.on.tap(...this.pixel(event), this.reach(event));
  }

  roll(event) {
    event.preventDefault();
    this.camera.stop();
    this.on.leave();
    const speed = event.deltaMode ? 0.05 : event.ctrlKey ? 0.01 : 0.0016;
    this.camera.zoomAt(Math.exp(-Math.min(Math.max(event.deltaY * speed, -0.7), 0.7)), ...this.pixel(event));
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { camera } = this;
    const step = STEP[event.key];
    if (step) camera.pan(-0.16 * step[0] * camera.width, -0.16 * step[1] * camera.height);
    else if (event.key === "+" || event.key === "=") camera.look(...camera.nearer(1.4));
    else if (event.key === "-" || event.key === "_") camera.look(...camera.nearer(1 / 1.4));
    else if (event.key === "0" || event.key === "Home") camera.fly(0.5, 0.5, 1);
    else if (event.key === "Enter") this.on.middle();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
