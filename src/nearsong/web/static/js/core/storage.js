// Values stored for the tab, as JSON, and a few for the browser; they are lost where it stores nothing.
//
//   stored(key) -> the value, or null        store(key, value)
//   forget(): the listener leaves; nothing is stored until the page is loaded again
//   storedSong(song) -> the fields of a song that are worth storing

const GAIN_FIELDS = ["track_gain", "track_peak", "album_gain", "album_peak"];
const SONG_FIELDS = ["id", "artist", "title", "album", "genre", "year", "seconds", "plays", ...GAIN_FIELDS];
const LASTING = ["nearsong.queue", "nearsong.radio"]; // outlive the tab; of several tabs the last one that stores wins
let isForgotten = false;

export const storedSong = (song) => Object.fromEntries(SONG_FIELDS.map((name) => [name, song[name] ?? null]));

/** Where a value is kept. */
const storageOf = (key) => (LASTING.includes(key) ? localStorage : sessionStorage);

export function stored(key) {
  try {
    return JSON.parse(storageOf(key).getItem(key));
  } catch {
    return null;
  }
}

export function store(key, value) {
  try {
    if (!isForgotten) storageOf(key).setItem(key, JSON.stringify(value));
  } catch {
    /* full or forbidden: the value lives until a reload */
  }
}

export function forget() {
  isForgotten = true;
  try {
    for (const key of LASTING) localStorage.removeItem(key);
  } catch {
    /* forbidden: nothing was stored */
  }
}
