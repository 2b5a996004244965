// An artist: albums, albums of others that they are on, the songs played most, and artists who sound alike.

import { get } from "../core/api.js";
import { replace } from "../core/dom.js";
import { count } from "../core/format.js";
import { replaceAddress } from "../core/scroll_memory.js";
import { albumHead, albumSection, playButtons } from "../albums/head.js";
import { albumTile, artistTile, tileGrid, tileRow } from "../albums/tiles.js";
import { artistHref, artistSource } from "../songs/links.js";
import { songList } from "../songs/list.js";

const MAX_LISTED_SONGS = 50;

export async function show(root, { id }, app) {
  const isSong = typeof id === "number"; // the artist of a song
  const artist = await get(isSong ? `/songs/${id}/artist` : `/artists/${id}`, {}, { signal: app.signal });
  if (isSong) replaceAddress(artistHref(artist));
  app.title(artist.name);
  const from = artistSource(artist);
  const years = artist.albums.map((album) => album.year).filter(Boolean);
  const first = Math.min(...years);
  const last = Math.max(...years);
  replace(
    root,
    albumHead({
      song: { id: artist.cover },
      title: artist.name,
      kind: "is-artist",
      facts: [
        artist.album_count > 0 && count(artist.album_count, "album"),
        count(artist.song_count, "song"),
        years.length > 0 && (first === last ? String(first) : `${first}–${last}`),
        artist.plays > 0 && count(artist.plays, "play"),
      ],
      buttons: playButtons(artist.songs, { from, radio: { artist: artist.id, label: artist.name } }),
    }),
    songsOf(artist),
    artist.albums.length > 0 &&
      albumSection(
        "Albums",
        tileGrid(
          artist.albums.map((album) => albumTile(album, { line: lineOf(album) })),
          "Albums",
        ),
        "artist-albums",
      ),
    artist.appears_on.length > 0 &&
      albumSection(
        "Appears on",
        tileGrid(
          artist.appears_on.map((album) => albumTile(album)),
          "Appears on",
        ),
        "appears-on",
      ),
    artist.similar.length > 0 &&
      albumSection("Similar artists", tileRow(artist.similar.map(artistTile), "Similar artists"), "similar-artists"),
  );
}

const lineOf = (album) => [album.year, count(album.song_count, "song")].filter(Boolean).join(" · ");

/** The songs played most; without any, all songs of an artist who has no album of their own. */
function songsOf(artist) {
  const played = artist.top_songs.length > 0;
  const songs = played ? artist.top_songs : artist.albums.length ? [] : artist.songs.slice(0, MAX_LISTED_SONGS);
  if (!songs.length) return null;
  const title = played ? "Most played" : "Songs";
  const list = songList(songs, {
    label: title,
    row: (song) => ({ details: true, note: played ? count(song.plays, "play") : null }),
  });
  return albumSection(title, list, "artist-songs");
}
