// The map of all songs: near songs sound alike, as learned. Loads it (or has it drawn), and puts its parts together.

import { get } from "../api.js";
import { announce, h, icon, replace } from "../dom.js";
import { count } from "../format.js";
import { cancelJob, clock, follow, isOver, progressBox, startJob } from "../jobs.js";
import { Columns, Finder } from "../map/columns.js";
import { kinds } from "../map/colours.js";
import { legend } from "../map/legend.js";
import { card, inViewList, pickedBar, playFrom, tip } from "../map/panel.js";
import { Stage } from "../map/stage.js";
import { songPicker } from "../picker.js";
import { player } from "../player.js";
import { sayError } from "../toast.js";

const ALERT = "Arrow keys move the map, plus and minus zoom, zero shows all of it, Enter plays the song in the middle. The songs in view are listed after the map.";

export async function show(root, params, app) {
  const place = h("div", { class: "map-view" });
  app.title("Map");
  replace(root, place);
  const status = app.status || (await app.refreshStatus());
  if (!status.songs) return void empty(place);
  const view = { place, signal: app.signal, songs: status.songs, wanted: Number(params.query.get("song")) || 0 };
  await load(view).catch((error) => failed(view, error));
}

async function load(view) {
  const { place, signal } = view;
  message(place, "Loading the map", h("div", { class: "skeleton map-skeleton", role: "status", "aria-label": "Loading the map" }));
  const answer = await get("/map", {}, { signal });
  if (signal.aborted) return;
  if (!answer.positions) return wait(view, answer);
  if (!answer.songs) return empty(place);
  begin(view, new Columns(answer));
}

function failed(view, error) {
  if (view.signal.aborted) return;
  if (error.type === "urn:nearsong:empty-library" || error.status === 409) return empty(view.place, error.detail);
  if (error.name !== "ApiError") console.error(error);
  const again = h("button", { class: "button", type: "button", on: { click: () => load(view).catch((next) => failed(view, next)) } }, icon("refresh"), "Try again");
  message(view.place, "The map cannot be shown", h("p", {}, error.detail || "Something went wrong in the page."), again);
}

function message(place, title, ...parts) {
  replace(place, h("div", { class: "map-message empty" }, icon("map"), h("h1", { tabindex: "-1" }, title), parts));
}

function empty(place, detail) {
  message(place, "The map is still empty", h("p", {}, detail || "Songs appear here as soon as there is music in the library."),
    h("a", { class: "button", href: "#/" }, icon("folder"), "Add music"));
}

/** The map is being drawn: show how far it is, then load it. */
function wait(view, job) {
  const { place, signal } = view, box = progressBox(job);
  const words = h("p", { class: "map-lead" }, "Every song finds its place, so that songs that sound alike end up side by side. ",
    `This is done once for each state of the library, and takes ${howLong(view.songs)}; you can go on using the page.`);
  const stop = h("button", { class: "button quiet small", type: "button", on: { click: () => cancelJob(job.id).catch(sayError) } }, "Stop");
  message(place, "Drawing the map", words, h("div", { class: "card map-progress" }, box.node), h("div", { class: "cluster" }, clock(job, signal), stop));
  const unfollow = follow(job.id, (now) => {
    if (signal.aborted) return;
    box.update(now);
    if (!isOver(now)) return;
    if (now.state === "done") load(view).catch((error) => failed(view, error));
    else stopped(view, now);
  });
  signal.addEventListener("abort", unfollow);
}

/** What a machine of today takes; within it t-SNE cannot tell how far it is. */
const howLong = (songs) => (songs < 1000 ? "some seconds" : songs < 20_000 ? "about half a minute" : "a minute or two");

function stopped(view, job) {
  const again = h("button", { class: "button", type: "button", on: { click: () => drawAgain(view) } }, icon("refresh"), "Draw the map");
  message(view.place, job.state === "failed" ? "The map could not be drawn" : "The map is not drawn yet",
    h("p", {}, job.error || "Drawing was stopped."), again);
}

async function drawAgain(view) {
  try {
    wait(view, await startJob("map"));
  } catch (error) {
    sayError(error);
  }
}

// ---------------------------------------------------------------- the map is there

function begin(view, columns) {
  const { place, signal } = view, stage = new Stage(columns, signal);
  const chosen = card(stage, () => { select(-1); stage.over.focus(); });
  const letGo = () => { stage.choose([]); stage.over.focus(); };

  function select(row, { play = false, near = false } = {}) {
    stage.select(row);
    chosen.show(row);
    if (row < 0) return;
    if (play) playFrom(stage, row);
    if (near) flyTo(stage, row, chosen.node);
    announce(columns.fullName(row));
  }

  const list = inViewList(stage, (row) => select(row, { play: true }));
  const find = finder(columns, signal, (row) => { select(row, { near: true }); stage.over.focus({ preventScroll: true }); });
  const lasso = lassoButton(stage);
  const colours = legend(stage);
  stage.over.setAttribute("aria-label", `Map of ${count(columns.n, "song")}`);
  stage.over.setAttribute("aria-describedby", "map-keys");
  stage.addEventListener("tap", ({ detail: row }) => select(row, { play: row >= 0 }));
  stage.addEventListener("escape", () => (stage.chosen.size || stage.outline.length ? letGo() : stage.focus ? stage.setFocus(null) : select(-1)));
  stage.addEventListener("chosen", () => { if (stage.chosen.size) { select(-1); lasso.set(false); } });
  stage.addEventListener("lasso", () => { if (stage.hands.lasso) select(-1); });
  follows(stage);
  replace(
    place, h("h1", { class: "visually-hidden", tabindex: "-1" }, "The map"), h("p", { id: "map-keys", class: "visually-hidden" }, ALERT),
    h("div", { class: "map-frame" }, stage.node, h(
      "div", { class: "map-overlay" },
      h("div", { class: "map-search" }, icon("search"), find.node), columns.missing > 0 && newSongs(view, columns), colours,
      tools(stage, lasso, list.toggle), h("div", { class: "map-foot" }, chosen.node, pickedBar(stage, letGo)),
    ), tip(stage)),
    list.node,
  );
  settle(stage, colours);
  const wanted = columns.rowOf.get(view.wanted);
  if (wanted !== undefined) select(wanted, { near: true });
}

/** Go to a song, so that the card does not cover it. */
function flyTo(stage, row, cover) {
  const { camera, columns } = stage, zoom = camera.bounded(Math.max(camera.zoom, 4));
  const narrow = cover.offsetWidth > camera.width / 2, down = (camera.scale[1] / camera.zoom) * zoom;
  camera.fly(columns.x[row], columns.y[row] + (narrow ? cover.offsetHeight / 2 / down : 0), zoom);
}

/** Fit everything to the window, now that it is on the page. */
function settle(stage, colours) {
  const wide = matchMedia("(min-width: 721px)");
  colours.open = wide.matches;
  stage.covered = () => {
    const box = stage.node.getBoundingClientRect();
    return [...stage.node.parentElement.querySelectorAll(".map-legend, .map-search, .map-tools, .map-card, .map-picked, .map-new")]
      .filter((part) => part.offsetParent && !part.hidden)
      .map((part) => part.getBoundingClientRect())
      .map((part) => [part.left - box.left, part.top - box.top, part.right - box.left, part.bottom - box.top]);
  };
  stage.edges = () => (wide.matches ? { left: colours.open ? colours.offsetWidth + 20 : 16, top: 8, right: 64, bottom: 16 }
    : { left: 8, top: 64, right: 8, bottom: 72 });
  colours.addEventListener("toggle", () => stage.resize());
  stage.setKind(kinds(stage.columns)[0]?.value ?? "plays");
  stage.resize();
}

function follows(stage) {
  const mark = () => stage.setPlaying(player.current ? stage.columns.rowOf.get(player.current.id) ?? -1 : -1);
  player.addEventListener("change", mark, { signal: stage.signal });
  mark();
}

function finder(columns, slash, pick) {
  const words = new Finder(columns);
  return songPicker({
    id: "map-find", label: "Find a song on the map", placeholder: "Find a song or an artist", wait: 60, slash,
    find: async (text) => words.find(text).map((row) => ({ song: columns.song(row), row })), pick: ({ row }) => pick(row),
  });
}

function newSongs(view, columns) {
  const text = columns.missing === 1 ? "1 new song is not on it yet." : `${count(columns.missing, "new song")} are not on it yet.`;
  return h("div", { class: "map-new", role: "note" }, h("p", {}, text),
    h("button", { class: "button plain small", type: "button", on: { click: () => drawAgain(view) } }, "Draw again"));
}

function lassoButton(stage) {
  const set = (on) => {
    stage.lassoOn = on;
    node.setAttribute("aria-pressed", String(on));
  };
  const press = () => {
    if (stage.chosen.size || stage.outline.length) stage.choose([]);
    set(node.getAttribute("aria-pressed") !== "true");
  };
  const node = h("button", {
    id: "map-lasso", class: "icon-button", type: "button", "aria-pressed": false, "aria-label": "Draw around songs to choose them",
    title: "Draw around songs (Shift + drag)", on: { click: press },
  }, icon("lasso"));
  return { node, set };
}

function tools(stage, lasso, toggle) {
  const { camera } = stage;
  const button = (name, label, key, act) => h("button", {
    class: "icon-button", type: "button", "aria-label": label, title: `${label} (${key})`, on: { click: act },
  }, icon(name));
  return h(
    "div", { class: "map-tools", role: "group", "aria-label": "Map tools" }, lasso.node, toggle,
    button("add", "Zoom in", "+", () => camera.fly(...camera.nearer(1.8))),
    button("remove", "Zoom out", "−", () => camera.fly(...camera.nearer(1 / 1.8))),
    button("fit", "Show the whole map", "0", () => camera.fly(0.5, 0.5, 1)),
  );
}
