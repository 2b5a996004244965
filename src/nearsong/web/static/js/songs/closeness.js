// How close a song is: a word and a bar that separate the songs of a list; the calibrated number on hover.
//
//   closenessMark({closeness, closeness_word, similarity}) -> node; similarity may be missing
//   nearerThan(similarity) -> "nearer than 99.3% of all pairs of songs"

import { h } from "../core/dom.js";

export function closenessMark({ closeness, closeness_word: word, similarity }) {
  const number = similarity === undefined ? "" : nearerThan(similarity);
  return h(
    "div",
    { class: "closeness", title: number ? number[0].toUpperCase() + number.slice(1) : null },
    h("span", { class: "closeness-word" }, word, number && h("span", { class: "visually-hidden" }, `, ${number}`)),
    h("div", { class: "bar", vars: { "--part": `${100 * closeness}%` }, "aria-hidden": true }, h("span")),
  );
}

/** Rounded down, with as many digits as tell it from all pairs. */
export function nearerThan(similarity) {
  if (similarity >= 1) return "as near as a song to itself";
  const digits = similarity > 0.999 ? 2 : similarity > 0.99 ? 1 : 0;
  const step = 10 ** (digits + 2);
  return `nearer than ${(Math.floor(similarity * step) / (step / 100)).toFixed(digits)}% of all pairs of songs`;
}
