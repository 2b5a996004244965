// The library: search, genres, sorting, and rows that load on scrolling. The address holds the query:
// #/library?search=...&hearts=1&genre=...&artist=...&sort=...; scroll_memory.js restores the scroll position.

import { get, isAbort, link } from "../core/api.js";
import { announce, button, h, icon, replace } from "../core/dom.js";
import { count, number } from "../core/format.js";
import { addState, pageState, replaceAddress } from "../core/scroll_memory.js";
import { player } from "../player/player.js";
import { moveByArrows, songRow } from "../songs/list.js";
import { scrollRow } from "../widgets/scroll_row.js";
import { searchField } from "../widgets/search_field.js";
import { skeleton } from "../widgets/skeleton.js";
import { emptyLibrary, nextStep } from "./library/empty.js";
import { namesFound, namesOf } from "./library/names_found.js";
import { scanNote } from "./library/scan_note.js";
import { libraryInWords, libraryTabs } from "./library/tabs.js";

const PAGE_SONGS = 50;
const SORTS = [
  ["artist", "Artist"],
  ["title", "Title"],
  ["year", "Year"],
  ["plays", "Most played"],
  ["newest", "Recently added"],
];
const HEARTED = ["hearted", "Newest heart"]; // the first order of the songs with a heart
const MAX_CHIPS = 12;
const MAX_PAGE_SONGS = 200; // limit of the API
const GENRES_MILLISECONDS = 250; // the first rows wait this long for the genres above them, to avoid a layout shift

let genresSeen = []; // shown at once when the view is opened again

export async function show(root, params, app) {
  app.title("Library");
  const status = await app.someStatus();
  if (!status.songs) return emptyLibrary(root, app);
  return new LibraryView(root, params.query, app).start();
}

class LibraryView {
  constructor(root, query, app) {
    Object.assign(this, { root, app, songs: [], total: 0, turn: 0, timer: 0, asking: null });
    const hearts = query.get("hearts") ? "1" : "";
    const sort = query.get("sort");
    this.asked = {
      hearts,
      search: query.get("search") || "",
      genre: query.get("genre") || "",
      artist: query.get("artist") || "",
      album: query.get("album") || "",
      sort: SORTS.some(([name]) => name === sort) ? sort : usualSort(hearts),
    };
    this.wantsFocus = query.get("focus") === "search";
  }

  start() {
    const kept = pageState().library; // this entry of the history was seen before
    this.genres = genresSeen;
    this.draw();
    this.drawChips();
    this.settled = Promise.race([
      this.loadGenres(),
      new Promise((resolve) => {
        setTimeout(resolve, GENRES_MILLISECONDS);
      }),
    ]);
    this.load(kept);
    this.watcher = new IntersectionObserver((seen) => seen.some((one) => one.isIntersecting) && this.more(), {
      rootMargin: "600px",
    });
    this.watcher.observe(this.end);
    const back = () => link.up && this.load(); // the list may be outdated
    link.addEventListener("change", back);
    const tell = () => this.tell();
    this.app.events.addEventListener("status", tell);
    const forget = addState(() => ({ library: { y: scrollY, songs: Math.min(MAX_PAGE_SONGS, this.songs.length) } }));
    if (this.wantsFocus) requestAnimationFrame(() => this.search.focus());
    return () => {
      this.search.stop();
      forget();
      this.asking?.abort();
      this.watcher.disconnect();
      this.scan.stop();
      link.removeEventListener("change", back);
      this.app.events.removeEventListener("status", tell);
    };
  }

  draw() {
    this.search = searchField({
      label: "Search the library",
      placeholder: "Artist, title, album or genre",
      value: this.asked.search,
      search: (search) => this.ask({ search }),
      down: () => this.list.querySelector(".row-play")?.focus(),
    });
    const sort = () => this.ask({ sort: this.order.value });
    this.order = h("select", { class: "select", id: "sort", on: { change: sort } });
    this.drawSorts();
    this.chips = h("div", { class: "genre-chips", role: "group", "aria-label": "Hearts and genres", hidden: true });
    this.syncChips = scrollRow(this.chips);
    this.counter = h("p", { class: "result-count", id: "result-count", role: "status" });
    this.names = h("div");
    this.list = h("ul", { class: "song-list", id: "songs", "aria-label": "Songs", role: "list" });
    this.waits = skeleton("rows", 10);
    moveByArrows(this.list);
    this.button = button("Show more", () => this.more(true), { id: "show-more", class: "button quiet" });
    this.end = h("div", { class: "library-end", hidden: true }, this.button);
    this.scan = scanNote(this.app);
    this.lead = h("span");
    this.advice = h("div", { class: "library-advice" });
    this.tell();
    replace(
      this.root,
      this.app.heading("Library", { lead: this.lead, actions: this.scan.button }),
      libraryTabs("songs"),
      this.scan.node,
      this.advice,
      h(
        "div",
        { class: "library-tools", role: "search" },
        h(
          "div",
          { class: "library-tools-line" },
          this.search.node,
          h("div", { class: "sort" }, h("label", { for: "sort" }, "Sort by"), this.order),
        ),
        this.chips,
      ),
      this.names,
      this.counter,
      this.waits,
      this.list,
      this.end,
    );
  }

  /** Update the counts and the next step. */
  tell() {
    const { step } = this.app.status;
    this.lead.textContent = libraryInWords(this.app.status);
    if (this.step === step) return;
    this.step = step;
    replace(this.advice, nextStep(this.app));
  }

  drawSorts() {
    const { hearts, sort } = this.asked;
    const sorts = hearts ? [HEARTED, ...SORTS] : SORTS;
    replace(
      this.order,
      sorts.map(([name, label]) => h("option", { value: name, selected: name === sort }, label)),
    );
  }

  askHearts(hearts) {
    this.ask({ hearts, sort: usualSort(hearts) });
    this.drawSorts();
  }

  /** The parameters of GET /songs. */
  parameters() {
    const { sort } = this.asked;
    return { ...this.asked, sort: sort === HEARTED[0] ? "" : sort }; // where hearts are asked for it is the default
  }

  ask(change) {
    if (Object.entries(change).every(([name, value]) => this.asked[name] === value)) return;
    Object.assign(this.asked, change);
    const usual = usualSort(this.asked.hearts);
    const query = new URLSearchParams(
      Object.entries(this.asked).filter(([name, value]) => value && !(name === "sort" && value === usual)),
    );
    replaceAddress(`#/library${query.size ? `?${query}` : ""}`); // for reload and back
    this.drawChips();
    this.load();
  }

  askAll() {
    this.search.clear();
    const sort = this.asked.hearts ? usualSort("") : this.asked.sort;
    this.ask({ search: "", hearts: "", genre: "", artist: "", album: "", sort });
    this.drawSorts();
    this.search.focus();
  }

  async load(kept) {
    this.asking?.abort();
    this.asking = new AbortController();
    const { signal } = this.asking;
    const mine = (this.turn += 1);
    try {
      const asked = { ...this.parameters(), offset: 0, limit: Math.max(PAGE_SONGS, kept?.songs || 0) };
      const [page, exact] = await Promise.all([get("/songs", asked, { signal }), namesFound(asked.search, signal)]);
      const names = exact || (page.fuzzy ? namesOf(page.items) : null);
      await this.settled;
      if (mine !== this.turn) return; // the response to an earlier query
      this.songs = [];
      this.waits.remove();
      this.list.replaceChildren();
      replace(this.names, names);
      this.take(page);
      this.say(page);
      // songs were added meanwhile
      if (page.total > this.app.status.songs) this.app.refreshStatus().catch(() => {});
      if (kept) scrollTo(0, kept.y);
      else if (scrollY > this.list.offsetTop) scrollTo(0, Math.max(0, this.counter.offsetTop - 140));
    } catch (error) {
      if (!isAbort(error) && mine === this.turn) this.failed(error);
    }
  }

  async more(byHand = false) {
    if (this.loading || this.end.hidden || this.songs.length >= this.total) return;
    this.loading = true;
    const mine = this.turn;
    const before = this.songs.length;
    try {
      const page = await get(
        "/songs",
        { ...this.parameters(), offset: before, limit: PAGE_SONGS },
        { signal: this.asking.signal },
      );
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
    this.list.append(
      ...page.items.map((song) =>
        songRow(song, {
          details: true,
          onPlay: () => player.play(this.songs, { start: this.songs.indexOf(song), more: this.goesOn() }),
          note: this.asked.sort === "plays" ? count(song.plays, "play") : null,
        }),
      ),
    );
    this.end.hidden = !page.items.length || this.songs.length >= this.total;
  }

  /** Loads the next page of the current query. */
  goesOn() {
    const asked = this.parameters();
    let offset = this.songs.length;
    return async () => {
      const { items } = await get("/songs", { ...asked, offset, limit: PAGE_SONGS });
      offset += items.length;
      return items;
    };
  }

  say(page) {
    const { search, hearts, genre, artist, album } = this.asked;
    const drop = (what, value) =>
      value &&
      h(
        "button",
        {
          class: "chip",
          type: "button",
          "aria-pressed": true,
          "aria-label": `Remove filter: ${value}`,
          on: { click: () => this.ask({ [what]: "" }) },
        },
        h("span", { class: "ellipsis" }, value),
        icon("close"),
      );
    const asked = search || hearts || genre || artist || album;
    if (!page.total) {
      replace(
        this.counter,
        h(
          "span",
          { class: "cluster" },
          search ? `No songs match “${search}”.` : hearts ? "No songs with a heart." : "No songs.",
          drop("artist", artist),
          drop("album", album),
          drop("genre", genre),
          button("Show all songs", () => this.askAll(), { class: "button quiet small" }),
        ),
      );
      return;
    }
    const words = page.fuzzy ? "No exact matches. Showing similar spellings." : asked ? count(page.total, "song") : "";
    replace(
      this.counter,
      (words || artist || album) &&
        h("span", { class: "cluster" }, words, drop("artist", artist), drop("album", album)),
    );
  }

  failed(error) {
    this.waits.remove();
    if (this.songs.length) return; // keep what is shown; the banner reports the outage
    replace(
      this.counter,
      h(
        "span",
        { class: "cluster" },
        error.detail || "Something went wrong.",
        button("Try again", () => this.load(), { class: "button quiet small" }),
      ),
    );
  }

  async loadGenres() {
    try {
      const answer = await get("/genres", {}, { signal: this.app.signal });
      this.genres = genresSeen = answer.filter((genre) => genre.name);
      this.drawChips();
    } catch (error) {
      if (error.name !== "ApiError" && !isAbort(error)) throw error; // the view works without genres
    }
  }

  drawChips() {
    const { genres } = this;
    const withHearts = this.app.status.records_plays || this.asked.hearts;
    if (genres.length < 2 && !withHearts) return void (this.chips.hidden = true);
    const { hearts, genre: chosen, search, artist, album } = this.asked;
    const isAll = !(search || hearts || artist || album); // the numbers are those of the whole library
    const shown = JSON.stringify([genres, chosen, hearts, isAll]);
    if (shown === this.shownChips) return; // they may be about to be pressed
    this.shownChips = shown;
    const first = genres.length < 2 ? [] : genres.slice(0, MAX_CHIPS);
    if (chosen && !first.some((genre) => genre.name === chosen))
      first.push(genres.find((genre) => genre.name === chosen) || { name: chosen, songs: 0 });
    const rest = genres.length < 2 ? [] : genres.filter((genre) => !first.includes(genre));
    const chip = (genre) =>
      h(
        "button",
        {
          class: "chip",
          type: "button",
          "aria-pressed": genre.name === chosen,
          on: { click: () => this.ask({ genre: genre.name === chosen ? "" : genre.name }) },
        },
        genre.name,
        isAll && h("span", { class: "number" }, number(genre.songs)),
      );
    const onlyHearts =
      withHearts &&
      h(
        "button",
        {
          class: "chip",
          type: "button",
          id: "only-hearts",
          "aria-pressed": Boolean(hearts),
          on: { click: () => this.askHearts(hearts ? "" : "1") },
        },
        icon("heart"),
        "Hearts",
      );
    const choose = (event) => this.ask({ genre: event.target.value });
    const others =
      rest.length > 0 &&
      h(
        "select",
        { class: "chip", "aria-label": "Other genres", on: { change: choose } },
        h("option", { value: "" }, "More…"),
        rest.map(({ name, songs }) => h("option", { value: name }, isAll ? `${name} (${number(songs)})` : name)),
      );
    const focused = this.chips.contains(document.activeElement) ? document.activeElement.textContent : null;
    const scrolled = this.chips.scrollLeft;
    replace(this.chips, onlyHearts, first.map(chip), others);
    this.chips.hidden = false;
    this.chips.scrollLeft = scrolled;
    if (focused) [...this.chips.children].find((one) => one.textContent === focused)?.focus();
    this.syncChips();
  }
}

const usualSort = (hearts) => (hearts ? HEARTED[0] : SORTS[0][0]);
