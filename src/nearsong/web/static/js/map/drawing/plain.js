// Positions and colours of songs -> round points on a 2D canvas, where there is no hardware WebGL 2.

/** Discs at 4 x 4 subpixel positions: offsets of the bytes they cover, and the coverage. */
function discs(radius, across) {
  const reach = Math.ceil(radius + 0.5);
  const phases = [];
  for (let phase = 0; phase < 16; phase++) {
    const at = [];
    const cover = [];
    const dx = ((phase % 4) + 0.5) / 4 - 0.5;
    const dy = (Math.floor(phase / 4) + 0.5) / 4 - 0.5;
    for (let y = -reach; y <= reach; y++) {
      for (let x = -reach; x <= reach; x++) {
        const covered = Math.round(255 * Math.min(Math.max(radius + 0.5 - Math.hypot(x - dx, y - dy), 0), 1));
        if (covered > 8) {
          at.push(4 * (y * across + x));
          cover.push(covered);
        }
      }
    }
    phases.push({ at: Int32Array.from(at), cover: Uint8Array.from(cover) });
  }
  return { reach, phases };
}

export class PlainPainter {
  constructor(canvas, columns) {
    Object.assign(this, { canvas, columns, name: "canvas", image: null });
    this.context = canvas.getContext("2d", { alpha: false });
  }

  colour(bytes, order) {
    Object.assign(this, { bytes, order });
  }

  /** affine: pixel = a * position + b as [ax, bx, ay, by]; it and the radius in pixels of the canvas. */
  draw([ax, bx, ay, by], radius, paper) {
    const { canvas, columns, bytes, order } = this;
    const across = canvas.width;
    const down = canvas.height;
    if (this.image?.width !== across || this.image?.height !== down)
      this.image = this.context.createImageData(across, down);
    const pixels = this.image.data;
    const [r0, g0, b0] = paper;
    new Uint32Array(pixels.buffer).fill((255 << 24) | (b0 << 16) | (g0 << 8) | r0);
    const { reach, phases } = discs(radius, across);
    for (const i of order) {
      const px = columns.x[i] * ax + bx;
      const py = columns.y[i] * ay + by;
      const left = Math.floor(px);
      const high = Math.floor(py);
      if (left < reach || high < reach || left >= across - reach || high >= down - reach) continue;
      const { at, cover } = phases[Math.floor((py - high) * 4) * 4 + Math.floor((px - left) * 4)];
      const here = 4 * (high * across + left);
      const r = bytes[4 * i];
      const g = bytes[4 * i + 1];
      const b = bytes[4 * i + 2];
      const alpha = bytes[4 * i + 3];
      for (let k = 0; k < at.length; k++) {
        const p = here + at[k];
        const a = (cover[k] * alpha) >> 8;
        pixels[p] += ((r - pixels[p]) * a) >> 8;
        pixels[p + 1] += ((g - pixels[p + 1]) * a) >> 8;
        pixels[p + 2] += ((b - pixels[p + 2]) * a) >> 8;
      }
    }
    this.context.putImageData(this.image, 0, 0);
  }

  close() {}
}
