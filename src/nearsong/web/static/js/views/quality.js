// How good is it: what held-out listeners say, what nobody has played, which models are kept, and learning anew.

import { get, put } from "../api.js";
import { intervals } from "../charts.js";
import { h, icon, replace } from "../dom.js";
import { count, day, longTime, number, percent } from "../format.js";
import { changed, coldStart, decision, headline, MEANINGS, NAMES, plain } from "../quality/words.js";
import { trainingBox } from "../quality/training.js";
import { songList } from "../songs.js";
import { sayError } from "../toast.js";
import { command, listensDrop } from "./empty.js";

const PANELS = [
  ["known", "Among songs it learned from", "A song of an artist it was not shown: are the right songs of the others near it?"],
  ["unknown", "Among artists it never saw", "The same, among songs of artists none of which it was shown: music nobody has told it about."],
];

export async function show(root, params, app) {
  app.title("How good is it");
  await draw(root, app);
}

/** `told`: {text, more, kind} of what has just happened. */
async function draw(root, app, told = null) {
  const { signal } = app;
  const [status, model] = await Promise.all([app.refreshStatus(), get("/model", {}, { signal })]);
  if (signal.aborted) return;
  const again = (news) => draw(root, app, news).catch((error) => app.fail(error));
  const { report } = model, scores = report?.rows?.length ? report : null;
  const trained = async (job) => again(job.result?.decision === "learned" ? { before: report } : { text: decision(job.result), more: advice(job.result), kind: "warn" });
  replace(
    root, app.heading("How good is it", { lead: "Checked with artists and listeners it was not shown, beside what simpler ways would give." }),
    h("div", { class: "quality" },
      told && news({ ...told, text: told.text ?? changed(told.before, report) }),
      !status.songs ? noSongs() : !status.histories ? noListens(app) : scores
        ? [hero(report, model), pictures(scores), coldBox(signal, model), learnedFrom(report), learnBox(app, report, trained)]
        : [report ? hero(report, model) : nothingLearned(), learnBox(app, report, trained), coldBox(signal, model)],
      model.models.length > 1 && keptModels(model, again), scores && howMeasured(scores)),
  );
  root.querySelector("#what-changed")?.focus();
}

function news({ text, more = null, kind = "good" }) {
  return h("div", { class: `note ${kind}`, id: "what-changed", role: "status", tabindex: "-1" }, icon(kind === "good" ? "check" : "info"), h("div", { class: "stack" }, h("p", {}, text), more));
}

// ---------------------------------------------------------------- what is missing

function noSongs() {
  return h("section", { class: "card stack" }, h("h2", {}, "There is no music yet"), h("p", {}, "Once songs are in the library, this page says how well they are compared."),
    h("a", { class: "button", href: "#/" }, icon("folder"), "Add music"));
}

function noListens(app) {
  return h("section", { class: "card stack", id: "no-listens" }, h("h2", {}, "Nobody has told it yet what is similar"),
    h("p", {}, "Songs are compared by sound alone. With a listening history (yours, or that of many people) it learns which sounds listeners hear as near, and this page shows how much that helps."),
    h("div", { class: "cluster" }, listensDrop(app)), h("p", { class: "muted" }, "Or type in a terminal:"), command("nearsong listens import FILES"));
}

function nothingLearned() {
  return h("section", { class: "quality-hero" }, h("p", { class: "quality-lead" }, "There is a listening history, and nothing is learned from it yet."),
    h("p", { class: "muted" }, "Until then, songs are compared by sound alone."));
}

function learnBox(app, report, onDone) {
  return h("section", { class: "card stack", "aria-labelledby": "learn-title" }, h("h2", { id: "learn-title" }, report ? "Learn again" : "Start here"),
    h("p", { class: "muted" }, report ? "New listening histories or new music? Learn from all of it again." : "Learning takes some minutes, once. The report appears here when it is done."),
    trainingBox({ app, learnedBefore: Boolean(report), onDone }));
}

// ---------------------------------------------------------------- the report

function hero(report, model) {
  const said = headline(report, model.active?.kind ?? "learned"), refused = decision(report);
  const warning = refused && h("div", { class: "note warn", id: "refusal" }, icon("info"), h("div", { class: "stack" },
    h("p", {}, refused), advice(report)));
  if (!said) return h("section", { class: "quality-hero" }, warning);
  return h("section", { class: "quality-hero", "aria-label": "In one sentence" },
    h("p", { class: "quality-lead", id: "quality-headline" }, h("strong", { class: "quality-big number" }, String(said.big)), ` ${said.title}`),
    h("p", { class: "quality-more" }, said.more), warning);
}

/** What would help: the service's own words, if it says so. */
function advice(report) {
  const found = report?.sentences.slice(1).find((text) => /would help|Import listening|Scan /.test(text));
  return found && h("p", {}, plain(found));
}

function pictures(report) {
  const rows = (panel) => report.rows.filter((row) => row[panel]).map((row) => {
    const { mean, low, high } = row[panel];
    return { label: NAMES[row.name] ?? row.label, kind: ["learned", "native"].includes(row.name) ? row.name : "other", mean: 100 * mean, low: 100 * low, high: 100 * high };
  });
  const panels = PANELS.map(([panel, title, words]) => ({ panel, title, words, rows: rows(panel) })).filter((each) => each.rows.length);
  const lows = panels.flatMap((each) => each.rows.map((row) => row.low)), from = Math.max(0, Math.min(45, Math.floor(Math.min(...lows) / 5) * 5));
  const figure = ({ title, words, rows: shown }) => {
    const label = `${title}: ${shown.map((row) => `${row.label} ${Math.round(row.mean)}`).join(", ")}, of 100`;
    return h("figure", { class: "card quality-panel" }, h("figcaption", {}, h("h3", {}, title), h("p", { class: "muted small-text" }, words)),
      intervals(shown, { label, from, to: 100, unit: "pairs in the right order, of 100" }));
  };
  return h("section", { class: "stack", "aria-labelledby": "beside-title" },
    h("div", {}, h("h2", { id: "beside-title" }, "Beside simpler ways"),
      h("p", { class: "muted" }, "A dot is the average, the line around it is where it could as well have been by chance (95 %).")),
    h("div", { class: "quality-panels" }, panels.map(figure)), numbers(report));
}

function numbers(report) {
  const cell = (estimate) => h("td", { class: "number" }, estimate ? `${(100 * estimate.mean).toFixed(1)} (${(100 * estimate.low).toFixed(1)} to ${(100 * estimate.high).toFixed(1)})` : "–");
  return h("details", { class: "quality-details", id: "quality-numbers" }, h("summary", {}, "The numbers as a table"), h("div", { class: "quality-scroll", tabindex: "0", role: "region", "aria-label": "Table of the numbers" },
    h("table", { class: "quality-table" },
      h("caption", { class: "visually-hidden" }, "Pairs in the right order, of 100, with where it could as well have been by chance"),
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Way"), PANELS.map(([, title]) => h("th", { scope: "col" }, title)), h("th", { scope: "col" }, "What it is"))),
      h("tbody", {}, report.rows.map((row) => h("tr", {}, h("th", { scope: "row" }, NAMES[row.name] ?? row.label), cell(row.known), cell(row.unknown), h("td", { class: "muted" }, MEANINGS[row.name] ?? "")))))));
}

function learnedFrom(report) {
  const fact = (value, what) => h("div", { class: "fact" }, h("dt", {}, what), h("dd", { class: "number" }, value));
  return h("section", { class: "stack", "aria-labelledby": "from-title" }, h("h2", { id: "from-title" }, report.decision === "learned" ? "What it was learned from" : "What it was judged with"),
    h("dl", { class: "facts" }, fact(number(report.listeners), report.listeners === 1 ? "listener" : "listeners"), fact(number(report.artists), report.artists === 1 ? "artist" : "artists"),
      fact(number(report.songs), report.songs === 1 ? "song" : "songs"), report.seconds > 0 && fact(longTime(report.seconds), "of learning")));
}

function howMeasured(report) {
  return h("details", { class: "quality-details", id: "how-measured" }, h("summary", {}, "How this is measured"), h("div", { class: "stack" },
    h("p", {}, "Artists are put aside again and again before anything is learned. Then, for each of their songs, all others are put in order from near to far. Listeners say which of them belong near: those by artists who share many listeners. A pair of one that does and one that does not is in the right order if the first is nearer. Throwing a coin gives 50 of 100; 100 is perfect."),
    h("p", {}, "The lines in the picture come from drawing the artists anew many times: they show how much hangs on which artists happened to be there."),
    h("p", { class: "muted" }, "The report of the learning, as it was written:"), h("ul", { class: "quality-report" }, report.sentences.map((text) => h("li", {}, text)))));
}

// ---------------------------------------------------------------- music nobody has played

function coldBox(signal, model) {
  const place = h("section", { class: "card stack", id: "cold-start", "aria-labelledby": "cold-title", "aria-busy": true },
    h("h2", { id: "cold-title" }, "Music nobody has played"), h("div", { class: "skeleton quality-wait" }));
  get("/model/cold-start", {}, { signal }).then((cold) => {
    place.removeAttribute("aria-busy");
    replace(place, h("h2", { id: "cold-title" }, "Music nobody has played"), h("p", { id: "cold-sentence" }, coldStart(cold)), cold.never_played > 0 && coldBars(cold, model.active?.kind),
      cold.examples.length > 0 && [h("h3", {}, "They come up most often"), songList(cold.examples.slice(0, 5), { label: "Never played songs that come up most often", queue: cold.examples })],
      cold.sampled && h("p", { class: "muted small-text" }, `Asked about ${count(cold.seeds, "song")} that were played.`));
  }, () => { if (!signal.aborted) replace(place, h("h2", { id: "cold-title" }, "Music nobody has played"), h("p", { class: "muted" }, "This cannot be counted just now.")); });
  return place;
}

function coldBars(cold, kind) {
  const bar = (label, value, kind) => h("div", { class: `cold-bar cold-${kind}` }, h("span", { class: "cold-name" }, label),
    h("div", { class: "bar", vars: { "--part": percent(value / cold.never_played) } }, h("span")), h("span", { class: "number" }, number(value)));
  return h("div", { class: "cold-bars" }, kind !== "native" && bar("Learned from listeners", cold.recommended, "learned"), bar("Sound alone", cold.recommended_native, "native"), bar("Counting plays alone", 0, "none"));
}

// ---------------------------------------------------------------- models

function keptModels(model, again) {
  const kinds = { native: "Sound alone", learned: "Learned from listeners", imported: "Imported" };
  const use = async (event, kept) => {
    const button = event.currentTarget;
    button.disabled = true;
    try {
      const { unheard } = await put("/model", { id: kept.id });
      again({ text: unheard ? `It answers as soon as ${count(unheard, "song")} ${unheard === 1 ? "is" : "are"} heard for it: scan the library.` : `Model ${kept.id} answers now.` });
    } catch (error) {
      button.disabled = false;
      sayError(error);
    }
  };
  const row = (kept) => h("tr", { class: kept.active ? "is-active" : "" }, h("th", { scope: "row" }, kinds[kept.kind] ?? kept.kind, h("span", { class: "muted small-text" }, ` no. ${kept.id}`)),
    h("td", {}, day(kept.created)), h("td", { class: "number" }, kept.score === null ? "–" : `${Math.round(100 * kept.score)} of 100`),
    h("td", { class: "quality-use" }, kept.active ? h("span", { class: "mark good" }, icon("check"), "Answers now")
      : h("button", { class: "button quiet small", type: "button", "aria-label": `Use this one: ${kinds[kept.kind] ?? kept.kind}, no. ${kept.id}`, on: { click: (event) => use(event, kept) } }, "Use this one")));
  return h("section", { class: "stack", "aria-labelledby": "models-title" }, h("div", {}, h("h2", { id: "models-title" }, "What it has kept"),
    h("p", { class: "muted" }, "Earlier states stay; you can go back to any of them.")),
  h("div", { class: "quality-scroll", tabindex: "0", role: "region", "aria-label": "Table of what is kept" }, h("table", { class: "quality-table", id: "models" },
    h("thead", {}, h("tr", {}, ["Kind", "Made", "In the right order", ""].map((text) => h("th", { scope: "col" }, text || h("span", { class: "visually-hidden" }, "Action"))))),
    h("tbody", {}, [...model.models].sort((a, b) => b.created - a.created).map(row)))));
}
