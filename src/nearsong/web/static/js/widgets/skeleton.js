// What is drawn while the service answers: the outlines of what will come, so that nothing jumps and no area is blank.
//
//   skeleton("rows", 8)    song rows: a cover, two lines, a time
//   skeleton("cards", 6)   covers with two lines below
//   skeleton("lines", 3)   lines of text
//   skeleton("block", 1)   a chart, a picture, a form
//   skeleton("head", 1)    the heading of a view and a line below it
//
// Screen readers are not told of it: the view that waits has aria-busy. It appears after a moment only (base.css), so
// that a quick answer does not flicker. The view replaces it with what came: replace(box, ...).

import { h } from "../core/dom.js";

const PARTS = {
  rows: () => [
    part("skeleton-cover"),
    h("div", { class: "skeleton-names" }, part("skeleton-line"), part("skeleton-line is-short")),
    part("skeleton-line skeleton-time"),
  ],
  cards: () => [part("skeleton-cover"), part("skeleton-line"), part("skeleton-line is-short")],
  lines: () => part("skeleton-line"),
  head: () => [part("skeleton-title"), part("skeleton-line")],
  block: () => part("skeleton-block"),
};

const part = (name) => h("div", { class: `skeleton ${name}` });

export function skeleton(kind, n) {
  return h(
    "div",
    { class: `skeletons skeleton-${kind}`, "aria-hidden": true },
    Array.from({ length: n }, () => h("div", {}, PARTS[kind]())),
  );
}
