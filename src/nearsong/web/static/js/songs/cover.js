// cover(song, size, {eager, whenSeen}) -> <img> of exactly size x size CSS pixels; an icon where it cannot be loaded
//     eager: loaded at once; whenSeen: only when it is in the window, or nearly, for pages of many, and after what is
//     more urgent

import { songUrl } from "../core/api.js";
import { h, icon } from "../core/dom.js";
import { whenIdle } from "../core/idle.js";

const NEAR = "300px"; // browsers load lazy pictures from 1250 pixels away, which keeps them busy when the page opens
const sources = new WeakMap();
const seen = new IntersectionObserver(load, { rootMargin: NEAR, scrollMargin: NEAR });

function load(changes) {
  const near = changes.filter(({ isIntersecting }) => isIntersecting).map(({ target }) => target);
  near.forEach((picture) => seen.unobserve(picture));
  if (near.length) whenIdle(() => near.forEach((picture) => (picture.src = sources.get(picture))));
}

export function cover(song, size, { eager = false, whenSeen = false } = {}) {
  if (song.src) return h("span", { class: "cover cover-none", vars: { "--size": `${size}px` } }, icon("wave"));
  const pixels = Math.min(1000, size * 2);
  const picture = h("img", {
    class: "cover",
    alt: "",
    width: size,
    height: size,
    decoding: "async",
    loading: eager || whenSeen ? "eager" : "lazy",
    vars: { "--size": `${size}px` },
    on: {
      error: () =>
        picture.replaceWith(h("span", { class: "cover cover-none", vars: { "--size": `${size}px` } }, icon("note"))),
    },
  });
  const source = songUrl.cover(song.id, pixels);
  if (whenSeen) {
    sources.set(picture, source);
    seen.observe(picture);
  } else picture.src = source;
  return picture;
}
