// Positions of songs -> those near a pixel, in a rectangle or in an outline, by a grid of cells.

export class Grid {
  constructor(x, y) {
    Object.assign(this, { x, y });
    const n = x.length;
    const side = Math.max(1, Math.min(512, Math.round(Math.sqrt(n / 3))));
    this.side = side;
    this.starts = new Uint32Array(side * side + 1);
    this.order = new Uint32Array(n); // rows, cell by cell
    const cellOf = (i) => this.cell(y[i]) * side + this.cell(x[i]);
    for (let i = 0; i < n; i++) this.starts[cellOf(i) + 1]++;
    for (let c = 0; c < side * side; c++) this.starts[c + 1] += this.starts[c];
    const next = this.starts.slice();
    for (let i = 0; i < n; i++) this.order[next[cellOf(i)]++] = i;
  }

  cell(value) {
    return Math.min(this.side - 1, Math.max(0, Math.floor(value * this.side)));
  }

  /** Call `use(i)` for each row in a rectangle of the map; it may return false to stop. */
  within(x0, y0, x1, y1, use) {
    const { x, y, starts, order, side } = this;
    const first = this.cell(x0);
    const last = this.cell(x1);
    for (let line = this.cell(y0); line <= this.cell(y1); line++) {
      for (let k = starts[line * side + first]; k < starts[line * side + last + 1]; k++) {
        const i = order[k];
        if (x[i] >= x0 && x[i] <= x1 && y[i] >= y0 && y[i] <= y1 && use(i) === false) return;
      }
    }
  }

  /** The row nearest to a pixel within `reach` pixels, or -1; the lower row of equally near ones. */
  nearest(camera, px, py, reach, allowed = () => true) {
    const [x0, y0] = camera.map(px - reach, py - reach);
    const [x1, y1] = camera.map(px + reach, py + reach);
    const [ax, bx, ay, by] = camera.affine;
    let best = -1;
    let least = reach * reach;
    this.within(x0, y0, x1, y1, (i) => {
      const away = (ax * this.x[i] + bx - px) ** 2 + (ay * this.y[i] + by - py) ** 2;
      if ((away < least || (away === least && i < best)) && allowed(i)) {
        least = away;
        best = i;
      }
    });
    return best;
  }

  /** The rows nearest to a row on the map, itself first, up to `most`. */
  around(row, most) {
    const { x, y } = this;
    const away = (i) => (x[i] - x[row]) ** 2 + (y[i] - y[row]) ** 2;
    const wanted = Math.min(most, x.length);
    let found = [];
    for (let reach = 1 / this.side; found.length < wanted; reach *= 2) {
      // only what is inside the circle is known to be nearest
      found = [];
      this.within(x[row] - reach, y[row] - reach, x[row] + reach, y[row] + reach, (i) => {
        if (reach > 1 || away(i) <= reach * reach) found.push(i);
      });
    }
    return found.sort((a, b) => (b === row) - (a === row) || away(a) - away(b) || a - b).slice(0, most);
  }

  /** Rows in a closed outline, given as [x, y] of the map, in order. */
  inside(outline) {
    if (outline.length < 3) return [];
    const xs = outline.map(([x]) => x);
    const ys = outline.map(([, y]) => y);
    const found = [];
    this.within(Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys), (i) => {
      if (surrounds(outline, this.x[i], this.y[i])) found.push(i);
    });
    return found.sort((a, b) => a - b);
  }
}

/** Whether a ray from a position crosses the outline an odd number of times. */
export function surrounds(outline, x, y) {
  let odd = false;
  for (let i = 0, j = outline.length - 1; i < outline.length; j = i++) {
    const [xi, yi] = outline[i];
    const [xj, yj] = outline[j];
    if (yi > y !== yj > y && x < ((xj - xi) * (y - yi)) / (yj - yi) + xi) odd = !odd;
  }
  return odd;
}
