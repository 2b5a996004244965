// How close a song is: a word that means the same in every list, and a bar in the range of its word that separates
// the songs of one list; the calibrated number and the rank on hover.
//
//   closenessMarks(list) -> nodes for the songs of one list, [{closeness, closeness_word, similarity}] in its order;
//       similarity may be missing. The bar of the nearest song ends at the top of its word, that of the farthest
//       one at the bottom.
//   nearerThan(similarity) -> "nearer than 99.3% of all pairs of songs"

import { h } from "../core/dom.js";

const BARS = { "very close": [60, 100], close: [40, 80], loose: [20, 55], far: [10, 30] }; // percent, least and most
const EQUAL = 0.0005; // closeness that a float tells apart, but no listener

export function closenessMarks(list) {
  const all = list.map(({ closeness }) => closeness);
  const percent = barsOf(list);
  return list.map((near) => mark(near, percent(near), rankOf(near.closeness, all)));
}

/** Return a function of a song of the list: the order in the list sets the bar, within the range of its word. */
function barsOf(list) {
  const sorted = [...list].sort((one, other) => other.closeness - one.closeness);
  const nearest = sorted[0];
  const farthest = sorted.at(-1);
  return ({ closeness, closeness_word: word }) => {
    const [least, most] = BARS[word];
    const span = nearest.closeness - farthest.closeness;
    if (span < EQUAL) return most;
    const top = BARS[nearest.closeness_word][1];
    const bottom = BARS[farthest.closeness_word][0];
    const scaled = bottom + ((top - bottom) * (closeness - farthest.closeness)) / span;
    return Math.min(most, Math.max(least, scaled));
  };
}

function mark({ closeness_word: word, similarity }, percent, rank) {
  const number = similarity === undefined ? "" : nearerThan(similarity);
  const words = number ? `${number}; ${rank}` : rank;
  return h(
    "div",
    { class: "closeness", title: words[0].toUpperCase() + words.slice(1) },
    h("span", { class: "closeness-word" }, word, number && h("span", { class: "visually-hidden" }, `, ${number}`)),
    h("div", { class: "bar", vars: { "--part": `${percent}%` }, "aria-hidden": true }, h("span")),
  );
}

/** "number 3 of 10", by closeness: the dial and "not like" change the order of a list, not how close its songs are. */
function rankOf(closeness, all) {
  const first = 1 + all.filter((other) => other > closeness + EQUAL).length;
  const last = all.filter((other) => other >= closeness - EQUAL).length;
  return `number ${first === last ? first : `${first} to ${last}`} of ${all.length}`;
}

/** Rounded down, with as many digits as tell it from all pairs. */
export function nearerThan(similarity) {
  if (similarity >= 1) return "as near as a song to itself";
  const digits = similarity > 0.999 ? 2 : similarity > 0.99 ? 1 : 0;
  const step = 10 ** (digits + 2);
  return `nearer than ${(Math.floor(similarity * step) / (step / 100)).toFixed(digits)}% of all pairs of songs`;
}
