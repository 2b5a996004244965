// Near songs in one or two columns: as learned from listeners, and by sound alone. The song page and "Find by sound" share it.
//
//   neighbours({learned, native, query, whyOf, lesson}) -> node
//     learned, native   lists of NeighbourOut; learned null: nothing is learned, one column
//     query             {title, artist} of what was asked about
//     lesson() -> node  beside a lone column: how there would be two
//     whyOf(near) -> f() -> Promise of WhyOut; or null where there is no reason to show

import { h, icon, iconButton } from "../dom.js";
import { percent, titleOf } from "../format.js";
import { player } from "../player.js";
import { songHref, songList } from "../songs.js";
import { whyButton } from "./why.js";

const NAMES = {
  learned: { title: "Nearest as learned from listeners", short: "As learned", icon: "people" },
  native: { title: "Nearest by sound alone", short: "By sound alone", icon: "wave" },
};

export function neighbours({ learned, native, query, whyOf, lesson }) {
  if (!learned) return h("div", { class: "columns columns-one" }, column("native", native, new Set(), query, whyOf), lesson());
  const inBoth = both(learned, native);
  const place = h("div", { class: "columns", dataset: { shown: "learned" } },
    column("learned", learned, inBoth, query, whyOf), column("native", native, inBoth, query, whyOf));
  const switches = ["learned", "native"].map((kind) => h("button", {
    type: "button", "aria-pressed": kind === "learned", on: { click: () => {
      place.dataset.shown = kind;
      switches.forEach((one, i) => one.setAttribute("aria-pressed", String(["learned", "native"][i] === kind)));
    } },
  }, icon(NAMES[kind].icon), NAMES[kind].short));
  linkRows(place);
  return h("div", { class: "near" }, h("div", { class: "columns-switch segmented", role: "group", "aria-label": "Which list" }, switches), place);
}

function both(learned, native) {
  const ids = new Set(learned.map((near) => near.song.id));
  return new Set(native.map((near) => near.song.id).filter((id) => ids.has(id)));
}

function column(kind, list, inBoth, query, whyOf) {
  const songs = list.map((near) => near.song);
  const id = `near-${kind}`;
  const reasons = list.every((near) => whyOf(near)) ? whyOf : () => null; // for all of a column, or for none
  const rows = songList(songs, { ordered: true, label: NAMES[kind].title, row: (_song, i) => rowOf(list[i], inBoth, query, reasons) });
  rows.id = id;
  return h("section", { class: `column column-${kind}`, "aria-labelledby": `${id}-title` },
    h("div", { class: "column-head" }, icon(NAMES[kind].icon), h("h2", { id: `${id}-title` }, NAMES[kind].title),
      songs.length > 1 && iconButton("play", `Play all: ${NAMES[kind].title}`, () => player.play(songs), { title: "Play all" })),
    songs.length ? rows : h("p", { class: "muted" }, "No song fits. Try without the filters, or add more music."));
}

function rowOf(near, inBoth, query, whyOf) {
  const { song } = near;
  const load = whyOf(near);
  const opens = load && whyButton(load, { query, other: song, label: `Why is ${titleOf(song)} near?` });
  const marks = [
    near.listeners_agree && h("span", { class: "mark good mark-agree", title: "The two artists are near by listeners, too" },
      icon("people"), h("span", {}, "listeners agree")),
    inBoth.has(song.id) && h("span", { class: "mark mark-both", title: "In both lists" },
      icon("both"), h("span", { class: "visually-hidden" }, "in both lists")),
  ];
  const alike = percent(Math.floor(100 * near.similarity) / 100); // no other song is 100% alike by rounding
  return {
    marks, menu: false,
    note: h("div", { class: "alike", title: `${alike} alike` },
      h("span", { class: "number" }, alike, h("span", { class: "visually-hidden" }, " alike")),
      h("div", { class: "bar", vars: { "--part": alike }, "aria-hidden": true }, h("span"))),
    actions: [
      opens && opens.button,
      h("a", { class: "icon-button row-reseed", href: songHref(song.id), "aria-label": `Nearest to ${titleOf(song)}`, title: "Nearest to this" }, icon("near")),
    ],
    below: opens?.below,
  };
}

/** A song that is in both lists lights up in the other, too. */
function linkRows(place) {
  const light = (event, on) => {
    const row = event.target.closest?.(".song-row");
    if (!row) return;
    const twins = place.querySelectorAll(`.song-row[data-song-id="${CSS.escape(row.dataset.songId)}"]`);
    twins.forEach((twin) => twin.classList.toggle("is-twin", on && twin !== row));
  };
  for (const name of ["mouseover", "focusin"]) place.addEventListener(name, (event) => light(event, true));
  for (const name of ["mouseout", "focusout"]) place.addEventListener(name, (event) => light(event, false));
}
