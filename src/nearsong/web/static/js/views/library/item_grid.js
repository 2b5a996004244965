// itemGrid(root, query, app, kind) -> clean-up: albums or artists to search and sort; more load on scrolling.
//
//   kind  {name, hash, path, sorts: [[value, label]], tile(item), one, placeholder}
//   The address holds the query: HASH?search=...&sort=...&genre=...

import { get, isAbort, link } from "../../core/api.js";
import { announce, button, h, icon, replace } from "../../core/dom.js";
import { count, number } from "../../core/format.js";
import { addState, pageState, replaceAddress } from "../../core/scroll_memory.js";
import { tileGrid } from "../../albums/tiles.js";
import { searchField } from "../../widgets/search_field.js";
import { skeleton } from "../../widgets/skeleton.js";
import { libraryInWords, libraryTabs } from "./tabs.js";

const PAGE_ITEMS = 60;
const MAX_PAGE_ITEMS = 200; // limit of the API

export function itemGrid(root, query, app, kind) {
  return new ItemGrid(root, query, app, kind).start();
}

class ItemGrid {
  constructor(root, query, app, kind) {
    Object.assign(this, { root, app, kind, n: 0, total: 0, turn: 0, timer: 0, asking: null });
    const sort = query.get("sort");
    this.asked = {
      search: query.get("search") || "",
      genre: (kind.hasGenres && query.get("genre")) || "",
      sort: kind.sorts.some(([name]) => name === sort) ? sort : kind.sorts[0][0],
    };
  }

  start() {
    const kept = pageState().grid; // this entry of the history was seen before
    this.draw();
    this.load(kept);
    this.watcher = new IntersectionObserver((seen) => seen.some((one) => one.isIntersecting) && this.more(), {
      rootMargin: "600px",
    });
    this.watcher.observe(this.end);
    const back = () => link.up && this.load();
    link.addEventListener("change", back);
    const forget = addState(() => ({ grid: { y: scrollY, items: Math.min(MAX_PAGE_ITEMS, this.n) } }));
    return () => {
      this.search.stop();
      forget();
      this.asking?.abort();
      this.watcher.disconnect();
      link.removeEventListener("change", back);
    };
  }

  draw() {
    const { kind } = this;
    this.search = searchField({
      label: `Search ${kind.name}`,
      placeholder: kind.placeholder,
      value: this.asked.search,
      search: (search) => this.ask({ search }),
      down: () => this.list.querySelector("a, button")?.focus(),
    });
    const order = h(
      "select",
      { class: "select", id: "sort", on: { change: () => this.ask({ sort: order.value }) } },
      kind.sorts.map(([name, label]) => h("option", { value: name, selected: name === this.asked.sort }, label)),
    );
    this.counter = h("p", { class: "result-count", id: "result-count", role: "status" });
    this.list = tileGrid([], kind.name);
    this.list.id = kind.name;
    this.waits = skeleton("cards", 12);
    this.end = h(
      "div",
      { class: "library-end", hidden: true },
      button("Show more", () => this.more(true), { class: "button quiet" }),
    );
    replace(
      this.root,
      this.app.heading("Library", { lead: libraryInWords(this.app.status) }),
      libraryTabs(kind.name),
      h(
        "div",
        { class: "library-tools", role: "search" },
        h(
          "div",
          { class: "library-tools-line" },
          this.search.node,
          h("div", { class: "sort" }, h("label", { for: "sort" }, "Sort by"), order),
        ),
      ),
      this.counter,
      this.waits,
      this.list,
      this.end,
    );
  }

  ask(change) {
    if (Object.entries(change).every(([name, value]) => this.asked[name] === value)) return;
    Object.assign(this.asked, change);
    const first = this.kind.sorts[0][0];
    const query = new URLSearchParams(
      Object.entries(this.asked).filter(([name, value]) => value && !(name === "sort" && value === first)),
    );
    replaceAddress(`${this.kind.hash}${query.size ? `?${query}` : ""}`); // for reload and back
    this.load();
  }

  async load(kept) {
    this.asking?.abort();
    this.asking = new AbortController();
    const { signal } = this.asking;
    const mine = (this.turn += 1);
    try {
      const asked = { ...this.asked, offset: 0, limit: Math.max(PAGE_ITEMS, kept?.items || 0) };
      const page = await get(this.kind.path, asked, { signal });
      if (mine !== this.turn) return;
      this.n = 0;
      this.waits.remove();
      this.list.replaceChildren();
      this.take(page);
      this.say();
      if (kept) scrollTo(0, kept.y);
    } catch (error) {
      if (!isAbort(error) && mine === this.turn) this.failed(error);
    }
  }

  async more(byHand = false) {
    if (this.loading || this.end.hidden || this.n >= this.total) return;
    this.loading = true;
    const mine = this.turn;
    const before = this.n;
    try {
      const asked = { ...this.asked, offset: before, limit: PAGE_ITEMS };
      const page = await get(this.kind.path, asked, { signal: this.asking.signal });
      if (mine !== this.turn) return;
      this.take(page);
      announce(`${number(this.n)} of ${count(this.total, this.kind.one)}`);
      if (byHand) this.list.children[before]?.querySelector(".tile-name")?.focus();
    } catch (error) {
      if (!isAbort(error)) this.failed(error);
    } finally {
      this.loading = false;
    }
  }

  take(page) {
    this.total = page.total;
    this.n += page.items.length;
    this.list.append(...page.items.map((item) => this.kind.tile(item)));
    this.end.hidden = !page.items.length || this.n >= this.total;
  }

  say() {
    const { search, genre } = this.asked;
    const all = button("Show all", () => this.askAll(), { class: "button quiet small" });
    const words = this.total
      ? count(this.total, this.kind.one)
      : search
        ? `No ${this.kind.name} match “${search}”.`
        : `No ${this.kind.name}.`;
    const filter =
      genre &&
      h(
        "button",
        {
          class: "chip",
          type: "button",
          "aria-pressed": true,
          "aria-label": `Remove filter: ${genre}`,
          on: { click: () => this.ask({ genre: "" }) },
        },
        genre,
        icon("close"),
      );
    replace(this.counter, h("span", { class: "cluster" }, words, filter, !this.total && all));
  }

  askAll() {
    this.search.clear();
    this.ask({ search: "", genre: "" });
    this.search.focus();
  }

  failed(error) {
    this.waits.remove();
    if (this.n) return; // keep what is shown; the banner reports the outage
    const again = button("Try again", () => this.load(), { class: "button quiet small" });
    replace(this.counter, h("span", { class: "cluster" }, error.detail || "Something went wrong.", again));
  }
}
