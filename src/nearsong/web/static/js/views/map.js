// The map of all songs: similar songs are close together. Loads it, or has it drawn first.

import { get } from "../core/api.js";
import { button, h, icon, replace } from "../core/dom.js";
import { count, number } from "../core/format.js";
import { clock, follow, isOver, progressBox, startJob, stopButton } from "../core/jobs.js";
import { say, sayError } from "../core/toasts.js";
import { Columns } from "../map/columns.js";
import { mapView } from "../map/view.js";
import { player } from "../player/player.js";
import { startRadio } from "../player/radio.js";
import { cover } from "../songs/cover.js";
import { songHref } from "../songs/links.js";
import { draft } from "./playlists/draft.js";

const MAX_QUEUED = 50; // songs that play after one of the map
const MAX_PLAYLIST = 10_000;

export async function show(root, params, app) {
  const box = h("div", { class: "map-view" });
  app.title("Map");
  replace(root, box);
  const status = await app.someStatus();
  if (!status.songs) return void empty(box);
  const view = { box, signal: app.signal, songs: status.songs, wanted: Number(params.query.get("song")) || 0 };
  await load(view).catch((error) => failed(view, error));
}

async function load(view) {
  const { box, signal } = view;
  const skeleton = h("div", { class: "skeleton map-skeleton", role: "status", "aria-label": "Loading the map" });
  message(box, "Loading the map", skeleton);
  const answer = await get("/map", {}, { signal });
  if (signal.aborted) return;
  if (!answer.positions) return wait(view, answer);
  if (!answer.songs) return empty(box);
  showMap(view, new Columns(answer));
}

function failed(view, error) {
  if (view.signal.aborted) return;
  if (error.type === "urn:nearsong:empty-library" || error.status === 409) return empty(view.box, error.detail);
  if (error.name !== "ApiError") console.error(error);
  const retry = button("Try again", () => load(view).catch((next) => failed(view, next)), { icon: "refresh" });
  message(view.box, "The map could not be loaded", h("p", {}, error.detail || "Something went wrong."), retry);
}

function message(box, title, ...parts) {
  replace(box, h("div", { class: "map-message empty" }, icon("map"), h("h1", { tabindex: "-1" }, title), parts));
}

function empty(box, detail) {
  message(
    box,
    "No songs on the map yet",
    h("p", {}, detail || "Songs appear here once there is music in the library."),
    h("a", { class: "button", href: "#/" }, icon("folder"), "Add music"),
  );
}

/** Show the progress of the job that draws the map, then load it. */
function wait(view, job) {
  const { box, signal } = view;
  const progress = progressBox(job);
  const time = drawingTime(view.songs);
  const lead = `Similar songs end up close together. This takes ${time}; you can keep using the page.`;
  message(
    box,
    "Drawing the map",
    h("p", { class: "map-lead" }, lead),
    h("div", { class: "card map-progress" }, progress.node),
    h("div", { class: "cluster" }, clock(job, signal), stopButton(job)),
  );
  const unfollow = follow(job.id, (now) => {
    if (signal.aborted) return;
    progress.update(now);
    if (!isOver(now)) return;
    if (now.state === "done") load(view).catch((error) => failed(view, error));
    else stopped(view, now);
  });
  signal.addEventListener("abort", unfollow);
}

/** Roughly, on a current machine; t-SNE does not report its progress. */
const drawingTime = (songs) =>
  songs < 1000 ? "a few seconds" : songs < 20_000 ? "about half a minute" : "a minute or two";

function stopped(view, job) {
  message(
    view.box,
    job.state === "failed" ? "The map could not be drawn" : "The map has not been drawn",
    h("p", {}, job.words),
    button("Draw the map", () => redraw(view), { icon: "refresh" }),
  );
}

async function redraw(view) {
  try {
    wait(view, await startJob("map"));
  } catch (error) {
    sayError(error);
  }
}

function showMap(view, columns) {
  const map = mapView(columns, {
    signal: view.signal,
    verb: "Play",
    notice: columns.missing > 0 && newSongs(view, columns.missing),
    open: (row, stage) => playFrom(stage, row),
    card: ({ row, stage }) => ({
      cover: cover(columns.song(row), 64, { eager: true }),
      actions: cardActions(stage, row),
    }),
    lasso: (rows) => lassoActions(rows.map((row) => columns.song(row))),
  });
  followPlayer(map.stage);
  replace(view.box, h("h1", { class: "visually-hidden", tabindex: "-1" }, "Map"), map.nodes);
  map.start(columns.rowOf.get(view.wanted));
}

function newSongs(view, missing) {
  const text = `${count(missing, "new song is", "new songs are")} not on the map yet.`;
  const again = button("Redraw", () => redraw(view), { class: "button plain small" });
  return h("div", { class: "map-new", role: "note" }, h("p", {}, text), again);
}

function cardActions(stage, row) {
  const song = stage.columns.song(row);
  return [
    button("Play", () => playFrom(stage, row), { class: "button small", icon: "play" }),
    h("a", { class: "button quiet small", href: songHref(song.id) }, icon("near"), "Open song"),
    button("Add to playlist", () => addToPlaylist(song), { class: "button quiet small", icon: "add" }),
  ];
}

function lassoActions(songs) {
  const create = () => {
    draft.setSongs(songs.slice(0, MAX_PLAYLIST), "From the map");
    location.hash = "#/playlists";
  };
  return [
    button(`Create playlist (${number(songs.length)})`, create, { class: "button small", icon: "playlist" }),
    button("Play", () => player.play(songs, { from: "From the map" }), { class: "button quiet small", icon: "play" }),
    button("Radio", () => startRadio({ songs, label: `${count(songs.length, "song")} of the map` }), {
      class: "button quiet small",
      icon: "radio",
    }),
  ];
}

/** Play a song of the map, then those around it. */
function playFrom(stage, row) {
  player.play(stage.grid.around(row, MAX_QUEUED).map((near) => stage.columns.song(near)));
}

function addToPlaylist(song) {
  const added = draft.add([song]);
  const songs = count(draft.state.songs.length, "song");
  const text = added ? `added to your playlist (${songs})` : "is already in your playlist";
  const open = () => {
    location.hash = "#/playlists";
  };
  say(`“${song.title}” ${text}.`, { kind: added ? "good" : "info", action: { label: "Open", run: open } });
}

function followPlayer(stage) {
  const mark = () => stage.setPlaying(player.current ? (stage.columns.rowOf.get(player.current.id) ?? -1) : -1);
  player.addEventListener("change", mark, { signal: stage.signal });
  mark();
}
