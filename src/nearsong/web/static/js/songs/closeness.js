// How close a song is: a word that means the same in every list, and a bar that separates the songs of one list; the
// calibrated number and the rank on hover.
//
//   closenessMarks(list) -> nodes for the songs of one list, [{closeness, closeness_word, similarity}] in its order;
//       similarity may be missing. The nearest song has the whole bar, the farthest one LEAST of it.
//   nearerThan(similarity) -> "nearer than 99.3% of all pairs of songs"

import { h } from "../core/dom.js";

const LEAST = 0.15; // of a bar
const EQUAL = 0.0005; // closeness that a float tells apart, but no listener

export function closenessMarks(list) {
  const all = list.map(({ closeness }) => closeness);
  const most = Math.max(...all);
  const span = most - Math.min(...all);
  const part = (closeness) => (span < EQUAL ? 1 : 1 - ((1 - LEAST) * (most - closeness)) / span);
  return list.map((near) => mark(near, part(near.closeness), rankOf(near.closeness, all)));
}

function mark({ closeness_word: word, similarity }, part, rank) {
  const number = similarity === undefined ? "" : nearerThan(similarity);
  const words = number ? `${number}; ${rank}` : rank;
  return h(
    "div",
    { class: "closeness", title: words[0].toUpperCase() + words.slice(1) },
    h("span", { class: "closeness-word" }, word, number && h("span", { class: "visually-hidden" }, `, ${number}`)),
    h("div", { class: "bar", vars: { "--part": `${100 * part}%` }, "aria-hidden": true }, h("span")),
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
