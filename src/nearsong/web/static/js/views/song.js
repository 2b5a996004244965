// One song, and similar songs: learned from listeners, and by sound.

import { get, isAbort } from "../core/api.js";
import { button, h, icon, replace } from "../core/dom.js";
import { apart, artistOf, count, time, titleOf } from "../core/format.js";
import { skeleton } from "../widgets/skeleton.js";
import { isCurrent, player } from "../player/player.js";
import { startRadio } from "../player/radio.js";
import { cover } from "../songs/cover.js";
import { albumLink, artistLink, mapHref } from "../songs/links.js";
import { dialControl, dialPosition } from "../songs/dial.js";
import { heartButton } from "../songs/hearts.js";
import { switches } from "../songs/filters.js";
import { songMenu, startPlaylist } from "../songs/menu.js";
import { sayError } from "../core/toasts.js";
import { learnNote } from "./library/empty.js";
import { neighbours } from "./song/neighbours.js";
import { notLike } from "./song/not_like.js";

const FIRST = 10;
const MOST = 50;
const LONG_TITLE_CHARACTERS = 48; // longer titles get a smaller font
const chosen = {}; // filters: parameter -> whether it is on; kept from song to song

export async function show(root, { id }, app) {
  const [song, filters] = await Promise.all([
    get(`/songs/${id}`, {}, { signal: app.signal }),
    switches(),
    app.someStatus(),
  ]);
  app.title(`${apart(titleOf(song))} by ${apart(artistOf(song))}`);
  const minus = notLike(song, () => load(song, box, state, app));
  const state = { n: FIRST, near: [], without: () => minus.songs().map((one) => one.id) };
  const box = h("div", { class: "near-lists" }, waiting());
  const chips = filters.map((filter) => filterChip(filter, () => load(song, box, state, app)));
  const head = header(song, state);
  replace(
    root,
    head.node,
    h(
      "div",
      { class: "near-tools" },
      h("div", { class: "cluster", role: "group", "aria-label": "Filters" }, chips, minus.opener),
      dialControl(app.status, () => load(song, box, state, app)),
      minus.field,
    ),
    box,
  );
  load(song, box, state, app);
  player.addEventListener("change", head.update);
  return () => player.removeEventListener("change", head.update);
}

function filterChip({ name, parameter, label }, changed) {
  const chip = h(
    "button",
    {
      class: "chip",
      type: "button",
      id: `filter-${name}`,
      "aria-pressed": Boolean(chosen[parameter]),
      on: {
        click: () => {
          chosen[parameter] = !chosen[parameter];
          chip.setAttribute("aria-pressed", String(chosen[parameter]));
          changed();
        },
      },
    },
    label,
  );
  return chip;
}

function header(song, state) {
  const play = h("button", {
    class: "button",
    id: "play-song",
    type: "button",
    on: {
      click: () => {
        if (isCurrent(song)) player.toggle();
        else player.play([song, ...state.near.map((near) => near.song)]);
      },
    },
  });
  const update = () => {
    const on = isCurrent(song) && player.playing;
    const label = on ? "Pause" : "Play";
    if (play.textContent !== label) replace(play, icon(on ? "pause" : "play"), label);
  };
  update();
  const facts = [
    song.album && albumLink(song),
    song.year && String(song.year),
    song.genre && h("a", { href: `#/library?genre=${encodeURIComponent(song.genre)}` }, song.genre),
    time(song.seconds),
    song.plays > 0 ? count(song.plays, "play") : song.plays_known && "not played",
  ].filter(Boolean);
  const node = h(
    "header",
    { class: "song-head" },
    h("div", { class: "song-cover" }, cover(song, 220, { eager: true })),
    h(
      "div",
      { class: "song-facts" },
      h(
        "h1",
        { tabindex: "-1", class: titleOf(song).length > LONG_TITLE_CHARACTERS ? "is-long" : null },
        titleOf(song),
      ),
      h("p", { class: "song-artist" }, artistLink(song)),
      h(
        "ul",
        { class: "fact-line", role: "list", "aria-label": "About the song" },
        facts.map((fact) => h("li", {}, fact)),
      ),
      h(
        "div",
        { class: "cluster song-buttons" },
        play,
        button("Start radio", () => startRadio({ songs: [song] }), {
          id: "start-radio",
          class: "button quiet",
          icon: "radio",
        }),
        button(
          "Create playlist",
          () => startPlaylist(song),
          { id: "make-playlist", class: "button quiet", icon: "playlist" },
        ),
        h("a", { class: "button quiet", id: "show-on-map", href: mapHref(song.id) }, icon("map"), "Show on map"),
        heartButton(song, { id: "song-heart" }),
        songMenu(song),
      ),
    ),
  );
  return { node, update };
}

const waiting = () =>
  h(
    "div",
    { class: "columns" },
    h("div", { class: "column" }, skeleton("rows", 6)),
    h("div", { class: "column column-native" }, skeleton("rows", 6)),
  );

async function load(song, box, state, app) {
  const mine = (state.turn = (state.turn || 0) + 1);
  const ask = (metric) => {
    const adventurousness = metric === "active" ? dialPosition(app.status) : 0;
    const asked = { seed: song.id, without: state.without(), n: state.n, metric, adventurousness, ...chosen };
    return get("/similar", asked, { signal: app.signal });
  };
  try {
    const learns = app.status.model && app.status.model.kind !== "native";
    const [active, beside] = await Promise.all([ask("active"), learns ? ask("native") : null]);
    // a model may have been trained since the status was requested
    const native = beside || (active.model.kind === "native" ? null : await ask("native"));
    if (mine !== state.turn) return;
    draw(song, box, state, app, active, native);
  } catch (error) {
    if (isAbort(error) || mine !== state.turn) return;
    if (box.querySelector(".song-row")) return sayError(error);
    replace(
      box,
      h(
        "div",
        { class: "note warn" },
        icon("warning"),
        h("p", {}, error.detail || "Something went wrong."),
        button("Try again", () => load(song, box, state, app), { class: "button quiet small" }),
      ),
    );
  }
}

function draw(song, box, state, app, active, native) {
  const learned = active.model.kind !== "native";
  state.near = active.songs;
  const whyOf = (near) => () => get("/why", { query: song.id, other: near.song.id }, { signal: app.signal });
  const more =
    active.songs.length >= state.n &&
    state.n < MOST &&
    h(
      "button",
      {
        class: "button quiet",
        id: "more-near",
        type: "button",
        on: {
          click: () => {
            state.n = Math.min(MOST, state.n * 2);
            load(song, box, state, app);
          },
        },
      },
      "Show more",
    );
  const lists = neighbours({
    learned: learned ? active.songs : null,
    native: learned ? native.songs : active.songs,
    query: song,
    whyOf,
    lesson: () => learnNote(app),
  });
  const end = more && h("div", { class: "library-end" }, more);
  replace(box, lists, learned && end);
  // the note about training is beside the list, or after it
  if (!learned && end) lists.querySelector(".column").append(end);
}
