// What the playlist should be like: songs to start from, length, artist rule, dials, filters. Writes into the draft.
//
//   recipe({make(), shuffle(), genres, signal}) -> {node, sync()}

import { announce, h, icon, replace } from "../dom.js";
import { count } from "../format.js";
import { draft } from "../draft.js";
import { findSongs, songPicker } from "../picker.js";
import { cover } from "../songs.js";

const DIALS = {
  diversity: {
    label: "Variety", low: "Stay close", high: "Surprise me",
    words: ["Only the nearest", "Mostly close", "A good mix", "Many sounds", "Full of surprises"],
  },
  drift: {
    label: "Wandering", low: "Around your songs", high: "Wander off",
    words: ["Stays around them", "Strays a little", "Finds its own way", "Wanders off", "Never looks back"],
  },
};

const BY_HAND = "You have changed the list by hand, so the dials leave it alone. “Make playlist” makes a new one; Undo brings this one back.";

const inWords = (name, value) => DIALS[name].words[Math.min(4, Math.round(value * 4))];

export function recipe({ make, shuffle, genres, signal }) {
  const syncs = [];
  const part = ([node, sync]) => { if (sync) syncs.push(sync); return node; };
  const makeButton = h("button", { id: "make-playlist", class: "button", type: "submit" }, icon("playlist"), "Make playlist");
  const again = h("button", { id: "shuffle-again", class: "button quiet", type: "button", on: { click: shuffle } }, icon("shuffle"), "Shuffle again");
  const hint = h("p", { class: "muted small-text" });
  const node = h(
    "form", { class: "recipe card", "aria-labelledby": "recipe-title", on: { submit: (event) => { event.preventDefault(); make(); } } },
    h("h2", { id: "recipe-title" }, "What should it be like?"),
    part(modes()), part(seeds(signal)), part(walk()), part(numbers()), part(dial("diversity")), part(dial("drift")), part(filters(genres)),
    h("div", { class: "recipe-go" }, makeButton, again), hint,
  );

  function sync() {
    const { state } = draft;
    syncs.forEach((each) => each(state));
    makeButton.disabled = !draft.ready;
    again.hidden = !state.made || state.diversity === 0;
    hint.textContent = hintOf(state);
    hint.hidden = !hint.textContent;
  }

  return { node, sync };
}

function hintOf(state) {
  if (!draft.ready) {
    return state.mode === "walk" ? "Choose the two songs, and it finds a way from one to the other." : "Add a song or two that it should be like.";
  }
  return state.songs.length && !state.made ? BY_HAND : "";
}

// ---------------------------------------------------------------- where it begins

function modes() {
  const radio = (value, label) => {
    const input = h("input", { type: "radio", name: "playlist-mode", value, on: { change: () => draft.change({ mode: value }) } });
    return [h("label", { class: "segment" }, input, h("span", {}, label)), input];
  };
  const around = radio("around", "Around songs"), walking = radio("walk", "From here to there");
  const node = h("fieldset", { class: "segments" }, h("legend", { class: "visually-hidden" }, "Kind of playlist"), around[0], walking[0]);
  return [node, ({ mode }) => { around[1].checked = mode === "around"; walking[1].checked = mode === "walk"; }];
}

function seeds(signal) {
  let shown = null;
  const list = h("ul", { class: "seeds", role: "list", "aria-label": "Songs it starts from" });
  const picker = songPicker({
    id: "seed-search", label: "Add a song it should be like", placeholder: "Add a song", find: findSongs, slash: signal,
    pick: ({ song }) => announce(draft.addSeed(song) ? `${song.title} added` : `${song.title} is there already`),
  });
  const node = h("div", { class: "field" }, h("span", { class: "label", "aria-hidden": true }, "Songs it should be like"), list, picker.node);
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
    replace(list, shown.map((seed, at) => h("li", {}, seedChip(seed, (name) => `Do not start from ${name}`, () => remove(at, seed.name || seed.title)))));
  };
  return [node, sync];
}

function seedChip(seed, words, remove) {
  const name = seed.heard ? seed.name : seed.title || "(no title)";
  return h(
    "span", { class: "seed", title: seed.heard ? `${name}: a file that is not in the library` : `${name} by ${seed.artist}` },
    seed.heard ? h("span", { class: "seed-file" }, icon("wave")) : cover(seed, 32),
    h("span", { class: "seed-names" }, h("span", { class: "ellipsis", dir: "auto" }, name),
      h("span", { class: "muted small-text ellipsis", dir: "auto" }, seed.heard ? "your file" : seed.artist)),
    h("button", { class: "icon-button", type: "button", "aria-label": words(name), title: "Remove", on: { click: remove } }, icon("close")),
  );
}

function walk() {
  const ends = [["from", "From this song", "Where it begins"], ["to", "To this song", "Where it ends"]].map(([key, label, placeholder]) => {
    let shown;
    const slot = h("div", { class: "walk-slot" });
    const picker = songPicker({
      id: `walk-${key}`, label, placeholder, find: findSongs,
      pick: ({ song }) => { draft.change({ [key]: song }); announce(`${label}: ${song.title}`); slot.querySelector("button")?.focus(); },
    });
    const empty = () => { draft.change({ [key]: null }); picker.input.focus(); };
    const node = h("div", { class: "field" }, h("span", { class: "label", "aria-hidden": true }, label), slot, picker.node);
    const sync = (state) => {
      const song = state[key];
      picker.node.hidden = Boolean(song);
      if (shown === song) return;
      shown = song;
      replace(slot, song && seedChip(song, (name) => `${label}: not ${name}`, empty));
    };
    return [node, sync];
  });
  const turn = h("button", {
    class: "button plain small walk-turn", type: "button", "aria-label": "Swap: walk the other way round",
    on: { click: () => draft.change({ from: draft.state.to, to: draft.state.from }) },
  }, "Swap");
  const node = h("div", { class: "walk" }, ends[0][0], turn, ends[1][0]);
  return [node, (state) => { node.hidden = state.mode !== "walk"; turn.hidden = !state.from && !state.to; ends.forEach(([, sync]) => sync(state)); }];
}

// ---------------------------------------------------------------- how it goes on

function numberInput(id, key, { min, max }) {
  const input = h("input", { id, class: "input recipe-number", type: "number", inputmode: "numeric", min, max });
  input.addEventListener("change", () => {
    const value = Math.round(Number(input.value));
    draft.change({ [key]: input.value === "" || !Number.isFinite(value) ? draft.state[key] : Math.min(Math.max(value, min), max) });
    sync(draft.state);
  });
  const sync = (state) => { if (document.activeElement !== input || input.value !== "") input.value = state[key]; };
  return [input, sync];
}

function numbers() {
  const length = numberInput("playlist-length", "length", { min: 2, max: 500 });
  const between = numberInput("playlist-between", "between", { min: 0, max: 100 });
  const node = h(
    "div", { class: "recipe-numbers" }, h("label", { class: "recipe-line" }, h("span", {}, "How many songs"), length[0]),
    h("label", { class: "recipe-line" }, h("span", {}, "Songs between two of the same artist, at least"), between[0]),
  );
  return [node, (state) => { length[1](state); between[1](state); }];
}

function dial(name) {
  const { label, low, high } = DIALS[name], id = `dial-${name}`, value = h("output", { class: "dial-value", for: id });
  const input = h("input", {
    id, class: "slider", type: "range", min: 0, max: 1, step: 0.05, on: { input: () => draft.change({ [name]: Number(input.value) }) },
  });
  const node = h(
    "div", { class: "dial" }, h("div", { class: "dial-head" }, h("label", { for: id }, label), value), input,
    h("div", { class: "dial-ends", "aria-hidden": true }, h("span", {}, low), h("span", {}, high)),
  );
  return [node, (state) => {
    node.hidden = name === "drift" && state.mode === "walk";
    input.value = state[name];
    input.style.setProperty("--part", `${100 * state[name]}%`);
    value.textContent = inWords(name, state[name]);
    input.setAttribute("aria-valuetext", `${Math.round(100 * state[name])} of 100: ${inWords(name, state[name])}`);
  }];
}

// ---------------------------------------------------------------- which songs may come

function filters(genres) {
  const boxes = genres.filter(({ name }) => name).map(({ name, songs }) => {
    const input = h("input", { type: "checkbox", value: name, on: { change: () => {
      const { genres: chosen } = draft.state;
      draft.change({ genres: input.checked ? [...chosen, name] : chosen.filter((one) => one !== name) });
    } } });
    return { name, input, node: h("label", { class: "genre" }, input, h("span", { dir: "auto" }, name), h("span", { class: "muted number" }, String(songs))) };
  });
  const unplayed = h("input", { id: "only-unplayed", type: "checkbox", on: { change: () => draft.change({ unplayed: unplayed.checked }) } });
  const years = ["yearFrom", "yearTo"].map((key, at) => yearInput(key, at ? "Until the year" : "From the year", at ? "until" : "from"));
  const told = h("span", { class: "muted" });
  const node = h(
    "details", { class: "filters" }, h("summary", {}, "Only some songs ", told),
    h("div", { class: "filters-body" },
      h("label", { class: "check" }, unplayed, "Only songs nobody has played"),
      h("div", { class: "recipe-years" }, h("span", {}, "Years"), years.map(([input]) => input)),
      boxes.length > 0 && h("fieldset", { class: "genres" }, h("legend", { class: "label" }, "Only these genres"), boxes.map((box) => box.node))),
  );
  return [node, (state) => {
    unplayed.checked = state.unplayed;
    years.forEach(([, sync]) => sync(state));
    boxes.forEach((box) => { box.input.checked = state.genres.includes(box.name); });
    told.textContent = filterWords(state);
  }];
}

function yearInput(key, label, placeholder) {
  const input = h("input", { class: "input recipe-year", type: "number", inputmode: "numeric", min: 0, max: 9999, placeholder, "aria-label": label });
  input.addEventListener("change", () => {
    const value = Math.round(Number(input.value));
    draft.change({ [key]: input.value === "" || !Number.isFinite(value) ? null : Math.min(Math.max(value, 0), 9999) });
  });
  return [input, (state) => { if (document.activeElement !== input) input.value = state[key] ?? ""; }];
}

function filterWords({ unplayed, yearFrom, yearTo, genres }) {
  const years = yearFrom && yearTo ? `${yearFrom} to ${yearTo}` : yearFrom ? `since ${yearFrom}` : yearTo ? `until ${yearTo}` : "";
  const said = [unplayed && "never played", years, genres.length > 2 ? count(genres.length, "genre") : genres.join(", ")].filter(Boolean);
  return said.length ? `· ${said.join(", ")}` : "";
}
