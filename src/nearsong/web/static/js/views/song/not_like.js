// Minus seeds: songs that the similar ones stay away from.
//
//   notLike(seed, changed) -> {opener, field, songs()}
//       opener   chip that opens the field            field   the songs, and what finds more
//       songs()  those chosen                         changed() is called when they are others

import { announce, h, icon, iconButton, replace } from "../../core/dom.js";
import { artistOf, titleOf } from "../../core/format.js";
import { cover } from "../../songs/cover.js";
import { findSongs } from "../../songs/find.js";
import { songPicker } from "../../songs/picker.js";

const MAX_SONGS = 20;

export function notLike(seed, changed) {
  let songs = [];
  const list = h("ul", { class: "seeds not-seeds", role: "list", "aria-label": "Not like these songs", hidden: true });
  const picker = songPicker({
    id: "not-like-search",
    label: "Not like which song?",
    placeholder: "Not like which song?",
    find: async (text, signal) => (await findSongs(text, signal)).filter(({ song }) => song.id !== seed.id),
    pick: ({ song }) => add(song),
  });
  const opener = h(
    "button",
    {
      class: "chip",
      type: "button",
      id: "not-like",
      "aria-expanded": false,
      "aria-controls": "not-like-field",
      on: { click: () => open(field.hidden) },
    },
    icon("remove"),
    "Not like …",
  );
  const field = h("div", { class: "not-like-field", id: "not-like-field", hidden: true }, list, picker.node);

  function open(on) {
    field.hidden = !on;
    opener.setAttribute("aria-expanded", String(on));
    if (on) picker.input.focus();
  }

  function add(song) {
    const isThere = songs.some((one) => one.id === song.id);
    announce(isThere ? `${titleOf(song)} is already there` : `Not like ${titleOf(song)}`);
    if (!isThere) set([...songs, song].slice(-MAX_SONGS));
  }

  function remove(at) {
    announce(`${titleOf(songs[at])} removed`);
    set(songs.filter((_, i) => i !== at));
    (list.querySelectorAll("button")[Math.min(at, songs.length - 1)] || picker.input).focus();
  }

  function set(now) {
    songs = now;
    list.hidden = !songs.length;
    replace(
      list,
      songs.map((song, at) =>
        h(
          "li",
          {},
          h(
            "span",
            { class: "seed", title: `${titleOf(song)} by ${artistOf(song)}` },
            cover(song, 32),
            h(
              "span",
              { class: "seed-names" },
              h("span", { class: "ellipsis", dir: "auto" }, titleOf(song)),
              h("span", { class: "muted small-text ellipsis", dir: "auto" }, artistOf(song)),
            ),
            iconButton("close", `Allow ${titleOf(song)} again`, () => remove(at), { title: "Remove" }),
          ),
        ),
      ),
    );
    changed();
  }

  return { opener, field, songs: () => songs };
}
