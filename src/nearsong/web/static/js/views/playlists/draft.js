// The playlist that is being edited: settings and songs. Stored for the tab.
//
//   draft.addSeed(song), draft.addUpload({ name, upload }), draft.removeSeed(at)
//   draft.setSongs(songs, name): a new playlist of these songs   draft.add(songs): appends songs
//   draft.state: the state (read only)                           draft.change(values, {undo}): changes some values
//   draft.startFrom(seed): a new playlist from one seed          draft.growsFromSeeds: whether another seed fits
//   draft.appended(id, songs): songs were added to a saved playlist
//   draft.open(playlist), draft.restart(), draft.markSaved({id, name, songs}), draft.forget(id)
//   draft.undo(): reverts the last undoable change; draft.canUndo, draft.undoWords
//   draft.undoer: a function for the Undo button of a toast, valid until the next change
//   draft.setting(name): chosen, or of draft.defaults (/status)
//   draft.request(): the body of POST /playlists/draft           draft.unsaved: whether saving would change something
//   Fires "change" with a new state object.

import { count } from "../../core/format.js";
import { store, stored, storedSong } from "../../core/storage.js";

const KEY = "nearsong-draft";
const MOST_UNDONE = 20;

const EMPTY = Object.freeze({
  mode: "around", // or "walk"
  seeds: [], // songs, or { name, upload } of a file that is not in the library
  from: null, // first and last song of a walk
  to: null,
  length: null, // these five: null is the default of the service
  artist_gap: null,
  diversity: null,
  drift: null,
  adventurousness: null,
  shuffle: 0,
  filters: {}, // name -> value of those that are set
  songs: [],
  notes: [],
  made: false, // the songs are as generated, without edits
  name: "",
  saved: null, // {id, name, songs: [id]} as stored by the service
  line: 0, // number of the playlist this state belongs to: undo keeps what was saved of it
});

class Draft extends EventTarget {
  constructor() {
    super();
    this.past = []; // [words, state, serial number]
    this.serial = 0;
    this.undoWords = "";
    this.defaults = {};
    const kept = stored(KEY);
    this.state = Array.isArray(kept?.songs) && Array.isArray(kept.seeds) ? { ...EMPTY, ...kept } : { ...EMPTY };
  }

  /** Change some values; `undo` describes the change for the Undo button. */
  change(values, { undo = "" } = {}) {
    if (undo) {
      this.past = [...this.past.slice(1 - MOST_UNDONE), [undo, this.state, (this.serial += 1)]];
      this.undoWords = undo;
    }
    this.state = { ...this.state, ...values };
    this.keep();
  }

  keep() {
    store(KEY, this.state);
    this.dispatchEvent(new Event("change"));
  }

  get canUndo() {
    return this.past.length > 0;
  }

  undo() {
    const last = this.past.pop();
    if (!last) return;
    this.undoWords = this.past.at(-1)?.[0] ?? "";
    this.state = last[1];
    this.keep();
  }

  /** Returns a function that reverts the last change; it returns false after a later one. */
  get undoer() {
    const wanted = this.past.at(-1)?.[2];
    return () => {
      if (this.past.at(-1)?.[2] !== wanted) return false;
      this.undo();
      return true;
    };
  }

  get nextLine() {
    return 1 + Math.max(this.state.line, ...this.past.map(([, state]) => state.line));
  }

  /** Start a new playlist; can be undone. */
  restart() {
    this.change({ ...EMPTY, line: this.nextLine }, { undo: "New playlist" });
  }

  /** Start a new playlist from a seed; can be undone in one step. */
  startFrom(seed) {
    const seeds = [seed.upload ? seed : storedSong(seed)];
    this.change({ ...EMPTY, seeds, line: this.nextLine }, { undo: "New playlist" });
  }

  /** Whether nothing but a list from seeds, never saved, is there: one more seed replaces nothing of worth. */
  get growsFromSeeds() {
    const { saved, songs, mode, seeds } = this.state;
    return !saved && (!songs.length || (mode === "around" && seeds.length > 0));
  }

  /** The playlist was saved as {id, name, songs}. */
  markSaved(saved) {
    const { line } = this.state;
    this.past = this.past.map(([words, state, serial]) => [
      words,
      state.line === line ? { ...state, saved } : state,
      serial,
    ]);
    this.change(saved ? { saved, name: saved.name } : { saved });
  }

  /** A saved playlist was deleted; start a new one. */
  forget(id) {
    this.past = this.past.map(([words, state, serial]) => [
      words,
      state.saved?.id === id ? { ...state, saved: null } : state,
      serial,
    ]);
    this.change({ ...EMPTY, line: this.nextLine });
  }

  addSeed(song) {
    const { state } = this;
    if (state.seeds.some((seed) => seed.id === song.id)) return false;
    this.change({ seeds: [...state.seeds, storedSong(song)].slice(-100), mode: "around" }, { undo: "Adding a seed" });
    return true;
  }

  addUpload({ name, upload }) {
    const kept = this.state.seeds.filter((seed) => seed.upload && seed.upload.embedding !== upload.embedding).slice(-4);
    const songs = this.state.seeds.filter((seed) => !seed.upload);
    this.change({ seeds: [...songs, ...kept, { name, upload }], mode: "around" }, { undo: "Adding a file as seed" });
  }

  removeSeed(at) {
    this.change({ seeds: this.state.seeds.filter((_, i) => i !== at) }, { undo: "Removing a seed" });
  }

  setSongs(songs, name = "") {
    const { length, artist_gap, diversity, drift, adventurousness } = this.state;
    const dials = { length, artist_gap, diversity, drift, adventurousness };
    this.change(
      { ...EMPTY, ...dials, songs: songs.map(storedSong), name, line: this.nextLine },
      { undo: "Replacing the list" },
    );
  }

  /** What an edit changes besides: notes about the generated playlist no longer apply. */
  get byHand() {
    return this.state.made ? { made: false, notes: [] } : {};
  }

  /** Append songs; returns how many were new. */
  add(songs) {
    const there = new Set(this.state.songs.map((song) => song.id));
    const fresh = songs.filter((song) => !there.has(song.id) && there.add(song.id)).map(storedSong);
    if (fresh.length) this.change({ songs: [...this.state.songs, ...fresh], ...this.byHand }, { undo: "Adding songs" });
    return fresh.length;
  }

  /** Songs were added to a saved playlist elsewhere on the page; if it is open, it shows them. */
  appended(id, songs) {
    const { saved } = this.state;
    if (saved?.id !== id) return;
    const ids = [...saved.songs, ...songs.map((song) => song.id)];
    this.change({ songs: [...this.state.songs, ...songs.map(storedSong)], saved: { ...saved, songs: ids } });
  }

  remove(at) {
    const song = this.state.songs[at];
    this.change(
      { songs: this.state.songs.filter((_, i) => i !== at), ...this.byHand },
      { undo: `Removing ${song.title}` },
    );
  }

  move(from, to) {
    const songs = [...this.state.songs];
    const [song] = songs.splice(from, 1);
    songs.splice(to, 0, song);
    this.change({ songs, ...this.byHand }, { undo: `Moving ${song.title}` });
  }

  /** Open a saved playlist (PlaylistOut). */
  open(playlist) {
    const songs = playlist.items.map(storedSong);
    const saved = { id: playlist.id, name: playlist.name, songs: songs.map((song) => song.id) };
    const notes = playlist.missing
      ? [`${count(playlist.missing, "song is", "songs are")} no longer in the library.`]
      : [];
    this.change(
      { ...EMPTY, songs, saved, notes, name: playlist.name, line: this.nextLine },
      { undo: this.unsaved ? `Opening ${playlist.name}` : "" },
    );
  }

  get unsaved() {
    const { saved, songs, name } = this.state;
    if (!saved) return songs.length > 0;
    return (
      saved.name !== name ||
      saved.songs.length !== songs.length ||
      songs.some((song, at) => song.id !== saved.songs[at])
    );
  }

  /** A setting as it is now: chosen by hand, or the default of the service. */
  setting(name) {
    return this.state[name] ?? this.defaults[name] ?? 0;
  }

  /** Whether a playlist can be requested. */
  get ready() {
    const { mode, seeds, from, to } = this.state;
    return mode === "walk" ? Boolean(from && to && from.id !== to.id) : seeds.length > 0;
  }

  request() {
    const { state } = this;
    const walk = state.mode === "walk";
    return {
      seeds: walk ? [state.from.id] : state.seeds.filter((seed) => !seed.upload).map((seed) => seed.id),
      upload_seeds: walk ? [] : state.seeds.filter((seed) => seed.upload).map((seed) => seed.upload),
      to: walk ? state.to.id : null,
      length: state.length ?? undefined, // what nobody chose is left out: the service has the defaults
      artist_gap: state.artist_gap ?? undefined,
      diversity: state.diversity ?? undefined,
      drift: walk ? 0 : state.drift ?? undefined,
      adventurousness: walk ? 0 : state.adventurousness ?? undefined,
      shuffle: state.shuffle,
      filters: state.filters,
    };
  }
}

export const draft = new Draft();
