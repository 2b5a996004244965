// Playlists: the saved ones, the settings of a new one, and its songs.

import { del, download, get, isAbort, post, put } from "../core/api.js";
import { addAll } from "../albums/head.js";
import { announce, button, h, icon, iconButton, replace } from "../core/dom.js";
import { brief, count, longTime, number } from "../core/format.js";
import { draft } from "./playlists/draft.js";
import { loadFilters } from "./playlists/filters.js";
import { replaceAddress } from "../core/scroll_memory.js";
import { player } from "../player/player.js";
import { startRadio } from "../player/radio.js";
import { recipe } from "./playlists/recipe.js";
import { songRows, undoAction } from "./playlists/rows.js";
import { openMenu } from "../widgets/menu.js";
import { say, sayError } from "../core/toasts.js";
import { emptyLibrary } from "./library/empty.js";

const IDLE_MILLISECONDS = 350; // without a change before the playlist is generated again
const RELATIVE = ["m3u8", "pls"]; // formats whose paths can be relative to the music folder
const ABSOLUTE = /^(?:File\d+=)?(?:\/|[a-z][a-z0-9+.-]*:\/\/)/im; // a line with such a path
const DIALS = ["length", "artist_gap", "diversity", "drift", "adventurousness"];
const MAKE_ANEW = "Make another one from songs and settings";
const SETTINGS = ["mode", "seeds", "from", "to", "filters", ...DIALS]; // what a generated playlist depends on

export async function show(root, params, app) {
  const { signal } = app;
  app.title("Playlists");
  const status = await app.someStatus();
  if (!status.songs) return emptyLibrary(root, app);
  draft.defaults = status.playlist_defaults;
  if (params.id !== null && draft.state.saved?.id !== params.id)
    draft.open(await get(`/playlists/${params.id}`, {}, { signal }));
  const [lists, filters] = await Promise.all([get("/playlists", {}, { signal }), loadFilters(signal)]);
  const view = { app, signal, lists, asked: null, timer: 0, before: { ...draft.state }, error: "" };
  if (!status.has_dial && draft.state.adventurousness) draft.change({ adventurousness: 0 });
  const form = recipe({
    make: () => make(view, { byHand: true }),
    shuffle: () => shuffle(view),
    filters,
    signal,
    hasDial: status.has_dial,
  });
  const saved = savedLists(view);
  const result = resultBox(view);
  const isOpened = draft.state.saved !== null; // a saved playlist is for its songs; its settings come after them
  const fold = h("details", { class: "recipe-fold", open: !isOpened }, h("summary", {}, MAKE_ANEW), form.node);
  const bench = h("div", { class: `workbench ${isOpened ? "is-opened" : ""}` }, fold, result.node);
  const sides = sideSwitch(bench, fold);
  view.sync = () => {
    form.sync();
    saved.sync();
    result.sync();
    sides.sync();
  };
  view.showSongs = () => sides.set("songs");
  view.busy = result.busy;
  draft.addEventListener(
    "change",
    () => {
      remakeSoon(view);
      view.sync();
    },
    { signal },
  );
  signal.addEventListener("abort", () => {
    clearTimeout(view.timer);
    view.asked?.abort();
  });
  const fresh = button("New playlist", () => startNew(app), { id: "new-playlist", class: "button quiet", icon: "add" });
  replace(
    root,
    app.heading("Playlists", { actions: [fresh] }),
    h("div", { class: "playlists" }, saved.node, h("div", {}, sides.node, bench)),
  );
  view.sync();
  if (draft.state.songs.length || draft.ready) view.showSongs(); // there is a playlist to show
  if (draft.ready && !draft.state.songs.length) make(view);
}

/** On narrow screens: switches between settings and songs. */
function sideSwitch(bench, fold) {
  const words = { recipe: "Settings", songs: "Songs" };
  const buttons = Object.keys(words).map((side) =>
    h("button", { type: "button", id: `side-${side}`, on: { click: () => choose(side) } }, words[side]),
  );
  const node = h("div", { class: "workbench-switch segmented", role: "group", "aria-label": "View" }, buttons);

  function choose(side) {
    if (side === "recipe") fold.open = true;
    set(side);
  }

  function set(side) {
    bench.dataset.shown = side;
    buttons.forEach((button) => button.setAttribute("aria-pressed", String(button.id === `side-${side}`)));
  }

  function sync() {
    const { songs, saved } = draft.state;
    buttons[1].textContent = songs.length ? `${words.songs} (${number(songs.length)})` : words.songs;
    node.hidden = !songs.length && !saved;
    bench.classList.toggle("is-empty", node.hidden); // settings and empty state are both shown
  }

  set("recipe");
  return { node, set, sync };
}

function startNew(app) {
  const had = draft.unsaved;
  draft.restart();
  app.go("#/playlists");
  if (had) say("Unsaved playlist replaced.", { action: undoAction("Undo") });
}

// ---------------------------------------------------------------- generating

async function make(view, { byHand = false, undo = "" } = {}) {
  clearTimeout(view.timer);
  if (!draft.ready) return;
  const { state } = draft;
  const changed = state.songs.length > 0 && !state.made;
  view.asked?.abort();
  const asked = (view.asked = new AbortController());
  view.busy(true);
  try {
    const { songs, notes } = await post("/playlists/draft", draft.request(), { signal: asked.signal });
    view.error = songs.length ? "" : "No songs match. Relax the filters, or start from other songs.";
    draft.change({ songs, notes, made: true }, { undo: undo || (changed ? "New playlist" : "") });
    if (byHand) view.showSongs();
    if (byHand) announce(`${count(songs.length, "song")}, ${longTime(total(songs))}`);
    if (changed) say("Playlist replaced.", { action: undoAction() });
  } catch (error) {
    if (isAbort(error)) return;
    view.error = error.detail || "The playlist could not be created.";
    view.sync();
  } finally {
    if (view.asked === asked) view.busy(false);
  }
}

function shuffle(view) {
  draft.change({ shuffle: (draft.state.shuffle + 1) % 2 ** 31 });
  make(view, { byHand: true });
}

/** Generate the playlist again when its settings change, unless it was edited. */
function remakeSoon(view) {
  const { state } = draft;
  const moved = SETTINGS.some((name) => state[name] !== view.before[name]);
  view.before = { ...state };
  if (!moved) return;
  view.error = "";
  clearTimeout(view.timer);
  if (draft.ready && (state.made || !state.songs.length)) view.timer = setTimeout(() => make(view), IDLE_MILLISECONDS);
}

// ---------------------------------------------------------------- saved playlists

function savedLists(view) {
  const list = h("ul", { class: "saved-lists", role: "list", id: "saved-playlists" });
  const node = h(
    "nav",
    { class: "saved", "aria-label": "Saved playlists" },
    h("h2", { class: "label" }, "Saved"),
    list,
  );
  const sync = () => {
    node.hidden = !view.lists.length;
    replace(
      list,
      view.lists.map((item) =>
        h(
          "li",
          {},
          h(
            "a",
            {
              class: "saved-list",
              href: `#/playlists/${item.id}`,
              "aria-current": draft.state.saved?.id === item.id ? "page" : null,
            },
            h("span", { class: "ellipsis", dir: "auto" }, item.name),
            h("span", { class: "muted small-text number" }, facts(item)),
          ),
        ),
      ),
    );
  };
  return { node, sync };
}

async function refreshLists(view) {
  try {
    view.lists = await get("/playlists", {}, { signal: view.signal });
  } catch {
    return; // keep what is shown
  }
  view.sync();
}

const total = (songs) => songs.reduce((sum, song) => sum + (song.seconds || 0), 0);

function suggestedName() {
  const { mode, seeds, from, to } = draft.state;
  const called = (song) => song?.title || song?.name || "a song";
  if (mode === "walk" && from && to) return `From ${called(from)} to ${called(to)}`;
  if (!seeds.length) return "My playlist";
  return seeds.length === 1
    ? `Like ${called(seeds[0])}`
    : `Like ${called(seeds[0])} and ${count(seeds.length - 1, "other")}`;
}

const nameNow = () => (draft.state.name.trim() || suggestedName()).slice(0, 200);

async function save(view) {
  const { state } = draft;
  const name = nameNow();
  const body = { name, songs: state.songs.map((song) => song.id) };
  try {
    const kept = state.saved ? await put(`/playlists/${state.saved.id}`, body) : await post("/playlists", body);
    draft.markSaved({ id: kept.id, name, songs: body.songs });
    replaceAddress(`#/playlists/${kept.id}`);
    say(`“${brief(name)}” saved.`, { kind: "good" });
    await refreshLists(view);
  } catch (error) {
    if (error.status === 404 && state.saved) {
      // deleted elsewhere: save it as a new one
      draft.markSaved(null);
      return save(view);
    }
    sayError(error);
  }
}

async function remove(view) {
  const { saved } = draft.state;
  try {
    await del(`/playlists/${saved.id}`);
  } catch (error) {
    if (error.status !== 404) return sayError(error);
  }
  const back = async () => {
    try {
      const kept = await post("/playlists", { name: saved.name, songs: saved.songs });
      draft.open(kept);
      view.app.go(`#/playlists/${kept.id}`);
    } catch (error) {
      sayError(error);
    }
  };
  draft.forget(saved.id);
  say(`“${brief(saved.name)}” deleted.`, { seconds: 9, action: { label: "Undo", run: back } });
  view.app.go("#/playlists");
}

async function exportAs(format, paths = "relative") {
  const { saved, songs } = draft.state;
  try {
    const kept = saved && !draft.unsaved;
    const file = kept
      ? await download(`/playlists/${saved.id}/export?format=${format}&paths=${paths}`, undefined, { method: "GET" })
      : await download("/playlists/export", { name: nameNow(), songs: songs.map(({ id }) => id), format, paths });
    const link = h("a", { href: URL.createObjectURL(file.blob), download: file.name || `${nameNow()}.${format}` });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
    if (RELATIVE.includes(format) && paths === "relative")
      say(
        ABSOLUTE.test(await file.blob.text())
          ? "Some songs are outside the scanned folders, so the file has absolute paths: it is for this machine only."
          : "Put the file into your music folder, here or on a phone: its paths begin there.",
      );
  } catch (error) {
    sayError(error);
  }
}

// ---------------------------------------------------------------- the playlist

function resultBox(view) {
  const rows = songRows({ signal: view.signal });
  const name = h("input", {
    id: "playlist-name",
    class: "input playlist-name",
    type: "text",
    maxlength: 200,
    "aria-label": "Playlist name",
    dir: "auto",
    autocomplete: "off",
    on: { input: () => draft.change({ name: name.value }) },
  });
  const from = () => ({ label: draft.state.name || "Playlist", href: "#/playlists" });
  const play = button("Play all", () => player.play(draft.state.songs, { shuffle: false, from: from() }), {
    id: "play-all",
    icon: "play",
  });
  const mix = button("Shuffle", () => player.play(draft.state.songs, { shuffle: true, from: from() }), {
    id: "shuffle-all",
    class: "button quiet",
    icon: "shuffle",
  });
  const queue = iconButton("queue", "Add to queue", () => addAll(draft.state.songs), {
    id: "queue-all",
    title: "Add to queue",
  });
  const radio = button("Radio", () => startRadio({ songs: draft.state.songs, label: from().label }), {
    id: "playlist-radio",
    class: "button quiet",
    icon: "radio",
  });
  const keep = button("Save", () => save(view), { id: "save-playlist", class: "button quiet", icon: "save" });
  const chooseFormat = () => {
    const formats = Object.entries(view.app.status.playlist_formats);
    const items = formats.map(([format, label]) => ({ icon: "download", label, run: () => exportAs(format) }));
    items.push({ icon: "download", label: "M3U8 for this machine", run: () => exportAs("m3u8", "absolute") });
    openMenu(out, items);
  };
  const out = button("Export", chooseFormat, { id: "export-playlist", class: "button quiet", icon: "download" });
  out.setAttribute("aria-haspopup", "menu");
  const undo = () => {
    announce(`Undone: ${draft.undoWords}`);
    draft.undo();
  };
  const back = iconButton("undo", "Undo", undo, { id: "undo-playlist", title: "Undo" });
  const gone = iconButton("trash", "Delete playlist", () => remove(view), {
    id: "delete-playlist",
    title: "Delete playlist",
  });
  const facts = h("span", { class: "muted number", id: "playlist-facts" });
  const state = h("span", { class: "mark", id: "playlist-state" });
  const notes = h("div", { class: "stack playlist-notes", role: "status" });
  const full = h(
    "div",
    { class: "result-full" },
    h("div", { class: "result-head" }, name, h("div", { class: "cluster" }, facts, state)),
    h("div", { class: "cluster result-actions" }, play, mix, radio, keep, out, queue, back, gone),
    notes,
    rows.node,
  );
  const empty = emptyResult();
  const node = h("section", { class: "result", "aria-label": "Playlist" }, full, empty);

  function sync() {
    const { songs, saved, notes: noteTexts } = draft.state;
    const there = songs.length > 0;
    full.hidden = !there && !saved && !view.error;
    empty.hidden = !full.hidden;
    if (name.value !== draft.state.name) name.value = draft.state.name;
    name.placeholder = suggestedName();
    facts.textContent = `${count(songs.length, "song")} · ${longTime(total(songs))}`;
    const dirty = draft.unsaved;
    state.className = dirty ? "mark accent" : "mark good";
    replace(state, !dirty && icon("check"), dirty ? (saved ? "Unsaved changes" : "Unsaved") : "Saved");
    keep.disabled = !dirty || !there;
    for (const one of [play, mix, queue, radio, out]) one.disabled = !there;
    back.hidden = !draft.canUndo;
    back.title = `Undo: ${draft.undoWords}`;
    gone.hidden = !saved;
    replace(
      notes,
      view.error && h("div", { class: "note warn" }, icon("warning"), h("p", {}, view.error)),
      noteTexts.map((text) => h("div", { class: "note" }, icon("info"), h("p", {}, text))),
    );
    rows.sync();
  }

  return { node, sync, busy: (on) => node.setAttribute("aria-busy", String(on)) };
}

function emptyResult() {
  return h(
    "div",
    { class: "empty" },
    icon("playlist"),
    h("h2", {}, "Create a playlist"),
    h(
      "p",
      { class: "muted" },
      "Add a song to get a playlist of similar ones. ",
      "Or choose two songs to go from one to the other.",
    ),
    h(
      "div",
      { class: "cluster" },
      h("a", { class: "button quiet", href: "#/library" }, icon("library"), "Browse the library"),
      h("a", { class: "button quiet", href: "#/map" }, icon("map"), "Select on the map"),
    ),
  );
}

const facts = ({ songs, seconds }) => `${count(songs, "song")} · ${longTime(seconds)}`;
