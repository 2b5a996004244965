// mapThumbnail(box, signal): a sample of the map on a small canvas that leads to the map; a link if none is drawn

import { get } from "../../core/api.js";
import { h, icon } from "../../core/dom.js";
import { count } from "../../core/format.js";
import { categoryColours, theme } from "../../map/colours.js";
import { unpack } from "../../map/columns.js";

const STEPS = 65535; // positions are whole numbers of 65,535ths
const MIN_RADIUS = 1.3;
const MAX_RADIUS = 3.2;
const MARGIN = 10;

export async function mapThumbnail(box, signal) {
  const sample = await get("/map/thumbnail", {}, { signal });
  if (signal.aborted) return;
  if (!sample.songs) {
    box.append(h("a", { class: "button quiet", href: "#/map" }, icon("map"), "Draw the map of all songs"));
    box.hidden = false;
    return;
  }
  const canvas = h("canvas", { class: "home-map-canvas", "aria-hidden": true });
  const link = h(
    "a",
    { class: "home-map-link", href: "#/map", "aria-label": `Map of ${count(sample.songs, "song")}` },
    canvas,
    h("span", { class: "home-map-words" }, icon("map"), h("span", {}, "Map"), icon("right")),
  );
  box.append(link);
  box.hidden = false;
  const points = unpack(sample.positions);
  const genre = unpack(sample.genre);
  const draw = () => paint(canvas, points, genre);
  const sizes = new ResizeObserver(draw);
  sizes.observe(canvas);
  const themes = new MutationObserver(draw);
  themes.observe(document.documentElement, { attributeFilter: ["data-theme"] });
  signal.addEventListener("abort", () => {
    sizes.disconnect();
    themes.disconnect();
  });
}

/** The map with equal axes, as in its own view: as large as the canvas is high, in the middle. */
function paint(canvas, points, genre) {
  const { clientWidth: width, clientHeight: height } = canvas;
  if (!width || !height) return;
  const scale = devicePixelRatio || 1;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  const pen = canvas.getContext("2d");
  pen.scale(scale, scale);
  const colours = categoryColours(theme());
  const radius = Math.min(MAX_RADIUS, Math.max(MIN_RADIUS, 40 / Math.sqrt(genre.length)));
  const side = Math.min(width, height) - 2 * MARGIN;
  for (let i = 0; i < genre.length; i += 1) {
    pen.fillStyle = colours[genre[i]] || colours[0];
    pen.beginPath();
    const x = (width - side) / 2 + (points[2 * i] / STEPS) * side;
    const y = (height - side) / 2 + (points[2 * i + 1] / STEPS) * side;
    pen.arc(x, y, radius, 0, 2 * Math.PI);
    pen.fill();
  }
}
