// How good is it: what held-out listeners say, what nobody has played, which models are kept, and learning anew.

import { get } from "../api.js";
import { h, icon, replace } from "../dom.js";
import { playedNote } from "../plays.js";
import { coldBox } from "../quality/cold_start.js";
import { keptModels } from "../quality/models.js";
import { advice, hero, howMeasured, learnedFrom, pictures } from "../quality/report.js";
import { trainingBox } from "../quality/training.js";
import { changed, decision } from "../quality/words.js";
import { command, listensDrop, typed } from "./empty.js";

export async function show(root, params, app) {
  app.title("How good is it");
  await draw(root, app);
}

/** `told`: what has just happened, {text, more, kind}, or {before: the report before a training}; a refusal is in the report itself. */
async function draw(root, app, told = null) {
  const { signal } = app;
  const [status, model] = await Promise.all([app.refreshStatus(), get("/model", {}, { signal })]);
  if (signal.aborted) return;
  const again = (happened) => draw(root, app, happened).catch((error) => app.fail(error));
  const { report } = model, scores = report?.rows?.length ? report : null;
  const trained = ({ result }) => again(result?.decision === "learned" ? { before: report } : { text: decision(result), more: advice(result), kind: "warn" });
  const said = told && (told.text ?? changed(told.before, report)), known = said && said === decision(report);
  const cold = () => coldBox(signal, model.active?.kind), learn = () => learnBox(app, report, trained);
  replace(
    root, app.heading("How good is it", { lead: scores && "Checked with artists it was not shown, beside what simpler ways would give." }),
    h(
      "div", { class: "quality" }, told && !known && news({ ...told, text: said }),
      !status.songs ? noSongs() : status.step === "listens" ? noListens(app)
        : scores ? [hero(report, model), pictures(scores), cold(), learnedFrom(report), learn()]
          : [report ? hero(report, model) : nothingLearned(), learn(), cold()],
      model.models.length > 1 && keptModels(model, again), scores && howMeasured(scores),
    ),
  );
  root.querySelector(known ? "#refusal" : "#what-changed")?.focus();
}

function news({ text, more = null, kind = "good" }) {
  return h("div", { class: `note ${kind}`, id: "what-changed", role: "status", tabindex: "-1" }, icon(kind === "good" ? "check" : "info"),
    h("div", { class: "stack" }, h("p", {}, text), more));
}

function learnBox(app, report, onDone) {
  const words = report ? "New listening histories or new music? Learn from all of it again."
    : "Learning takes some minutes, once. The report appears here when it is done.";
  const more = h("details", { class: "more-listens", id: "more-listens" }, h("summary", {}, "Add a listening history"),
    h("div", { class: "stack" }, h("p", { class: "muted" }, "The more people and the longer their histories, the more there is to learn."),
      listensDrop(app)));
  return h("section", { class: "card stack", "aria-labelledby": "learn-title" }, h("h2", { id: "learn-title" }, report ? "Learn again" : "Start here"),
    h("p", { class: "muted" }, words), trainingBox({ app, learnedBefore: Boolean(report), onDone }), more, playedNote(app.status));
}

// ---------------------------------------------------------------- what is missing

function noSongs() {
  return h(
    "section", { class: "card stack" }, h("h2", {}, "There is no music yet"),
    h("p", {}, "Once songs are in the library, this page says how well they are compared."),
    h("a", { class: "button", href: "#/" }, icon("folder"), "Add music"),
  );
}

function noListens(app) {
  const words = "Songs are compared by sound alone. With a listening history (yours, or that of many people) it learns which sounds listeners "
    + "hear as near, and this page shows how much that helps.";
  return h(
    "section", { class: "card stack", id: "no-listens" }, h("h2", {}, "Nobody has told it yet what is similar"), h("p", {}, words),
    h("div", { class: "cluster" }, listensDrop(app)), h("p", { class: "muted" }, "Or type in a terminal:"), command(typed(app, "listens import", "FILES")), playedNote(app.status),
  );
}

function nothingLearned() {
  return h("section", { class: "quality-hero" }, h("p", { class: "quality-lead" }, "There is a listening history, and nothing is learned from it yet."),
    h("p", { class: "muted" }, "Until then, songs are compared by sound alone."));
}
