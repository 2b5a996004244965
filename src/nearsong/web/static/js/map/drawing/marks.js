// Over the picture of the map: rings around songs, and the outline of the lasso. Rings are elements, and the canvas of
// the outline is hidden without one: a canvas over the whole map makes every frame slow without a graphics card.

import { h } from "../../core/dom.js";

// what a ring is around -> how far it is from the song, pixels
const RINGS = { playing: 6, selected: 5, hovered: 4.5 };

export class Marks {
  constructor(columns, camera) {
    Object.assign(this, { columns, camera });
    this.canvas = h("canvas", { class: "map-outline", "aria-hidden": true, hidden: true });
    this.rings = Object.fromEntries(
      Object.keys(RINGS).map((name) => [name, h("span", { class: `map-ring is-${name}`, hidden: true })]),
    );
    this.nodes = [this.canvas, ...Object.values(this.rings)];
    this.context = this.canvas.getContext("2d");
  }

  /** Draw once. look: {density, mark}; state: {selected, hovered, playing, outline, drawing}. */
  draw(look, state) {
    const { outline, drawing } = state;
    this.canvas.hidden = outline.length + drawing.length < 2;
    if (!this.canvas.hidden) this.drawOutline(look, drawing, outline);
    for (const [name, ring] of Object.entries(this.rings)) this.move(ring, state[name], RINGS[name]);
    this.rings.hovered.hidden ||= state.hovered === state.selected;
  }

  drawOutline(look, drawing, outline) {
    const { context, canvas } = this;
    const path = drawing.length ? drawing : outline.map(([x, y]) => this.camera.screen(x, y));
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, canvas.width, canvas.height);
    context.setTransform(look.density, 0, 0, look.density, 0, 0);
    context.beginPath();
    path.forEach(([x, y], at) => (at ? context.lineTo(x, y) : context.moveTo(x, y)));
    context.closePath();
    context.globalAlpha = 0.1;
    context.fillStyle = look.mark;
    context.fill();
    context.globalAlpha = 1;
    context.setLineDash(drawing.length ? [5, 4] : []);
    Object.assign(context, { lineWidth: 1.75, strokeStyle: look.mark, lineJoin: "round" });
    context.stroke();
    context.setLineDash([]);
  }

  move(ring, i, away) {
    ring.hidden = i < 0;
    if (i < 0) return;
    const { camera, columns } = this;
    const [px, py] = camera.screen(columns.x[i], columns.y[i]);
    const reach = camera.radius + away;
    ring.style.setProperty("--size", `${2 * reach}px`);
    ring.style.setProperty("transform", `translate(${px - reach}px, ${py - reach}px)`);
  }
}
