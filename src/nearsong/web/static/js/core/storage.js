// Values stored for the tab, as JSON; they are lost where the browser stores nothing.
//
//   stored(key) -> the value, or null        store(key, value)
//   storedSong(song) -> the fields of a song that are worth storing

const SONG_FIELDS = ["id", "artist", "title", "album", "genre", "year", "seconds", "plays"];

export const storedSong = (song) => Object.fromEntries(SONG_FIELDS.map((name) => [name, song[name] ?? null]));

export function stored(key) {
  try {
    return JSON.parse(sessionStorage.getItem(key));
  } catch {
    return null;
  }
}

export function store(key, value) {
  try {
    sessionStorage.setItem(key, JSON.stringify(value));
  } catch {
    /* full or forbidden: the value lives until a reload */
  }
}
