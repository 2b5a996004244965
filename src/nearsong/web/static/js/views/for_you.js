// For you: songs near what the listener plays, with the song that each is there for.

import { get, isAbort } from "../core/api.js";
import { announce, button, h, icon, iconButton, replace } from "../core/dom.js";
import { artistOf, brief, count, titleOf } from "../core/format.js";
import { skeleton } from "../widgets/skeleton.js";
import { say } from "../core/toasts.js";
import { player } from "../player/player.js";
import { startRadio } from "../player/radio.js";
import { heartButton, lessButton, lessLike, markHearts } from "../songs/hearts.js";
import { songHref } from "../songs/links.js";
import { songList } from "../songs/list.js";
import { emptyLibrary } from "./library/empty.js";

const N_SONGS = 50;
const MAX_ASKED = 500; // limit of the API
const N_SEEDS = 5; // songs that a radio of the list starts from
const HISTORIES = "#/settings?section=histories"; // where a listening history is imported
const HIDDEN = "nearsong.hidden";
const MAX_HIDDEN = 400;
const CHIPS = { include_played: "Include songs I know", one_per_artist: "One song per artist" };
const chosen = {}; // parameter -> whether it is on; kept while the page is open

export async function show(root, _params, app) {
  app.title("For you");
  const status = await app.someStatus();
  if (!status.songs) return emptyLibrary(root, app);
  const state = { songs: [] };
  const playAll = button("Play all", () => player.play(state.songs), { id: "play-for-you", icon: "play" });
  const start = () => startRadio({ songs: state.songs.slice(0, N_SEEDS), label: "For you" });
  const tune = button("Start radio", start, { id: "radio-for-you", class: "button quiet", icon: "radio" });
  const lead = h("span", { id: "for-you-lead" }, LEAD);
  const box = h("div", { class: "for-you", id: "for-you", "aria-busy": true }, skeleton("rows", 8));
  const load = () => draw({ box, lead, state, app, buttons: [playAll, tune] });
  const chips = Object.entries(CHIPS).map(([parameter, label]) => chip(parameter, label, load));
  replace(
    root,
    app.heading("For you", { lead, actions: [playAll, tune] }),
    h("div", { class: "for-you-tools cluster", role: "group", "aria-label": "What is shown" }, chips),
    box,
  );
  await load();
}

function chip(parameter, label, changed) {
  const node = h(
    "button",
    {
      class: "chip",
      type: "button",
      "aria-pressed": Boolean(chosen[parameter]),
      on: {
        click: () => {
          chosen[parameter] = !chosen[parameter];
          node.setAttribute("aria-pressed", String(chosen[parameter]));
          changed();
        },
      },
    },
    label,
  );
  return node;
}

async function draw(view) {
  const { box, state, app } = view;
  const mine = (state.turn = (state.turn || 0) + 1);
  const hidden = new Set(hiddenSongs());
  let found;
  try {
    const n = Math.min(MAX_ASKED, N_SONGS + hidden.size);
    found = await get("/for-you", { n, ...chosen }, { signal: app.signal });
  } catch (error) {
    if (!isAbort(error) && mine === state.turn) app.fail(error);
    return;
  }
  if (mine !== state.turn) return;
  const shown = found.songs.filter((one) => !hidden.has(one.song.id)).slice(0, N_SONGS);
  state.songs = shown.map((one) => one.song);
  for (const one of view.buttons) one.disabled = !shown.length;
  replace(view.lead, shown.some((one) => one.because) ? wordsFor(found) : shown.length ? start(found) : LEAD);
  const why = new Map(shown.map((one) => [one.song, one.is_near && one.because]));
  const list = songList(state.songs, {
    label: "Songs for you",
    row: (song) => rowOf(song, why.get(song), (gone) => leave(list, gone, state)),
  });
  list.id = "for-you-songs";
  const unhide = () => {
    keepHidden([]);
    draw(view);
  };
  const left =
    hidden.size > 0 &&
    button(`Show ${count(hidden.size, "hidden song")}`, unhide, { class: "button plain small", id: "show-hidden" });
  box.removeAttribute("aria-busy");
  replace(box, shown.length ? list : nothing(found), left);
}

const LEAD = "Songs near what you play.";

/** Nothing is liked yet: the service says what the songs are instead, the page how to change that. */
const start = ({ notes }) => [
  `${notes[0] ?? "To start with, songs that others play."} Play some, give hearts, or `,
  h("a", { href: HISTORIES }, "import your listening history"),
  ": then this list is about you.",
];

const wordsFor = ({ plays }) =>
  plays
    ? `From ${count(plays, "play")} of yours: the latest count most, and what you skip is kept away.`
    : "From your hearts and ratings. Songs that you play will count, too.";

function nothing({ plays }) {
  return h(
    "div",
    { class: "empty" },
    icon("star"),
    h("h2", {}, plays ? "Nothing new for you" : "Play something first"),
    h(
      "p",
      { class: "muted" },
      plays
        ? "You know every song here that passes. Include songs you know, or scan more music."
        : "This list is made of what you play. Play songs here or in a player, give hearts, or import your history.",
    ),
    h(
      "div",
      { class: "cluster" },
      h("a", { class: "button quiet", href: "#/library" }, icon("library"), "Browse the library"),
      h("a", { class: "button quiet", href: HISTORIES }, icon("upload"), "Import a history"),
    ),
  );
}

function rowOf(song, because, gone) {
  const title = titleOf(song);
  const less = async () => (await lessLike(song)) && gone(song);
  const hide = () => {
    keepHidden([...hiddenSongs(), song.id]);
    const back = gone(song);
    say(`“${brief(title)}” is hidden here.`, { action: { label: "Undo", run: back } });
  };
  return {
    note:
      because &&
      h(
        "p",
        { class: "because" },
        "Because you play ",
        h("a", { href: songHref(because.id), title: `${titleOf(because)} by ${artistOf(because)}` }, titleOf(because)),
      ),
    actions: [
      heartButton(song, { class: "row-heart" }),
      lessButton(song, less),
      iconButton("hide", `Hide ${title}`, hide, { class: "icon-button row-hide", title: "Hide" }),
    ],
    menu: [{ icon: "hide", label: "Hide", run: hide }],
    less,
  };
}

/** Remove the row of a song; returns what puts it back. */
function leave(list, song, state) {
  const row = [...list.children].find((one) => Number(one.dataset.songId) === song.id);
  if (!row) return () => {};
  const next = row.nextElementSibling || row.previousElementSibling;
  const held = row.contains(document.activeElement) || document.activeElement === document.body;
  const at = state.songs.indexOf(song);
  row.remove();
  state.songs.splice(at, 1);
  if (held) next?.querySelector(".row-play")?.focus({ preventScroll: true });
  announce(`${titleOf(song)} removed`);
  return () => {
    keepHidden(hiddenSongs().filter((id) => id !== song.id));
    list.insertBefore(row, next?.isConnected && at < state.songs.length ? next : null);
    markHearts(row);
    state.songs.splice(at, 0, song);
  };
}

// hidden songs are remembered by the browser
function hiddenSongs() {
  try {
    const kept = JSON.parse(localStorage.getItem(HIDDEN));
    return Array.isArray(kept) ? kept : [];
  } catch {
    return [];
  }
}

function keepHidden(songs) {
  try {
    localStorage.setItem(HIDDEN, JSON.stringify(songs.slice(-MAX_HIDDEN)));
  } catch {
    /* a browser that keeps nothing */
  }
}
