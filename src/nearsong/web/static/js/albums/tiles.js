// Albums, artists and songs as tiles: a cover, a name, a line below.
//
//   albumTile(album, {line}), artistTile(artist), songTile(song, {queue, more}) -> <li class="tile">
//       line: what is below the name instead of the artist; queue: what plays with the song; more: one more line
//   tileGrid(tiles, label) -> <ul class="tile-grid">        tileRow(tiles, label) -> the same in one row that scrolls
//   playAlbum(id, {shuffle}), playArtist(id, {shuffle}): fetch the songs, and play them

import { get } from "../core/api.js";
import { h, iconButton } from "../core/dom.js";
import { artistOf, count, titleOf } from "../core/format.js";
import { fadeEnds } from "../widgets/scroll_row.js";
import { sayError } from "../core/toasts.js";
import { isCurrent, player } from "../player/player.js";
import { cover } from "../songs/cover.js";
import { albumHref, albumSource, artistHref, artistLink, artistSource, songHref } from "../songs/links.js";

const PIXELS = 180; // of a cover, about: the style sheet fits it

export async function playAlbum(id, { shuffle = false } = {}) {
  try {
    const album = await get(`/albums/${id}`);
    player.play(
      album.discs.flatMap((disc) => disc.songs),
      { shuffle, from: albumSource(album) },
    );
  } catch (error) {
    sayError(error);
  }
}

export async function playArtist(id, { shuffle = false } = {}) {
  try {
    const artist = await get(`/artists/${id}`);
    player.play(artist.songs, { shuffle, from: artistSource(artist) });
  } catch (error) {
    sayError(error);
  }
}

function tile({ href, song, name, label, line, more, run, kind }) {
  return h(
    "li",
    { class: ["tile", kind] },
    h(
      "div",
      { class: "tile-cover" },
      h("a", { href, tabindex: "-1", "aria-hidden": true }, cover(song, PIXELS, { whenSeen: true })),
      iconButton("play", `Play ${label}`, run, { class: "tile-play" }),
    ),
    h("a", { class: "tile-name", href, title: name }, name),
    h("p", { class: "tile-line" }, line),
    more && h("p", { class: "tile-line" }, more),
  );
}

export const albumTile = (album, { line } = {}) =>
  tile({
    href: albumHref(album),
    song: { id: album.cover },
    name: album.name,
    label: `${album.name} by ${album.artist}`,
    line: line ?? h("a", { href: artistHref({ id: album.artist_id }) }, album.artist),
    run: () => playAlbum(album.id),
  });

export const artistTile = (artist) =>
  tile({
    href: artistHref(artist),
    song: { id: artist.cover },
    name: artist.name,
    label: artist.name,
    line: artist.album_count ? count(artist.album_count, "album") : count(artist.song_count, "song"),
    run: () => playArtist(artist.id),
    kind: "is-artist",
  });

export const songTile = (song, { queue = [song], more } = {}) =>
  tile({
    href: songHref(song.id),
    song,
    name: titleOf(song),
    label: `${titleOf(song)} by ${artistOf(song)}`,
    line: artistLink(song),
    more,
    run: () => (isCurrent(song) ? player.toggle() : player.play(queue, { start: queue.indexOf(song) })),
  });

export const tileGrid = (tiles, label) => h("ul", { class: "tile-grid", role: "list", "aria-label": label }, tiles);

export function tileRow(tiles, label) {
  const row = h("ul", { class: "tile-grid tile-row", role: "list", "aria-label": label }, tiles);
  fadeEnds(row);
  return row;
}
