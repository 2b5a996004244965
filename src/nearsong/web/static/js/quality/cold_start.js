// How much of the music that nobody has played comes up beside what was played.
//
//   coldBox(signal, kind) -> node, filled when the service has counted; kind: of the model that answers

import { get } from "../api.js";
import { h, replace } from "../dom.js";
import { count, number, percent } from "../format.js";
import { songList } from "../songs.js";
import { coldStart } from "./words.js";

const SHOWN = 5; // example songs

export function coldBox(signal, kind) {
  const title = h("h2", { id: "cold-title" }, "Music nobody has played");
  const place = h("section", { class: "card stack", id: "cold-start", "aria-labelledby": "cold-title", "aria-busy": true }, title, h("div", { class: "skeleton quality-wait" }));
  const fill = (...parts) => {
    if (signal.aborted) return;
    place.removeAttribute("aria-busy");
    replace(place, title, parts);
  };
  get("/model/cold-start", {}, { signal }).then(
    (cold) => fill(
      h("p", { id: "cold-sentence" }, coldStart(cold)), cold.never_played > 0 && bars(cold, kind), examples(cold.examples),
      cold.sampled && h("p", { class: "muted small-text" }, `Asked about ${count(cold.seeds, "song")} that were played.`),
    ),
    () => fill(h("p", { class: "muted" }, "This cannot be counted just now.")),
  );
  return place;
}

function bars(cold, kind) {
  const bar = (label, value, name) => h(
    "div", { class: `cold-bar cold-${name}` }, h("span", { class: "cold-name" }, label),
    h("div", { class: "bar", vars: { "--part": percent(value / cold.never_played) } }, h("span")), h("span", { class: "number" }, number(value)),
  );
  return h(
    "div", { class: "cold-bars" }, kind !== "native" && bar("Learned from listeners", cold.recommended, "learned"),
    bar("Sound alone", cold.recommended_native, "native"), bar("Counting plays alone", 0, "none"),
  );
}

function examples(songs) {
  if (!songs.length) return null;
  const list = songList(songs.slice(0, SHOWN), { label: "Never played songs that come up most often", queue: songs });
  return [h("h3", {}, "They come up most often"), list];
}
