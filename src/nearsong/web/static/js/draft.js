// The playlist that is being made: what it should be like, and its songs. Lives as long as the tab (sessionStorage).
//
//   draft.addSeed(song), draft.addHeard({name, heard}), draft.removeSeed(at)
//   draft.setSongs(songs, name): a new list of these songs       draft.add(songs): songs at its end
//   draft.state: what there is now (read only)                   draft.change(values, {undo}): set some of it
//   draft.open(playlist), draft.restart(), draft.markSaved({id, name, songs}), draft.forget(id)
//   draft.undo(): as it was before the last change that can be undone; draft.canUndo, draft.undoWords
//   draft.undoer: a function for a message's Undo button, good until something else changes
//   draft.request(): the body of POST /playlists/draft           draft.unsaved: whether saving would change something
//   Fires "change"; the state is new then.

const KEY = "nearsong-draft";
const MOST_UNDONE = 20;

const EMPTY = Object.freeze({
  mode: "around", // or "walk"
  seeds: [], // songs, or {name, heard} of a file that is not in the library
  from: null, // the two ends of a walk
  to: null,
  length: 25,
  between: 4, // songs between two of the same artist
  diversity: 0.15,
  drift: 0,
  shuffle: 0,
  genres: [],
  yearFrom: null,
  yearTo: null,
  unplayed: false,
  songs: [],
  notes: [],
  made: false, // the songs are the service's answer, and nobody has changed them since
  name: "",
  saved: null, // {id, name, songs: [id]} as the service has it
  line: 0, // which playlist this is the state of: undoing within one does not forget that it was saved
});

const brief = (song) => Object.fromEntries(
  ["id", "artist", "title", "album", "genre", "year", "seconds", "plays"].map((name) => [name, song[name] ?? null]),
);

class Draft extends EventTarget {
  constructor() {
    super();
    this.past = []; // [words, state, serial number]
    this.serial = 0;
    this.undoWords = "";
    this.state = { ...EMPTY };
    try {
      const kept = JSON.parse(sessionStorage.getItem(KEY) || "null");
      if (kept && Array.isArray(kept.songs) && Array.isArray(kept.seeds)) this.state = { ...EMPTY, ...kept };
    } catch { /* what was kept cannot be read: begin anew */ }
  }

  /** Set some of the state; `undo` says in words what undoing would take back. */
  change(values, { undo = "" } = {}) {
    if (undo) {
      this.past = [...this.past.slice(1 - MOST_UNDONE), [undo, this.state, (this.serial += 1)]];
      this.undoWords = undo;
    }
    this.state = { ...this.state, ...values };
    this.keep();
  }

  keep() {
    try { sessionStorage.setItem(KEY, JSON.stringify(this.state)); } catch { /* full or forbidden: it lives until a reload */ }
    this.dispatchEvent(new Event("change"));
  }

  get canUndo() { return this.past.length > 0; }

  undo() {
    const last = this.past.pop();
    if (!last) return;
    this.undoWords = this.past.at(-1)?.[0] ?? "";
    this.state = last[1];
    this.keep();
  }

  /** A function that takes back the last change, and only that: it says false once there was another one. */
  get undoer() {
    const wanted = this.past.at(-1)?.[2];
    return () => {
      if (this.past.at(-1)?.[2] !== wanted) return false;
      this.undo();
      return true;
    };
  }

  get nextLine() { return 1 + Math.max(this.state.line, ...this.past.map(([, state]) => state.line)); }

  /** Begin a new list; what was there can be had back. */
  restart() { this.change({ ...EMPTY, line: this.nextLine }, { undo: "Starting anew" }); }

  /** The list is in the service now: {id, name, songs}. */
  markSaved(saved) {
    const { line } = this.state;
    this.past = this.past.map(([words, state, serial]) => [words, state.line === line ? { ...state, saved } : state, serial]);
    this.change(saved ? { saved, name: saved.name } : { saved });
  }

  /** The service has deleted a list; begin a new one. */
  forget(id) {
    this.past = this.past.map(([words, state, serial]) => [words, state.saved?.id === id ? { ...state, saved: null } : state, serial]);
    this.change({ ...EMPTY, line: this.nextLine });
  }

  addSeed(song) {
    const { state } = this;
    if (state.seeds.some((seed) => seed.id === song.id)) return false;
    this.change({ seeds: [...state.seeds, brief(song)].slice(-100), mode: "around" }, { undo: "Adding a song to start from" });
    return true;
  }

  addHeard({ name, heard }) {
    const kept = this.state.seeds.filter((seed) => seed.heard && seed.heard.place !== heard.place).slice(-4);
    const songs = this.state.seeds.filter((seed) => !seed.heard);
    this.change({ seeds: [...songs, ...kept, { name, heard }], mode: "around" }, { undo: "Adding a file to start from" });
  }

  removeSeed(at) {
    this.change({ seeds: this.state.seeds.filter((_, i) => i !== at) }, { undo: "Removing a song to start from" });
  }

  setSongs(songs, name = "") {
    const dials = (({ length, between, diversity, drift }) => ({ length, between, diversity, drift }))(this.state);
    this.change({ ...EMPTY, ...dials, songs: songs.map(brief), name, line: this.nextLine }, { undo: "Replacing the list" });
  }

  /** What a change by hand does to the rest: notes about how the list was made are no longer about this list. */
  get byHand() { return this.state.made ? { made: false, notes: [] } : {}; }

  /** Put songs at the end; says how many were not there yet. */
  add(songs) {
    const there = new Set(this.state.songs.map((song) => song.id));
    const fresh = songs.filter((song) => !there.has(song.id) && there.add(song.id)).map(brief);
    if (fresh.length) this.change({ songs: [...this.state.songs, ...fresh], ...this.byHand }, { undo: "Adding songs" });
    return fresh.length;
  }

  remove(at) {
    const song = this.state.songs[at];
    this.change({ songs: this.state.songs.filter((_, i) => i !== at), ...this.byHand }, { undo: `Removing ${song.title}` });
  }

  move(from, to) {
    const songs = [...this.state.songs], [song] = songs.splice(from, 1);
    songs.splice(to, 0, song);
    this.change({ songs, ...this.byHand }, { undo: `Moving ${song.title}` });
  }

  /** Take on a playlist of the service (PlaylistOut). */
  open(playlist) {
    const songs = playlist.items.map(brief), saved = { id: playlist.id, name: playlist.name, songs: songs.map((song) => song.id) };
    const notes = playlist.gone ? [`${playlist.gone === 1 ? "1 song of it is" : `${playlist.gone} songs of it are`} no longer in the library.`] : [];
    this.change({ ...EMPTY, songs, saved, notes, name: playlist.name, line: this.nextLine }, { undo: this.unsaved ? `Opening ${playlist.name}` : "" });
  }

  get unsaved() {
    const { saved, songs, name } = this.state;
    if (!saved) return songs.length > 0;
    return saved.name !== name || saved.songs.length !== songs.length || songs.some((song, at) => song.id !== saved.songs[at]);
  }

  /** Whether there is enough to ask for a playlist. */
  get ready() {
    const { mode, seeds, from, to } = this.state;
    return mode === "walk" ? Boolean(from && to && from.id !== to.id) : seeds.length > 0;
  }

  request() {
    const { state } = this, walk = state.mode === "walk";
    const filters = {
      genres: state.genres, year_from: state.yearFrom, year_to: state.yearTo,
      fewer_plays: state.unplayed ? 1e-9 : null, // fewer than the least that counts as one
    };
    return {
      seeds: walk ? [state.from.id] : state.seeds.filter((seed) => !seed.heard).map((seed) => seed.id),
      heard: walk ? [] : state.seeds.filter((seed) => seed.heard).map((seed) => seed.heard),
      to: walk ? state.to.id : null,
      length: state.length, artist_gap: state.between + 1,
      diversity: state.diversity, drift: walk ? 0 : state.drift, shuffle: state.shuffle, filters,
    };
  }
}

export const draft = new Draft();
