// sayImported(job, isAdmin): what came of an uploaded listening history; a toast if the library has a good part of it,
// otherwise a dialog that names what was played, what the library has, and what to do
// LOW_SHARE: below it the library's advice is shown unasked

import { h, icon } from "../../core/dom.js";
import { count } from "../../core/format.js";
import { say } from "../../core/toasts.js";
import { dialog } from "./confirm.js";

export const LOW_SHARE = 0.1; // of the plays

export function sayImported(job, isAdmin) {
  const { plays, names_found: found, share_found: share, explanation = [], rows, name } = job.result ?? {};
  if (!plays || share >= LOW_SHARE) {
    say(job.words, { kind: "good" });
    return;
  }
  const [first, ...rest] = explanation;
  const link = (label, section, kind) =>
    h("a", { class: kind, href: `#/settings?section=${section}`, on: { click: () => box.close() } }, label);
  const box = dialog(
    `Imported, but ${found ? "little" : "nothing"} matches`,
    h("p", { class: "muted" }, `${name}: ${count(rows, "line")}`),
    h("div", { class: "note warn" }, icon("warning"), h("p", {}, first)),
    rest.map((text) => h("p", {}, text)),
    h(
      "div",
      { class: "cluster dialog-actions" },
      link("Histories", "histories", "button quiet"),
      isAdmin && link("Folders", "folders", "button"),
    ),
  );
}
