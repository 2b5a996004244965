// sayImported(job, isAdmin): what came of an uploaded listening history; a toast if the library has some of it,
// otherwise a dialog that names what was played, what the library has, and what to do

import { h, icon } from "../../core/dom.js";
import { count } from "../../core/format.js";
import { say } from "../../core/toasts.js";
import { dialog } from "./confirm.js";

export function sayImported(job, isAdmin) {
  const { plays, names_found: found, explanation = [], rows, name } = job.result ?? {};
  if (!plays || found) {
    say(job.words, { kind: "good" });
    return;
  }
  const [first, ...rest] = explanation;
  const link = (label, section, kind) =>
    h("a", { class: kind, href: `#/settings?section=${section}`, on: { click: () => box.close() } }, label);
  const box = dialog(
    "Imported, but nothing matches",
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
