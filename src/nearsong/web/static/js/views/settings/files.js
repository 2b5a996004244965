// Files with problems: those that could not be read and why, damaged ones of which a part is used, and files that are
// no songs (silence, speech ...).

import { get } from "../../core/api.js";
import { button, h } from "../../core/dom.js";
import { count } from "../../core/format.js";
import { startJob } from "../../core/jobs.js";
import { busy } from "./switch.js";

const LIMIT = 200;

export async function filesSection(app) {
  const found = await get("/files", { limit: LIMIT }, { signal: app.signal });
  if (!found.n_unreadable && !found.n_damaged && !found.n_set_aside)
    return h("p", { class: "muted" }, "None: every file that was found could be read.");
  return [
    list("unreadable", found.n_unreadable, "file could not be read", "files could not be read", found.unreadable),
    found.n_unreadable > 0 && retryButton(app),
    list("damaged", found.n_damaged, "file is damaged, used in part", "files are damaged, used in part", found.damaged),
    list("aside", found.n_set_aside, "file is no song", "files are no songs", found.set_aside),
  ];
}

function list(name, n, one, many, files) {
  if (!n) return null;
  return h(
    "details",
    { id: `files-${name}`, open: n <= 5 },
    h("summary", {}, count(n, one, many)),
    h(
      "ul",
      { class: "problem-files", role: "list", tabindex: "0", "aria-label": count(n, one, many) },
      files.map((file) =>
        h("li", {}, h("p", { class: "settings-path" }, file.path), h("p", { class: "muted small-text" }, reason(file))),
      ),
    ),
    n > files.length && h("p", { class: "muted small-text" }, `The first ${files.length} of ${count(n, "file")}.`),
  );
}

/** The reason without the path that it may begin with, which stands above it. */
function reason({ path, reason: text }) {
  const rest = text.startsWith(path) ? text.slice(path.length).replace(/^[\s:,]+/, "") : text;
  return rest.charAt(0).toUpperCase() + rest.slice(1);
}

function retryButton(app) {
  const retry = button(
    "Try them again",
    () =>
      busy(retry, async () => {
        await startJob("scan", { retry: true });
        app.go("#/settings?section=folders"); // which shows how far it is
      }),
    { class: "button quiet", icon: "refresh" },
  );
  return h("div", { class: "cluster" }, retry);
}
