// An album: its songs by disc, other albums of its artist, and albums that sound like it.

import { get } from "../core/api.js";
import { h, replace } from "../core/dom.js";
import { count, longTime } from "../core/format.js";
import { replaceAddress } from "../core/scroll_memory.js";
import { albumHead, albumSection, playButtons } from "../albums/head.js";
import { albumTile, tileRow } from "../albums/tiles.js";
import { heartButton } from "../songs/hearts.js";
import { albumHref, albumSource, artistHref } from "../songs/links.js";
import { songList } from "../songs/list.js";

export async function show(root, { id }, app) {
  const isSong = typeof id === "number"; // the album of a song
  const album = await get(isSong ? `/songs/${id}/album` : `/albums/${id}`, {}, { signal: app.signal });
  if (isSong) replaceAddress(albumHref(album));
  app.title(`${album.name} by ${album.artist}`);
  const songs = album.discs.flatMap((disc) => disc.songs);
  const from = albumSource(album);
  replace(
    root,
    albumHead({
      song: { id: album.cover },
      title: album.name,
      line: h("a", { href: artistHref({ id: album.artist_id }) }, album.artist),
      facts: [
        album.year && String(album.year),
        album.genre &&
          h("a", { href: `#/library/albums?genre=${encodeURIComponent(album.genre)}` }, album.genre),
        count(album.song_count, "song"),
        longTime(album.seconds),
        album.plays > 0 && count(album.plays, "play"),
      ],
      buttons: playButtons(songs, { from, radio: { album: album.id, label: album.name } }),
    }),
    h(
      "div",
      { class: "album-songs", id: "album-songs" },
      album.discs.map((disc) => [
        album.discs.length > 1 && h("h2", { class: "disc-title" }, `Disc ${disc.number}`),
        songList(disc.songs, {
          label: album.discs.length > 1 ? `Disc ${disc.number}` : `Songs of ${album.name}`,
          ordered: true,
          queue: songs,
          from,
          row: (song, i) => ({
            number: song.track_number || i + 1,
            actions: [heartButton(song, { class: "row-heart" })],
          }),
        }),
      ]),
    ),
    album.by_artist.length > 0 &&
      albumSection(
        `More by ${album.artist}`,
        tileRow(
          album.by_artist.map((other) => albumTile(other, { line: other.year ? String(other.year) : null })),
          `More by ${album.artist}`,
        ),
        "more-by-artist",
      ),
    album.similar.length > 0 &&
      albumSection(
        "Similar albums",
        tileRow(
          album.similar.map((other) => albumTile(other)),
          "Similar albums",
        ),
        "similar-albums",
      ),
  );
}
