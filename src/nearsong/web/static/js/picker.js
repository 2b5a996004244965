// A field that finds songs while one types (a combobox).
//
//   songPicker({label, placeholder, find(text, signal) -> offers, pick(offer), id, wait, slash}) -> {node, input, clear()}
//     wait: milliseconds without a key before `find` is asked; slash: a signal until which the key / leads here
//     offer   {song} or {song, note}: what is shown is its title, its artist and the note
//   findSongs(text, signal) -> offers, by the service

import { get, isAbort } from "./api.js";
import { h, replace } from "./dom.js";

const WAIT = 120; // milliseconds without a key before the service is asked

export async function findSongs(text, signal) {
  const page = await get("/songs", { search: text, limit: 10 }, { signal });
  return page.items.map((song) => ({ song, note: page.fuzzy ? "written alike" : "" }));
}

export function songPicker({ label, placeholder, find, pick, id, wait = WAIT, slash = null }) {
  let offers = [], chosen = 0, timer = 0, asked = null;
  const list = h("ul", { class: "picker-list", role: "listbox", id: `${id}-list`, "aria-label": "Songs found", hidden: true });
  const input = h("input", {
    id, class: "input", type: "search", placeholder, role: "combobox", "aria-label": label, "aria-expanded": false,
    "aria-controls": `${id}-list`, "aria-autocomplete": "list", autocomplete: "off", autocapitalize: "off", spellcheck: "false",
    on: { input: () => { clearTimeout(timer); timer = setTimeout(ask, wait); }, focus: () => input.value && ask(), blur: close, keydown: key },
  });
  const status = h("span", { class: "visually-hidden", role: "status" });
  const node = h("div", { class: "picker" }, input, list, status);

  async function ask() {
    const text = input.value.trim();
    asked?.abort();
    if (!text) return close();
    asked = new AbortController();
    try {
      offers = await find(text, asked.signal);
    } catch (error) {
      if (isAbort(error)) return;
      offers = [];
      return show(error.detail || "That did not work.");
    }
    chosen = 0;
    show(offers.length ? "" : "No song has this in its name.");
  }

  function show(note) {
    if (document.activeElement !== input) return;
    replace(list, offers.length ? offers.map(row) : h("li", { class: "picker-none" }, note));
    list.hidden = false;
    input.setAttribute("aria-expanded", "true");
    status.textContent = offers.length ? `${offers.length} found` : note;
    point();
  }

  function row(offer, at) {
    return h(
      "li", {
        id: `${id}-${at}`, role: "option", class: "picker-row", "aria-selected": at === chosen,
        on: { pointerdown: (event) => event.preventDefault(), click: () => take(at) },
      },
      h("span", { class: "picker-title", dir: "auto" }, offer.song.title || "(no title)"),
      h("span", { class: "picker-artist", dir: "auto" }, [offer.song.artist, offer.note].filter(Boolean).join(" · ")),
    );
  }

  function point() {
    [...list.children].forEach((item, at) => item.getAttribute("role") && item.setAttribute("aria-selected", String(at === chosen)));
    if (!offers.length) return input.removeAttribute("aria-activedescendant");
    input.setAttribute("aria-activedescendant", `${id}-${chosen}`);
    list.children[chosen]?.scrollIntoView({ block: "nearest" });
  }

  function close() {
    asked?.abort();
    clearTimeout(timer);
    replace(list);
    list.hidden = true;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  }

  function take(at) {
    const offer = offers[at];
    if (!offer) return;
    input.value = "";
    offers = [];
    close();
    pick(offer);
  }

  function key(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key], open = !list.hidden;
    if (step && open && offers.length) {
      chosen = (chosen + step + offers.length) % offers.length;
      point();
    } else if (event.key === "Enter" && open) take(chosen);
    else if (event.key === "Escape" && (open || input.value)) {
      if (!open) input.value = "";
      close();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  if (slash) {
    document.addEventListener("keydown", (event) => {
      if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.("input:not([type=range]), select, textarea, dialog")) return;
      event.preventDefault();
      event.stopPropagation();
      input.focus();
    }, { capture: true, signal: slash });
  }
  return { node, input, clear: () => { input.value = ""; close(); } };
}
