// The dial from familiar to adventurous, remembered in the tab.
//
//   dialPosition(status) -> -1 to 1; 0 if the active model has no dial
//   dialControl(status, changed) -> node; changed() is called when the dial rests
//   dialWords(position) -> the position in words

import { h } from "../core/dom.js";
import { store, stored } from "../core/storage.js";

const KEY = "dial";
const WAIT_MILLISECONDS = 200; // while it moves
const WORDS = ["Familiar", "Rather familiar", "Neutral", "Rather adventurous", "Adventurous"];

export const NO_DIAL = "Needs a model that learned from listeners: train one on the Quality page.";

export const dialWords = (position) => WORDS[Math.round(2 * position) + 2];

export function dialPosition(status) {
  const position = Number(stored(KEY));
  return status?.has_dial && position >= -1 && position <= 1 ? position : 0;
}

export function dialControl(status, changed) {
  let timer = 0;
  const value = h("output", { class: "dial-value", for: "dial" });
  const input = h("input", {
    id: "dial",
    class: "slider",
    type: "range",
    min: -1,
    max: 1,
    step: 0.1,
    disabled: !status.has_dial,
    "aria-describedby": status.has_dial ? "dial-ends" : "dial-reason",
    on: {
      input: () => {
        store(KEY, Number(input.value));
        sync();
        clearTimeout(timer);
        timer = setTimeout(changed, WAIT_MILLISECONDS);
      },
    },
  });
  const sync = () => {
    const position = Number(input.value);
    input.style.setProperty("--part", `${50 + 50 * position}%`);
    value.textContent = dialWords(position);
    input.setAttribute("aria-valuetext", dialWords(position));
  };
  input.value = dialPosition(status);
  sync();
  return h(
    "div",
    { class: ["dial near-dial", !status.has_dial && "is-disabled"] },
    h("div", { class: "dial-head" }, h("label", { for: "dial" }, "Familiar to adventurous"), value),
    input,
    status.has_dial
      ? h(
          "div",
          { class: "dial-ends", id: "dial-ends" },
          h("span", {}, "Familiar: what many play"),
          h("span", {}, "Adventurous: what few play"),
        )
      : h("p", { class: "dial-ends", id: "dial-reason" }, NO_DIAL),
  );
}
