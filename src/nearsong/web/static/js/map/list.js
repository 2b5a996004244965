// The songs in view, the selected ones, or those similar to a song, as a list: the map without a mouse or eyesight.
//
//   songPanel(stage, {open(row), verb, similar(row)}) -> {node, toggle, show(on)}
//     toggle   button that opens and closes the list on narrow screens
//     verb     what pressing a row does: "Play"
//     similar  row -> [{row, closeness, word}] of the selected song, or null to list the songs in view

import { button, h, iconButton, replace } from "../core/dom.js";
import { onEscape } from "../core/escape.js";
import { count } from "../core/format.js";
import { closenessMarks } from "../songs/closeness.js";

const MAX_ROWS = 50;
const IDLE_MILLISECONDS = 160; // the map must rest this long before its songs are listed

export function songPanel(stage, { open, verb, similar = () => null }) {
  let timer = 0;
  const isOpen = () => node.classList.contains("is-open");
  let release = () => {};
  const show = (on) => {
    release();
    if (on && toggle.offsetParent) release = onEscape(() => show(false)); // it lies over the map
    node.classList.toggle("is-open", on);
    toggle.setAttribute("aria-expanded", String(on));
    if (toggle.offsetParent) (on ? close : toggle).focus({ preventScroll: true });
    else if (on) list.querySelector("button")?.focus();
  };
  const toggle = iconButton("queue", "Songs in view", () => show(!isOpen()), {
    class: "icon-button map-list-toggle",
    "aria-expanded": false,
    "aria-controls": "map-list",
  });
  const close = iconButton("close", "Close list", () => show(false), { class: "icon-button map-list-close" });
  const heading = h("h2", { id: "map-list-title", class: "map-list-title", dir: "auto" });
  const list = h("ul", { class: "map-rows", role: "list" });
  const more = h("p", { class: "muted small-text map-list-more" });
  const all = button("Select all", () => stage.choose(stage.inView(0).rows), { class: "button plain small" });
  const node = h(
    "aside",
    { class: "map-list", id: "map-list", "aria-labelledby": "map-list-title" },
    h("div", { class: "map-list-head" }, heading, all, close),
    list,
    more,
  );
  function press(row) {
    if (isOpen()) show(false);
    open(row);
  }

  function item({ row, word = "", mark }) {
    const { columns, colours } = stage;
    const hover = (on) => () => stage.hover(on ? row : -1);
    const on = {
      click: () => press(row),
      pointerenter: hover(true),
      focus: hover(true),
      pointerleave: hover(false),
      blur: hover(false),
    };
    const label = `${verb} ${columns.fullName(row)}${word && `, ${word}`}`;
    return h(
      "li",
      {},
      h(
        "button",
        { type: "button", class: "map-row", "aria-label": label, on },
        h("span", { class: "map-dot", vars: { "--dot": colours.classes[colours.of[row]].colour } }),
        h(
          "span",
          { class: "map-row-names" },
          h("span", { class: "ellipsis", dir: "auto" }, columns.title(row)),
          h("span", { class: "muted small-text ellipsis", dir: "auto" }, columns.artistName(row)),
        ),
        word && h("span", { class: "map-row-note muted" }, mark),
      ),
    );
  }

  function draw() {
    const content = selection() || neighbours() || inView();
    heading.textContent = content.title;
    all.hidden = !content.selectable;
    replace(list, content.items.map(item));
    more.textContent = content.note;
  }

  function selection() {
    const rows = [...stage.chosen];
    if (!rows.length) return null;
    const items = rows.slice(0, MAX_ROWS).map((row) => ({ row }));
    const note = rows.length > MAX_ROWS ? `The first ${MAX_ROWS} are listed.` : "";
    return { title: `${count(rows.length, "song")} selected`, items, note };
  }

  function neighbours() {
    const found = stage.selected < 0 ? null : similar(stage.selected);
    const marks = found && closenessMarks(found.map(({ closeness, word }) => ({ closeness, closeness_word: word })));
    const items = found?.map((one, i) => ({ ...one, mark: marks[i] }));
    return items && { title: "Similar songs", items, note: items.length ? "" : "No similar songs." };
  }

  function inView() {
    const { rows, first } = stage.inView(MAX_ROWS);
    const songs = count(rows.length, "song");
    const cut = `The ${MAX_ROWS} closest to the centre are listed. Zoom in to see others.`;
    const empty = "No songs here. Move the map, or press 0 to show all of it.";
    return {
      title: rows.length === stage.columns.n ? `All ${songs}` : `${songs} in view`,
      items: first.map((row) => ({ row })),
      selectable: rows.length > 0,
      note: rows.length > first.length ? cut : rows.length ? "" : empty,
    };
  }

  const soon = () => {
    clearTimeout(timer);
    timer = setTimeout(draw, IDLE_MILLISECONDS);
  };
  for (const name of ["view", "colours"]) stage.addEventListener(name, soon);
  for (const name of ["chosen", "selected"]) stage.addEventListener(name, () => stage.colours && draw());
  stage.signal.addEventListener("abort", () => {
    clearTimeout(timer);
    release();
  });
  return { node, toggle, show };
}
