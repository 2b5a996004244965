// What a playlist starts from: the mode, the seeds, the first and last song of a walk.
//
//   modes(), seeds(signal), walk() -> [node, sync(state)]

import { announce, button, h, icon, iconButton, replace } from "../../core/dom.js";
import { cover } from "../../songs/cover.js";
import { findSongs } from "../../songs/find.js";
import { songPicker } from "../../songs/picker.js";
import { draft } from "./draft.js";

export function modes() {
  const radio = (value, label) => {
    const input = h("input", {
      type: "radio",
      name: "playlist-mode",
      value,
      on: { change: () => draft.change({ mode: value }) },
    });
    return [h("label", { class: "segment" }, input, h("span", {}, label)), input];
  };
  const around = radio("around", "Similar songs");
  const walking = radio("walk", "From song to song");
  const node = h(
    "fieldset",
    { class: "segments" },
    h("legend", { class: "visually-hidden" }, "Playlist type"),
    around[0],
    walking[0],
  );
  return [
    node,
    ({ mode }) => {
      around[1].checked = mode === "around";
      walking[1].checked = mode === "walk";
    },
  ];
}

export function seeds(signal) {
  let shown = null;
  const list = h("ul", { class: "seeds", role: "list", "aria-label": "Seeds" });
  const picker = songPicker({
    id: "seed-search",
    label: "Add a seed",
    placeholder: "Add a song",
    find: findSongs,
    slash: signal,
    pick: ({ song }) => announce(draft.addSeed(song) ? `${song.title} added` : `${song.title} is already a seed`),
  });
  const node = h(
    "div",
    { class: "field" },
    h("span", { class: "label", "aria-hidden": true }, "Start from these songs"),
    list,
    picker.node,
  );
  const remove = (at, name) => {
    draft.removeSeed(at);
    announce(`${name} removed`);
    (list.querySelectorAll("button")[Math.min(at, list.children.length - 1)] || picker.input).focus();
  };
  const sync = (state) => {
    node.hidden = state.mode !== "around";
    if (shown === state.seeds) return;
    shown = state.seeds;
    list.hidden = !shown.length;
    replace(
      list,
      shown.map((seed, at) =>
        h(
          "li",
          {},
          seedChip(
            seed,
            (name) => `Remove seed ${name}`,
            () => remove(at, seed.name || seed.title),
          ),
        ),
      ),
    );
  };
  return [node, sync];
}

function seedChip(seed, words, remove) {
  const name = seed.upload ? seed.name : seed.title || "(no title)";
  return h(
    "span",
    { class: "seed", title: seed.upload ? `${name}: not in the library` : `${name} by ${seed.artist}` },
    seed.upload ? h("span", { class: "seed-file" }, icon("wave")) : cover(seed, 32),
    h(
      "span",
      { class: "seed-names" },
      h("span", { class: "ellipsis", dir: "auto" }, name),
      h("span", { class: "muted small-text ellipsis", dir: "auto" }, seed.upload ? "uploaded file" : seed.artist),
    ),
    iconButton("close", words(name), remove, { title: "Remove" }),
  );
}

export function walk() {
  const ends = [
    ["from", "First song", "Choose the first song"],
    ["to", "Last song", "Choose the last song"],
  ].map(([key, label, placeholder]) => {
    let shown;
    const slot = h("div", { class: "walk-slot" });
    const picker = songPicker({
      id: `walk-${key}`,
      label,
      placeholder,
      find: findSongs,
      pick: ({ song }) => {
        draft.change({ [key]: song });
        announce(`${label}: ${song.title}`);
        slot.querySelector("button")?.focus();
      },
    });
    const empty = () => {
      draft.change({ [key]: null });
      picker.input.focus();
    };
    const node = h(
      "div",
      { class: "field" },
      h("span", { class: "label", "aria-hidden": true }, label),
      slot,
      picker.node,
    );
    const sync = (state) => {
      const song = state[key];
      picker.node.hidden = Boolean(song);
      if (shown === song) return;
      shown = song;
      replace(slot, song && seedChip(song, (name) => `${label}: remove ${name}`, empty));
    };
    return [node, sync];
  });
  const turn = button(
    "Swap",
    () => draft.change({ from: draft.state.to, to: draft.state.from }),
    { "aria-label": "Swap first and last song", class: "button plain small walk-turn" },
  );
  const node = h("div", { class: "walk" }, ends[0][0], turn, ends[1][0]);
  return [
    node,
    (state) => {
      node.hidden = state.mode !== "walk";
      turn.hidden = !state.from && !state.to;
      ends.forEach(([, sync]) => sync(state));
    },
  ];
}
