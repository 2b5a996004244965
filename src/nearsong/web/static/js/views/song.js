// One song: what it is, and what is near it as learned from listeners beside what is near by sound alone.

import { get, isAbort } from "../api.js";
import { h, icon, replace } from "../dom.js";
import { apart, artistOf, count, time, titleOf } from "../format.js";
import { isCurrent, player } from "../player.js";
import { artistHref, artistLink, cover, mapHref, songMenu, startPlaylist } from "../songs.js";
import { sayError } from "../toast.js";
import { learnNote } from "./empty.js";
import { neighbours } from "./neighbours.js";

const FIRST = 10;
const MOST = 50;
const LONG = 48; // letters of a title that needs smaller ones
const filters = { artist_once: false, new_artists: false }; // stays while one goes from song to song

export async function show(root, { id }, app) {
  const [song] = await Promise.all([get(`/songs/${id}`, {}, { signal: app.signal }), app.status || app.refreshStatus()]);
  app.title(`${apart(titleOf(song))} by ${apart(artistOf(song))}`);
  const state = { n: FIRST, near: [] };
  const place = h("div", { class: "near-place" });
  const switches = ["artist_once", "new_artists"].map((name) => filterChip(name, () => load(song, place, state, app)));
  const head = header(song, state, app);
  replace(root, head.node,
    h("div", { class: "near-tools cluster", role: "group", "aria-label": "Which songs may come" }, switches), place);
  skeleton(place);
  load(song, place, state, app);
  player.addEventListener("change", head.update);
  return () => player.removeEventListener("change", head.update);
}

function filterChip(name, changed) {
  const words = { artist_once: "Each artist once", new_artists: "Only other artists" };
  const chip = h("button", { class: "chip", type: "button", id: `filter-${name}`, "aria-pressed": filters[name], on: { click: () => {
    filters[name] = !filters[name];
    chip.setAttribute("aria-pressed", String(filters[name]));
    changed();
  } } }, words[name]);
  return chip;
}

function header(song, state, app) {
  const play = h("button", { class: "button", id: "play-song", type: "button", on: { click: () => {
    if (isCurrent(song)) player.toggle();
    else player.play([song, ...state.near.map((near) => near.song)]);
  } } });
  const update = () => {
    const on = isCurrent(song) && player.playing;
    const label = on ? "Pause" : "Play";
    if (play.textContent !== label) replace(play, icon(on ? "pause" : "play"), label);
  };
  update();
  const albumHref = `${artistHref(song.artist)}&album=${encodeURIComponent(song.album)}`;
  const facts = [
    song.album && h("a", { href: albumHref }, song.album), song.year && String(song.year),
    song.genre && h("a", { href: `#/?genre=${encodeURIComponent(song.genre)}` }, song.genre),
    time(song.seconds), song.plays > 0 ? count(song.plays, "play") : app.status.histories > 0 && "not played yet",
  ].filter(Boolean);
  const node = h("header", { class: "song-head" },
    h("div", { class: "song-cover" }, cover(song, 220, { eager: true })),
    h("div", { class: "song-facts" },
      h("h1", { tabindex: "-1", class: titleOf(song).length > LONG ? "is-long" : null }, titleOf(song)),
      h("p", { class: "song-artist" }, artistLink(song.artist)),
      h("ul", { class: "fact-line", role: "list", "aria-label": "About the song" }, facts.map((fact) => h("li", {}, fact))),
      h("div", { class: "cluster song-buttons" }, play,
        h("button", { class: "button quiet", id: "make-playlist", type: "button", on: { click: () => startPlaylist(song) } }, icon("playlist"), "Make a playlist from this"),
        h("a", { class: "button quiet", id: "show-on-map", href: mapHref(song.id) }, icon("map"), "Show on the map"),
        songMenu(song))));
  return { node, update };
}

function skeleton(place) {
  const rows = () => Array.from({ length: 6 }, () => h("div", { class: "skeleton row-waits" }));
  replace(place, h("div", { class: "columns", "aria-hidden": true },
    h("div", { class: "column" }, rows()), h("div", { class: "column column-native" }, rows())));
}

async function load(song, place, state, app) {
  const mine = (state.turn = (state.turn || 0) + 1);
  const ask = (metric) => get("/similar", { seed: song.id, n: state.n, metric, ...filters }, { signal: app.signal });
  try {
    const learns = app.status.model && app.status.model.kind !== "native";
    const [active, beside] = await Promise.all([ask("active"), learns ? ask("native") : null]);
    const native = beside || (active.model.kind === "native" ? null : await ask("native")); // it has learned since the status was asked
    if (mine !== state.turn) return;
    draw(song, place, state, app, active, native);
  } catch (error) {
    if (isAbort(error) || mine !== state.turn) return;
    if (place.querySelector(".song-row")) return sayError(error);
    replace(place, h("div", { class: "note warn" }, icon("warning"), h("p", {}, error.detail || "That did not work."),
      h("button", { class: "button quiet small", type: "button", on: { click: () => load(song, place, state, app) } }, "Try again")));
  }
}

function draw(song, place, state, app, active, native) {
  const learned = active.model.kind !== "native";
  state.near = active.songs;
  const whyOf = (near) => () => get("/why", { query: song.id, other: near.song.id }, { signal: app.signal });
  const more = active.songs.length >= state.n && state.n < MOST && h("button", { class: "button quiet", id: "more-near", type: "button", on: { click: () => {
    state.n = Math.min(MOST, state.n * 2);
    load(song, place, state, app);
  } } }, "Show more");
  const lists = neighbours({ learned: learned ? active.songs : null, native: learned ? native.songs : active.songs, query: song, whyOf, lesson: () => learnNote(app) });
  const end = more && h("div", { class: "library-end" }, more);
  replace(place, lists, learned && end);
  if (!learned && end) lists.querySelector(".column").append(end); // the lesson stands beside the list, or after all of it
}
