// The npm package subsonic-api, as it is: what a program that uses it sees of a service. Prints JSON.
const [where, url, password] = process.argv.slice(2);
const { SubsonicAPI } = await import(where);
const api = new SubsonicAPI({ url, auth: { username: "anyone", password } });

const { artists } = await api.getArtists();
const { albumList2 } = await api.getAlbumList2({ type: "newest", size: 500 });
const { album } = await api.getAlbum({ id: albumList2.album[0].id });
const song = album.song[0];
const sound = await (await api.stream({ id: song.id })).arrayBuffer();
const later = await api.stream({ id: song.id, timeOffset: 1, format: "mp3" });
const cover = await (await api.getCoverArt({ id: song.coverArt, size: 100 })).arrayBuffer();
await api.scrobble({ id: song.id });
await api.star({ id: song.id });
await api.setRating({ id: song.id, rating: 3 });
await api.savePlayQueue({ id: [song.id], current: song.id, position: 1500 });
await api.createBookmark({ id: song.id, position: 2500 });
const { playlist } = await api.createPlaylist({ name: "From npm", songId: [song.id] });

console.log(
  JSON.stringify({
    extensions: (await api.getOpenSubsonicExtensions()).openSubsonicExtensions.map((one) => one.name),
    artists: artists.index.flatMap((index) => index.artist).length,
    albums: albumList2.album.length,
    song,
    sound: sound.byteLength,
    later: [later.headers.get("content-type"), (await later.arrayBuffer()).byteLength],
    cover: cover.byteLength,
    similar: (await api.getSimilarSongs({ id: song.id, count: 5 })).similarSongs.song.map((one) => one.id),
    radio: (await api.getSimilarSongs2({ id: song.artistId, count: 5 })).similarSongs2.song.map((one) => one.id),
    starred: (await api.getStarred2()).starred2.song.map((one) => one.id),
    queue: (await api.getPlayQueue()).playQueue.position,
    bookmarks: (await api.getBookmarks()).bookmarks.bookmark.map((one) => one.position),
    playlist: playlist.entry.map((one) => one.id),
    lyrics: (await api.getLyricsBySongId({ id: song.id })).lyricsList.structuredLyrics,
    nowPlaying: (await api.getNowPlaying()).nowPlaying.entry,
  }),
);
