// The settings of a playlist: seeds, length, artist spacing, variety, drift, filters. Changes the draft.
//
//   recipe({make(), shuffle(), filters, signal, hasDial}) -> {node, sync()}

import { button, h, icon } from "../../core/dom.js";
import { NO_DIAL, dialWords } from "../../songs/dial.js";
import { draft } from "./draft.js";
import { filters as filterForm } from "./filters.js";
import { modes, seeds, walk } from "./seeds.js";

const DIALS = {
  diversity: {
    label: "Variety",
    low: "Alike",
    high: "Varied",
    words: ["Most similar only", "Mostly similar", "Balanced", "Varied", "Very varied"],
  },
  drift: {
    label: "Drift",
    low: "Stay near these songs",
    high: "Move away",
    words: ["None", "Slight", "Moderate", "Strong", "Maximum"],
  },
  adventurousness: { label: "Familiar to adventurous", low: "Familiar", high: "Adventurous", min: -1 },
};

const BY_HAND =
  "You edited this playlist, so changing settings does not replace it. “Create playlist” makes a new one.";

const inWords = (name, value) =>
  name === "adventurousness" ? dialWords(value) : DIALS[name].words[Math.min(4, Math.round(value * 4))];

export function recipe({ make, shuffle, filters, signal, hasDial }) {
  const syncs = [];
  const part = ([node, sync]) => {
    if (sync) syncs.push(sync);
    return node;
  };
  const makeButton = h(
    "button",
    { id: "make-playlist", class: "button", type: "submit" },
    icon("playlist"),
    "Create playlist",
  );
  const again = button("Other songs", shuffle, { id: "shuffle-again", class: "button quiet", icon: "shuffle" });
  const hint = h("p", { class: "muted small-text" });
  const node = h(
    "form",
    {
      class: "recipe card",
      "aria-labelledby": "recipe-title",
      on: {
        submit: (event) => {
          event.preventDefault();
          make();
        },
      },
    },
    h("h2", { id: "recipe-title" }, "Playlist settings"),
    part(modes()),
    part(seeds(signal)),
    part(walk()),
    part(numbers()),
    part(dial("diversity")),
    part(dial("drift")),
    part(dial("adventurousness", hasDial ? "" : NO_DIAL)),
    part(filterForm(filters)),
    h("div", { class: "recipe-go" }, makeButton, again),
    hint,
  );

  function sync() {
    const { state } = draft;
    syncs.forEach((each) => each(state));
    makeButton.disabled = !draft.ready;
    again.hidden = !state.made || draft.setting("diversity") === 0;
    hint.textContent = hintOf(state);
    hint.hidden = !hint.textContent;
  }

  return { node, sync };
}

function hintOf(state) {
  if (!draft.ready) {
    return state.mode === "walk" ? "Choose the first and the last song." : "Add one or more songs to start from.";
  }
  return state.songs.length && !state.made ? BY_HAND : "";
}

// ---------------------------------------------------------------- length and dials

function numberInput(id, key, { min, max, more = 0 }) {
  const input = h("input", { id, class: "input recipe-number", type: "number", inputmode: "numeric", min, max });
  input.addEventListener("change", () => {
    const value = Math.round(Number(input.value));
    const wrong = input.value === "" || !Number.isFinite(value);
    draft.change({ [key]: wrong ? draft.state[key] : Math.min(Math.max(value, min), max) + more });
    sync();
  });
  const sync = () => {
    if (document.activeElement !== input || input.value !== "") input.value = draft.setting(key) - more;
  };
  return [input, sync];
}

function numbers() {
  const length = numberInput("playlist-length", "length", { min: 2, max: 500 });
  const between = numberInput("playlist-between", "artist_gap", { min: 0, max: 100, more: 1 });
  const node = h(
    "div",
    { class: "recipe-numbers" },
    h("label", { class: "recipe-line" }, h("span", {}, "Number of songs"), length[0]),
    h("label", { class: "recipe-line" }, h("span", {}, "Minimum songs between songs of one artist"), between[0]),
  );
  return [
    node,
    () => {
      length[1]();
      between[1]();
    },
  ];
}

function dial(name, missing = "") {
  const { label, low, high, min = 0 } = DIALS[name];
  const id = `dial-${name}`;
  const value = h("output", { class: "dial-value", for: id });
  const input = h("input", {
    id,
    class: "slider",
    type: "range",
    min,
    max: 1,
    disabled: Boolean(missing),
    step: 0.05,
    on: { input: () => draft.change({ [name]: Number(input.value) }) },
  });
  const node = h(
    "div",
    { class: "dial" },
    h("div", { class: "dial-head" }, h("label", { for: id }, label), value),
    input,
    missing
      ? h("p", { class: "dial-ends" }, missing)
      : h("div", { class: "dial-ends", "aria-hidden": true }, h("span", {}, low), h("span", {}, high)),
  );
  return [
    node,
    (state) => {
      const position = draft.setting(name);
      node.hidden = name !== "diversity" && state.mode === "walk";
      input.value = position;
      const part = Math.round((100 * (position - min)) / (1 - min));
      input.style.setProperty("--part", `${part}%`);
      value.textContent = inWords(name, position);
      input.setAttribute("aria-valuetext", `${part} of 100: ${inWords(name, position)}`);
    },
  ];
}
