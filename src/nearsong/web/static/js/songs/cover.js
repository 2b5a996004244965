// cover(song, size, {eager}) -> <img> of exactly size x size CSS pixels; an icon where it cannot be loaded

import { songUrl } from "../core/api.js";
import { h, icon } from "../core/dom.js";

export function cover(song, size, { eager = false } = {}) {
  if (song.src) return h("span", { class: "cover cover-none", vars: { "--size": `${size}px` } }, icon("wave"));
  const pixels = Math.min(1000, size * 2);
  const picture = h("img", {
    class: "cover",
    alt: "",
    width: size,
    height: size,
    decoding: "async",
    loading: eager ? "eager" : "lazy",
    vars: { "--size": `${size}px` },
    on: {
      error: () =>
        picture.replaceWith(h("span", { class: "cover cover-none", vars: { "--size": `${size}px` } }, icon("note"))),
    },
  });
  picture.src = songUrl.cover(song.id, pixels);
  return picture;
}
