// A search field that offers songs while the user types (a combobox).
//
//   songPicker({label, placeholder, find(text, signal) -> offers, pick(offer), id, wait, slash})
//       -> {node, input, clear()}
//     wait    milliseconds without a key before `find` is called
//     slash   signal; until it is aborted, the key / focuses the field
//     offer   {song} or {song, note}: title, artist and note are shown

import { h, replace } from "../core/dom.js";

const WAIT_MILLISECONDS = 120; // without a key before the search

export function songPicker({ label, placeholder, find, pick, id, wait = WAIT_MILLISECONDS, slash = null }) {
  let offers = [];
  let chosen = 0;
  let timer = 0;
  let asked = null;
  let outdated = false; // the offers are of an earlier text
  const list = h("ul", {
    class: "picker-list",
    role: "listbox",
    id: `${id}-list`,
    "aria-label": "Songs found",
    hidden: true,
  });
  const input = h("input", {
    id,
    class: "input",
    type: "search",
    placeholder,
    role: "combobox",
    "aria-label": label,
    "aria-expanded": false,
    "aria-controls": `${id}-list`,
    "aria-autocomplete": "list",
    autocomplete: "off",
    autocapitalize: "off",
    spellcheck: "false",
    on: {
      input: () => {
        clearTimeout(timer);
        outdated = true;
        timer = setTimeout(ask, wait);
      },
      focus: () => input.value && ask(),
      blur: close,
      keydown: key,
    },
  });
  const status = h("span", { class: "visually-hidden", role: "status" });
  const node = h("div", { class: "picker" }, input, list, status);

  async function ask() {
    const text = input.value.trim();
    clearTimeout(timer);
    asked?.abort();
    if (!text) return close();
    asked = new AbortController();
    try {
      offers = await find(text, asked.signal);
    } catch (error) {
      if (error.name === "AbortError") return;
      offers = [];
      return show(error.detail || "Something went wrong.");
    }
    chosen = 0;
    outdated = false;
    show(offers.length ? "" : `No match for “${text}”.`);
  }

  // The first song for what is in the field now, though the user was faster than the search.
  async function takeNewest() {
    if (outdated) await ask();
    if (!outdated) take(chosen);
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
      "li",
      {
        id: `${id}-${at}`,
        role: "option",
        class: "picker-row",
        "aria-selected": at === chosen,
        on: { pointerdown: (event) => event.preventDefault(), click: () => take(at) },
      },
      h("span", { class: "picker-title", dir: "auto" }, offer.song.title || "(no title)"),
      h("span", { class: "picker-artist", dir: "auto" }, [offer.song.artist, offer.note].filter(Boolean).join(" · ")),
    );
  }

  function point() {
    [...list.children].forEach(
      (item, at) => item.getAttribute("role") && item.setAttribute("aria-selected", String(at === chosen)),
    );
    if (!offers.length) return input.removeAttribute("aria-activedescendant");
    input.setAttribute("aria-activedescendant", `${id}-${chosen}`);
    list.children[chosen]?.scrollIntoView({ block: "nearest" });
  }

  function close() {
    asked?.abort();
    clearTimeout(timer);
    offers = [];
    outdated = false;
    replace(list);
    list.hidden = true;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  }

  function take(at) {
    const offer = offers[at];
    if (!offer) return;
    input.value = "";
    close();
    pick(offer);
  }

  function key(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const open = !list.hidden;
    if (step && open && offers.length) {
      chosen = (chosen + step + offers.length) % offers.length;
      point();
    } else if (event.key === "Enter" && (open || outdated)) takeNewest();
    else if (event.key === "Escape" && (open || input.value)) {
      if (!open) input.value = "";
      close();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  if (slash) {
    document.addEventListener(
      "keydown",
      (event) => {
        if (
          event.key !== "/" ||
          event.ctrlKey ||
          event.metaKey ||
          event.altKey ||
          event.target.closest?.("input:not([type=range]), select, textarea, dialog")
        )
          return;
        event.preventDefault();
        event.stopPropagation();
        input.focus();
      },
      { capture: true, signal: slash },
    );
  }
  return {
    node,
    input,
    clear: () => {
      input.value = "";
      close();
    },
  };
}
