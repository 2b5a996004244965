// Links to songs and artists.
//
//   songLink(song), artistLink(artist) -> <a>;   songHref(id), mapHref(id), artistHref(name) -> hash

import { h } from "../core/dom.js";
import { artistOf, titleOf } from "../core/format.js";

export const songHref = (id) => `#/song/${Number(id)}`;
export const mapHref = (id) => `#/map?song=${Number(id)}`;
export const artistHref = (name) =>
  // the API takes names of up to 300 characters
  `#/?${name.length > 300 ? "search" : "artist"}=${encodeURIComponent(name.slice(0, 300))}`;
export const songLink = (song) =>
  h(song.src ? "span" : "a", { class: "row-title", href: song.src ? null : songHref(song.id) }, titleOf(song));
export const artistLink = (artist) => h("a", { class: "artist-link", href: artistHref(artist) }, artistOf({ artist }));
