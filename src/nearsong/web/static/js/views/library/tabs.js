// libraryTabs(current) -> the tabs of the library: songs, albums, artists; each has an address of its own

import { h } from "../../core/dom.js";

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
