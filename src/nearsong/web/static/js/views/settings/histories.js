// Listening histories: whose they are, how much of each the library has, uploading and removing one.

import { del, get } from "../../core/api.js";
import { h, icon, iconButton, replace } from "../../core/dom.js";
import { count, day, percent } from "../../core/format.js";
import { say, sayError } from "../../core/toasts.js";
import { command, listensDrop, typed } from "../library/empty.js";
import { confirmed } from "./confirm.js";
import { LOW_SHARE } from "./imported.js";

const FORMATS = { played: "played here", csv: "CSV", tsv: "TSV", json: "JSON", parquet: "Parquet" };
const SHOWN_ROWS = 8;

export async function historiesSection(app, again) {
  const { signal } = app;
  const found = (await get("/listens", {}, { signal })).reverse(); // the newest first
  const rows = found.map((history) => row(app, history, again));
  const shown = rows.length > SHOWN_ROWS + 2 ? SHOWN_ROWS : rows.length;
  if (found.length)
    get("/listens/matches", {}, { signal }).then(
      (matches) => rows.forEach((one) => one.tell(matches.find((match) => match.id === one.id))),
      () => rows.forEach((one) => one.tell(null)),
    );
  return [
    found.length
      ? h(
          "ul",
          { class: "settings-rows", id: "histories", role: "list" },
          rows.slice(0, shown).map((one) => one.node),
        )
      : h("p", { class: "muted" }, "No listening history yet. With one, nearsong learns what listeners find similar."),
    shown < rows.length &&
      h(
        "details",
        {},
        h("summary", {}, `${rows.length - shown} more`),
        h(
          "ul",
          { class: "settings-rows", role: "list" },
          rows.slice(shown).map((one) => one.node),
        ),
      ),
    upload(app, again),
  ];
}

function row(app, history, again) {
  const share = h("div", { class: "history-share", "aria-busy": true }, h("div", { class: "skeleton" }));
  const facts = [
    history.kind === "playlists" ? history.whose : `of ${history.whose}`,
    count(history.rows, "row"),
    FORMATS[history.format] ?? history.format,
    day(history.imported),
  ];
  const tell = (match) => {
    share.removeAttribute("aria-busy");
    replace(share, match?.plays > 0 && matchWords(match));
  };
  const node = h(
    "li",
    { class: "settings-row" },
    h(
      "div",
      {},
      h("p", { class: "settings-path" }, history.format === "played" ? "Played with nearsong" : history.name),
      h("p", { class: "muted small-text number" }, facts.join(" · ")),
      share,
    ),
    iconButton("trash", `Remove ${history.name}`, () => remove(app, history, again).catch(sayError)),
  );
  return { id: history.id, node, tell };
}

export function matchWords({ share, words, names_found: found }) {
  if (!found)
    return h(
      "div",
      { class: "note warn" },
      icon("warning"),
      h("div", { class: "stack tight" }, words.map((text) => h("p", {}, text))),
    );
  const shown = share > 0 && share < 0.01 ? "less than 1%" : percent(share);
  return [
    h(
      "p",
      { class: "small-text history-found" },
      h("span", { class: "bar", vars: { "--part": `${100 * share}%` } }, h("span")),
      h("span", { class: "number" }, `${shown} of the plays are in the library`),
    ),
    words.length > 1 &&
      h(
        "details",
        { class: "small-text", open: share < LOW_SHARE },
        h("summary", {}, "Not in the library"),
        h("div", { class: "stack tight muted" }, words.slice(1).map((text) => h("p", {}, text))),
      ),
  ];
}

async function remove(app, history, again) {
  const isPlayed = history.format === "played";
  const yes = await confirmed({
    title: "Remove this listening history?",
    words: [
      isPlayed ? "Played with nearsong" : history.name,
      isPlayed
        ? "All plays, hearts, ratings and skips that this page and players recorded are deleted. This cannot be undone."
        : `Its ${count(history.rows, "row")} no longer count: not for “For you”, and not in the next training. ` +
          "To undo it, upload the file again.",
      "The model in use stays as it is.",
    ],
    action: "Remove history",
  });
  if (!yes) return;
  await del(`/listens/${history.id}`);
  say("Listening history removed. Train again to learn from the rest.", { kind: "good" });
  await app.refreshStatus();
  await again();
}

function upload(app, again) {
  const isAdmin = app.status.is_admin;
  const user = h("input", {
    class: "input",
    id: "history-user",
    maxlength: 100,
    autocomplete: "off",
    spellcheck: "false",
    placeholder: "as the file says, or me",
  });
  const drop = listensDrop(app, {
    params: () => ({ user: isAdmin ? user.value.trim() : "" }),
    onDone: again,
  });
  return h(
    "div",
    { class: "stack tight" },
    h("h4", {}, "Add a history"),
    isAdmin && h("div", { class: "field" }, h("label", { for: "history-user" }, "Whose it is"), user),
    h("div", { class: "cluster" }, drop),
    isAdmin &&
      h("details", {}, h("summary", {}, "In a terminal"), command(typed(app, "listens import", "FILES"))),
  );
}
