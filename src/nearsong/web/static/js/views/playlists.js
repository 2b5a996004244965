// Playlists: the saved ones, what a new one should be like, and its songs.

import { del, download, get, isAbort, post, put } from "../api.js";
import { announce, h, icon, replace } from "../dom.js";
import { brief, count, longTime, number } from "../format.js";
import { draft } from "../draft.js";
import { readdress } from "../places.js";
import { player } from "../player.js";
import { recipe } from "../playlists/recipe.js";
import { songRows, undoAction } from "../playlists/rows.js";
import { openMenu } from "../songs.js";
import { say, sayError } from "../toast.js";
import { emptyLibrary } from "./empty.js";

const REST = 350; // milliseconds that the dials must rest before the list is made anew
const DIALS = ["mode", "seeds", "from", "to", "length", "between", "diversity", "drift", "genres", "yearFrom", "yearTo", "unplayed"];

export async function show(root, params, app) {
  const { signal } = app;
  app.title("Playlists");
  const status = app.status || (await app.refreshStatus());
  if (!status.songs) return emptyLibrary(root, app);
  if (params.id !== null && draft.state.saved?.id !== params.id) draft.open(await get(`/playlists/${params.id}`, {}, { signal }));
  const [lists, genres] = await Promise.all([get("/playlists", {}, { signal }), get("/genres", {}, { signal })]);
  const view = { app, signal, lists, asked: null, timer: 0, before: { ...draft.state }, error: "" };
  const form = recipe({ make: () => make(view, { byHand: true }), shuffle: () => shuffle(view), genres, signal });
  const saved = savedLists(view), result = resultBox(view);
  const bench = h("div", { class: "workbench" }, form.node, result.node), sides = sideSwitch(bench);
  view.sync = () => {
    form.sync();
    saved.sync();
    result.sync();
    sides.sync();
  };
  view.showSongs = () => sides.set("songs");
  view.busy = result.busy;
  draft.addEventListener("change", () => { remakeSoon(view); view.sync(); }, { signal });
  signal.addEventListener("abort", () => { clearTimeout(view.timer); view.asked?.abort(); });
  const fresh = h("button", { id: "new-playlist", class: "button quiet", type: "button", on: { click: () => startNew(app) } }, icon("add"), "New playlist");
  replace(root, app.heading("Playlists", { actions: [fresh] }),
    h("div", { class: "playlists" }, saved.node, h("div", {}, sides.node, bench)));
  view.sync();
  if (draft.state.songs.length || draft.ready) view.showSongs(); // one came for a list
  if (draft.ready && !draft.state.songs.length) make(view);
}

/** Where the two do not fit side by side: what the list should be like, or its songs. */
function sideSwitch(bench) {
  const words = { recipe: "What it is like", songs: "Songs" };
  const buttons = Object.keys(words).map((side) => h("button", { type: "button", id: `side-${side}`, on: { click: () => set(side) } }, words[side]));
  const node = h("div", { class: "workbench-switch segmented", role: "group", "aria-label": "What is shown" }, buttons);

  function set(side) {
    bench.dataset.shown = side;
    buttons.forEach((button) => button.setAttribute("aria-pressed", String(button.id === `side-${side}`)));
  }

  function sync() {
    const { songs, saved } = draft.state;
    buttons[1].textContent = songs.length ? `${words.songs} (${number(songs.length)})` : words.songs;
    node.hidden = !songs.length && !saved;
    bench.classList.toggle("is-empty", node.hidden); // then both are shown: a form, and what it is for
  }

  set("recipe");
  return { node, set, sync };
}

function startNew(app) {
  const had = draft.unsaved;
  draft.restart();
  app.go("#/playlists");
  if (had) say("Your unsaved playlist is put aside.", { action: undoAction("Bring it back") });
}

// ---------------------------------------------------------------- asking for a list

async function make(view, { byHand = false, undo = "" } = {}) {
  clearTimeout(view.timer);
  if (!draft.ready) return;
  const { state } = draft, changed = state.songs.length > 0 && !state.made;
  view.asked?.abort();
  const asked = (view.asked = new AbortController());
  view.busy(true);
  try {
    const { songs, notes } = await post("/playlists/draft", draft.request(), { signal: asked.signal });
    view.error = songs.length ? "" : "No song fits. Allow more songs, or start from others.";
    draft.change({ songs, notes, made: true }, { undo: undo || (changed ? "Making it anew" : "") });
    if (byHand) view.showSongs();
    if (byHand) announce(`${count(songs.length, "song")}, ${longTime(total(songs))}`);
    if (changed) say("Your list was replaced by a new one.", { action: undoAction() });
  } catch (error) {
    if (isAbort(error)) return;
    view.error = error.detail || "The list could not be made.";
    view.sync();
  } finally {
    if (view.asked === asked) view.busy(false);
  }
}

function shuffle(view) {
  draft.change({ shuffle: (draft.state.shuffle + 1) % 2 ** 31 });
  make(view, { byHand: true });
}

/** Make the list anew when what it should be like has changed; a list that was changed by hand is left alone. */
function remakeSoon(view) {
  const { state } = draft, moved = DIALS.some((name) => state[name] !== view.before[name]);
  view.before = { ...state };
  if (!moved) return;
  view.error = "";
  clearTimeout(view.timer);
  if (draft.ready && (state.made || !state.songs.length)) view.timer = setTimeout(() => make(view), REST);
}

// ---------------------------------------------------------------- the saved ones

function savedLists(view) {
  const list = h("ul", { class: "saved-lists", role: "list", id: "saved-playlists" });
  const node = h("nav", { class: "saved", "aria-label": "Saved playlists" }, h("h2", { class: "label" }, "Saved"), list);
  const sync = () => {
    node.hidden = !view.lists.length;
    replace(list, view.lists.map((item) => h("li", {}, h(
      "a", { class: "saved-list", href: `#/playlists/${item.id}`, "aria-current": draft.state.saved?.id === item.id ? "page" : null },
      h("span", { class: "ellipsis", dir: "auto" }, item.name),
      h("span", { class: "muted small-text number" }, `${count(item.songs, "song")} · ${longTime(item.seconds)}`),
    ))));
  };
  return { node, sync };
}

async function refreshLists(view) {
  try {
    view.lists = await get("/playlists", {}, { signal: view.signal });
  } catch {
    return; // what was shown stays
  }
  view.sync();
}

const total = (songs) => songs.reduce((sum, song) => sum + (song.seconds || 0), 0);

function suggestedName() {
  const { mode, seeds, from, to } = draft.state, called = (song) => song?.title || song?.name || "a song";
  if (mode === "walk" && from && to) return `From ${called(from)} to ${called(to)}`;
  if (!seeds.length) return "My playlist";
  return seeds.length === 1 ? `Around ${called(seeds[0])}` : `Around ${called(seeds[0])} and ${count(seeds.length - 1, "other")}`;
}

const nameNow = () => (draft.state.name.trim() || suggestedName()).slice(0, 200);

async function save(view) {
  const { state } = draft, name = nameNow(), body = { name, songs: state.songs.map((song) => song.id) };
  try {
    const kept = state.saved ? await put(`/playlists/${state.saved.id}`, body) : await post("/playlists", body);
    draft.markSaved({ id: kept.id, name, songs: body.songs });
    readdress(`#/playlists/${kept.id}`);
    say(`“${brief(name)}” is saved.`, { kind: "good" });
    await refreshLists(view);
  } catch (error) {
    if (error.status === 404 && state.saved) { // somebody else has deleted it: save it as a new one
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
    } catch (error) { sayError(error); }
  };
  draft.forget(saved.id);
  say(`“${brief(saved.name)}” is deleted.`, { seconds: 9, action: { label: "Undo", run: back } });
  view.app.go("#/playlists");
}

async function exportAs(format) {
  const { saved, songs } = draft.state;
  try {
    const kept = saved && !draft.unsaved;
    const file = kept ? await download(`/playlists/${saved.id}/export?format=${format}`, undefined, { method: "GET" })
      : await download("/playlists/export", { name: nameNow(), songs: songs.map((song) => song.id), format });
    const link = h("a", { href: URL.createObjectURL(file.blob), download: file.name || `${nameNow()}.${format}` });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  } catch (error) { sayError(error); }
}

// ---------------------------------------------------------------- the list itself

function resultBox(view) {
  const rows = songRows({ signal: view.signal });
  const name = h("input", {
    id: "playlist-name", class: "input playlist-name", type: "text", maxlength: 200, "aria-label": "Name of the playlist", dir: "auto", autocomplete: "off",
    on: { input: () => draft.change({ name: name.value }) },
  });
  const button = (id, label, sign, act, kind = "quiet") => h("button", { id, class: `button ${kind}`, type: "button", on: { click: act } }, icon(sign), label);
  const play = button("play-all", "Play all", "play", () => player.play(draft.state.songs), "");
  const keep = button("save-playlist", "Save", "save", () => save(view));
  const out = button("export-playlist", "Export", "download", () => openMenu(out, [
    { icon: "download", label: "M3U8, for most players", run: () => exportAs("m3u8") },
    { icon: "download", label: "JSPF, for ListenBrainz and others", run: () => exportAs("jspf") },
  ]));
  out.setAttribute("aria-haspopup", "menu");
  const sign = (id, label, name, act) => h("button", {
    id, class: "icon-button", type: "button", "aria-label": label, title: label, on: { click: act },
  }, icon(name));
  const back = sign("undo-playlist", "Undo", "undo", () => { announce(`Undone: ${draft.undoWords}`); draft.undo(); });
  const gone = sign("delete-playlist", "Delete this playlist", "trash", () => remove(view));
  const facts = h("span", { class: "muted number", id: "playlist-facts" }), state = h("span", { class: "mark", id: "playlist-state" });
  const notes = h("div", { class: "stack playlist-notes", role: "status" });
  const full = h("div", { class: "result-full" },
    h("div", { class: "result-head" }, name, h("div", { class: "cluster" }, facts, state)),
    h("div", { class: "cluster result-actions" }, play, keep, out, back, gone), notes, rows.node);
  const empty = emptyResult(), node = h("section", { class: "result", "aria-label": "The playlist" }, full, empty);

  function sync() {
    const { songs, saved, notes: said } = draft.state, there = songs.length > 0;
    full.hidden = !there && !saved && !view.error;
    empty.hidden = !full.hidden;
    if (name.value !== draft.state.name) name.value = draft.state.name;
    name.placeholder = suggestedName();
    facts.textContent = `${count(songs.length, "song")} · ${longTime(total(songs))}`;
    const dirty = draft.unsaved;
    state.className = dirty ? "mark accent" : "mark good";
    replace(state, !dirty && icon("check"), dirty ? (saved ? "Changes not saved" : "Not saved") : "Saved");
    keep.disabled = !dirty || !there;
    play.disabled = out.disabled = !there;
    back.hidden = !draft.canUndo;
    back.title = `Undo: ${draft.undoWords}`;
    gone.hidden = !saved;
    replace(notes, view.error && h("div", { class: "note warn" }, icon("warning"), h("p", {}, view.error)),
      said.map((text) => h("div", { class: "note" }, icon("info"), h("p", {}, text))));
    rows.sync();
  }

  return { node, sync, busy: (on) => node.setAttribute("aria-busy", String(on)) };
}

function emptyResult() {
  return h(
    "div", { class: "empty" }, icon("playlist"), h("h2", {}, "A playlist grows from a song"),
    h("p", { class: "muted" }, "Add a song you have in mind, and the nearest ones follow: as close or as adventurous as you set the dials. ",
      "Or give it two songs, and it walks from one to the other."),
    h("div", { class: "cluster" }, h("a", { class: "button quiet", href: "#/" }, icon("library"), "Choose in the library"),
      h("a", { class: "button quiet", href: "#/map" }, icon("map"), "Draw on the map")),
  );
}
