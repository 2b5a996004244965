// The map itself: a picture (points and labels), marks over it, the camera, and the selection. Redraws on changes only.
//
//   new Stage(columns, signal) -> .node; .camera; .grid
//   stage.setKind("genre" | "artist" | "plays"), stage.setFocus(class or null), stage.choose(rows, outline)
//   stage.select(row), stage.hover(row), stage.setPlaying(row), stage.lassoOn = true, stage.resize(), stage.close()
//   stage.covered() -> boxes without labels; stage.edges() -> {left, top, right, bottom} margins of the whole map
//   Fires "view" (camera moved), "colours", "selected", "chosen" (by lasso or list), "lasso" (on or off),
//   "tap" (detail: row or -1), "hover" (detail: {row, px, py})

import { h, replace } from "../core/dom.js";
import { Camera } from "./camera.js";
import { colouring, QUIET, rgb, theme } from "./colours.js";
import { glPainter } from "./drawing/gl.js";
import { Grid } from "./grid.js";
import { Gestures } from "./gestures.js";
import { HeldPicture } from "./drawing/held.js";
import { Labels } from "./drawing/labels.js";
import { Marks } from "./drawing/marks.js";
import { PlainPainter } from "./drawing/plain.js";

const MAX_REDRAWN_POINTS = 2000; // without a graphics card; more are drawn when the map rests (drawing/held.js)

const STALE = ["marks", "moved", "anew"]; // what is to be drawn, the least first

const tell = (target, name, detail) => target.dispatchEvent(new CustomEvent(name, { detail }));

export class Stage extends EventTarget {
  constructor(columns, signal) {
    super();
    Object.assign(this, {
      columns,
      signal,
      density: 1,
      waiting: 0,
      stale: "anew",
      covered: () => [],
      edges: () => ({}),
    });
    Object.assign(this, { kind: "genre", focus: null, chosen: new Set(), outline: [], drawing: [] });
    Object.assign(this, { selected: -1, hovered: -1, playing: -1 });
    this.camera = new Camera(columns.n);
    this.camera.changed = () => {
      this.redraw("moved");
      tell(this, "view");
    };
    this.grid = new Grid(columns.x, columns.y);
    this.points = h("canvas", { class: "map-points", "aria-hidden": true });
    this.marks = new Marks(columns, this.camera);
    this.over = h(
      "div",
      { class: "map-over", id: "map-canvas", tabindex: "0", role: "application", "aria-roledescription": "map" },
      this.marks.nodes,
    );
    this.names = h("canvas", { class: "map-names", "aria-hidden": true });
    this.picture = h("div", { class: "map-picture" }, this.points, this.names);
    this.node = h("div", { class: "map-stage" }, this.picture, this.over);
    this.painter = glPainter(this.points, columns, () => this.recolour());
    if (!this.painter) {
      // a canvas with a WebGL context has no 2D one
      this.points = h("canvas", { class: "map-points", "aria-hidden": true });
      this.names = this.points; // one layer less to put together for every frame
      replace(this.picture, this.points);
      this.painter = new PlainPainter(this.points, columns);
    }
    const held = this.painter.name === "canvas" && columns.n > MAX_REDRAWN_POINTS;
    this.held = held ? new HeldPicture(this.picture, () => this.redraw("anew")) : null;
    this.node.dataset.painter = this.painter.name;
    this.labels = new Labels(this.names, columns, this.camera, this.grid, { alone: this.names !== this.points });
    this.camera.anchor = () => this.middleSong();
    this.gestures = new Gestures(this.over, this.camera, this.handlers(), signal);
    this.readLook();
    this.watch();
  }

  set lassoOn(on) {
    this.gestures.lasso = on;
    this.over.classList.toggle("is-lasso", on);
    tell(this, "lasso");
  }

  handlers() {
    const row = (px, py, reach) => this.grid.nearest(this.camera, px, py, reach, (i) => this.standsOut(i));
    return {
      point: (px, py, reach) => this.hover(row(px, py, reach), px, py),
      leave: () => this.hover(-1),
      tap: (px, py, reach) => {
        this.hover(-1);
        tell(this, "tap", row(px, py, reach));
      },
      middle: () => tell(this, "tap", row(...this.camera.centre, Math.max(this.camera.width, this.camera.height))),
      draw: (path) => {
        this.drawing = path;
        this.redraw("marks");
      },
      lasso: (path) => this.lasso(path),
    };
  }

  watch() {
    const { signal } = this;
    const again = () => {
      this.readLook();
      this.recolour();
    };
    const themes = new MutationObserver(again);
    const sizes = new ResizeObserver(() => this.resize());
    themes.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    sizes.observe(this.node);
    signal.addEventListener("abort", () => {
      themes.disconnect();
      sizes.disconnect();
      this.close();
    });
    this.loadFont();
  }

  /** Draw the names again once the page's font is there: a canvas does not ask for it by itself. */
  async loadFont() {
    const { font, strong } = this.look;
    const letters = [...this.columns.genres, ...this.columns.artists].join("").slice(0, 10_000);
    const loads = [400, strong].map((weight) => document.fonts.load(`${weight} 12px ${font}`, `A${letters}`));
    await Promise.allSettled(loads); // without it, the next font of the list is used
    if (this.signal.aborted) return;
    this.labels.forget();
    this.redraw();
  }

  readLook() {
    const style = getComputedStyle(document.documentElement);
    const value = (name) => style.getPropertyValue(name).trim();
    this.look = {
      font: value("--font"),
      strong: value("--strong"),
      ink: value("--ink"),
      paper: value("--map-paper") || value("--bg"),
      mark: value("--accent"),
      theme: theme(),
    };
  }

  // ------------------------------------------------------------ selection

  setKind(kind) {
    this.kind = kind;
    this.focus = null;
    this.recolour();
  }

  /** Highlight the songs of one class (its index in the legend), or all (null). */
  setFocus(at) {
    this.focus = at === null ? null : { at, group: this.colours.classes[at].group };
    this.recolour();
  }

  standsOut(i) {
    return this.focus === null || this.colours.of[i] === this.focus.at;
  }

  choose(rows, outline = []) {
    this.chosen = new Set(rows);
    this.outline = outline;
    this.recolour();
    tell(this, "chosen");
  }

  lasso(path) {
    this.drawing = [];
    const outline = path.map(([px, py]) => this.camera.map(px, py));
    this.choose(
      this.grid.inside(outline).filter((i) => this.standsOut(i)),
      outline,
    );
  }

  select(row) {
    this.selected = row;
    this.redraw(); // its title is a label
    tell(this, "selected");
  }

  setPlaying(row) {
    this.playing = row;
    this.redraw("marks");
  }

  hover(row, px = 0, py = 0) {
    if (row !== this.hovered) {
      this.hovered = row;
      this.redraw("marks");
    }
    this.over.classList.toggle("is-song", row >= 0);
    tell(this, "hover", { row, px, py });
  }

  /** The pixel of the song nearest to the centre, so that keys and buttons zoom in on songs. */
  middleSong() {
    const { camera, columns } = this;
    const [px, py] = camera.centre;
    const reach = Math.min(camera.width, camera.height);
    const row = this.grid.nearest(camera, px, py, reach, (i) => this.standsOut(i));
    return row < 0 ? [px, py] : camera.screen(columns.x[row], columns.y[row]);
  }

  /** Highlighted rows in view, and the `most` of them nearest to the centre. */
  inView(most) {
    const { camera, columns } = this;
    const [x0, y0] = camera.map(0, 0);
    const [x1, y1] = camera.map(camera.width, camera.height);
    const rows = [];
    this.grid.within(x0, y0, x1, y1, (i) => {
      if (this.standsOut(i)) rows.push(i);
    });
    const away = (i) => (columns.x[i] - camera.x) ** 2 + (columns.y[i] - camera.y) ** 2;
    const key = new Map(rows.map((i) => [i, away(i)]));
    return { rows, first: [...rows].sort((a, b) => key.get(a) - key.get(b) || a - b).slice(0, most) };
  }

  // ------------------------------------------------------------ drawing

  recolour() {
    const { columns } = this;
    const n = columns.n;
    this.colours = colouring(columns, this.kind);
    const { of, classes, front } = this.colours;
    const inks = classes.map((entry) => rgb(entry.colour));
    const quiet = rgb(QUIET[this.look.theme]);
    const bytes = new Uint8Array(4 * n);
    const alpha = n > 20_000 ? 200 : 230;
    const back = [];
    const fore = []; // grey points are drawn first, below the others
    for (let i = 0; i < n; i++) {
      const out = this.chosen.size ? this.chosen.has(i) : this.standsOut(i);
      const ink = out ? inks[of[i]] : quiet;
      bytes.set(ink, 4 * i);
      bytes[4 * i + 3] = out ? alpha : 110;
      (out && (of[i] < front || this.focus || this.chosen.size) ? fore : back).push(i);
    }
    const order = new Uint32Array(n);
    order.set(back);
    order.set(fore, back.length);
    this.painter.colour(bytes, order);
    this.redraw();
    tell(this, "colours");
  }

  /** what: "marks" alone, "moved" (a held picture may be moved instead), or "anew". */
  redraw(what = "anew") {
    this.stale = STALE.indexOf(what) > STALE.indexOf(this.stale) ? what : this.stale;
    if (this.waiting || this.signal.aborted) return;
    this.waiting = requestAnimationFrame(() => this.draw());
  }

  draw() {
    this.waiting = 0;
    if (this.signal.aborted || !this.colours) return;
    const { look, density, camera, held, stale } = this;
    this.stale = "marks";
    if (stale === "anew" || (stale === "moved" && !held?.carry(camera))) this.drawPicture();
    this.marks.draw({ ...look, density }, this);
  }

  drawPicture() {
    const { look, density, camera, held } = this;
    const [left, top] = held ? [held.left, held.top] : [0, 0];
    const [ax, bx, ay, by] = camera.affine;
    const affine = [ax, bx + left, ay, by + top].map((value) => value * density);
    this.painter.draw(affine, camera.radius * density, rgbOf(look.paper));
    this.labels.draw({ ...look, density, left, top }, this);
    held?.drawn(camera);
  }

  resize() {
    const box = this.node.getBoundingClientRect();
    if (!box.width || !box.height) return;
    this.density = Math.min(devicePixelRatio || 1, 2);
    const [width, height, left, top] = this.held?.resize(box.width, box.height) ?? [box.width, box.height, 0, 0];
    const fit = (canvas, across, down) => {
      const size = { width: Math.round(across * this.density), height: Math.round(down * this.density) };
      if (canvas.width !== size.width || canvas.height !== size.height) Object.assign(canvas, size);
    };
    for (const [name, value] of Object.entries({ left: -left, top: -top, width, height }))
      this.picture.style.setProperty(name, `${value}px`);
    this.picture.style.setProperty("transform-origin", `${left}px ${top}px`);
    fit(this.points, width, height);
    fit(this.names, width, height);
    fit(this.marks.canvas, box.width, box.height);
    this.stale = "anew";
    this.camera.fit(box.width, box.height, this.edges());
    this.draw(); // at once: resizing clears a canvas
  }

  close() {
    this.camera.stop();
    cancelAnimationFrame(this.waiting);
    this.held?.stop();
    this.painter.close();
  }
}

function rgbOf(colour) {
  return colour.startsWith("#") ? rgb(colour) : (colour.match(/[\d.]+/g) ?? [255, 255, 255]).slice(0, 3).map(Number);
}
