// Names on the map: the largest groups first, each once, and titles where few songs are in view; none covers another,
// and those of groups cover no song of a selection.

const MIN_NAMED_SONGS = 60; // named even on a small screen, where there is room
const GAP = 6; // pixels kept free around a name
const STYLES = { genre: { size: 12.5, grow: 4, most: 28, strong: true }, artist: { size: 11.5, grow: 2, most: 28 } };

export function cut(text, most) {
  const letters = [...text];
  return letters.length > most
    ? `${letters
        .slice(0, most - 1)
        .join("")
        .trimEnd()}…`
    : text;
}

/** Labels of groups as the map holds them, [group, x, y, songs, reach] -> [{group, songs, clusters}], largest first. */
export function byGroup(rows, groupOf) {
  const songs = new Map();
  for (const group of groupOf) songs.set(group, (songs.get(group) ?? 0) + 1);
  const clusters = new Map();
  for (const row of rows) clusters.set(row[0], [...(clusters.get(row[0]) ?? []), row]);
  return [...clusters.keys()]
    .map((group) => ({ group, songs: songs.get(group) ?? 0, clusters: clusters.get(group) }))
    .sort((one, other) => other.songs - one.songs || one.group - other.group);
}

export class Labels {
  /** alone: nothing else is drawn on the canvas. */
  constructor(canvas, columns, camera, grid, { alone }) {
    Object.assign(this, { canvas, columns, camera, grid, alone, widths: new Map(), shown: [] });
    this.context = canvas.getContext("2d");
    this.groups = {
      genre: byGroup(columns.genreLabels, columns.genre),
      artist: byGroup(columns.artistLabels, columns.artist),
    };
  }

  /** Forget the widths of names: another font is there. */
  forget() {
    this.widths.clear();
  }

  /**
   * Draw once.
   *
   * look: {density, ink, paper, font, strong, left, top}, the last two how far the canvas reaches beyond the stage;
   * state: {kind, focus, standsOut, selected, chosen, covered}, covered() -> boxes of the stage without labels.
   */
  draw(look, state) {
    const { context, canvas } = this;
    context.setTransform(1, 0, 0, 1, 0, 0);
    if (this.alone) context.clearRect(0, 0, canvas.width, canvas.height);
    context.setTransform(look.density, 0, 0, look.density, look.left * look.density, look.top * look.density);
    Object.assign(context, { textBaseline: "middle", lineJoin: "round", textAlign: "left", lineWidth: 4 });
    Object.assign(context, { strokeStyle: look.paper, fillStyle: look.ink });
    this.shown = this.arrange(look, state);
    for (const { font, text, x, y } of this.shown) {
      context.font = font;
      context.strokeText(text, x, y);
      context.fillText(text, x, y);
    }
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

  /** Where names go, in order of importance: [{text, font, x, y, box}]. */
  arrange(look, state) {
    const { width, height, radius } = this.camera;
    const seen = this.seen(look);
    const points = seen.map((i) => this.camera.screen(this.columns.x[i], this.columns.y[i]));
    const bounds = [-look.left, -look.top, width + look.left, height + look.top];
    const taken = [...state.covered()];
    const placed = [];
    const names = new Set();
    let room = Math.floor((width * height) / 14_000) + 4;
    for (const { text, size, strong, spots, over = true, group = false } of this.candidates(state, seen)) {
      if (room <= 0) break;
      if (over && names.has(text)) continue; // an artist of the same name as a genre
      const font = `${strong ? look.strong : 400} ${size.toFixed(1)}px ${look.font}`;
      const long = this.measure(font, text);
      for (const [x, y] of spots(long)) {
        const box = [x - GAP, y - size * 0.625 - 3, x + long + GAP, y + size * 0.625 + 3];
        const outside = box[0] < bounds[0] || box[1] < bounds[1] || box[2] > bounds[2] || box[3] > bounds[3];
        const covers = (other) => box[0] < other[2] && other[0] < box[2] && box[1] < other[3] && other[1] < box[3];
        const hides = ([px, py]) => px > x - radius && px < x + long + radius && Math.abs(py - y) < radius + size / 2;
        if (outside || taken.some(covers) || (!over && points.some(hides))) continue;
        if (group && this.hidesChosen([x, y - size / 2, x + long, y + size / 2], state)) continue;
        taken.push(box);
        placed.push({ text, font, x, y, box });
        if (over) names.add(text);
        room--;
        break;
      }
    }
    return placed;
  }

  /** Whether what is drawn in a box would lie on a song of the selection. */
  hidesChosen([left, top, right, bottom], { chosen }) {
    if (!chosen.size) return false;
    const { camera, grid } = this;
    const [x0, y0] = camera.map(left - camera.radius, top - camera.radius);
    const [x1, y1] = camera.map(right + camera.radius, bottom + camera.radius);
    let hides = false;
    grid.within(x0, y0, x1, y1, (i) => {
      hides = chosen.has(i);
      return !hides;
    });
    return hides;
  }

  /** The songs in view if there are few enough to show their titles, or none. */
  seen(look) {
    const { camera } = this;
    const few = Math.max(MIN_NAMED_SONGS, (camera.width * camera.height) / 9000);
    const seen = [];
    const [x0, y0] = camera.map(-look.left, -look.top);
    const [x1, y1] = camera.map(camera.width + look.left, camera.height + look.top);
    this.grid.within(x0, y0, x1, y1, (i) => {
      seen.push(i);
      return seen.length <= few;
    });
    return seen.length > few ? [] : seen.sort((a, b) => a - b);
  }

  /** Names, the most important first, each with the spots where it may stand: spots(its width) -> [[x, y]]. */
  *candidates(state, seen) {
    const { columns, camera } = this;
    const { kind, selected } = state;
    if (selected >= 0) yield this.title(selected, { most: 40, size: 13.5, strong: true });
    if (kind !== "artist") yield* this.names("genre", columns.genres, state);
    if (kind === "artist" || camera.zoom >= 1.7 || !columns.genreLabels.length)
      yield* this.names("artist", columns.artists, state);
    for (const i of seen) {
      if (state.standsOut(i) && i !== selected) yield this.title(i, { most: 30, size: 11.5, over: false });
    }
  }

  /** A title beside its song; over: it may cover other songs. */
  title(i, { most, ...style }) {
    const [x, y] = this.camera.screen(this.columns.x[i], this.columns.y[i]);
    const away = this.camera.radius + 8;
    const spots = (long) => [
      [x + away, y],
      [x - away - long, y],
    ];
    return { text: cut(this.columns.title(i), most), spots, ...style };
  }

  /** The groups that are in view, larger for larger groups; a group is named at the first cluster with room. */
  *names(kind, names, state) {
    const { camera } = this;
    const groups = this.groups[kind];
    const { size, grow, most, strong } = STYLES[kind];
    for (const { group, songs, clusters } of groups) {
      if (!names[group] || (state.focus && state.kind === kind && state.focus.group !== group)) continue;
      const large = size + grow * Math.sqrt(songs / Math.max(groups[0].songs, 1));
      const near = clusters.map((row) => this.cluster(row)).filter(({ x, y }) => this.inSight(x, y));
      if (!near.length) continue;
      const heaps = state.chosen.size ? near.flatMap((one) => [one, aside(one)]) : near;
      const spots = (long) => heaps.flatMap((cluster) => spotsOf(cluster, long, large, camera));
      yield { text: cut(names[group], most), size: large, strong, spots, group: true };
    }
  }

  cluster([, x, y, , reach]) {
    const [across, down] = this.camera.scale;
    const [px, py] = this.camera.screen(x / 65535, y / 65535);
    return { x: px, y: py, wide: (2 * reach * across) / 65535, high: (1.4 * reach * down) / 65535 };
  }

  inSight(x, y) {
    const { width, height } = this.camera;
    return x > -80 && x < width + 80 && y > -40 && y < height + 40;
  }
}

/** A cluster whose name stands farther away from it. */
const aside = (cluster) => ({ ...cluster, wide: 1.5 * cluster.wide, high: 2 * cluster.high });

/** On the songs if they spread wider than the name, else above them; or below, or beside; inside the window. */
function spotsOf({ x, y, wide, high }, long, size, { width, height, radius }) {
  const away = high + radius + 0.8 * size;
  const middle = [x - long / 2, y];
  const above = [x - long / 2, y - away];
  const below = [x - long / 2, y + away];
  const right = [x + wide / 2 + radius + GAP, y];
  const left = [x - wide / 2 - radius - GAP - long, y];
  const order = wide < 5 * size ? [above, below, right, left] : [middle, above, below, right, left];
  if (x < 0 || x > width || y < 0 || y > height) return order;
  const inside = ([px, py]) => [
    Math.min(Math.max(px, 2 * GAP), Math.max(width - long - 2 * GAP, 2 * GAP)),
    Math.min(Math.max(py, size + GAP), height - size - GAP),
  ];
  return order.map(inside);
}
