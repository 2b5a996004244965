// While a map of many songs moves, what was drawn is moved and scaled by the browser instead of being drawn again. The
// picture is larger than the window for that. It is drawn anew when it would leave a part of the window blank, when it
// would be scaled too far, and when the map rests.
//
//   new HeldPicture(node, rested) -> .resize(width, height) -> [width, height, left, top] of the picture
//   picture.drawn(camera): it shows this view now
//   picture.carry(camera) -> whether it could be moved to this view

const MARGIN = 0.25; // of the window, on each side
const MIN_SCALE = 0.72;
const MAX_SCALE = 1.4;
const REST_MILLISECONDS = 90;

export class HeldPicture {
  constructor(node, rested) {
    Object.assign(this, { node, rested, timer: 0, affine: null, width: 1, height: 1, left: 0, top: 0 });
    node.classList.add("is-held");
  }

  resize(width, height) {
    this.left = Math.round(MARGIN * width);
    this.top = Math.round(MARGIN * height);
    this.width = width + 2 * this.left;
    this.height = height + 2 * this.top;
    this.affine = null;
    return [this.width, this.height, this.left, this.top];
  }

  drawn(camera) {
    this.stop();
    this.affine = camera.affine;
    this.node.style.setProperty("transform", "none");
  }

  carry(camera) {
    if (!this.affine) return false;
    const [kx, bx, ky, by] = camera.affine;
    const [kx0, bx0, ky0, by0] = this.affine;
    const sx = kx / kx0;
    const sy = ky / ky0;
    if (Math.min(sx, sy) < MIN_SCALE || Math.max(sx, sy) > MAX_SCALE) return false;
    const x = bx - sx * bx0;
    const y = by - sy * by0;
    const covers =
      x - sx * this.left <= 0 &&
      y - sy * this.top <= 0 &&
      x + sx * (this.width - this.left) >= camera.width &&
      y + sy * (this.height - this.top) >= camera.height;
    if (!covers) return false;
    this.node.style.setProperty("transform", `matrix(${sx}, 0, 0, ${sy}, ${x}, ${y})`);
    this.stop();
    this.timer = setTimeout(this.rested, REST_MILLISECONDS);
    return true;
  }

  stop() {
    clearTimeout(this.timer);
  }
}
