// How many unplayed songs are recommended for played ones.
//
//   coldBox(signal, kind) -> node, filled when the API responds; kind: of the active model

import { get } from "../../core/api.js";
import { h, replace } from "../../core/dom.js";
import { count, number, percent } from "../../core/format.js";
import { skeleton } from "../../widgets/skeleton.js";
import { songList } from "../../songs/list.js";
import { coldStart } from "./words.js";

const MAX_EXAMPLES = 5;

export function coldBox(signal, kind) {
  const title = h("h2", { id: "cold-title" }, "Unplayed songs");
  const box = h(
    "section",
    { class: "card stack", id: "cold-start", "aria-labelledby": "cold-title", "aria-busy": true },
    title,
    skeleton("block", 1),
  );
  const fill = (...parts) => {
    if (signal.aborted) return;
    box.removeAttribute("aria-busy");
    replace(box, title, parts);
  };
  get("/model/cold-start", {}, { signal }).then(
    (cold) => {
      if (!cold.plays_known) return box.remove(); // a history of artists tells nothing about songs
      fill(
        h("p", { id: "cold-sentence" }, coldStart(cold)),
        cold.never_played > 0 && bars(cold, kind),
        examples(cold.examples),
        cold.sampled && h("p", { class: "muted small-text" }, `Estimated from ${count(cold.seeds, "played song")}.`),
      );
    },
    () => fill(h("p", { class: "muted" }, "Not available right now.")),
  );
  return box;
}

function bars(cold, kind) {
  const bar = (label, value, name) =>
    h(
      "div",
      { class: `cold-bar cold-${name}` },
      h("span", { class: "cold-name" }, label),
      h("div", { class: "bar", vars: { "--part": percent(value / cold.never_played) } }, h("span")),
      h("span", { class: "number" }, number(value)),
    );
  return h(
    "div",
    { class: "cold-bars" },
    kind !== "native" && bar("Learned from listeners", cold.recommended, "learned"),
    bar("Sound alone", cold.recommended_native, "native"),
    bar("Play counts only", 0, "none"),
  );
}

function examples(songs) {
  if (!songs.length) return null;
  const list = songList(songs.slice(0, MAX_EXAMPLES), { label: "Unplayed songs recommended most often", queue: songs });
  return [h("h3", {}, "Recommended most often"), list];
}
