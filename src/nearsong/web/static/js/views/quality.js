// Quality: results on held-out artists, unplayed songs, and training.

import { get } from "../core/api.js";
import { h, icon, replace } from "../core/dom.js";
import { playedNote } from "../player/plays.js";
import { coldBox } from "./quality/cold_start.js";
import { advice, hero, howMeasured, learnedFrom, pictures } from "./quality/report.js";
import { trainingBox } from "./quality/training.js";
import { changed, decision } from "./quality/words.js";
import { command, listensDrop, typed } from "./library/empty.js";

export async function show(root, params, app) {
  app.title("Quality");
  await draw(root, app);
}

/** `message`: news to show, {text, more, kind}, or {before: the report before a training}. */
async function draw(root, app, message = null) {
  const { signal } = app;
  const [status, model] = await Promise.all([app.refreshStatus(), get("/model", {}, { signal })]);
  if (signal.aborted) return;
  const again = (happened) => draw(root, app, happened).catch((error) => app.fail(error));
  const { report } = model;
  const scores = report?.rows?.length ? report : null;
  const trained = ({ result }) =>
    again(
      result?.decision === "learned"
        ? { before: report }
        : { text: decision(result), more: advice(result), kind: result?.decision === "active" ? "good" : "warn" },
    );
  const text = message && (message.text ?? changed(message.before, report));
  const known = text && text === decision(report);
  const cold = () => coldBox(signal, model.active?.kind);
  const learn = () => learnBox(app, report, trained);
  replace(
    root,
    app.heading("Quality", {
      lead: scores && "Tested on artists the model was not trained on, and compared with simpler methods.",
    }),
    h(
      "div",
      { class: "quality" },
      message && !known && news({ ...message, text }),
      !status.songs
        ? noSongs()
        : status.step === "listens"
          ? noListens(app)
          : scores
            ? [hero(report, model), pictures(scores), cold(), learnedFrom(report), learn()]
            : [report ? hero(report, model) : nothingLearned(), learn(), cold()],
      status.songs > 0 && status.is_admin && settingsNote(),
      scores && howMeasured(scores),
    ),
  );
  root.querySelector(known ? "#refusal" : "#what-changed")?.focus();
}

function settingsNote() {
  return h(
    "p",
    { class: "muted" },
    "Earlier models, and when nearsong trains by itself, are under ",
    h("a", { href: "#/settings?section=models" }, "Settings"),
    ".",
  );
}

function news({ text, more = null, kind = "good" }) {
  return h(
    "div",
    { class: `note ${kind}`, id: "what-changed", role: "status", tabindex: "-1" },
    icon(kind === "good" ? "check" : "info"),
    h("div", { class: "stack" }, h("p", {}, text), more),
  );
}

function learnBox(app, report, onDone) {
  const words = report
    ? "Train again after adding listening histories or music."
    : "Training takes a few minutes. The results appear here.";
  const more = h(
    "details",
    { class: "more-listens", id: "more-listens" },
    h("summary", {}, "Add a listening history"),
    h(
      "div",
      { class: "stack" },
      h("p", { class: "muted" }, "More listeners and longer histories give better results."),
      listensDrop(app),
    ),
  );
  return h(
    "section",
    { class: "card stack", "aria-labelledby": "learn-title" },
    h("h2", { id: "learn-title" }, report ? "Train again" : "Train a model"),
    h("p", { class: "muted" }, words),
    trainingBox({ app, learnedBefore: Boolean(report), onDone }),
    more,
    playedNote(app.status),
  );
}

// ---------------------------------------------------------------- empty states

function noSongs() {
  return h(
    "section",
    { class: "card stack" },
    h("h2", {}, "No music yet"),
    h("p", {}, "Once there are songs in the library, this page shows how well similar songs are found."),
    h("a", { class: "button", href: "#/" }, icon("folder"), "Add music"),
  );
}

function noListens(app) {
  const words =
    "Songs are compared by sound alone. Import a listening history, yours or that of many people, to train " +
    "a model on what listeners find similar. This page then shows how much better it is.";
  return h(
    "section",
    { class: "card stack", id: "no-listens" },
    h("h2", {}, "No listening history yet"),
    h("p", {}, words),
    h("div", { class: "cluster" }, listensDrop(app)),
    h("p", { class: "muted" }, "Or run in a terminal:"),
    command(typed(app, "listens import", "FILES")),
    playedNote(app.status),
  );
}

function nothingLearned() {
  return h(
    "section",
    { class: "quality-hero" },
    h("p", { class: "quality-lead" }, "A listening history is imported, but no model is trained yet."),
    h("p", { class: "muted" }, "Until then, songs are compared by sound alone."),
  );
}
