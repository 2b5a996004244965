// libraryTabs(current) -> the tabs of the library: songs, albums, artists; each has an address of its own
// libraryInWords(status) -> how much the library has, the same on every tab

import { h } from "../../core/dom.js";
import { count, longTime } from "../../core/format.js";

const TABS = [
  ["songs", "#/library", "Songs"],
  ["albums", "#/library/albums", "Albums"],
  ["artists", "#/library/artists", "Artists"],
];

export function libraryTabs(current) {
  return h(
    "nav",
    { class: "tabs", "aria-label": "Library" },
    TABS.map(([name, href, label]) => h("a", { href, "aria-current": name === current ? "page" : null }, label)),
  );
}

export function libraryInWords({ songs, artists, seconds }) {
  const duration = `${longTime(seconds)}${seconds > 48 * 3600 ? " of music" : ""}`;
  return `${count(songs, "song")} by ${count(artists, "artist")}, ${duration}`;
}
