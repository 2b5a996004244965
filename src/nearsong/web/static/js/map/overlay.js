// Drawn over the points: labels without overlaps, rings, the outline of the lasso (canvas 2D).

const MIN_NAMED_SONGS = 60; // named even on a small screen, where there is room
const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif';

export function cut(text, most) {
  const letters = [...text];
  return letters.length > most
    ? `${letters
        .slice(0, most - 1)
        .join("")
        .trimEnd()}…`
    : text;
}

export class Overlay {
  constructor(canvas, columns, camera, grid) {
    Object.assign(this, { canvas, columns, camera, grid, widths: new Map() });
    this.context = canvas.getContext("2d");
  }

  /**
   * Draw once.
   *
   * look: {density, ink, paper, mark}; state: {kind, focus, standsOut, selected, hovered, playing, outline, drawing}.
   */
  draw(look, state) {
    const { context, camera } = this;
    context.setTransform(look.density, 0, 0, look.density, 0, 0);
    context.clearRect(0, 0, camera.width, camera.height);
    this.drawOutline(look, state);
    this.drawLabels(look, state);
    if (state.playing >= 0) this.ring(state.playing, 4.5, 2, look.mark);
    if (state.selected >= 0) this.ring(state.selected, 3, 2.5, look.ink);
    if (state.hovered >= 0 && state.hovered !== state.selected) this.ring(state.hovered, 3, 2, look.ink);
  }

  drawOutline(look, state) {
    const path = state.drawing.length ? state.drawing : state.outline.map(([x, y]) => this.camera.screen(x, y));
    if (path.length < 2) return;
    const { context } = this;
    context.beginPath();
    path.forEach(([x, y], at) => (at ? context.lineTo(x, y) : context.moveTo(x, y)));
    context.closePath();
    context.globalAlpha = 0.1;
    context.fillStyle = look.mark;
    context.fill();
    context.globalAlpha = 1;
    context.setLineDash(state.drawing.length ? [5, 4] : []);
    Object.assign(context, { lineWidth: 1.75, strokeStyle: look.mark, lineJoin: "round" });
    context.stroke();
    context.setLineDash([]);
  }

  ring(i, away, line, colour) {
    const { context, camera, columns } = this;
    const [px, py] = camera.screen(columns.x[i], columns.y[i]);
    context.beginPath();
    context.arc(px, py, camera.radius + away, 0, 7);
    Object.assign(context, { lineWidth: line, strokeStyle: colour });
    context.stroke();
  }

  measure(font, text) {
    const key = font + text;
    if (!this.widths.has(key)) {
      if (this.widths.size > 20_000) this.widths.clear();
      this.context.font = font;
      this.widths.set(key, this.context.measureText(text).width);
    }
    return this.widths.get(key);
  }

  /** Draw labels in order of importance, without overlaps. */
  drawLabels(look, state) {
    const { context, camera } = this;
    const { width, height, radius } = camera;
    const taken = [...state.covered];
    Object.assign(context, { textBaseline: "middle", lineJoin: "round", textAlign: "left" });
    let room = Math.floor((width * height) / 14_000) + 4;
    const seen = this.seen();
    const points = seen.map((i) => camera.screen(this.columns.x[i], this.columns.y[i]));
    for (const { text, x, y, size, weight = 500, beside = false, over = false, always = false } of this.labels(
      state,
      seen,
    )) {
      if (room <= 0) break;
      const font = `${weight} ${size.toFixed(1)}px ${FONT}`;
      const long = this.measure(font, text);
      const tall = size * 1.25;
      const within =
        // keep the labels of visible groups inside the view
        camera.zoom < 1.5 && x > 0 && x < width ? Math.min(Math.max(x - long / 2, 8), width - long - 8) : x - long / 2;
      for (const left of beside ? [x + radius + 8, x - radius - 8 - long] : [within]) {
        const box = [left - 6, y - tall / 2 - 3, left + long + 6, y + tall / 2 + 3];
        const outside = box[0] < 0 || box[2] > width || box[1] < 0 || box[3] > height;
        const covers = (other) => box[0] < other[2] && other[0] < box[2] && box[1] < other[3] && other[1] < box[3];
        const hides = ([px, py]) =>
          px > left - radius && px < left + long + radius && Math.abs(py - y) < radius + size / 2;
        if ((outside && !always) || taken.some(covers) || (beside && !over && points.some(hides))) continue;
        taken.push(box);
        Object.assign(context, { font, strokeStyle: look.paper, fillStyle: look.ink, lineWidth: 4 });
        context.strokeText(text, left, y);
        context.fillText(text, left, y);
        room--;
        break;
      }
    }
  }

  /** The songs in view if there are few enough to show their titles, or none. */
  seen() {
    const { camera } = this;
    const few = Math.max(MIN_NAMED_SONGS, (camera.width * camera.height) / 9000);
    const seen = [];
    const [x0, y0] = camera.map(0, 0);
    const [x1, y1] = camera.map(camera.width, camera.height);
    this.grid.within(x0, y0, x1, y1, (i) => {
      seen.push(i);
      return seen.length <= few;
    });
    return seen.length > few ? [] : seen.sort((a, b) => a - b);
  }

  /** Candidate labels, the most important first; `seen`: the songs that may be named. */
  *labels(state, seen) {
    const { columns, camera } = this;
    const { kind, standsOut } = state;
    if (state.selected >= 0) yield this.titled(state.selected, 40, { size: 13.5, weight: 700, over: true });
    if (kind !== "artist")
      yield* this.groups(columns.genreLabels, columns.genres, "genre", state, { size: 12.5, grow: 5, weight: 650 });
    if (kind === "artist" || camera.zoom >= 1.7 || !columns.genreLabels.length) {
      yield* this.groups(columns.artistLabels, columns.artists, "artist", state, { size: 11, grow: 2.5, weight: 500 });
    }
    for (const i of seen) {
      if (standsOut(i) && i !== state.selected) yield this.titled(i, 30, { size: 11, weight: 400 });
    }
  }

  titled(i, most, style) {
    const [x, y] = this.camera.screen(this.columns.x[i], this.columns.y[i]);
    return { text: cut(this.columns.title(i), most), x, y, beside: true, ...style };
  }

  /** Names of groups (rows of group, x, y, songs, reach), larger for larger groups. */
  *groups(rows, names, kind, state, style) {
    const { camera } = this;
    const [across, down] = camera.scale;
    for (const [group, x, y, songs, reach] of rows) {
      if (state.focus && state.kind === kind && state.focus.group !== group) continue;
      const size = style.size + style.grow * Math.sqrt(songs / rows[0][3]);
      const [px, py] = camera.screen(x / 65535, y / 65535);
      // on the songs if they spread wider than the name, else above them
      const above =
        (2 * reach * across) / 65535 < 5 * size ? (1.4 * reach * down) / 65535 + camera.radius + 0.8 * size : 0;
      const inSight = px > -80 && px < camera.width + 80 && py > -20 && py - above < camera.height + 20;
      if (inSight && names[group]) yield { ...style, text: cut(names[group], 28), x: px, y: py - above, size };
    }
  }
}
