// Numbers and names for people.
//
//   time(187) "3:07"                 longTime(11520) "3 h 12 min"
//   count(1, "song") "1 song"        count(1234, "song", "songs") "1,234 songs"
//   number(1234) "1,234"             percent(0.873) "87%"
//   titleOf(song), artistOf(song): never empty          apart(name): isolated if it is written right to left
//   brief(name, most): the same, shortened
//   day(seconds since 1970) "16 Nov 2025"          megabytes(bytes) "3.4 MB"

// Intl would do this, too, but loading it takes as long as the page's scripts need to start
const grouped = (n) => String(Math.round(n)).replace(/\B(?=(?:\d{3})+$)/g, ",");
const TURNS = /[\u0590-\u08ff\u200e\u200f\u202a-\u202e\u2066-\u2069\ufb1d-\ufdff\ufe70-\ufeff]/;
let date = null;

export function time(seconds) {
  if (!Number.isFinite(seconds) || seconds < 0) return "–:––";
  // 19.99 s is shown as 20 s
  const all = Math.floor(seconds + 0.05);
  const hours = Math.floor(all / 3600);
  const minutes = Math.floor(all / 60) % 60;
  const rest = all % 60;
  const tail = String(rest).padStart(2, "0");
  return hours ? `${hours}:${String(minutes).padStart(2, "0")}:${tail}` : `${minutes}:${tail}`;
}

export function longTime(seconds) {
  if (!Number.isFinite(seconds) || seconds < 0) return "";
  if (seconds < 60) return `${Math.round(seconds)} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return minutes % 60 ? `${hours} h ${minutes % 60} min` : `${hours} h`;
  return `${grouped(hours / 24)} days`;
}

export function number(n) {
  return grouped(n);
}

export function count(n, one, many = `${one}s`) {
  return `${grouped(n)} ${Math.round(n) === 1 ? one : many}`;
}

export function percent(x) {
  return Number.isFinite(x) ? `${Math.round(100 * x)}%` : "–";
}

export function day(seconds) {
  if (!Number.isFinite(seconds)) return "";
  date ??= new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });
  return date.format(new Date(seconds * 1000));
}

export function megabytes(bytes) {
  const size = bytes / 1e6;
  return `${size < 10 ? size.toFixed(1) : grouped(size)} MB`;
}

export const titleOf = (song) => song.title || "(no title)";
export const artistOf = (song) => song.artist || "(no artist)";

/** Right-to-left names must not change the direction of the sentence: Unicode isolates. */
export const apart = (name) => (TURNS.test(name) ? `\u2068${name}\u2069` : name);

export function brief(name, most = 40) {
  const letters = [...name];
  return apart(
    letters.length > most
      ? `${letters
          .slice(0, most - 1)
          .join("")
          .trimEnd()}…`
      : name,
  );
}
