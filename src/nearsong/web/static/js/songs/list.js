// Songs as rows; every view that lists songs uses these.
//
//   songList(songs, {label, ordered, row, queue, from}) -> <ul class="song-list"> (<ol> if ordered) of songRow;
//       row(song, i) -> options of its songRow; queue: what is played instead of `songs`; from: what they are
//   songRow(song, {note, marks, actions, onPlay, details, menu, below}) -> <li class="song-row" data-song-id>
//       number   of the track, instead of the cover
//       note     string or node at the right (a bar, a date ...)     actions  nodes before the menu
//       marks    nodes beside the artist's name (class "mark")
//       onPlay   f(song); default: plays this song alone             details  true: album, year, heart as columns
//       menu     false: none; an array: more items above the usual ones [{icon, label, run}]
//       less     f(song) of the menu's "Less like this"
//       below    node that opens under the row (a why panel)
//   moveByArrows(list): arrow up / down between the rows of any <li> list, staying on the same control

import { h, icon } from "../core/dom.js";
import { artistOf, time, titleOf } from "../core/format.js";
import { isCurrent, player } from "../player/player.js";
import { cover } from "./cover.js";
import { heartButton } from "./hearts.js";
import { albumLink, artistLink, songLink } from "./links.js";
import { songMenu } from "./menu.js";

const CONTROLS = ["play", "title", "why", "reseed", "heart", "less", "hide", "more"].map((name) => `row-${name}`);

export function songRow(song, { number, note, marks, actions = [], onPlay, details = false, menu, less, below } = {}) {
  const start = () => {
    if (isCurrent(song)) player.toggle();
    else if (onPlay) onPlay(song);
    else player.play([song]);
  };
  const row = h(
    "li",
    { class: ["song-row", details && "with-details"], dataset: { songId: song.id ?? "" } },
    h(
      "div",
      {
        class: "row-line",
        on: { click: (event) => event.target.closest("a, button, input, select, label") || start() },
      },
      h(
        "button",
        {
          class: "row-play",
          type: "button",
          "aria-label": `Play ${titleOf(song)} by ${artistOf(song)}`,
          on: { click: start },
        },
        number ? h("span", { class: "row-number number" }, number) : cover(song, 48),
        h("span", { class: "row-play-sign" }, icon("play"), icon("pause")),
      ),
      h(
        "div",
        { class: "row-names" },
        songLink(song),
        h(
          "div",
          { class: "row-second" },
          h("span", { class: "row-artist" }, song.src ? song.artist : artistLink(song)),
          marks,
        ),
      ),
      details && h("span", { class: "row-album ellipsis", title: song.album || null }, song.album && albumLink(song)),
      details && h("span", { class: "row-year number" }, song.year || ""),
      note && h("div", { class: "row-note" }, note),
      h("span", { class: "row-time number" }, time(song.seconds)),
      h(
        "div",
        { class: "row-actions" },
        details && heartButton(song, { class: "row-heart" }),
        actions,
        menu !== false && songMenu(song, menu || [], { less }),
      ),
    ),
    below,
  );
  mark(row, song);
  rows.set(row, song);
  return row;
}

export function songList(songs, { label, ordered = false, row = () => ({}), queue = songs, from } = {}) {
  const list = h(ordered ? "ol" : "ul", { class: "song-list", "aria-label": label, role: "list" });
  list.append(
    ...songs.map((song, i) =>
      songRow(song, {
        onPlay: () => player.play(queue, { start: Math.max(queue.indexOf(song), 0), from }),
        ...row(song, i),
      }),
    ),
  );
  moveByArrows(list);
  return list;
}

export function moveByArrows(list) {
  list.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (
      !step ||
      event.altKey ||
      event.ctrlKey ||
      event.metaKey ||
      event.target.matches("input, select, textarea, [role=menuitem]")
    )
      return;
    const from = event.target.closest("li");
    if (!from || from.parentElement !== list) return;
    const to = step > 0 ? from.nextElementSibling : from.previousElementSibling;
    if (!to) return;
    event.preventDefault();
    const name = CONTROLS.find((one) => event.target.classList.contains(one));
    (to.querySelector(name ? `.${name}` : "button, a") || to.querySelector("button, a"))?.focus();
  });
}

// rows show which song plays; removed rows are garbage-collected
const rows = new WeakMap();

function mark(row, song) {
  const mine = isCurrent(song);
  row.classList.toggle("is-current", mine);
  row.classList.toggle("is-playing", mine && player.playing);
  const button = row.querySelector(".row-play");
  const name = `${mine && player.playing ? "Pause" : "Play"} ${titleOf(song)} by ${artistOf(song)}`;
  if (button && button.getAttribute("aria-label") !== name) button.setAttribute("aria-label", name);
}

player.addEventListener("change", () => {
  for (const row of document.querySelectorAll(".song-row")) {
    const song = rows.get(row);
    if (song) mark(row, song);
  }
});
