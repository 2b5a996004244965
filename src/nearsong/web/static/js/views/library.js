// The library: search while one types, genres, order, and rows that load as one scrolls. The address keeps the question:
// #/?search=...&genre=...&artist=...&sort=...; back from a song, and a reload, find the same place in the list (places.js).

import { get, isAbort, link } from "../api.js";
import { announce, h, icon, iconButton, replace } from "../dom.js";
import { count, longTime, number } from "../format.js";
import { keepMore, place, readdress } from "../places.js";
import { player } from "../player.js";
import { moveByArrows, songRow } from "../songs.js";
import { emptyLibrary, nextStep } from "./empty.js";
import { scanNote } from "./scan_note.js";

const PAGE = 50;
const WAIT = 120; // milliseconds without a key before the service is asked
const SORTS = [["artist", "Artist"], ["title", "Title"], ["year", "Year"], ["plays", "Most played"], ["newest", "Newest here"]];
const MOST_CHIPS = 12;
const MOST = 200; // songs that the service gives at once
const SETTLES = 250; // milliseconds that the first rows wait for the genres above them, so that nothing jumps

let genresSeen = []; // back from elsewhere they are there at once

export async function show(root, params, app) {
  app.title("Library");
  const status = app.status || (await app.refreshStatus());
  if (!status.songs) return emptyLibrary(root, app);
  return new LibraryView(root, params.query, app).start();
}

class LibraryView {
  constructor(root, query, app) {
    Object.assign(this, { root, app, songs: [], total: 0, turn: 0, timer: 0, asking: null });
    const sort = query.get("sort") || "artist";
    this.asked = {
      search: query.get("search") || "", genre: query.get("genre") || "", artist: query.get("artist") || "", album: query.get("album") || "",
      sort: SORTS.some(([name]) => name === sort) ? sort : "artist",
    };
    this.wantsFocus = query.get("focus") === "search";
  }

  start() {
    const kept = place().library; // this place in the history was seen before
    this.genres = genresSeen;
    this.draw();
    this.drawChips();
    this.settled = Promise.race([this.loadGenres(), new Promise((resolve) => { setTimeout(resolve, SETTLES); })]);
    this.load(kept);
    this.watcher = new IntersectionObserver((seen) => seen.some((one) => one.isIntersecting) && this.more(), { rootMargin: "600px" });
    this.watcher.observe(this.end);
    const back = () => link.up && this.load(); // the list may be the answer to an older question
    link.addEventListener("change", back);
    const tell = () => this.tell();
    this.app.events.addEventListener("status", tell);
    const forget = keepMore(() => ({ library: { y: scrollY, songs: Math.min(MOST, this.songs.length) } }));
    if (this.wantsFocus) requestAnimationFrame(() => this.field.focus());
    return () => {
      clearTimeout(this.timer);
      forget();
      this.asking?.abort();
      this.watcher.disconnect();
      this.scan.stop();
      link.removeEventListener("change", back);
      this.app.events.removeEventListener("status", tell);
    };
  }

  draw() {
    this.field = h("input", {
      class: "input", id: "search", type: "search", placeholder: "Artist, title, album or genre",
      "aria-label": "Search the library", "aria-describedby": "result-count",
      autocomplete: "off", autocapitalize: "off", spellcheck: "false", enterkeyhint: "search", maxlength: 200, value: this.asked.search,
      on: { input: () => this.typed(), keydown: (event) => this.fieldKey(event) },
    });
    const wipe = () => {
      this.field.value = "";
      this.typed();
      this.field.focus();
    };
    this.wipe = iconButton("close", "Clear the search", wipe, { hidden: !this.asked.search });
    this.hint = h("kbd", { "aria-hidden": true, hidden: Boolean(this.asked.search) }, "/");
    const order = h("select", { class: "select", id: "sort", on: { change: () => this.ask({ sort: order.value }) } },
      SORTS.map(([name, label]) => h("option", { value: name, selected: name === this.asked.sort }, label)));
    this.chips = h("div", { class: "genre-chips", role: "group", "aria-label": "Genre", hidden: true });
    this.counter = h("p", { class: "result-count", id: "result-count", role: "status" });
    this.list = h("ul", { class: "song-list", id: "songs", "aria-label": "Songs", role: "list" });
    moveByArrows(this.list);
    this.button = h("button", { class: "button quiet", id: "show-more", type: "button", on: { click: () => this.more(true) } }, "Show more");
    this.end = h("div", { class: "library-end", hidden: true }, this.button);
    this.scan = scanNote(this.app);
    [this.lead, this.advice] = [h("span"), h("div", { class: "library-advice" })];
    this.tell();
    replace(this.root,
      this.app.heading("Library", { lead: this.lead, actions: this.scan.button }),
      this.scan.node,
      this.advice,
      h("div", { class: "library-tools", role: "search" },
        h("div", { class: "library-tools-line" },
          h("div", { class: "search" }, this.field, icon("search"), this.hint, this.wipe),
          h("div", { class: "sort" }, h("label", { for: "sort" }, "Sort by"), order)),
        this.chips),
      this.counter, this.list, this.end);
  }

  /** What the library holds, and the next step, which may be another one by now: a history was read meanwhile, for example. */
  tell() {
    const { songs, artists, seconds, step } = this.app.status;
    this.lead.textContent = `${count(songs, "song")} by ${count(artists, "artist")}, ${longTime(seconds)}${seconds > 48 * 3600 ? " of music" : ""}`;
    if (this.step === step) return;
    this.step = step;
    replace(this.advice, nextStep(this.app));
  }

  typed() {
    this.wipe.hidden = !this.field.value;
    this.hint.hidden = Boolean(this.field.value);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.ask({ search: this.field.value.trim() }), WAIT);
  }

  fieldKey(event) {
    if (event.key === "Escape" && this.field.value) {
      event.preventDefault();
      this.field.value = "";
      this.typed();
    } else if (event.key === "ArrowDown") {
      event.preventDefault();
      this.list.querySelector(".row-play")?.focus();
    } else if (event.key === "Enter") {
      clearTimeout(this.timer);
      this.ask({ search: this.field.value.trim() });
    }
  }

  ask(change) {
    if (Object.entries(change).every(([name, value]) => this.asked[name] === value)) return;
    Object.assign(this.asked, change);
    const query = new URLSearchParams(Object.entries(this.asked).filter(([name, value]) => value && !(name === "sort" && value === "artist")));
    readdress(`#/${query.size ? `?${query}` : ""}`); // a reload, or back from a song, finds the same question
    this.drawChips();
    this.load();
  }

  askAll() {
    this.field.value = "";
    this.typed();
    clearTimeout(this.timer);
    this.ask({ search: "", genre: "", artist: "", album: "" });
    this.field.focus();
  }

  async load(kept) {
    this.asking?.abort();
    this.asking = new AbortController();
    const { signal } = this.asking;
    const mine = (this.turn += 1);
    try {
      const page = await get("/songs", { ...this.asked, offset: 0, limit: Math.max(PAGE, kept?.songs || 0) }, { signal });
      await this.settled;
      if (mine !== this.turn) return; // an older question's answer
      this.songs = [];
      this.list.replaceChildren();
      this.take(page);
      this.say(page);
      if (page.total > this.app.status.songs) this.app.refreshStatus().catch(() => {}); // a scan, or a file that was kept, has brought some
      if (kept) scrollTo(0, kept.y);
      else if (scrollY > this.list.offsetTop) scrollTo(0, Math.max(0, this.counter.offsetTop - 140));
    } catch (error) {
      if (!isAbort(error) && mine === this.turn) this.failed(error);
    }
  }

  async more(byHand = false) {
    if (this.loading || this.end.hidden || this.songs.length >= this.total) return;
    this.loading = true;
    const [mine, before] = [this.turn, this.songs.length];
    try {
      const page = await get("/songs", { ...this.asked, offset: before, limit: PAGE }, { signal: this.asking.signal });
      if (mine !== this.turn) return;
      this.take(page);
      announce(`${number(this.songs.length)} of ${count(this.total, "song")}`);
      if (byHand) this.list.children[before]?.querySelector(".row-play")?.focus();
    } catch (error) {
      if (!isAbort(error)) this.failed(error);
    } finally {
      this.loading = false;
    }
  }

  take(page) {
    this.total = page.total;
    this.songs.push(...page.items);
    this.list.append(...page.items.map((song) => songRow(song, {
      details: true, onPlay: () => player.play(this.songs, this.songs.indexOf(song), { more: this.goesOn() }),
      note: this.asked.sort === "plays" ? count(song.plays, "play") : null,
    })));
    this.end.hidden = !page.items.length || this.songs.length >= this.total;
  }

  /** Where the list goes on after what is loaded, as it is asked for now. */
  goesOn() {
    const asked = { ...this.asked };
    let offset = this.songs.length;
    return async () => {
      const { items } = await get("/songs", { ...asked, offset, limit: PAGE });
      offset += items.length;
      return items;
    };
  }

  say(page) {
    const { search, genre, artist, album } = this.asked;
    const drop = (what, value) => value && h("button", {
      class: "chip", type: "button", "aria-pressed": true, "aria-label": `Only ${value}: remove`, on: { click: () => this.ask({ [what]: "" }) },
    }, h("span", { class: "ellipsis" }, value), icon("close"));
    const asked = search || genre || artist || album;
    if (!page.total) {
      replace(this.counter, h("span", { class: "cluster" }, search ? `Nothing is called “${search}”.` : "Nothing here.",
        drop("artist", artist), drop("album", album), drop("genre", genre),
        h("button", { class: "button quiet small", type: "button", on: { click: () => this.askAll() } }, "Show all songs")));
      return;
    }
    const words = page.fuzzy ? "Nothing is called exactly that; these are written alike." : asked ? count(page.total, "song") : "";
    replace(this.counter, (words || artist || album) && h("span", { class: "cluster" }, words, drop("artist", artist), drop("album", album)));
  }

  failed(error) {
    if (this.songs.length) return; // what is shown stays; the banner says that the service is gone
    replace(this.counter, h("span", { class: "cluster" }, error.detail || "That did not work.",
      h("button", { class: "button quiet small", type: "button", on: { click: () => this.load() } }, "Try again")));
  }

  async loadGenres() {
    try {
      const answer = await get("/genres", {}, { signal: this.app.signal });
      this.genres = genresSeen = (Array.isArray(answer) ? answer : answer.items).filter((genre) => genre.name);
      this.drawChips();
    } catch (error) {
      if (error.name !== "ApiError" && !isAbort(error)) throw error; // without genres the rest still works
    }
  }

  drawChips() {
    const { genres } = this;
    if (genres.length < 2) return void (this.chips.hidden = true);
    const chosen = this.asked.genre;
    const first = genres.slice(0, MOST_CHIPS);
    if (chosen && !first.some((genre) => genre.name === chosen)) first.push(genres.find((genre) => genre.name === chosen) || { name: chosen, songs: 0 });
    const rest = genres.filter((genre) => !first.includes(genre));
    const chip = (genre) => h("button", {
      class: "chip", type: "button", "aria-pressed": genre.name === chosen, on: { click: () => this.ask({ genre: genre.name === chosen ? "" : genre.name }) },
    }, genre.name, h("span", { class: "number" }, number(genre.songs)));
    const choose = (event) => this.ask({ genre: event.target.value });
    const others = rest.length > 0 && h("select", { class: "chip", "aria-label": "Other genres", on: { change: choose } },
      h("option", { value: "" }, "More…"), rest.map((genre) => h("option", { value: genre.name }, `${genre.name} (${number(genre.songs)})`)));
    const focused = this.chips.contains(document.activeElement) ? document.activeElement.textContent : null;
    const scrolled = this.chips.scrollLeft;
    replace(this.chips, first.map(chip), others);
    this.chips.hidden = false;
    this.chips.scrollLeft = scrolled;
    if (focused) [...this.chips.children].find((one) => one.textContent === focused)?.focus();
  }
}
