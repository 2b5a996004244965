// Similar songs in one or two columns: learned from listeners, and similar sound.
//
//   neighbours({learned, native, query, whyOf, lesson}) -> node
//     learned, native   lists of NeighbourOut; learned null: no trained model, one column
//     query             the seed: {title, artist, id}; id null for an uploaded file
//     lesson() -> node  shown beside a single column: how to train a model
//     whyOf(near) -> f() -> Promise of WhyOut; or null where there is none

import { get } from "../../core/api.js";
import { h, icon, iconButton } from "../../core/dom.js";
import { titleOf } from "../../core/format.js";
import { player } from "../../player/player.js";
import { closenessMarks } from "../../songs/closeness.js";
import { songList } from "../../songs/list.js";
import { whyButton } from "./why.js";

const NAMES = {
  learned: { title: "Similar, learned from listeners", short: "Learned", icon: "people" },
  native: { title: "Similar sound", short: "Sound", icon: "wave" },
};

const BY_SOUND_ALONE = "By sound alone: what listeners play has no part in it.";

export function neighbours({ learned, native, query, whyOf, lesson }) {
  if (!learned)
    return h("div", { class: "columns columns-one" }, column("native", native, null, query, whyOf), lesson());
  const inBoth = both(learned, native);
  const columns = h(
    "div",
    { class: "columns", dataset: { shown: "learned" } },
    column("learned", learned, inBoth, query, whyOf),
    column("native", native, inBoth, query, whyOf),
  );
  const switches = ["learned", "native"].map((kind) =>
    h(
      "button",
      {
        type: "button",
        "aria-pressed": kind === "learned",
        on: {
          click: () => {
            columns.dataset.shown = kind;
            switches.forEach((one, i) => one.setAttribute("aria-pressed", String(["learned", "native"][i] === kind)));
          },
        },
      },
      icon(NAMES[kind].icon),
      NAMES[kind].short,
    ),
  );
  linkRows(columns);
  return h(
    "div",
    { class: "near" },
    h("div", { class: "columns-switch segmented", role: "group", "aria-label": "Which list" }, switches),
    columns,
  );
}

function both(learned, native) {
  const ids = new Set(learned.map((near) => near.song.id));
  return new Set(native.map((near) => near.song.id).filter((id) => ids.has(id)));
}

function column(kind, list, twins, query, whyOf) {
  const inTwo = twins !== null;
  const inBoth = twins ?? new Set();
  const songs = list.map((near) => near.song);
  const id = `near-${kind}`;
  const reasons = list.every((near) => whyOf(near)) ? whyOf : () => null; // for all rows of a column, or for none
  const closeness = closenessMarks(list);
  const rows = songList(songs, {
    ordered: true,
    label: NAMES[kind].title,
    row: (_song, i) => rowOf(list[i], closeness[i], inBoth, query, reasons),
  });
  rows.id = id;
  return h(
    "section",
    { class: `column column-${kind}`, "aria-labelledby": `${id}-title` },
    h(
      "div",
      { class: "column-head" },
      icon(NAMES[kind].icon),
      h("h2", { id: `${id}-title` }, NAMES[kind].title),
      songs.length > 1 &&
        iconButton("play", `Play all: ${NAMES[kind].title}`, () => player.play(songs), { title: "Play all" }),
    ),
    inTwo &&
      kind === "native" &&
      reasons !== whyOf &&
      h("p", { class: "muted small-text", id: "by-sound-alone" }, BY_SOUND_ALONE),
    songs.length ? rows : h("p", { class: "muted" }, "No songs match. Remove a filter, or add more music."),
    inBoth.size > 0 &&
      h("p", { class: "both-legend muted small-text", "aria-hidden": true }, icon("both"), "In both lists"),
  );
}

function rowOf(near, closeness, inBoth, query, whyOf) {
  const { song } = near;
  const load = whyOf(near);
  const asked = { query: query.id, other: song.id };
  const opens =
    load &&
    whyButton(load, {
      query,
      other: song,
      label: `Why is ${titleOf(song)} similar?`,
      find: query.id ? () => get("/why/moment", asked) : null, // an uploaded file is deleted by now
    });
  const marks = [
    near.listeners_agree &&
      h(
        "span",
        { class: "mark good mark-agree", title: "The artists also share many listeners" },
        icon("people"),
        h("span", {}, "shared listeners"),
      ),
    inBoth.has(song.id) &&
      h(
        "span",
        { class: "mark mark-both", title: "In both lists" },
        icon("both"),
        h("span", { class: "visually-hidden" }, "in both lists"),
      ),
  ];
  return {
    marks,
    note: closeness,
    actions: [opens && opens.button],
    below: opens?.below,
  };
}

/** Highlight a song in both lists. */
function linkRows(columns) {
  const light = (event, on) => {
    const row = event.target.closest?.(".song-row");
    if (!row) return;
    const twins = columns.querySelectorAll(`.song-row[data-song-id="${CSS.escape(row.dataset.songId)}"]`);
    twins.forEach((twin) => twin.classList.toggle("is-twin", on && twin !== row));
  };
  for (const name of ["mouseover", "focusin"]) columns.addEventListener(name, (event) => light(event, true));
  for (const name of ["mouseout", "focusout"]) columns.addEventListener(name, (event) => light(event, false));
}
