// Artists and albums whose names match a search, as links above the songs: who types a name often wants one of them.
//
//   namesFound(search, signal) -> Promise of a list of links, or null; never fails but for an AbortError
//   namesOf(songs) -> a list of links to the artists of what a misspelt search found, or null if they are many

import { get, isAbort } from "../../core/api.js";
import { h, icon } from "../../core/dom.js";
import { albumHref, artistHref } from "../../songs/links.js";

const MOST = 4; // of each kind

export async function namesFound(search, signal) {
  if (!search.trim()) return null;
  const ask = (path) => get(path, { search, limit: MOST }, { signal });
  try {
    const [artists, albums] = await Promise.all([ask("/artists"), ask("/albums")]);
    return listed([
      ...artists.items.map((artist) => link("people", artistHref(artist), artist.name, "Artist")),
      ...albums.items.map((album) => link("album", albumHref(album), album.name, `Album by ${album.artist}`)),
    ]);
  } catch (error) {
    if (isAbort(error)) throw error;
    return null; // the songs are what was asked for
  }
}

export function namesOf(songs) {
  const byArtist = new Map(songs.filter((song) => song.artist).map((song) => [song.artist, song]));
  if (byArtist.size > MOST) return null;
  return listed([...byArtist.values()].map((song) => link("people", artistHref(song), song.artist, "Artist")));
}

const listed = (links) =>
  links.length
    ? h("ul", { class: "names-found", id: "names-found", role: "list", "aria-label": "Artists and albums" }, links)
    : null;

const link = (picture, href, name, what) =>
  h("li", {}, h("a", { class: "chip", href, title: what }, icon(picture), h("span", { class: "ellipsis" }, name)));
