// The map of `nearsong map`: one file that works without a service and without a network. Its songs are in the page.
// The address map.html#select=17 shows the song with id 17.

import { announce, button, h, replace } from "../core/dom.js";
import { Columns } from "./columns.js";
import { mapView } from "./view.js";

const data = JSON.parse(document.getElementById("map-data").textContent);
const columns = new Columns(data);
const note = h("p", { hidden: true });
const about = h(
  "details",
  { class: "map-new map-about" },
  h("summary", {}, h("h1", { dir: "auto" }, document.title)),
  note,
  h("p", {}, "Songs close together are similar to this library’s model. Select one to list its most similar songs."),
  h(
    "dl",
    {},
    data.facts.map(([name, value]) => [h("dt", { dir: "auto" }, name), h("dd", { dir: "auto" }, value)]),
  ),
);

const view = mapView(columns, {
  signal: new AbortController().signal,
  verb: "Select",
  notice: about,
  open: () => {},
  similar: (row) => columns.neighbours(row),
  card: ({ showList }) => ({
    actions: button("Similar songs", showList, { class: "button small map-similar", icon: "near" }),
  }),
  lasso: (rows) => h("p", { class: "map-picked-words" }, `${rows.length.toLocaleString("en")} selected`),
  onSelect: (row) => {
    note.hidden = true;
    const hash = row < 0 ? "" : `#select=${columns.ids[row]}`;
    if (location.hash !== hash) location.hash = hash;
  },
});

function followLink({ fly }) {
  const wanted = /^#select=(\d+)$/.exec(location.hash);
  const row = wanted ? columns.rowOf.get(Number(wanted[1])) : -1;
  if (row === undefined) {
    note.textContent = `Song ${wanted[1]} is not on this map. Search for it by name.`;
    note.hidden = false;
    about.open = true;
    announce(note.textContent); // by itself: a paragraph that was hidden is not read out reliably
  } else if (row !== view.stage.selected) view.select(row, { fly });
}

replace(document.getElementById("view"), h("div", { class: "map-view" }, view.nodes));
view.start();
followLink({ fly: true });
addEventListener("hashchange", () => followLink({ fly: false }));
document.documentElement.dataset.ready = "yes";
