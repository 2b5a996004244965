// Links to songs, artists and albums.
//
//   songLink(song), artistLink(song), albumLink(song) -> <a>
//   songHref(id), mapHref(id) -> hash
//   artistHref(artist or song), albumHref(album or song) -> hash; those of a song lead to what the song is by, or on
//   albumSource(album), artistSource(artist) -> {label, href} for the queue

import { h } from "../core/dom.js";
import { artistOf, titleOf } from "../core/format.js";

const isNumber = (id) => typeof id === "number";

export const songHref = (id) => `#/song/${Number(id)}`;
export const mapHref = (id) => `#/map?song=${Number(id)}`;
export const artistHref = ({ id }) => (isNumber(id) ? `${songHref(id)}/artist` : `#/artist/${id}`);
export const albumHref = ({ id }) => (isNumber(id) ? `${songHref(id)}/album` : `#/album/${id}`);
export const songLink = (song) =>
  h(song.src ? "span" : "a", { class: "row-title", href: song.src ? null : songHref(song.id) }, titleOf(song));
export const artistLink = (song) => h("a", { class: "artist-link", href: artistHref(song) }, artistOf(song));
export const albumLink = (song) => h("a", { class: "album-link", href: albumHref(song) }, song.album);
export const albumSource = (album) => ({ label: album.name, href: albumHref(album) });
export const artistSource = (artist) => ({ label: artist.name, href: artistHref(artist) });
