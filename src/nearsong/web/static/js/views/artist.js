// An artist: songs, albums, albums of others that they are on, and artists who sound alike.

import { get } from "../core/api.js";
import { button, h, replace } from "../core/dom.js";
import { count } from "../core/format.js";
import { replaceAddress } from "../core/scroll_memory.js";
import { albumHead, albumSection, playButtons } from "../albums/head.js";
import { albumTile, artistTile, tileGrid, tileRow } from "../albums/tiles.js";
import { artistHref, artistSource } from "../songs/links.js";
import { songList } from "../songs/list.js";

const FIRST_SONGS = 10; // shown before all are asked for, so that the albums are in sight

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

/** Their songs: the most played first, those that nobody played by album. */
function songsOf(artist) {
  const songs = [...artist.songs].sort((one, other) => other.plays - one.plays);
  if (!songs.length) return null;
  const isPlayed = songs[0].plays > 0; // then every row has a column of plays, so that albums stand in one too
  const plays = (song) => h("span", {}, song.plays > 0 ? count(song.plays, "play") : "");
  const row = (song) => ({ details: true, note: isPlayed && plays(song) });
  const listOf = (shown) => songList(shown, { label: "Songs", row, queue: songs, from: artistSource(artist) });
  const box = h("div", {}, listOf(songs.slice(0, FIRST_SONGS)));
  const all = () => {
    replace(box, listOf(songs));
    box.querySelectorAll(".row-play")[FIRST_SONGS].focus({ preventScroll: true }); // the button is gone
  };
  if (songs.length > FIRST_SONGS)
    box.append(button(`Show all ${count(songs.length, "song")}`, all, { class: "button plain small" }));
  return albumSection("Songs", box, "artist-songs");
}
